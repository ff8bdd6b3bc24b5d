"""What `evaluators choose` prints, and its numbers for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from seedvote.evaluators.choosing.answer import TASKS, ChoosingAnswer, Chosen
from seedvote.evaluators.choosing.describing import SIMPLE_NAMES
from seedvote.evaluators.detection.rates import Measured


def choosing_table(answer: ChoosingAnswer, task: str) -> str:
    """A line a model and checkpoint, a column a rule; then the simple rules."""
    models = [row for row in answer.chosen if not row.baseline]
    columns = list(dict.fromkeys(row.rater for row in models))
    lines = list(dict.fromkeys((row.model, row.checkpoint) for row in models))
    cells = {(row.model, row.checkpoint, row.rater): _cell(row, task) for row in models}
    rows = [[f"{task}, points", "seeds", *columns]]
    for model, checkpoint in lines:
        seeds = max(row.seeds for row in models if (row.model, row.checkpoint) == (model, checkpoint))
        rows.append(
            [f"{model} {checkpoint}", str(seeds), *(cells.get((model, checkpoint, rule), "-") for rule in columns)]
        )
    blocks = [_aligned(rows)] if models else []
    simple = [[SIMPLE_NAMES.get(row.model, row.model), _cell(row, task)] for row in answer.chosen if row.baseline]
    chance = dict(zip(TASKS, answer.chance, strict=True))[task]
    return "\n\n".join([*blocks, _aligned([[f"{task}, points", ""], *simple, ["chance", f"{100 * chance:.1f}"]])])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(row: Chosen, task: str) -> str:
    rate, sd = row.rates[task], row.sd[task]
    if isnan(rate.value):
        return "-"
    return f"{in_points(rate)}" + ("" if isnan(sd) else f" SD {100 * sd:.1f}")


def in_points(rate: Measured) -> str:
    """A share with its interval.

    >>> in_points(Measured(0.343, 0.3, 0.39))
    '34.3 (30.0-39.0)'
    """
    return f"{100 * rate.value:.1f} ({100 * rate.low:.1f}-{100 * rate.high:.1f})"


def choosing_notes(answer: ChoosingAnswer, unknown: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """What to know before comparing."""
    models = [row for row in answer.chosen if not row.baseline and not isnan(row.rates["R@1"].value)]
    yield "In brackets the 95 % interval over dialogues and seeds; SD: over training seeds."
    head_sds = [100 * row.head_sd for row in models if not isnan(row.head_sd)]
    if head_sds:
        yield (
            f"encoder: a bilinear head on frozen states, the mean over its seeds, which move R@1 by an SD of "
            f"{min(head_sds):.1f} to {max(head_sds):.1f}."
        )
    by_rule: dict[tuple[str, str], dict[str, float]] = {}
    for row in models:
        if row.rater in ("log p", "log p a token", "PMI"):
            by_rule.setdefault((row.model, row.checkpoint), {})[row.rater] = row.rates["R@1"].value
    spans = [max(rules.values()) - min(rules.values()) for rules in by_rule.values() if len(rules) > 1]
    if spans:
        sds = [100 * row.sd["R@1"] for row in models if not isnan(row.sd["R@1"])]
        seed = f", the seed (SD) by {min(sds):.1f} to {max(sds):.1f}" if sds else ""
        yield (
            f"The rule moves a model's R@1 by up to {100 * max(spans):.0f} points{seed}: compare models under one rule."
        )
    if not isnan(answer.draw_sd):
        yield (
            f"Other false options to the same contexts move R@1 by an SD of {100 * answer.draw_sd:.1f} points "
            f"({answer.draws} draws)."
        )
    yield from _untrained(models)
    for model, (true, false) in unknown.items():
        if max(true, false) > 0:
            yield (
                f"{model} does not know {100 * true:.1f} % of the words of true options and {100 * false:.1f} % of "
                "false ones."
            )
    if short := [row for row in models if row.questions < len(answer.questions)]:
        yield f"{len(short)} lines rest on fewer than {len(answer.questions)} questions, where scores are missing."
    if answer.ties == "middle":
        yield "Ties rank in their middle, so a rule and its opposite can get more together than chance gives."


def _untrained(models: Sequence[Chosen]) -> Iterator[str]:
    """Trained models that are not shown to beat an untrained one by the same rule."""
    before = {(row.model, row.rater): row for row in models if row.checkpoint == "untrained"}
    weak: dict[str, list[str]] = {}
    for row in models:
        untrained = before.get((row.model, row.rater))
        if untrained and row.checkpoint != "untrained" and row.rates["R@1"].low <= untrained.rates["R@1"].value:
            weak.setdefault(f"{row.model} {row.checkpoint}", []).append(row.rater)
    for name, rules in weak.items():
        yield f"{name} is not shown to beat its untrained self by {', '.join(rules)}."


def choosing_document(answer: ChoosingAnswer, unknown: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Every number, as nuc.json and --json hold it."""
    return {
        "signature": answer.signature,
        "questions": len(answer.questions),
        "ties": answer.ties,
        "draws": answer.draws,
        "draw_sd": _number(answer.draw_sd),
        "chance": dict(zip(TASKS, answer.chance, strict=True)),
        "unknown": {model: {"true": true, "false": false} for model, (true, false) in unknown.items()},
        "rows": [
            {
                "model": row.model,
                "checkpoint": row.checkpoint,
                "rule": row.rater,
                "baseline": row.baseline,
                "seeds": row.seeds,
                "questions": row.questions,
                **{
                    task: {name: _number(part) for name, part in asdict(row.rates[task]).items()}
                    | {"sd": _number(row.sd[task])}
                    for task in TASKS
                },
                "head_sd": _number(row.head_sd),
            }
            for row in answer.chosen
        ],
    }


def _number(value: float) -> float | None:
    return None if isnan(value) else value
