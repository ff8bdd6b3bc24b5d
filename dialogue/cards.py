"""What an evaluator says of itself: the card of a score table.

A score file names itself in its Parquet metadata: `format` is `scores`, and `cards` is JSON, evaluator -> card. A card
tells how the scores of each task are to be read: title, unit, direction, chance, and how single scores make one number.
Files written before there were cards have none: `BUILT_IN` stands in for what they may hold.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.validity import from_json

SCORES = "scores"  # the format that a score file names in its metadata
ANY = "*"  # in a card, the task that stands for all which it does not name
PER_SLOT = "slot:"  # how the name of a task begins that is asked for one slot: `slot:hotel-area`
BY = ":"  # in a task's name, between the task and the domain that it is asked for: `jga:hotel`
LATE = 10  # the order of a card that states none: after people (0), token metrics (1) and probes (2)
ASIDE = ("baseline", "control")  # evaluators whose rows go with another one's
PEOPLE = ("people", "votes")  # what people say is read from votes.jsonl
LONGEST = 60  # signs of a title: it stands in every row of a table

LOWER = {  # words of names of scores that are better when they are lower
    *("error", "errors", "loss", "wer", "cer", "ter", "mer", "hter", "eer", "perplexity", "ppl", "nll", "mse", "rmse"),
    *("mae", "mape", "brier", "ece", "fid", "latency", "mistakes", "hallucinations", "violations", "fehler", "erreurs"),
}
TURNS_LOWER = {  # beside them: the score counts what is right, or was turned round
    *("neg", "negative", "inverse", "inv", "minus", "without", "no", "free", "reduction", "reduced", "correction"),
    *("corrected", "detection", "detected", "f1", "accuracy", "acc", "precision", "recall", "1", "win", "wins", "won"),
}

Unit = Literal["points", "share", "nats", "none"]
Better = Literal["higher", "lower", "neither"]
Level = Literal["turn", "dialogue", "question"]
Aggregate = Literal["mean", "micro_f1", "bleu", "combined", "ratio"]
Raters = Literal["apart", "drawn"]
COUNTS: dict[Aggregate, tuple[str, ...]] = {  # what `stats` must hold, so that the corpus number can be computed
    "mean": (),
    "micro_f1": ("tp", "fp", "fn"),
    "ratio": ("numerator", "denominator"),
    "bleu": ("match1", "total1", "length", "reference"),
    "combined": ("inform", "success", "match1", "total1", "length", "reference"),
}


def is_lower_better(name: str) -> bool:
    """Whether the name of a score says that lower is better; only names that leave no doubt do.

    >>> [is_lower_better(name) for name in ("WER", "val_loss", "errorRate", "neg_log_loss", "error_detection_f1")]
    [True, True, True, False, False]
    """
    words = {*re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())}
    return bool(words & LOWER) and not words & TURNS_LOWER


def _field(doc: str, **more: Any) -> Any:
    return field(metadata={"doc": doc}, **more)


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One task or metric of an evaluator."""

    title: str = _field("name as people read it within a sentence; empty: the task's own name", default="")
    unit: Unit = _field(
        "unit of the scores as they stand in the file; `none` for a bare number such as perplexity", default="none"
    )
    scale: float = _field(
        "number that a score is multiplied by before it is shown (a share by 100 gives points)", default=1.0
    )
    better: Better = _field("which scores are better; `neither` where none are, or nobody says", default="neither")
    chance: float | None = _field("score that guessing gets, before scaling; null where there is none", default=None)
    level: Level = _field("what one row is about: a context (turn), a whole dialogue, or a question", default="turn")
    aggregate: Aggregate = _field(
        "how single scores make one number: their mean, or from summed `stats`", default="mean"
    )
    main: bool = _field("models are compared by it; false keeps it in the file only", default=True)


@dataclass(frozen=True, slots=True)
class Card:
    """One evaluator."""

    title: str = _field("name as people read it within a sentence")
    order: int = _field("place among evaluators, the lowest first; people are 0", default=LATE)
    tasks: Mapping[str, TaskCard] = _field(
        "task -> its card; `*` stands for every task not named", default_factory=dict
    )
    baselines: Sequence[str] = _field("names in `model` that are baselines and not compared", default=())
    raters: Raters = _field(
        "`apart`: each name in `rater` (a classifier, a rule) has a line of its own; `drawn`: they are some of many "
        "(seeds of a discriminator), so models are compared by the mean over them",
        default="apart",
    )

    def task(self, name: str) -> TaskCard | None:
        """The card of a task, under its own name where it has no title; None for a task that the card leaves out."""
        card = self.tasks.get(name, self.tasks.get(ANY))
        return card and dataclasses.replace(card, title=card.title or name)


def card_from(value: Any, where: str) -> Card:
    """A card from parsed JSON; every complaint names the place and what is legal."""
    if not isinstance(value, Mapping):
        raise InputError(f'{where} is {value!r}, which is no card; write e.g. {{"title": "BERTScore", "tasks": {{}}}}.')
    _refuse_unknown(value, Card, where)
    for name, task in (value.get("tasks") or {}).items() if isinstance(value.get("tasks"), Mapping) else ():
        if isinstance(task, Mapping):
            _refuse_unknown(task, TaskCard, f"{where}: tasks.{name}")
    card = from_json(Card, value, where)
    if not card.title.strip():
        raise InputError(f"{where}: title is empty; a card needs the name that tables and figures show.")
    if card.title.casefold().strip() in PEOPLE:
        raise InputError(f"{where}: title is {card.title!r}, the name of what people say; no evaluator bears it.")
    check_title(card.title, f"{where}: title")
    for name, task in card.tasks.items():
        check_title(task.title or name, f"{where}: tasks.{name}: title")
        _refuse_no_numbers(task, f"{where}: tasks.{name}")
    return card


