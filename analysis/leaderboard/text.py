"""The leaderboard as a table, sentences, and the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.leaderboard.answer import LeaderboardAnswer, RankedSpan, Standing
from analysis.showing.tables import Table
from analysis.showing.words import count, number, p_value, plain, told_of_few_seeds

ROUNDING = 0.05


def parts(answer: LeaderboardAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [standings_table(answer), "\n".join(leaderboard_notes(answer)), answer.signature]


def standings_table(answer: LeaderboardAnswer) -> Table:
    """A line for every system; without two seeds anywhere there is nothing to say of new ones."""
    head = ["rank, as trained", "system", "seeds", "macro", "95 %, as trained"]
    if anew := any(standing.anew for standing in answer.standings):
        head += ["95 %, new seeds", "rank, new seeds", "range of seeds"]
    head += [task.title for task in answer.tasks] if len(answer.tasks) > 1 else []
    head += ["to the next", "p (Holm)"] if anew else []
    printed = any(answer.claims.get(standing.system.lower()) for standing in answer.standings)
    rows = [
        [*_cells(standing, anew, len(answer.tasks) > 1), *([_printed(answer, standing)] if printed else [])]
        for standing in answer.standings
    ]
    return Table([*head, *(["printed"] if printed else [])], rows, "Systems by the weighted mean of tasks")


def _cells(one: Standing, anew: bool, several: bool) -> list[str]:
    cells = [span_ranks(one.trained), one.system, str(one.seeds), f"{one.macro:.1f}", span_reach(one.trained)]
    if anew:
        spread = one.over_seeds
        cells += [span_reach(one.anew), span_ranks(one.anew), f"{spread.low:.1f}-{spread.high:.1f}" if spread else "-"]
    cells += [f"{value:.1f}" for value in one.tasks] if several else []
    if anew and (step := one.step):
        cells += [f"{step.value:.1f} ({number(step.low, 1)} to {number(step.high, 1)})", p_value(step.p_holm)]
    return cells + ["-"] * (2 if anew and not one.step else 0)


def span_ranks(span: RankedSpan | None) -> str:
    """`2-4`, or a dash."""
    if span is None:
        return "-"
    return str(span.best) if span.best == span.worst else f"{span.best}-{span.worst}"


def span_reach(span: RankedSpan | None) -> str:
    """`61.0-64.2`, or a dash."""
    return "-" if span is None else f"{span.low:.1f}-{span.high:.1f}"


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
    yield "Ranks hold for all systems at once (95 %). As trained: these very models on other dialogues."
    if len(answer.lone) == len(answer.standings):
        yield "No system has two seeds, so nothing is known of other trainings."
    else:
        yield "New seeds: other trainings on other dialogues, from each system's own seeds."
        if answer.lone:
            yield f"One seed: {', '.join(answer.lone)}. So nothing is known of other trainings of them."
        yield from told_of_few_seeds(one.over_seeds for one in answer.standings)
    if answer.unequal:
        yield f"Not all dialogues were answered by {', '.join(answer.unequal)}; compare with care."
    yield from answer.out


def document(answer: LeaderboardAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "systems": [
            {**asdict(one), "tasks": dict(zip((task.name for task in answer.tasks), one.tasks, strict=True)),
             "printed": answer.claims.get(one.system.lower())}
            for one in answer.standings
        ],
        "weights": {task.name: task.weight for task in answer.tasks}, "dialogues": answer.dialogues,
        "one_seed": answer.lone, "not_all_answered": answer.unequal, "not_counted": answer.out,
        "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(keys))
