"""What a discrimination says: in the terminal, in a document, and as a score table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import Card, TaskCard, metadata
from seedvote.dialogue.files import atomic
from seedvote.evaluators.detection.answer import SEARCHES, Detected, Detection, SameLength
from seedvote.evaluators.detection.material import Generator, Trial
from seedvote.evaluators.detection.rates import DetectionCurve, Measured
from seedvote.evaluators.detection.work import SIMPLE, TrialResult

# What the terminal says of a discrimination, and the document that keeps all of it.

HEADS = (
    "model",
    "decoding",
    "told apart",
    "length",
    "bag of words",
    "null A",
    "null B",
    "beyond the best",
    "fooled",
    "fooled, shared",
)


def detection_table(detection: Detection) -> str:
    """A line a generator; shares, with 95 % intervals where they matter most."""
    rows = [HEADS, *(_table_cells(result) for result in detection.found)]
    if not any(result.shared for result in detection.found):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        words = [
            cell.ljust(width) if n < 2 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(words).rstrip())
    return "\n".join(lines)


def _table_cells(result: Detected) -> tuple[str, ...]:
    value, low, high = map(_format_signed, (result.beyond.value, result.beyond.low, result.beyond.high))
    beyond = f"{value} ({low} to {high})"
    return (
        result.who.name + ("" if result.who.checkpoint == "last" else f" {result.who.checkpoint}"),
        result.who.decoding,
        with_interval(result.accuracy),
        format_share(result.length.value),
        format_share(result.bag.value),
        with_interval(result.null_a) if result.null_a else "-",
        with_interval(result.null_b),
        beyond,
        format_share(result.fooled.value),
        format_share(result.shared.value) if result.shared else "-",
    )


def format_share(value: float) -> str:
    """A share as .67; 1.00 and .00 at the ends."""
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def with_interval(measure: Measured) -> str:
    """A share and its interval."""
    return f"{format_share(measure.value)} ({format_share(measure.low)}-{format_share(measure.high)})"


def _format_signed(value: float) -> str:
    return ("-" if round(value, 2) < 0 else "+" if round(value, 2) > 0 else "") + format_share(abs(value))


def detection_notes(detection: Detection) -> Iterator[str]:
    """What a reader must know beside the numbers."""
    material, first_result = detection.material, detection.found[0]
    yield (
        f"Chance is .50. {first_result.dialogues} dialogues are tested, none of which was seen in training; "
        + (
            f"{detection.folds} quarters in turn."
            if detection.folds > 1
            else "the split is 60, 15 and 25 % of the dialogues."
        )
    )
    unknown = f"{100 * material.with_unknown:.0f} % of people's replies hold a word that no model can write (<unk>)"
    spelt = "the study's vocabulary" if material.own_vocabulary else "the words of the training split"
    yield f"Both sides are spelt by {spelt} and cut at its longest reply; {unknown}."
    for result in detection.found:
        yield from _result_sentences(result)
    searches = [result for result in detection.found if result.who.decoding.startswith(SEARCHES)]
    if searches:
        yield "A search writes the same safe replies again and again, so its replies are the easiest to tell."
    if any(result.null_a is None for result in detection.found if result not in searches):
        yield "Null A needs a second draw of each context: sample with --draws 2."
    if any(result.who.checkpoint == "untrained" for result in detection.found):
        yield "Of an untrained model an accuracy near 1 is what is to be expected."


def _result_sentences(result: Detected) -> Iterator[str]:
    name = _name_generator(result)
    rival = _rival_of(result, result.best)
    if result.accuracy.low <= 0.5 < rival.low:
        rule = _rival_title(result.best)
        yield (
            f"{name}: {rule} tells the model from people in {with_interval(rival)} of replies; the discriminator does "
            f"not ({with_interval(result.accuracy)})."
        )
    elif result.accuracy.low <= 0.5:
        yield f"{name}: not told from people ({with_interval(result.accuracy)} of replies are told right)."
    elif result.beyond.low <= 0:
        yield (
            f"{name}: told from people in {with_interval(result.accuracy)} of replies, but not shown to be told better "
            f"than by {_rival_title(result.best)} ({format_share(rival.value)})."
        )
    else:
        value, low, high = map(format_share, (result.beyond.value, result.beyond.low, result.beyond.high))
        yield (
            f"{name}: told from people in {with_interval(result.accuracy)} of replies; "
            f"{value} ({low} to {high}) of that lies beyond {_rival_title(result.best)}."
        )
    if result.without_unknown and abs(result.without_unknown.value - result.accuracy.value) > 0.03:
        yield f"  Where people wrote no unknown word: {with_interval(result.without_unknown)}."
    for null, what in (
        (result.null_a, "null A (two draws of this model)"),
        (result.null_b, "null B (labels drawn by lot)"),
    ):
        if null and not null.low <= 0.5 <= null.high:
            yield f"  Caution: {what} is {with_interval(null)} where .50 is the truth; about one null in twenty is."


def _name_generator(result: Detected) -> str:
    """`seq2seq-0, greedy`; the checkpoint where it is not the last."""
    of = "" if result.who.checkpoint == "last" else f", {result.who.checkpoint}"
    return f"{result.who.name}, {result.who.decoding}{of}"


def _rival_title(simple: str) -> str:
    return {"length": "length alone", "bag": "a bag of words"}[simple]


def _rival_of(result: Detected, simple: str) -> Measured:
    return result.length if simple == "length" else result.bag


def artefact_lines(result: Detected, most: int = 8) -> str:
    """The heaviest words of the bag, a model's first."""
    model = [artefact.words for artefact in result.artefacts if artefact.weight < 0][:most]
    human = [artefact.words for artefact in result.artefacts if artefact.weight > 0][:most]
    return (
        f"{_name_generator(result)}: the model's marks: {', '.join(map(_quote_text, model)) or 'none'}; "
        f"people's: {', '.join(map(_quote_text, human)) or 'none'}."
    )


