"""Scores held against each other: of both responses of a pair, and of the same dialogues clean and told otherwise.

The first are differences a - b by pair, and missing ones are not made up. Their evaluators are those of the study's
score tables that score single responses, by a card that says which end is better (baselines, controls, further draws
and perturbed conditions apart), and two that the texts themselves have: length in words, and placeholders such as
[hotel_name].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.votes.scores.files import CONDITIONS, Scores, Unused, card_files, find_score_files, read_scores
from seedvote.analysis.votes.scores.panel import UNSEEN
from seedvote.analysis.votes.scores.values import Key, Value
from seedvote.analysis.votes.systems import key_of
from seedvote.dialogue.cards import ASIDE, BUILT_IN, BY, LATE, PEOPLE, PER_SLOT, Card, TaskCard, join_cards
from seedvote.dialogue.conditions import condition_parts
from seedvote.dialogue.records import Candidate, Pair

SLOT = re.compile(r"\[[a-z]+_[a-z_]+\]")
MARK = re.compile(r"^#{1,6} |\*\*[^*\n]+\*\*|`[^`\n]+`|^```", re.MULTILINE)  # headings, bold, code
LIST_ITEM = re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE)
LENGTH, PLACEHOLDERS = "length in words", "number of placeholders"
MARKDOWN, LISTS = "number of Markdown marks", "number of list items"
APART = ("teacher-forced", "constant")  # conditions under which nobody answered freely
Side = tuple[str, int | None, str, str]  # model, seed, checkpoint, item
NO_CARD = 99  # stands behind those that have one


@dataclass(frozen=True, eq=False)
class Differences:
    """One evaluator's difference a - b on every pair that it scored both sides of."""

    name: str
    by_pair: Mapping[str, float]


def side_differences(folder: Path, pairs: Mapping[str, Pair], *, style: bool = False) -> list[Differences]:
    """Every evaluator's, in the order of their cards, then length and placeholders; some may have scored no pair.

    With `style` the marks of Markdown and the items of lists come last, however few they are.
    """
    real = {name: pair for name, pair in pairs.items() if pair.kind == "real" and key_of(pair.a) != key_of(pair.b)}
    differences = [
        Differences(name, _difference_by_pair(values, real))
        for name, values in _read_scored_sides(folder, real.values())
    ]
    differences.append(Differences(LENGTH, {n: float(_count_words(p.a) - _count_words(p.b)) for n, p in real.items()}))
    for title, pattern in ((PLACEHOLDERS, SLOT), *(((MARKDOWN, MARK), (LISTS, LIST_ITEM)) if style else ())):
        counts = {n: float(len(pattern.findall(p.a.text)) - len(pattern.findall(p.b.text))) for n, p in real.items()}
        if any(counts.values()) or title != PLACEHOLDERS:
            differences.append(Differences(title, counts))
    return differences


def _count_words(side: Candidate) -> int:
    return len(side.text.split())


def _difference_by_pair(values: Mapping[Side, float], pairs: Mapping[str, Pair]) -> dict[str, float]:
    """a - b where both sides have a score."""
    differences = {}
    for name, pair in pairs.items():
        a, b = (values.get((*key_of(side), pair.item)) for side in (pair.a, pair.b))
        if a is not None and b is not None:
            differences[name] = a - b
    return differences