def check_title(title: str, what: str) -> None:
    """Refuse what would break a row of a table: too many signs, or one that moves the cursor."""
    if strange := next((sign for sign in title if not sign.isprintable()), ""):
        raise InputError(f"{what} has the sign {strange!r}, which no table can show; write it on one line, without.")
    if len(title) > LONGEST:
        raise InputError(
            f"{what} has {len(title)} signs ({title[:20]}...); it stands in every row of a table, so {LONGEST} are the "
            "most."
        )


def _refuse_unknown(value: Mapping[str, Any], kind: type, where: str) -> None:
    names = [field.name for field in dataclasses.fields(kind)]
    if unknown := [name for name in value if name not in names]:
        raise InputError(f"{where}: {unknown[0]!r} is no key of a card; legal are {', '.join(names)}.")


def _refuse_no_numbers(task: TaskCard, where: str) -> None:
    if not (math.isfinite(task.scale) and task.scale > 0):
        raise InputError(f"{where}: scale is {task.scale:g}; it must be a number above 0, e.g. 100 for shares.")
    if task.chance is not None and not math.isfinite(task.chance):
        raise InputError(f"{where}: chance is {task.chance:g}; write a number, or null where there is no chance.")
    if task.unit == "share" and task.chance is not None and not 0 <= task.chance <= 1:
        raise InputError(
            f"{where}: chance is {task.chance:g}, and the unit is share: chance is a share too, from 0 to 1, before "
            f"scaling{f' (e.g. {task.chance / 100:g})' if 1 < task.chance <= 100 else ''}."
        )


def cards_from(text: str, where: str) -> dict[str, Card]:
    """Evaluator -> card from the metadata of a file."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: the cards are not JSON ({error.msg}). Write the file again.") from None
    if not isinstance(document, dict):
        raise InputError(f"{where}: the cards are {text[:40]!r}; an object of evaluator and card is expected.")
    return {name: card_from(value, f"{where}: card of {name}") for name, value in document.items()}


def as_text(cards: Mapping[str, Card]) -> str:
    """The cards as the metadata of a file holds them."""
    return json.dumps({name: dataclasses.asdict(card) for name, card in cards.items()}, ensure_ascii=False)


def metadata(signature: str, cards: Mapping[str, Card]) -> dict[str, str]:
    """What a score file says of itself."""
    return {"format": SCORES, "signature": signature, "cards": as_text(cards)}


def join_cards(card_sets: Iterable[tuple[str, Mapping[str, Card]]]) -> dict[str, Card]:
    """The cards of several places; refused where two places say different things of one evaluator."""
    cards_by_name: dict[str, Card] = {}
    places: dict[str, str] = {}
    for place, cards in card_sets:
        for name, card in cards.items():
            if name in cards_by_name and cards_by_name[name] != card:
                raise InputError(
                    f"{places[name]} and {place} bring different cards for {name!r}: "
                    f"{_first_difference(cards_by_name[name], card)}. "
                    "Give both the same card, or name one of the evaluators otherwise."
                )
            cards_by_name[name] = card
            places.setdefault(name, place)
    _refuse_shared_titles({**BUILT_IN, **cards_by_name})
    return cards_by_name


def _refuse_shared_titles(cards: Mapping[str, Card]) -> None:
    """Refuse two evaluators of one title: nobody could tell their rows apart."""
    first: dict[str, str] = {}
    for name, card in cards.items():
        namesake = first.setdefault(" ".join(card.title.casefold().split()), name)
        if namesake != name:
            raise InputError(f"{namesake!r} and {name!r} both have the title {card.title!r}. Give one of them another.")


def _first_difference(first: Card, second: Card) -> str:
    """The first thing in which two cards differ."""
    for name in ("title", "order", "baselines", "raters"):
        if getattr(first, name) != getattr(second, name):
            return f"{name} is {getattr(first, name)!r} and {getattr(second, name)!r}"
    if extra_tasks := set(first.tasks) ^ set(second.tasks):
        return f"only one has the task {min(extra_tasks)!r}"
    for task, task_card in first.tasks.items():
        for part in dataclasses.fields(TaskCard):
            ours, theirs = getattr(task_card, part.name), getattr(second.tasks[task], part.name)
            if ours != theirs:
                return f"{part.name} of {task} is {ours!r} and {theirs!r}"
    return "the order of their tasks"


def legal(name: str) -> tuple[str, ...]:
    """The words that a key of a task's card may have.

    >>> legal("better")
    ('higher', 'lower', 'neither')
    """
    return get_args({"unit": Unit, "better": Better, "level": Level, "aggregate": Aggregate, "raters": Raters}[name])


_ASIDE = TaskCard(unit="points", main=False)
TOKEN = Card(
    "token metrics",
    1,
    {
        "bleu2": TaskCard("BLEU-2", "points", better="higher"),
        "embedding": TaskCard("embedding similarity", "points", better="higher"),
        "meteor": TaskCard("METEOR", "points", better="higher"),
        "rouge_l": TaskCard("ROUGE-L", "points", better="higher"),
        "perplexity": TaskCard("perplexity", better="lower", main=False),
        ANY: _ASIDE,
    },
    ("most_frequent",),
)
_BAGS = ("bag_of_words", "bag_of_last_turn", "bag_of_two_turns", "bag_of_window")
_FORMS = ("", "_position", "_narrow")
PROBE = Card(
    "probe tasks",
    2,
    {ANY: TaskCard(unit="share", scale=100.0, better="higher", aggregate="micro_f1")},
    ("constant", "majority", "turn_index", "context_length", *(bag + form for bag in _BAGS for form in _FORMS)),
)
BUILT_IN: Mapping[str, Card] = {"token": TOKEN, "probe": PROBE}
