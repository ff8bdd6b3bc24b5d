"""The report's section on discriminators: what `evaluators discriminate` found, in its numbers and sentences."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.showing.page import Axis, Mark, Picture, Row, RowFigure, Section, round_steps
from analysis.showing.tables import Table, in_short
from analysis.showing.words import MINUS, percent
from dialogue.errors import InputError
from dialogue.files import digest, from_json, read_json

WHAT = (
    "{reader} says whether a person or the model wrote it. The number to look at is its accuracy beyond {simple}. "
    "Both nulls should hold .50."
)
READER = {
    "lstm": "A discriminator reads a context and a reply and",
    "bag": "A discriminator sees which words and pairs of words a reply holds and",
}
BEYOND = {"lstm": "length and a bag of words", "bag": "length"}  # what the simple rules of each are
ALIKE = (
    "Replies of one length to one context, ranked by the discriminator and by the model's own log-probability: the "
    "mean Spearman correlation of both rankings"
)
FIRST = "Replies of one length that the discriminator, and the model itself, put first"
TOP = 3  # replies
WORDS = 8  # of each side
SIMPLE = {"length": "length", "bag": "bag of words"}

FILE = "adversarial.json"
PICTURE = "discriminator.png"
AGAIN = "Run it again: python -m evaluators discriminate"


def discriminators_section(found: Discriminated | None) -> Section | None:
    """Every model's accuracy beside its nulls and the simple rules, and what the words give away."""
    if found is None:
        return None
    by = found.models[0].by
    stale = (f"responses.jsonl has changed since these replies were judged. {AGAIN}",) if found.stale else ()
    return Section(
        "discriminators", "Can a machine tell the models from people?",
        (WHAT.format(reader=READER[by], simple=BEYOND[by]),), _figures(found.models),
        tables=(*_short(_accuracies(found.models)), *_short(_fooled(found.models)), *_alike(found.models),
                *_short(_words(found.models))),
        notes=(*stale, *found.notes), pictures=_pictures(found),
    )  # fmt: skip


def _short(table: Table) -> tuple[Table, ...]:
    return in_short(table, "lines", "named first")


def discriminators_finding(found: Discriminated | None) -> list[str]:
    """One sentence on the model that a classifier recognises most often, and one on all of them."""
    if found is None:
        return []
    simple, models = BEYOND[found.models[0].by], found.models
    shown = [one for one in models if one.accuracy.low > 0.5]
    beyond = [one for one in shown if one.beyond.low > 0]
    best = max(models, key=lambda one: one.accuracy.value)
    share, low, high = (percent(end, 0) for end in (best.accuracy.value, best.accuracy.low, best.accuracy.high))
    if not shown:
        text = f"No model is shown to be recognised by a classifier: at most in {share} of replies ({low} to {high})."
        return [text]
    more = f"better than {simple} alone" if best in beyond else f"no better than {simple} alone"
    text = f"A classifier tells {best.name} from people in {share} of replies ({low} to {high}), {more}."
    if len(models) > 1:
        text += f" It recognises {len(shown)} of {len(models)} models, {len(beyond) or 'none'} better than {simple}."
    return [text]


def told_share(value: float) -> str:
    """A share as .67; 1.00 at the end."""
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def told_interval(one: Told | None) -> str:
    """A share with its interval; a dash where there is none."""
    return "-" if one is None else f"{told_share(one.value)} ({told_share(one.low)} to {told_share(one.high)})"


def _more(value: float) -> str:
    sign = MINUS if round(value, 2) < 0 else "+" if round(value, 2) > 0 else ""
    return sign + told_share(abs(value))


def _difference(one: Told) -> str:
    return f"{_more(one.value)} ({_more(one.low)} to {_more(one.high)})"


def _figures(models: Sequence[ToldApart]) -> tuple[RowFigure, ...]:
    told = [
        end for one in models for end in (one.accuracy.low, one.accuracy.high, one.length.value, one.bag.value, 0.5)
    ]
    axis = Axis(min(told) - 0.02, max(told) + 0.02)
    words = models[0].by != "bag"
    simple = (("tick", "grey", "by length alone"), *((("ring", "ink", "by a bag of words"),) if words else ()))
    rows = tuple(
        Row(one.name, told_interval(one.accuracy), (
            Mark("tick", axis.at(one.length.value), 0, -1, "grey"),
            *((Mark("ring", axis.at(one.bag.value), 0, 0, "ink"),) if words else ()),
            *axis.interval(*_ends(one.accuracy), "c0"),
        ), described=f"accuracy {told_interval(one.accuracy)}, by length {told_share(one.length.value)}, by a bag "
                     f"of words {told_share(one.bag.value)}")
        for one in models
    )  # fmt: skip
    beyond = [end for one in models for end in (one.beyond.low, one.beyond.high, 0.0)]
    further = Axis(min(beyond) - 0.02, max(beyond) + 0.02)
    over = tuple(
        Row(
            one.name,
            _difference(one.beyond),
            further.interval(*_ends(one.beyond), "c0"),
            described=f"{_difference(one.beyond)} beyond {SIMPLE[one.best]}",
        )
        for one in models
    )
    return (
        RowFigure("Accuracy of the discriminator on people's and the model's replies", rows,
                  axis.ticks(round_steps(axis.low, axis.high)), "share of replies", ((axis.at(0.5), "chance"),),
                  (("dot", "c0", "by the discriminator, with its 95 % interval"), *simple), "95 % interval",
                  name="discriminator"),
        RowFigure(f"Accuracy beyond {BEYOND[models[0].by]}", over,
                  further.ticks(round_steps(further.low, further.high)), "share of replies",
                  ((further.at(0), "nothing more"),), note_head="95 % interval", name="discriminator-beyond"),
    )  # fmt: skip


