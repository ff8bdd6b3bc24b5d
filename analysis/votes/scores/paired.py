"""What every evaluator scored on both sides of a pair: its differences a - b, by pair; missing ones are not made up.

Evaluators are those of the study's score tables that score single responses, by a card that says which end is better
(baselines, controls, further draws and perturbed conditions apart), and two that the texts themselves have: length in
words, and placeholders such as [hotel_name].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seedvote.analysis.votes.scores.files import CONDITIONS, card_files, find_score_files, read_scores
from seedvote.analysis.votes.systems import key_of
from seedvote.dialogue.cards import ASIDE, BUILT_IN, PEOPLE, Card, join_cards
from seedvote.dialogue.records import Candidate, Pair

SLOT = re.compile(r"\[[a-z]+_[a-z_]+\]")
APART = ("teacher-forced", "constant")  # conditions under which nobody answered freely
Side = tuple[str, int | None, str, str]  # model, seed, checkpoint, item
NO_CARD = 99  # stands behind those that have one


@dataclass(frozen=True, eq=False)
class Differences:
    """One evaluator's difference a - b on every pair that it scored both sides of."""

    name: str
    by_pair: Mapping[str, float]


def side_differences(folder: Path, pairs: Mapping[str, Pair]) -> list[Differences]:
    """Every evaluator's, in the order of their cards, then length and placeholders; some may have scored no pair."""
    real = {name: pair for name, pair in pairs.items() if pair.kind == "real" and key_of(pair.a) != key_of(pair.b)}
    differences = [Differences(name, _apart(values, real)) for name, values in _scored(folder, real.values())]
    differences.append(Differences("length in words", {n: float(_words(p.a) - _words(p.b)) for n, p in real.items()}))
    slots = {name: float(len(SLOT.findall(p.a.text)) - len(SLOT.findall(p.b.text))) for name, p in real.items()}
    if any(slots.values()):
        differences.append(Differences("number of placeholders", slots))
    return differences


def _words(side: Candidate) -> int:
    return len(side.text.split())


def _apart(values: Mapping[Side, float], pairs: Mapping[str, Pair]) -> dict[str, float]:
    """a - b where both sides have a score."""
    differences = {}
    for name, pair in pairs.items():
        a, b = (values.get((*key_of(side), pair.item)) for side in (pair.a, pair.b))
        if a is not None and b is not None:
            differences[name] = a - b
    return differences


def _scored(folder: Path, pairs: Collection[Pair]) -> list[tuple[str, dict[Side, float]]]:
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
            about = _about(evaluator, task, condition, cards)
            if about is None or row["score"] is None or not np.isfinite(row["score"]):
                continue
            order, title, sign = about
            place = order, evaluator, task, condition
            titles[place] = title
            side = row["model"], row["seed"], row["checkpoint"], row["item"]
            sums.setdefault(place, {}).setdefault(side, []).append(sign * row["score"])
    ways = Counter(place[:3] for place in sums)
    return [
        (titles[place] + (f", {place[3]}" if ways[place[:3]] > 1 else ""), _means(sums[place]))
        for place in sorted(sums)
    ]


def _means(values: Mapping[Side, Sequence[float]]) -> dict[Side, float]:
    return {side: float(np.mean(some)) for side, some in values.items()}


def _about(evaluator: str, task: str, condition: str, cards: Mapping[str, Card]) -> tuple[int, str, int] | None:
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