def _quote_text(text: str) -> str:
    return f'"{text}"'


def ranking_lines(result: Detected, detection: Detection) -> Iterator[str]:
    """The rankings of replies of one length."""
    if result.ranked is None:
        yield (
            f"{_name_generator(result)}: no context of the test has enough draws of one length. Sample many: "
            "python -m generation sample STUDY --decoding temperature:1 --draws 100"
        )
        return
    ranked = result.ranked
    yield (
        f"{_name_generator(result)}: correlation {ranked.rho.value:+z.2f} ({ranked.rho.low:+z.2f} to "
        f"{ranked.rho.high:+z.2f}) of the discriminator's and the model's own ranking of replies of one length, over "
        f"{ranked.groups} sets of replies to {ranked.contexts} contexts ({ranked.draws:,} draws)."
    )
    for top in ranked.examples:
        yield f"  {top.item}, replies of {top.length} words"
        yield "    the discriminator's first:  " + "  |  ".join(map(detection.material.spelt, top.by_discriminator))
        yield "    the model's likeliest:      " + "  |  ".join(map(detection.material.spelt, top.by_logprob))


def detection_document(detection: Detection) -> dict[str, Any]:
    """Everything, as adversarial.json and --json hold it."""
    return {
        "signature": detection.signature,
        "dialogues": detection.found[0].dialogues,
        "with_unknown": detection.material.with_unknown,
        "notes": [line.strip() for line in detection_notes(detection)],
        "generators": [_result_document(result, detection) for result in detection.found],
    }


def _result_document(result: Detected, detection: Detection) -> dict[str, Any]:
    who = {"model": result.who.model, "seed": result.who.seed, "checkpoint": result.who.checkpoint}
    numbers = {
        name: asdict(value) if (value := getattr(result, name)) else None
        for name in (
            "accuracy",
            "length",
            "bag",
            "null_a",
            "null_b",
            "without_unknown",
            "beyond",
            "beyond_length",
            "fooled",
            "human_taken",
            "shared",
        )
    }
    return {
        **who,
        "decoding": result.who.decoding,
        "replies": result.replies,
        "by": result.rater,
        **numbers,
        "best": result.best,
        "average_precision": asdict(result.precision_recall.area),
        "auc": asdict(result.roc.area),
        "brier": result.brier,
        "calibration": list(result.calibration),
        "precision_recall": _curve_document(result.precision_recall),
        "roc": _curve_document(result.roc),
        "artefacts": [asdict(artefact) for artefact in result.artefacts],
        "epochs": {rater: list(epochs) for rater, epochs in result.epochs.items()},
        "same_length": result.ranked and _ranking_document(result.ranked, detection),
    }