def _read_scored_sides(folder: Path, pairs: Collection[Pair]) -> list[tuple[str, dict[Side, float]]]:
    """Title and scores of every evaluator, a side's score being the mean over raters; higher is better in all."""
    cards = {**BUILT_IN, **join_cards(card_files(folder, but=""))}
    items = pa.array(sorted({pair.item for pair in pairs}), pa.string())
    sums: dict[tuple[int, str, str, str], dict[Side, list[float]]] = {}
    titles = {}
    for path in find_score_files(folder)[0]:
        if path.parent.parent.name == CONDITIONS or pq.read_metadata(path).num_rows == 0:
            continue
        table = read_scores([path])
        for row in table.filter(pc.is_in(table["item"].cast(pa.string()), items)).to_pylist():
            evaluator, task, condition = row["evaluator"], row["task"], row["condition"]
            about = _describe_score(evaluator, task, condition, cards)
            if about is None or row["score"] is None or not np.isfinite(row["score"]):
                continue
            order, title, sign = about
            place = order, evaluator, task, condition
            titles[place] = title
            side = row["model"], row["seed"], row["checkpoint"], row["item"]
            sums.setdefault(place, {}).setdefault(side, []).append(sign * row["score"])
    ways = Counter(place[:3] for place in sums)
    return [
        (
            titles[place] + (f", {place[3]}" if ways[place[:3]] > 1 else ""),
            {side: float(np.mean(some)) for side, some in sums[place].items()},
        )
        for place in sorted(sums)
    ]


def _describe_score(
    evaluator: str, task: str, condition: str, cards: Mapping[str, Card]
) -> tuple[int, str, int] | None:
    """Place, name and sign of what is of use here: a score of single responses; None for everything else."""
    if evaluator in (*ASIDE, *PEOPLE) or " draw " in condition or condition in APART:
        return None
    card = cards.get(evaluator)
    if card is None:
        return NO_CARD, f"{evaluator} {task}" if task != evaluator else evaluator, 1
    about = card.task(task)
    if about is None or about.level != "turn" or about.aggregate != "mean" or about.better == "neither":
        return None
    return card.order, about.title, -1 if about.better == "lower" else 1


def signed_ranks(values: Sequence[float]) -> np.ndarray:
    """Signed ranks between -1 and 1, so that no single large difference counts for many; zero stays zero.

    >>> signed_ranks([0.0, -5.0, 2.0, 100.0]).tolist()
    [0.0, -0.75, 0.5, 1.0]
    """
    from scipy.stats import rankdata

    array = np.asarray(values, dtype=float)
    return np.asarray(np.sign(array) * rankdata(np.abs(array)) / max(len(array), 1))


# By condition: the clean corpus, and the same dialogues told otherwise


Floats = NDArray[np.float64]
SHOWN_TOO = ("bleu",)  # tasks that are no main ones, but are held against those that are


@dataclass(frozen=True, slots=True)
class PairedScale:
    """One model's scores by one task, clean and under one condition, on the same seeds and dialogues."""

    evaluator: str
    task: TaskCard
    name: str  # the task's own name
    model: str
    kind: str
    dose: float
    seed: int  # of the perturbation
    seeds: tuple[int | None, ...]  # of training
    clean: Floats  # (seeds,), in the unit in which the task is shown
    value: Floats  # (seeds,)
    clean_parts: Floats  # (seeds, dialogues): what each dialogue adds to the error
    parts: Floats
    dialogues: tuple[str, ...]
    left_out: int = 0  # dialogues that were not answered on both sides, or in another number of turns


def paired_scales(scores: Scores, *, by: str = "") -> tuple[list[PairedScale], list[Unused]]:
    """Every task, model and condition that has a clean counterpart, and what has none and why.

    The main tasks, or by `domain` or `slot` those that are asked for each of them by itself.
    """
    scales: list[PairedScale] = []
    unpaired: dict[str, str] = {}
    for key in scores.values:
        if not scores.perturbed(key) or key.evaluator in ASIDE or key.checkpoint == UNSEEN:
            continue
        name, _, clean_condition = key.condition.partition(", ")
        parts = condition_parts(name)
        card = task_card(scores, key)
        clean = scores.values.get(key._replace(condition=clean_condition))
        if parts is None:
            unpaired[f"conditions/{name}"] = "its name is not KIND@DOSE-SEED"
        elif card is None or not _is_asked(key.task, card, by):
            continue
        elif clean is None:
            unpaired[f"{key.evaluator} {key.task} of {key.model} under {name}"] = "it has no scores on the clean corpus"
        elif scale := _pair_scales(key, card, parts, scores.values[key], clean):
            scales.append(scale)
        else:
            unpaired[f"{key.evaluator} {key.task} of {key.model} under {name}"] = (
                "no seed answers the same dialogues twice"
            )
    scales.sort(key=lambda scale: (*_card_place(scores, scale), scale.kind, scale.seed, scale.dose, scale.model))
    return scales, [Unused(what, why) for what, why in unpaired.items()]


