"""Can a machine tell the models from people: what `evaluators discriminate` measured, in numbers and sentences."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seedvote.analysis.showing.page import Axis, Mark, Picture, Reported, Row, RowFigure, Section
from seedvote.analysis.showing.tables import Table, in_short
from seedvote.analysis.showing.words import MINUS, percent
from seedvote.analysis.stats.net_preference import net_interval
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.study import ReportRequest, Study
from seedvote.analysis.votes.systems import key_of, system_names
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest, read_json
from seedvote.dialogue.validity import from_json

WHAT = (
    "{reader} says whether a person or the model wrote it. The number to look at is its accuracy beyond {simple}. "
    "Both nulls should hold .50."
)
READER = {
    "lstm": "A discriminator reads a context and a reply and",
    "bag": "A discriminator sees which words and pairs of words a reply holds and",
}
BEYOND = {"lstm": "length and a bag of words", "bag": "length"}  # what the simple rules of each are
SAME_LENGTH = (
    "Replies of one length to one context, ranked by the discriminator and by the model's own log-probability: the "
    "mean Spearman correlation of both rankings"
)
FIRST = "Replies of one length that the discriminator, and the model itself, put first"
TOP = 3  # replies
WORDS = 8  # of each side
SIMPLE = {"length": "length", "bag": "bag of words"}

PEOPLE = "reference"  # the system of what people said
WHO_WROTE = "people"  # how the contrast of a pair ends of which raters say who wrote what
ASKED = "Can people tell the models from people?"
FILE = "adversarial.json"
PICTURE = "discriminator.png"
AGAIN = "Run it again: python -m evaluators discriminate"


@dataclass(frozen=True, slots=True)
class Estimate:
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
class TopReplies:
    """Replies of one length to one context that each ranking puts first."""

    item: str
    length: int
    by_discriminator: Sequence[str]
    by_logprob: Sequence[str]


@dataclass(frozen=True, slots=True)
class SameLengthRanking:
    """The correlation of two rankings of replies of one length."""

    rho: Estimate
    contexts: int
    sets: int
    draws: int
    examples: Sequence[TopReplies]


@dataclass(frozen=True, slots=True)
class DiscriminatedModel:
    """One model with one decoding: how well its replies are told from people's, and what stands beside that."""

    model: str
    seed: int | None
    checkpoint: str
    decoding: str
    replies: int
    by: str
    accuracy: Estimate
    length: Estimate
    bag: Estimate
    null_a: Estimate | None
    null_b: Estimate
    best: str
    beyond: Estimate
    fooled: Estimate
    shared: Estimate | None
    average_precision: Estimate
    auc: Estimate
    artefacts: Sequence[TellingWord]
    same_length: SameLengthRanking | None

    @property
    def simple(self) -> Estimate:
        """The accuracy of the best simple rule."""
        return self.length if self.best == "length" else self.bag

    @property
    def name(self) -> str:
        """`seq2seq-0, greedy`; the checkpoint where it is not the last."""
        model = self.model if self.seed is None else f"{self.model}-{self.seed}"
        return f"{model}, {self.decoding}" + ("" if self.checkpoint == "last" else f", {self.checkpoint}")


@dataclass(frozen=True, slots=True)
class DiscriminatorsAnswer:
    """All models, with the sentences that belong to the numbers."""

    document: Mapping[str, Any]  # as the command's --json prints it
    dialogues: int
    models: Sequence[DiscriminatedModel]
    notes: Sequence[str]
    stale: bool  # responses.jsonl is another one by now
    picture: Path | None


@dataclass(frozen=True, slots=True)
class ToldByPeople:
    """People who were asked which of two replies a person had written, for one model."""

    system: str
    votes: int
    right: Estimate  # share of votes for the person's reply; where nobody can tell, half
    unsure: float  # share of votes that say so


def in_report(request: ReportRequest) -> Reported:
    """What `evaluators discriminate` left in the study folder, next to people who were asked the same; or neither."""
    answer, people = answer_study(request.study.folder), ask_people(request.study, request.clusters)
    document = dict(answer.document) if answer else {}
    if people:
        document["people"] = [asdict(row) for row in people]
    return Reported(section(answer, people), document or None, answer)


