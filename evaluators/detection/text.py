"""What the terminal says of a discrimination, and the document that keeps all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from evaluators.detection.answer import SEARCHES, Detected, Detection
from evaluators.detection.rates import DetectionCurve, Measured
from evaluators.detection.same_length import SameLength

HEADS = ("model", "decoding", "told apart", "length", "bag of words", "null A", "null B", "beyond the best", "fooled",
         "fooled, shared")  # fmt: skip


def detection_table(found: Detection) -> str:
    """A line a generator; shares, with 95 % intervals where they matter most."""
    rows = [HEADS, *(_cells(one) for one in found.found)]
    if not any(one.shared for one in found.found):
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


def _cells(one: Detected) -> tuple[str, ...]:
    beyond = f"{_signed(one.beyond.value)} ({_signed(one.beyond.low)} to {_signed(one.beyond.high)})"
    return (
        one.who.name + ("" if one.who.checkpoint == "last" else f" {one.who.checkpoint}"), one.who.decoding,
        with_interval(one.accuracy), short(one.length.value), short(one.bag.value),
        with_interval(one.null_a) if one.null_a else "-", with_interval(one.null_b), beyond, short(one.fooled.value),
        short(one.shared.value) if one.shared else "-",
    )  # fmt: skip


def short(value: float) -> str:
    """A share as .67; 1.00 and .00 at the ends."""
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def with_interval(one: Measured) -> str:
    """A share and its interval."""
    return f"{short(one.value)} ({short(one.low)}-{short(one.high)})"


def _signed(value: float) -> str:
    return ("-" if round(value, 2) < 0 else "+" if round(value, 2) > 0 else "") + short(abs(value))


def detection_notes(found: Detection) -> Iterator[str]:
    """What a reader must know beside the numbers."""
    material, one = found.material, found.found[0]
    yield (
        f"Chance is .50. {one.dialogues} dialogues are tested, none of which was seen in training; "
        + (f"{found.folds} quarters in turn." if found.folds > 1 else "the split is 60, 15 and 25 % of the dialogues.")
    )
    unknown = f"{100 * material.with_unknown:.0f} % of people's replies hold a word that no model can write (<unk>)"
    spelt = "the study's vocabulary" if material.own_vocabulary else "the words of the training split"
    yield f"Both sides are spelt by {spelt} and cut at its longest reply; {unknown}."
    for each in found.found:
        yield from _sentences(each)
    searches = [each for each in found.found if each.who.decoding.startswith(SEARCHES)]
    if searches:
        yield "A search writes the same safe replies again and again, so its replies are the easiest to tell."
    if any(each.null_a is None for each in found.found if each not in searches):
        yield "Null A needs a second draw of each context: sample with --draws 2."
    if any(each.who.checkpoint == "untrained" for each in found.found):
        yield "Of an untrained model an accuracy near 1 is what is to be expected."


def _sentences(one: Detected) -> Iterator[str]:
    name = _named(one)
    if one.accuracy.low <= 0.5:
        yield f"{name}: not told from people ({with_interval(one.accuracy)} of replies are told right)."
    elif one.beyond.low <= 0:
        yield (
            f"{name}: told from people in {with_interval(one.accuracy)} of replies, but not shown to be told better "
            f"than by {_title(one.best)} ({short(_of(one, one.best).value)})."
        )
    else:
        yield (
            f"{name}: told from people in {with_interval(one.accuracy)} of replies; {short(one.beyond.value)} "
            f"({short(one.beyond.low)} to {short(one.beyond.high)}) of that lies beyond {_title(one.best)}."
        )
    if one.without_unknown and abs(one.without_unknown.value - one.accuracy.value) > 0.03:
        yield f"  Where people wrote no unknown word: {with_interval(one.without_unknown)}."
    for null, what in ((one.null_a, "null A (two draws of this model)"), (one.null_b, "null B (labels drawn by lot)")):
        if null and not null.low <= 0.5 <= null.high:
            yield f"  Caution: {what} is {with_interval(null)} where .50 is the truth; about one null in twenty is."


def _named(one: Detected) -> str:
    """`seq2seq-0, greedy`; the checkpoint where it is not the last."""
    of = "" if one.who.checkpoint == "last" else f", {one.who.checkpoint}"
    return f"{one.who.name}, {one.who.decoding}{of}"


def _title(simple: str) -> str:
    return {"length": "length alone", "bag": "a bag of words"}[simple]


def _of(one: Detected, simple: str) -> Measured:
    return one.length if simple == "length" else one.bag


def artefact_lines(one: Detected, most: int = 8) -> str:
    """The heaviest words of the bag, a model's first."""
    model = [found.words for found in one.artefacts if found.weight < 0][:most]
    human = [found.words for found in one.artefacts if found.weight > 0][:most]
    return (
        f"{_named(one)}: the model's marks: {', '.join(map(_quoted, model)) or 'none'}; "
        f"people's: {', '.join(map(_quoted, human)) or 'none'}."
    )