def _is_asked(task: str, card: TaskCard, by: str) -> bool:
    if by == "slot":
        return task.startswith(PER_SLOT)
    if by == "domain":
        return BY in task and not task.startswith(PER_SLOT)
    return card.main or task in SHOWN_TOO


def _card_place(scores: Scores, scale: PairedScale) -> tuple[int, str, int, str]:
    """Evaluators in the order of their cards, tasks in that of the card."""
    card = scores.cards.get(scale.evaluator)
    tasks = list(card.tasks) if card else []
    place = tasks.index(scale.name) if scale.name in tasks else len(tasks)
    return card.order if card else LATE, scale.evaluator, place, scale.name


def task_card(scores: Scores, key: Key) -> TaskCard | None:
    """How the scores of a key are to be read; one without a card as they stand."""
    owner = scores.cards.get(key.evaluator)
    return owner.task(key.task) if owner else TaskCard(key.task)


def _pair_scales(
    key: Key,
    card: TaskCard,
    parts: tuple[str, float, int],
    perturbed: Mapping[int | None, Value],
    clean: Mapping[int | None, Value],
) -> PairedScale | None:
    """On the dialogues that every seed answers on both sides; a seed with less than half of them is left out."""
    shared = {seed: _shared_dialogues(clean[seed], perturbed[seed]) for seed in perturbed if seed in clean}
    most = max(map(len, shared.values()), default=0)
    enough = (seed for seed, names in shared.items() if names and 2 * len(names) >= most)
    seeds = sorted(enough, key=lambda seed: -1 if seed is None else seed)
    if not seeds:
        return None
    names = sorted(set.intersection(*(shared[seed] for seed in seeds)))
    if not names:
        return None
    every = set().union(*(side[seed].clusters for side in (clean, perturbed) for seed in seeds))
    is_complete = len(every) == len(names)
    befores, afters = (
        [side[seed] if is_complete else _only_dialogues(side[seed], names) for seed in seeds]
        for side in (clean, perturbed)
    )
    return PairedScale(
        key.evaluator,
        card,
        key.task,
        key.model,
        *parts,
        tuple(seeds),
        np.array([value.value for value in befores]) * card.scale,
        np.array([value.value for value in afters]) * card.scale,
        np.stack([aligned(value, names) for value in befores]) * card.scale,
        np.stack([aligned(value, names) for value in afters]) * card.scale,
        tuple(names),
        len(every) - len(names),
    )


def _shared_dialogues(first: Value, second: Value) -> set[str]:
    """The dialogues of which both sides scored the same number of examples."""
    if first.sums is None or second.sums is None:
        return set()
    return {name for name, rows in first.sums.rows.items() if second.sums.rows.get(name) == rows}


def _only_dialogues(value: Value, names: Sequence[str]) -> Value:
    return value if value.sums is None else value.sums.value(frozenset(names))


def aligned(value: Value, names: Sequence[str]) -> Floats:
    """What each of these dialogues adds to the error; nothing where it was not answered."""
    known = dict(zip(value.clusters, value.parts.tolist(), strict=True))
    return np.array([known.get(name, 0.0) for name in names])


def clean_values(scores: Scores, condition: str = "") -> Iterator[tuple[Key, TaskCard, int | None, Value]]:
    """Every model's value by every task on the clean corpus, or under one condition; no baselines."""
    for key, seeds in scores.values.items():
        card = task_card(scores, key)
        owner = scores.cards.get(key.evaluator)
        if key.evaluator in ASIDE or card is None or key.checkpoint == UNSEEN:
            continue
        if (owner and key.model in owner.baselines) or scores.perturbed(key) != bool(condition):
            continue
        if condition and key.condition.partition(", ")[0] != condition:
            continue
        for seed, value in seeds.items():
            yield key, card, seed, value
