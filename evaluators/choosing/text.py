"""What `evaluators choose` prints, and its numbers for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from evaluators.choosing.answer import TASKS, ChoosingAnswer, Chosen
from evaluators.choosing.describing import SIMPLE_NAMES
from evaluators.detection.rates import Measured


def choosing_table(found: ChoosingAnswer, task: str) -> str:
    """A line a model and checkpoint, a column a rule; then the simple rules."""
    models = [one for one in found.chosen if not one.baseline]
    columns = list(dict.fromkeys(one.rater for one in models))
    lines = list(dict.fromkeys((one.model, one.checkpoint) for one in models))
    cells = {(one.model, one.checkpoint, one.rater): _cell(one, task) for one in models}
    rows = [[f"{task}, points", "seeds", *columns]]
    for model, checkpoint in lines:
        seeds = max(one.seeds for one in models if (one.model, one.checkpoint) == (model, checkpoint))
        rows.append(
            [f"{model} {checkpoint}", str(seeds), *(cells.get((model, checkpoint, rule), "-") for rule in columns)]
        )
    shown = [_aligned(rows)] if models else []
    simple = [[SIMPLE_NAMES.get(one.model, one.model), _cell(one, task)] for one in found.chosen if one.baseline]
    chance = dict(zip(TASKS, found.chance, strict=True))[task]
    return "\n\n".join([*shown, _aligned([[f"{task}, points", ""], *simple, ["chance", f"{100 * chance:.1f}"]])])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(one: Chosen, task: str) -> str:
    rate, sd = one.rates[task], one.sd[task]
    if isnan(rate.value):
        return "-"
    return f"{in_points(rate)}" + ("" if isnan(sd) else f" SD {100 * sd:.1f}")


def in_points(rate: Measured) -> str:
    """A share with its interval.

    >>> in_points(Measured(0.343, 0.3, 0.39))
    '34.3 (30.0-39.0)'
    """
    return f"{100 * rate.value:.1f} ({100 * rate.low:.1f}-{100 * rate.high:.1f})"


def choosing_notes(found: ChoosingAnswer, unknown: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """What to know before comparing."""
    models = [one for one in found.chosen if not one.baseline and not isnan(one.rates["R@1"].value)]
    yield "In brackets the 95 % interval over dialogues and seeds; SD: over training seeds."
    head_sds = [100 * one.head_sd for one in models if not isnan(one.head_sd)]
    if head_sds:
        yield (
            f"encoder: a bilinear head on frozen states, the mean over its seeds, which move R@1 by an SD of "
            f"{min(head_sds):.1f} to {max(head_sds):.1f}."
        )
    by_rule: dict[tuple[str, str], dict[str, float]] = {}
    for one in models:
        if one.rater in ("log p", "log p a token", "PMI"):
            by_rule.setdefault((one.model, one.checkpoint), {})[one.rater] = one.rates["R@1"].value
    spans = [max(rules.values()) - min(rules.values()) for rules in by_rule.values() if len(rules) > 1]
    if spans:
        sds = [100 * one.sd["R@1"] for one in models if not isnan(one.sd["R@1"])]
        seed = f", the seed (SD) by {min(sds):.1f} to {max(sds):.1f}" if sds else ""
        yield (
            f"The rule moves a model's R@1 by up to {100 * max(spans):.0f} points{seed}: compare models under one rule."
        )
    if not isnan(found.draw_sd):
        yield f"Other false options to the same contexts move R@1 by an SD of {100 * found.draw_sd:.1f} points " \
            f"({found.draws} draws)."  # fmt: skip
    yield from _untrained(models)
    for model, (true, false) in unknown.items():
        if max(true, false) > 0:
            yield f"{model} does not know {100 * true:.1f} % of the words of true options and {100 * false:.1f} % of " \
                "false ones."  # fmt: skip
    if short := [one for one in models if one.questions < len(found.questions)]:
        yield f"{len(short)} lines rest on fewer than {len(found.questions)} questions, where scores are missing."
    if found.ties == "middle":
        yield "Ties rank in their middle, so a rule and its opposite can get more together than chance gives."


def _untrained(models: Sequence[Chosen]) -> Iterator[str]:
    """Trained models that are not shown to beat an untrained one by the same rule."""
    before = {(one.model, one.rater): one for one in models if one.checkpoint == "untrained"}
    weak: dict[str, list[str]] = {}
    for one in models:
        other = before.get((one.model, one.rater))
        if other and one.checkpoint != "untrained" and one.rates["R@1"].low <= other.rates["R@1"].value:
            weak.setdefault(f"{one.model} {one.checkpoint}", []).append(one.rater)
    for name, rules in weak.items():
        yield f"{name} is not shown to beat its untrained self by {', '.join(rules)}."


def choosing_document(found: ChoosingAnswer, unknown: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Every number, as nuc.json and --json hold it."""
    return {
        "signature": found.signature, "questions": len(found.questions), "ties": found.ties, "draws": found.draws,
        "draw_sd": _number(found.draw_sd), "chance": dict(zip(TASKS, found.chance, strict=True)),
        "unknown": {model: {"true": true, "false": false} for model, (true, false) in unknown.items()},
        "rows": [
            {"model": one.model, "checkpoint": one.checkpoint, "rule": one.rater, "baseline": one.baseline,
             "seeds": one.seeds, "questions": one.questions,
             **{task: {name: _number(part) for name, part in asdict(one.rates[task]).items()}
                | {"sd": _number(one.sd[task])} for task in TASKS}, "head_sd": _number(one.head_sd)}
            for one in found.chosen
        ],
    }  # fmt: skip


def _number(value: float) -> float | None:
    return None if isnan(value) else value
