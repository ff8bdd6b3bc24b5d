"""The leaderboard as a table, sentences, and the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.leaderboard.answer import LeaderboardAnswer, Standing
from analysis.showing.tables import Table
from analysis.showing.words import count, number, p_value, plain

ROUNDING = 0.05


def parts(answer: LeaderboardAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [standings_table(answer), "\n".join(leaderboard_notes(answer)), answer.signature]


def standings_table(answer: LeaderboardAnswer) -> Table:
    """A line for every system."""
    titles = [task.title for task in answer.tasks]
    head = ["rank", "system", "seeds", "macro (95 %)", *titles, "to the next", "p (Holm)"]
    printed = any(answer.claims.get(one.system.lower()) for one in answer.standings)
    rows = [[*_cells(one), *([_printed(answer, one)] if printed else [])] for one in answer.standings]
    return Table([*head, *(["printed"] if printed else [])], rows, "Systems by the weighted mean of tasks")


def _cells(one: Standing) -> list[str]:
    span = str(one.best) if one.best == one.worst else f"{one.best}-{one.worst}"
    step = "-" if one.step is None else f"{one.step:.1f} ({number(one.step_low, 1)} to {number(one.step_high, 1)})"
    return [
        span, one.system, "one seed" if one.seeds == 1 else str(one.seeds),
        f"{one.macro:.1f} ({one.low:.1f}-{one.high:.1f})", *(f"{value:.1f}" for value in one.tasks), step,
        p_value(one.p_holm),
    ]  # fmt: skip


def _printed(answer: LeaderboardAnswer, one: Standing) -> str:
    """The printed numbers, with ! behind those that are not what was computed."""
    claims = answer.claims.get(one.system.lower(), {})
    ours = {**{task.name: value for task, value in zip(answer.tasks, one.tasks, strict=True)}, "macro": one.macro}
    return ", ".join(
        f"{name} {value:g}{' !' if name in ours and abs(ours[name] - value) > ROUNDING + 1e-9 else ''}"
        for name, value in claims.items()
    ) or "-"  # fmt: skip


def leaderboard_notes(answer: LeaderboardAnswer) -> Iterator[str]:
    """What the reader of the table must know."""
    weights = ", ".join(f"{task.title} {task.weight:g}" for task in answer.tasks)
    tasks = count(len(answer.tasks), "task")
    yield f"Macro is the mean of {tasks} (weights: {weights}) on {answer.dialogues:,} dialogues."
    yield "Ranks are 95 % intervals that hold for all systems at once; differences are paired by dialogue."
    lone = [one.system for one in answer.standings if one.seeds == 1]
    if answer.seed_sd is None:
        yield "No system has two seeds: the intervals are for other dialogues and know nothing of other training seeds."
    else:
        yield f"Seeds of one system differ by an SD of {answer.seed_sd:.2f} beyond the dialogues' noise (pooled)."
        if lone:
            yield f"One seed alone: {', '.join(lone)}. Their spread over seeds is taken from the others."
    if answer.unequal:
        yield f"Not all dialogues were answered by {', '.join(answer.unequal)}; compare with care."
    yield from answer.out


def document(answer: LeaderboardAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = {
        "systems": [
            {**asdict(one), "tasks": dict(zip((task.name for task in answer.tasks), one.tasks, strict=True)),
             "printed": answer.claims.get(one.system.lower())}
            for one in answer.standings
        ],
        "weights": {task.name: task.weight for task in answer.tasks},
        "seed_sd": answer.seed_sd, "freedom": answer.freedom, "dialogues": answer.dialogues,
        "not_all_answered": answer.unequal, "not_counted": answer.out, "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(found))