def _curve_document(curve: DetectionCurve) -> dict[str, list[float]]:
    return {name: [round(float(value), 6) for value in getattr(curve, name)] for name in ("x", "y", "low", "high")}


def _ranking_document(ranking: SameLength, detection: Detection) -> dict[str, Any]:
    def spelt(replies: Sequence[tuple[int, ...]]) -> list[str]:
        return [detection.material.spelt(reply) for reply in replies]

    return {
        "rho": asdict(ranking.rho),
        "contexts": ranking.contexts,
        "sets": ranking.groups,
        "draws": ranking.draws,
        "examples": [
            {
                "item": top.item,
                "length": top.length,
                "by_discriminator": spelt(top.by_discriminator),
                "by_logprob": spelt(top.by_logprob),
            }
            for top in ranking.examples
        ],
    }


# The score table of the discriminators: for each tested reply of a model, how likely a person wrote it.

SCORED = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        *((name, pa.string()) for name in ("cluster", "condition")),
    ]
)


def _share_card(title: str) -> TaskCard:
    # No chance line: a half is the most that a good model can reach, not what guessing gets.
    return TaskCard(title, "share", 100.0, "higher")


DETECTION_CARD = Card(
    "discriminator",
    4,
    {
        "human_like": _share_card("chance that a person wrote it"),
        "fooled": _share_card("replies taken for a person's"),
        "human_like_shared": _share_card("chance that a person wrote it, one for all models"),
        "fooled_shared": _share_card("replies taken for a person's, one for all models"),
    },
    SIMPLE,
    raters="drawn",
)


def write_detection_scores(folder: Path, detection: Detection) -> Path:
    """Write adversarial.parquet; its path."""
    path = folder / "adversarial.parquet"
    schema = SCORED.with_metadata(metadata(detection.signature, {"adversarial": DETECTION_CARD}))
    # One model has one clean score: that of its own law, not of a search; other decodings are conditions.
    first = min((who.decoding for who in detection.own), key=lambda name: (name.startswith(SEARCHES), name))
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for who, (trial, result) in detection.own.items():
            rows = list(
                _score_rows(who, trial, result, detection.folds, 0, "", "" if who.decoding == first else who.decoding)
            )
            if who in detection.together:
                together, chances, of = detection.together[who]
                rows += _score_rows(
                    who,
                    together,
                    chances,
                    detection.folds,
                    of,
                    "_shared",
                    "" if who.decoding == first else who.decoding,
                )
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return path


def _score_rows(
    who: Generator, trial: Trial, result: TrialResult, folds: int, of: int, suffix: str, condition: str
) -> Iterator[dict[str, Any]]:
    showings = trial.in_all("test", folds)
    network = any(rater not in SIMPLE for rater in result.test)
    for rater, chances in result.test.items():
        is_baseline = rater in SIMPLE and (network or rater != "bag")
        for showing, chance in zip(showings, chances, strict=True):
            if showing.human or showing.of != of:
                continue
            same = {
                "evaluator": "baseline" if is_baseline else "adversarial",
                "model": rater if is_baseline else who.model,
                "seed": None if is_baseline else who.seed,
                "checkpoint": who.checkpoint,
                "item": showing.occasion.item,
                "rater": who.name if is_baseline else rater,
                "cluster": showing.occasion.dialogue,
                "condition": condition,
            }
            yield {**same, "task": f"human_like{suffix}", "score": float(chance)}
            yield {**same, "task": f"fooled{suffix}", "score": float(chance > 0.5)}
