"""Every chooser on the same questions: its recall, what is printed of it, and its score table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.dialogue.cards import Card, TaskCard, metadata
from seedvote.dialogue.files import atomic
from seedvote.dialogue.records import Question
from seedvote.dialogue.signature import signature
from seedvote.evaluators.choosing.drawing import SIMPLE_NAMES, dialogue_codes
from seedvote.evaluators.choosing.rules import Chooser, Ties, by_chance, lexical_scores, recall_table
from seedvote.evaluators.detection.rates import Measured, share_told

# Every answerer on the same questions: R@1, R@2 and the reciprocal rank of each question.

Floats = NDArray[np.float64]
TASKS = ("R@1", "R@2", "MRR")


@dataclass(frozen=True, slots=True, eq=False)
class ChooserGot:
    """One answerer with what it got on every question: (questions, 3), NaN where it gave no score."""

    who: Chooser
    got: Floats


@dataclass(frozen=True, slots=True)
class Chosen:
    """One model, checkpoint and rule over all its seeds, on the questions that all its seeds answered."""

    model: str
    checkpoint: str
    rater: str
    baseline: bool
    seeds: int
    questions: int
    rates: Mapping[str, Measured]  # by task
    sd: Mapping[str, float]  # over seeds; NaN for one
    head_sd: float  # of R@1 over heads on one model, the root mean square over seeds; NaN where there is one or none


@dataclass(frozen=True)
class ChoosingAnswer:
    """All choosers."""

    questions: tuple[Question, ...]
    answered: tuple[ChooserGot, ...]
    chosen: tuple[Chosen, ...]
    chance: tuple[float, float, float]
    ties: Ties
    draws: int
    draw_sd: float  # of R@1 over the draws of false options, the mean over choosers; NaN for one draw
    signature: str


def answer_questions(
    questions: Sequence[Question], choosers: Sequence[Chooser], texts: str, *, ties: Ties = "shared"
) -> ChoosingAnswer:
    """What every answerer and every simple rule gets on the real questions."""
    real = [k for k, question in enumerate(questions) if question.kind == "real"]
    real_questions = [questions[k] for k in real]
    answers = [question.answer for question in real_questions]
    simple = [
        Chooser(name, None, "last", "rule", scores, True) for name, scores in lexical_scores(real_questions).items()
    ]
    choosers_and_rules = [*simple, *(_select_real(question, real) for question in choosers)]
    answered = [ChooserGot(question, recall_table(question.scores, answers, ties)) for question in choosers_and_rules]
    codes = dialogue_codes(real_questions)
    groups: dict[tuple[str, str, str, bool], list[ChooserGot]] = {}
    for result in answered:
        question = result.who
        groups.setdefault((question.model, question.checkpoint, question.rater, question.baseline), []).append(result)
    chosen = [_summarise_seeds(key, group, codes) for key, group in groups.items()]
    draws = np.array([int(question.extra.get("draw", 0) or 0) for question in real_questions])
    sizes = [len(question.options) for question in real_questions]
    recipe = signature(
        questions=len(real_questions),
        options=sorted(set(sizes)),
        ties=ties,
        draws=len(set(draws.tolist())),
        choosers=len(choosers_and_rules),
        interval="dialogues x seeds",
        texts=texts,
    )
    return ChoosingAnswer(
        tuple(real_questions),
        tuple(answered),
        tuple(chosen),
        by_chance(sizes),
        ties,
        len(set(draws.tolist())),
        _draw_sd(answered, draws),
        recipe,
    )


def _select_real(chooser: Chooser, real: Sequence[int]) -> Chooser:
    scores = [chooser.scores[k] for k in real]
    return Chooser(
        chooser.model, chooser.seed, chooser.checkpoint, chooser.rater, scores, chooser.baseline, chooser.head
    )


def _summarise_seeds(key: tuple[str, str, str, bool], group: Sequence[ChooserGot], codes: NDArray[np.int64]) -> Chosen:
    by_seed: dict[int | None, list[Floats]] = {}
    for result in group:
        by_seed.setdefault(result.who.seed, []).append(result.got)
    # Heads on one model's states are no models of their own: their mean counts, once a training seed.
    values = np.stack([np.mean(heads, axis=0) for heads in by_seed.values()])  # seeds x questions x tasks
    complete = ~np.isnan(values).any((0, 2))
    complete_codes = np.unique(codes[complete], return_inverse=True)[1].astype(np.int64)
    rates, sd = {}, {}
    for place, task in enumerate(TASKS):
        part = values[:, complete, place]
        nan = float("nan")
        rates[task] = share_told(part, complete_codes) if complete.any() else Measured(nan, nan, nan)
        sd[task] = float(part.mean(1).std(ddof=1)) if len(values) > 1 and complete.any() else nan
    model, checkpoint, rater, baseline = key
    heads = [
        np.nanmean([result[:, 0] for result in results], axis=1).var(ddof=1)
        for results in by_seed.values()
        if len(results) > 1
    ]
    head_sd = float(np.sqrt(np.mean(heads))) if heads else float("nan")
    return Chosen(model, checkpoint, rater, baseline, len(by_seed), int(complete.sum()), rates, sd, head_sd)


def _draw_sd(answered: Sequence[ChooserGot], draws: NDArray[np.int64]) -> float:
    """How far R@1 moves where the false options are drawn anew: the SD over draws, the root mean square over models."""
    names = sorted(set(draws.tolist()))
    models = [result for result in answered if not result.who.baseline] or list(answered)
    if len(names) < 2:
        return float("nan")
    means = np.array([[np.nanmean(result.got[draws == name, 0]) for name in names] for result in models])
    return float(np.sqrt(means.var(1, ddof=1).mean()))


# What `evaluators choose` prints, and its numbers for programs.


def choosing_table(answer: ChoosingAnswer, task: str) -> str:
    """A line a model and checkpoint, a column a rule; then the simple rules."""
    models = [row for row in answer.chosen if not row.baseline]
    columns = list(dict.fromkeys(row.rater for row in models))
    lines = list(dict.fromkeys((row.model, row.checkpoint) for row in models))
    cells = {(row.model, row.checkpoint, row.rater): _format_cell(row, task) for row in models}
    rows = [[f"{task}, points", "seeds", *columns]]
    for model, checkpoint in lines:
        seeds = max(row.seeds for row in models if (row.model, row.checkpoint) == (model, checkpoint))
        rows.append(
            [f"{model} {checkpoint}", str(seeds), *(cells.get((model, checkpoint, rule), "-") for rule in columns)]
        )
    blocks = [_align_columns(rows)] if models else []
    simple = [
        [SIMPLE_NAMES.get(row.model, row.model), _format_cell(row, task)] for row in answer.chosen if row.baseline
    ]
    chance = dict(zip(TASKS, answer.chance, strict=True))[task]
    return "\n\n".join([*blocks, _align_columns([[f"{task}, points", ""], *simple, ["chance", f"{100 * chance:.1f}"]])])


def _align_columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _format_cell(row: Chosen, task: str) -> str:
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
    yield from _list_unbeaten(models)
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


def _list_unbeaten(models: Sequence[Chosen]) -> Iterator[str]:
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
        "draw_sd": _none_if_nan(answer.draw_sd),
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
                    task: {name: _none_if_nan(part) for name, part in asdict(row.rates[task]).items()}
                    | {"sd": _none_if_nan(row.sd[task])}
                    for task in TASKS
                },
                "head_sd": _none_if_nan(row.head_sd),
            }
            for row in answer.chosen
        ],
    }


def _none_if_nan(value: float) -> float | None:
    return None if isnan(value) else value


# The score table of next-utterance choice: a row for every question, answerer and task.

ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        *((name, pa.string()) for name in ("cluster", "condition", "reason")),
    ]
)
NO_SCORE = "an option has no score"


def choosing_card(answer: ChoosingAnswer) -> Card:
    """How the rows are to be read."""
    sizes = sorted({len(result.options) for result in answer.questions})
    of = f" of {sizes[0]}" if len(sizes) == 1 else ""
    baselines = list(dict.fromkeys(result.who.model for result in answer.answered if result.who.baseline))
    tasks = {
        task: TaskCard(
            f"{task}{of}" if task != "MRR" else "mean reciprocal rank",
            "share",
            100.0,
            "higher",
            chance=chance,
            level="question",
            main=task == "R@1",
        )
        for task, chance in zip(TASKS, answer.chance, strict=True)
    }
    return Card("next-utterance choice", 3, tasks, baselines)


def write_choosing_scores(folder: Path, answer: ChoosingAnswer) -> Path:
    """Write nuc.parquet; its path."""
    path = folder / "nuc.parquet"
    card = choosing_card(answer)
    cards = {"nuc": card}
    if any(result.who.head is not None for result in answer.answered):
        cards["nuc_encoder"] = replace(card, title="next-utterance choice by encoder", baselines=(), raters="drawn")
    schema = ROWS.with_metadata(metadata(answer.signature, cards))
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for result in answer.answered:
            writer.write_table(pa.Table.from_pylist(list(_list_rows(result, answer.questions)), schema=schema))
    return path


def _list_rows(result: ChooserGot, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    who = result.who
    evaluator = "baseline" if who.baseline else "nuc" if who.head is None else "nuc_encoder"
    rater = who.rater if who.head is None else f"head {who.head}"
    for question, got in zip(questions, result.got.tolist(), strict=True):
        draw = int(question.extra.get("draw", 0) or 0)
        same = {
            "evaluator": evaluator,
            "model": who.model,
            "seed": who.seed,
            "checkpoint": who.checkpoint,
            "item": question.item,
            "rater": rater,
            "cluster": question.dialogue,
            "condition": f"candidates draw {draw}" if draw else "",
        }
        for task, score in zip(TASKS, got, strict=True):
            yield {**same, "task": task, "score": score, "reason": NO_SCORE if np.isnan(score) else ""}
