"""What robustness found, as tables, sentences and the document of `--json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.robustness.answer import DoseStep, Drop, RobustnessAnswer
from analysis.showing.tables import Table
from analysis.showing.words import count, heading, number, plain, signed, told_of_few_seeds
from analysis.stats.mean_over_seeds import SeedMean

SURE = 0.05


def parts(answer: RobustnessAnswer) -> list[Table | str]:
    """A table of drops for each task, sentences, and the recipe."""
    return [
        *(drops_table(title, answer) for title in answer.tasks),
        "\n".join(robustness_notes(answer)),
        answer.signature,
    ]


def drops_table(title: str, answer: RobustnessAnswer) -> Table:
    """A line for every kind and dose, a column for every model; under each kind its highest dose beyond its lowest."""
    of = [one for one in answer.drops if one.scale.task.title == title]
    models = list(dict.fromkeys(one.scale.model for one in of))
    name = of[0].scale.evaluator, of[0].scale.name
    clean = {one.scale.model: one.clean for one in of}
    rows = [["clean", "", *(number(clean[model], 1) for model in models)]]
    for kind, seed in dict.fromkeys((one.scale.kind, one.scale.seed) for one in of):
        here = [one for one in of if (one.scale.kind, one.scale.seed) == (kind, seed)]
        for dose in sorted({one.scale.dose for one in here}):
            cells = {one.scale.model: _cell(one) for one in here if one.scale.dose == dose}
            rows.append(
                [f"{kind}{f', seed {seed}' if seed else ''}", f"{dose:g}", *(cells.get(m, "-") for m in models)]
            )
        steps = {
            one.model: one for one in answer.steps
            if (one.evaluator, one.task) == name and (one.kind, one.seed) == (kind, seed)
        }  # fmt: skip
        if steps:
            ends = next(iter(steps.values()))
            cells = {model: said_mean(step.found) for model, step in steps.items()}
            rows.append([kind, f"{ends.high:g} beyond {ends.low:g}", *(cells.get(model, "-") for model in models)])
    return Table(["kind", "dose", *models], rows, f"{heading(title)}: drops with 95 % intervals")


def _cell(one: Drop) -> str:
    return said_mean(one.found) + ("*" if one.p_holm < SURE else "")


def said_mean(found: SeedMean) -> str:
    """A mean with its interval."""
    if found.low != found.low:
        return f"{signed(found.value)} (-)"
    if found.se == 0 == found.value:
        return "0"
    return f"{signed(found.value)} ({signed(found.low)} to {signed(found.high)})"


def robustness_notes(answer: RobustnessAnswer) -> Iterator[str]:
    """What the reader of the tables must know."""
    low, high = answer.dialogues
    yield (
        f"A drop is clean minus perturbed on the same {low if low == high else f'{low} to {high}'} dialogues and the "
        "same training seeds, in the task's own unit; its interval is for new dialogues and new seeds. A star: p < .05 "
        "with Holm's correction over all drops of the task."
    )
    if answer.unmatched:
        left_out = count(answer.unmatched, "dialogue")
        yield f"Up to {left_out} of a comparison are left out, because only one side has scores of all their turns."
    if answer.lone:
        yield f"One seed alone: {', '.join(answer.lone)}. Their intervals know nothing of other seeds."
    yield from told_of_few_seeds(one.found.spread for one in answer.drops)
    if found := answer.notices:
        if not found.shown:
            compared = count(found.compared, "comparison")
            yield f"{found.meant} shows no drop in {compared}, so {found.surface} misses none."
        else:
            yield (
                f"{found.surface} notices {found.noticed} of the {count(found.shown, 'drop')} that {found.meant} shows "
                f"(interval above zero; {count(found.compared, 'comparison')}), and shows {found.only} that "
                f"{found.meant} does not."
            )
    if answer.left_out:
        yield "\n".join(f"not compared: {one.what} ({one.why})" for one in answer.left_out)


def document(answer: RobustnessAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    found = {
        "drops": [_drop(one) for one in answer.drops],
        "steps": [_step(one) for one in answer.steps],
        "notices": None if answer.notices is None else {
            "of": answer.notices.meant, "by": answer.notices.surface, "shown": answer.notices.shown,
            "noticed": answer.notices.noticed, "only": answer.notices.only, "compared": answer.notices.compared,
        },
        "one_seed": answer.lone,
        "not_compared": [one._asdict() for one in answer.left_out],
        "signature": answer.signature,
    }  # fmt: skip
    return dict(plain(found))


def _drop(one: Drop) -> dict[str, Any]:
    scale = one.scale
    return {
        "evaluator": scale.evaluator, "task": scale.name, "model": scale.model, "kind": scale.kind, "dose": scale.dose,
        "seed": scale.seed, "seeds": scale.seeds, "dialogues": scale.parts.shape[1],
        "dialogues_left_out": scale.left_out, "clean": one.clean,
        "value": one.value, **_mean(one.found), "relative": one.relative, "p_holm": one.p_holm,
        "by_seed": [float(a - b) for a, b in zip(scale.clean, scale.value, strict=True)],
    }  # fmt: skip


def _step(one: DoseStep) -> dict[str, Any]:
    return {
        "evaluator": one.evaluator, "task": one.task, "model": one.model, "kind": one.kind, "from": one.low,
        "to": one.high, **_mean(one.found),
    }  # fmt: skip


def _mean(found: SeedMean) -> dict[str, Any]:
    return {"drop": found.value, "se": found.se, "low": found.low, "high": found.high, "freedom": found.freedom,
            "p": found.p, "range": found.spread and asdict(found.spread)}  # fmt: skip