def ask_people(study: Study, clusters: str = "auto") -> list[ToldByPeople]:
    """How often people tell a person's reply from a model's, where real pairs hold both, by model."""
    if study.votes is None:
        return []
    votes, pairs = study.votes, {pair.pair: pair for pair in study.pairs}
    names = system_names(study.pairs)
    turns, systems = [], []
    for name in votes.pairs:
        pair = pairs.get(name)
        if pair is None or pair.kind != "real" or not pair.contrast.endswith(WHO_WROTE):
            turns.append(0.0)
            systems.append("")
            continue
        is_first = pair.a.model == PEOPLE
        turns.append(1.0 if is_first else -1.0)
        systems.append(names[key_of(pair.b if is_first else pair.a)])
    rows = []
    for system in sorted({name for name in systems if name}):
        part = votes.select(np.array([name == system for name in systems])[votes.pair])
        if len(part) < 2:
            continue
        ways = clusters_of(part, clusters, part=True)
        net = net_interval(net_scores(part.choice) * np.array(turns)[part.pair], by=ways)
        right = Estimate(*((1 + end) / 2 for end in (net.value, net.low, net.high)))
        rows.append(ToldByPeople(system, len(part), right, float(part.tie.mean())))
    return rows


def answer_study(folder: Path) -> DiscriminatorsAnswer | None:
    """What the command left in a study folder; None where it was not run."""
    path = folder / FILE
    if not path.is_file():
        return None
    document = read_json(path)
    models = document.get("generators") if isinstance(document, dict) else None
    if not isinstance(models, list) or not models or not isinstance(document.get("notes"), list):
        raise InputError(f"{path} is not what this version writes. {AGAIN} {folder}")
    rows = [from_json(DiscriminatedModel, row, f"{path}: generators[{n}]") for n, row in enumerate(models)]
    picture = folder / PICTURE
    return DiscriminatorsAnswer(
        document,
        document["dialogues"],
        rows,
        document["notes"],
        _is_stale(folder, document.get("signature", "")),
        picture if picture.is_file() else None,
    )


def _is_stale(folder: Path, recipe: str) -> bool:
    """Whether the responses have changed since."""
    path = folder / "responses.jsonl"
    known = dict(part.partition(":")[::2] for part in recipe.split("|")).get("responses", "")
    return path.is_file() and not digest(path).startswith(known)


def section(answer: DiscriminatorsAnswer | None, people: Sequence[ToldByPeople] = ()) -> Section | None:
    """Every model's accuracy next to its nulls, the simple rules and people, and what the words give away."""
    if answer is None and people:
        told = tuple(describe_people(row) for row in people)
        return Section("discriminators", ASKED, ("People were asked which of two replies a person had written.",),
                       items=told, tables=(_people_table(people, ()),))  # fmt: skip
    if answer is None:
        return None
    by = answer.models[0].by
    stale = (f"responses.jsonl has changed since these replies were judged. {AGAIN}",) if answer.stale else ()
    return Section(
        "discriminators",
        "Can a machine tell the models from people?",
        (WHAT.format(reader=READER[by], simple=BEYOND[by]),),
        row_figures(answer.models),
        items=tuple(describe_people(row) for row in people),
        tables=(
            *((_people_table(people, answer.models),) if people else ()),
            *_shorten_table(_accuracy_table(answer.models)),
            *_shorten_table(_fooled_table(answer.models)),
            *_same_length_tables(answer.models),
            *_shorten_table(_words_table(answer.models)),
        ),
        notes=(*stale, *answer.notes),
        pictures=_draw_pictures(answer),
    )


def describe_people(row: ToldByPeople) -> str:
    """How often people are right on one model."""
    share, low, high = (percent(end, 0) for end in (row.right.value, row.right.low, row.right.high))
    tell = "tell" if row.right.low > 0.5 else "are not shown to tell"
    return f"People {tell} {row.system} from a person: {share} of {row.votes:,} votes are right ({low} to {high})."