def _quoted(text: str) -> str:
    return f'"{text}"'


def ranking_lines(one: Detected, found: Detection) -> Iterator[str]:
    """The rankings of replies of one length."""
    if one.ranked is None:
        yield (
            f"{_named(one)}: no context of the test has enough draws of one length. Sample many: "
            "python -m generation sample STUDY --decoding temperature:1 --draws 100"
        )
        return
    ranked = one.ranked
    yield (
        f"{_named(one)}: correlation {ranked.rho.value:+z.2f} ({ranked.rho.low:+z.2f} to "
        f"{ranked.rho.high:+z.2f}) of the discriminator's and the model's own ranking of replies of one length, over "
        f"{ranked.groups} sets of replies to {ranked.contexts} contexts ({ranked.draws:,} draws)."
    )
    for top in ranked.examples:
        yield f"  {top.item}, replies of {top.length} words"
        yield "    the discriminator's first:  " + "  |  ".join(map(found.material.spelt, top.by_discriminator))
        yield "    the model's likeliest:      " + "  |  ".join(map(found.material.spelt, top.by_logprob))


def detection_document(found: Detection) -> dict[str, Any]:
    """Everything, as adversarial.json and --json hold it."""
    return {
        "signature": found.signature,
        "dialogues": found.found[0].dialogues,
        "with_unknown": found.material.with_unknown,
        "notes": [line.strip() for line in detection_notes(found)],
        "generators": [_document(one, found) for one in found.found],
    }


def _document(one: Detected, found: Detection) -> dict[str, Any]:
    who = {"model": one.who.model, "seed": one.who.seed, "checkpoint": one.who.checkpoint}
    numbers = {
        name: asdict(value) if (value := getattr(one, name)) else None
        for name in ("accuracy", "length", "bag", "null_a", "null_b", "without_unknown", "beyond", "beyond_length",
                     "fooled", "human_taken", "shared")
    }  # fmt: skip
    return {
        **who, "decoding": one.who.decoding, "replies": one.replies, "by": one.rater, **numbers, "best": one.best,
        "average_precision": asdict(one.precision_recall.area), "auc": asdict(one.roc.area), "brier": one.brier,
        "calibration": list(one.calibration), "precision_recall": _curve(one.precision_recall),
        "roc": _curve(one.roc), "artefacts": [asdict(artefact) for artefact in one.artefacts],
        "epochs": {rater: list(each) for rater, each in one.epochs.items()},
        "same_length": one.ranked and _ranking(one.ranked, found),
    }  # fmt: skip


def _curve(one: DetectionCurve) -> dict[str, list[float]]:
    return {name: [round(float(value), 6) for value in getattr(one, name)] for name in ("x", "y", "low", "high")}


def _ranking(one: SameLength, found: Detection) -> dict[str, Any]:
    def spelt(replies: Sequence[tuple[int, ...]]) -> list[str]:
        return [found.material.spelt(reply) for reply in replies]

    return {
        "rho": asdict(one.rho), "contexts": one.contexts, "sets": one.groups, "draws": one.draws,
        "examples": [
            {"item": top.item, "length": top.length, "by_discriminator": spelt(top.by_discriminator),
             "by_logprob": spelt(top.by_logprob)}
            for top in one.examples
        ],
    }  # fmt: skip