def _ends(one: Told) -> tuple[float, float, float]:
    return one.low, one.value, one.high


def _accuracies(models: Sequence[ToldApart]) -> Table:
    head = ("model", "replies", "accuracy", "length", "bag of words", "null A", "null B", "beyond the best")
    rows = tuple(
        (one.name, f"{one.replies:,}", told_interval(one.accuracy), told_interval(one.length), told_interval(one.bag),
         told_interval(one.null_a), told_interval(one.null_b), _difference(one.beyond))
        for one in models
    )  # fmt: skip
    caption = "Accuracy of discriminators, with 95 % intervals over dialogues and discriminators' seeds"
    return Table(head, rows, caption)


def _fooled(models: Sequence[ToldApart]) -> Table:
    head = ("model", "fooled", "fooled, one for all models", "area under ROC", "average precision")
    rows = tuple(
        (one.name, *map(told_interval, (one.fooled, one.shared, one.auc, one.average_precision))) for one in models
    )
    return Table(head, rows, "Share of a model's replies that discriminators take for people's, and areas under curves")


def _words(models: Sequence[ToldApart]) -> Table:
    def listed(one: ToldApart, sign: int) -> str:
        words = [f"“{mark.words}”" for mark in one.artefacts if mark.weight * sign > 0]
        return ", ".join(words[:WORDS]) or "-"

    rows = tuple((one.name, listed(one, -1), listed(one, 1)) for one in models)
    return Table(
        ("model", "in the model's replies", "in people's"), rows, "The words that tell most, heaviest first", True
    )


def _alike(models: Sequence[ToldApart]) -> tuple[Table, ...]:
    rows = tuple(
        (one.name, _difference(found.rho), f"{found.contexts:,}", f"{found.sets:,}", f"{found.draws:,}")
        for one in models if (found := one.same_length) is not None
    )  # fmt: skip
    first = tuple(
        (one.name, top.item, top.length, " | ".join(top.by_discriminator[:TOP]), " | ".join(top.by_logprob[:TOP]))
        for one in models if one.same_length for top in one.same_length.examples
    )  # fmt: skip
    if not rows:
        return ()
    return (
        Table(("model", "correlation", "contexts", "sets", "draws"), rows, ALIKE),
        Table(
            ("model", "context", "words", "the discriminator's first", "the model's likeliest"),
            first,
            FIRST,
            True,
            True,
        ),
    )


def _pictures(found: Discriminated) -> tuple[Picture, ...]:
    if found.picture is None:
        return ()
    source = "data:image/png;base64," + base64.b64encode(found.picture.read_bytes()).decode()
    return (Picture(source, "For each model: every reply's score against its length, precision against recall, and the "
                    "ROC curve. The numbers stand in the table on discriminators.",
                    "Every reply's score against its length; precision and recall; ROC. Bands: 95 %"),)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TellingWord:
    """A word or a pair of words, and its weight in the log-odds that a person wrote a reply."""

    words: str
    weight: float


@dataclass(frozen=True, slots=True)
class TopOfEither:
    """Replies of one length to one context that each ranking puts first."""

    item: str
    length: int
    by_discriminator: Sequence[str]
    by_logprob: Sequence[str]


@dataclass(frozen=True, slots=True)
class RankedAlike:
    """The correlation of two rankings of replies of one length."""

    rho: Told
    contexts: int
    sets: int
    draws: int
    examples: Sequence[TopOfEither]


@dataclass(frozen=True, slots=True)
class ToldApart:
    """One model with one decoding: how well its replies are told from people's, and what stands beside that."""

    model: str
    seed: int | None
    checkpoint: str
    decoding: str
    replies: int
    by: str
    accuracy: Told
    length: Told
    bag: Told
    null_a: Told | None
    null_b: Told
    best: str
    beyond: Told
    fooled: Told
    shared: Told | None
    average_precision: Told
    auc: Told
    artefacts: Sequence[TellingWord]
    same_length: RankedAlike | None

    @property
    def name(self) -> str:
        """`seq2seq-0, greedy`; the checkpoint where it is not the last."""
        model = self.model if self.seed is None else f"{self.model}-{self.seed}"
        return f"{model}, {self.decoding}" + ("" if self.checkpoint == "last" else f", {self.checkpoint}")


@dataclass(frozen=True, slots=True)
class Discriminated:
    """All models, with the sentences that belong to the numbers."""

    document: Mapping[str, Any]  # as the command's --json prints it
    dialogues: int
    models: Sequence[ToldApart]
    notes: Sequence[str]
    stale: bool  # responses.jsonl is another one by now
    picture: Path | None


def read_discriminated(folder: Path) -> Discriminated | None:
    """What the command left in a study folder; None where it was not run."""
    path = folder / FILE
    if not path.is_file():
        return None
    document = read_json(path)
    found = document.get("generators") if isinstance(document, dict) else None
    if not isinstance(found, list) or not found or not isinstance(document.get("notes"), list):
        raise InputError(f"{path} is not what this version writes. {AGAIN} {folder}")
    models = [from_json(ToldApart, one, f"{path}: generators[{n}]") for n, one in enumerate(found)]
    picture = folder / PICTURE
    return Discriminated(
        document, document["dialogues"], models, document["notes"], _stale(folder, document.get("signature", "")),
        picture if picture.is_file() else None,
    )  # fmt: skip


def _stale(folder: Path, recipe: str) -> bool:
    """Whether the responses have changed since."""
    path = folder / "responses.jsonl"
    known = dict(part.partition(":")[::2] for part in recipe.split("|")).get("responses", "")
    return path.is_file() and not digest(path).startswith(known)