def _people_table(people: Sequence[ToldByPeople], models: Sequence[DiscriminatedModel]) -> Table:
    """People next to the discriminator of the same model; a vote that cannot tell is half right, like a guess."""
    machines = {(model.model if model.seed is None else f"{model.model}-{model.seed}"): model for model in models}
    rows = tuple(
        (
            row.system,
            f"{row.votes:,}",
            interval_text(row.right),
            share_text(row.unsure),
            interval_text(machines[row.system].accuracy) if row.system in machines else "-",
        )
        for row in people
    )
    head = ("model", "votes", "people right", "cannot tell", "discriminator right")
    return Table(head, rows, "Which of the two was written by a person? People and discriminators, with 95 % intervals")


def _shorten_table(table: Table) -> tuple[Table, ...]:
    return in_short(table, "lines", "named first")


def findings(answer: DiscriminatorsAnswer | None) -> list[str]:
    """One sentence on the model that a classifier recognises most often, and one on all of them."""
    if answer is None:
        return []
    simple, models = BEYOND[answer.models[0].by], answer.models
    recognised = [model for model in models if model.accuracy.low > 0.5]
    beyond = [model for model in recognised if model.beyond.low > 0]
    best = max(models, key=lambda model: model.accuracy.value)
    share, low, high = (percent(end, 0) for end in (best.accuracy.value, best.accuracy.low, best.accuracy.high))
    if not recognised and (simple_rules := [model for model in models if model.simple.low > 0.5]):
        best = max(simple_rules, key=lambda model: model.simple.value)
        rule = {"length": "Reply length alone", "bag": "A bag of words"}[best.best]
        share, low, high = (percent(end, 0) for end in (best.simple.value, best.simple.low, best.simple.high))
        return [
            f"{rule} tells {best.name} from people in {share} of replies ({low} to {high}); the discriminator does not."
        ]
    if not recognised:
        text = f"No model is shown to be recognised by a classifier: at most in {share} of replies ({low} to {high})."
        return [text]
    comparison = f"better than {simple} alone" if best in beyond else f"no better than {simple} alone"
    text = f"A classifier tells {best.name} from people in {share} of replies ({low} to {high}), {comparison}."
    if len(models) > 1:
        counts = f"{len(recognised)} of {len(models)} models, {len(beyond) or 'none'}"
        text += f" It recognises {counts} better than {simple}."
    return [text]


def share_text(value: float) -> str:
    """A share as .67; 1.00 at the end."""
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def interval_text(estimate: Estimate | None) -> str:
    """A share with its interval; a dash where there is none."""
    if estimate is None:
        return "-"
    value, low, high = map(share_text, (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _signed_share(value: float) -> str:
    sign = MINUS if round(value, 2) < 0 else "+" if round(value, 2) > 0 else ""
    return sign + share_text(abs(value))


def _difference_text(estimate: Estimate) -> str:
    return f"{_signed_share(estimate.value)} ({_signed_share(estimate.low)} to {_signed_share(estimate.high)})"


def row_figures(models: Sequence[DiscriminatedModel]) -> tuple[RowFigure, ...]:
    """Every model's accuracy beside chance and the simple rules, and what it adds to these rules."""
    ends = [0.5]
    for model in models:
        ends += [model.accuracy.low, model.accuracy.high, model.length.value, model.bag.value]
    axis = Axis(min(ends) - 0.02, max(ends) + 0.02)
    words = models[0].by != "bag"
    simple = (("tick", "grey", "by length alone"), *((("ring", "ink", "by a bag of words"),) if words else ()))
    rows = tuple(
        Row(
            model.name,
            interval_text(model.accuracy),
            (
                Mark("tick", axis.at(model.length.value), 0, -1, "grey"),
                *((Mark("ring", axis.at(model.bag.value), 0, 0, "ink"),) if words else ()),
                *axis.interval(*_list_ends(model.accuracy), "c0"),
            ),
            described=f"accuracy {interval_text(model.accuracy)}, by length {share_text(model.length.value)}, by a bag "
            f"of words {share_text(model.bag.value)}",
        )
        for model in models
    )
    beyond = [end for model in models for end in (model.beyond.low, model.beyond.high, 0.0)]
    beyond_axis = Axis(min(beyond) - 0.02, max(beyond) + 0.02)
    over = tuple(
        Row(
            model.name,
            _difference_text(model.beyond),
            beyond_axis.interval(*_list_ends(model.beyond), "c0"),
            described=f"{_difference_text(model.beyond)} beyond {SIMPLE[model.best]}",
        )
        for model in models
    )
    return (
        RowFigure(
            "Accuracy of the discriminator on people's and the model's replies",
            rows,
            axis.round_ticks(),
            "share of replies",
            ((axis.at(0.5), "chance"),),
            (("dot", "c0", "by the discriminator, with its 95 % interval"), *simple),
            "95 % interval",
            name="discriminator",
        ),
        RowFigure(
            f"Accuracy beyond {BEYOND[models[0].by]}",
            over,
            beyond_axis.round_ticks(),
            "share of replies",
            ((beyond_axis.at(0), "nothing more"),),
            note_head="95 % interval",
            name="discriminator-beyond",
        ),
    )


def _list_ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.low, estimate.value, estimate.high


def _accuracy_table(models: Sequence[DiscriminatedModel]) -> Table:
    head = ("model", "replies", "accuracy", "length", "bag of words", "null A", "null B", "beyond the best")
    rows = tuple(
        (
            model.name,
            f"{model.replies:,}",
            interval_text(model.accuracy),
            interval_text(model.length),
            interval_text(model.bag),
            interval_text(model.null_a),
            interval_text(model.null_b),
            _difference_text(model.beyond),
        )
        for model in models
    )
    caption = "Accuracy of discriminators, with 95 % intervals over dialogues and discriminators' seeds"
    return Table(head, rows, caption)


def _fooled_table(models: Sequence[DiscriminatedModel]) -> Table:
    head = ("model", "fooled", "fooled, one for all models", "area under ROC", "average precision")
    rows = tuple(
        (model.name, *map(interval_text, (model.fooled, model.shared, model.auc, model.average_precision)))
        for model in models
    )
    return Table(head, rows, "Share of a model's replies that discriminators take for people's, and areas under curves")


def _words_table(models: Sequence[DiscriminatedModel]) -> Table:
    def listed(model: DiscriminatedModel, sign: int) -> str:
        words = [f"“{mark.words}”" for mark in model.artefacts if mark.weight * sign > 0]
        return ", ".join(words[:WORDS]) or "-"

    rows = tuple((model.name, listed(model, -1), listed(model, 1)) for model in models)
    return Table(
        ("model", "in the model's replies", "in people's"), rows, "The words that tell most, heaviest first", True
    )


def _same_length_tables(models: Sequence[DiscriminatedModel]) -> tuple[Table, ...]:
    rows = tuple(
        (model.name, _difference_text(ranking.rho), f"{ranking.contexts:,}", f"{ranking.sets:,}", f"{ranking.draws:,}")
        for model in models
        if (ranking := model.same_length) is not None
    )
    first = tuple(
        (model.name, top.item, top.length, " | ".join(top.by_discriminator[:TOP]), " | ".join(top.by_logprob[:TOP]))
        for model in models
        if model.same_length
        for top in model.same_length.examples
    )
    if not rows:
        return ()
    return (
        Table(("model", "correlation", "contexts", "sets", "draws"), rows, SAME_LENGTH),
        Table(
            ("model", "context", "words", "the discriminator's first", "the model's likeliest"),
            first,
            FIRST,
            True,
            True,
        ),
    )


def _draw_pictures(answer: DiscriminatorsAnswer) -> tuple[Picture, ...]:
    if answer.picture is None:
        return ()
    source = "data:image/png;base64," + base64.b64encode(answer.picture.read_bytes()).decode()
    return (
        Picture(
            source,
            "For each model: every reply's score against its length, precision against recall, and the "
            "ROC curve. The numbers stand in the table on discriminators.",
            "Every reply's score against its length; precision and recall; ROC. Bands: 95 %",
        ),
    )
