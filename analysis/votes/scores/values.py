"""Score tables as values: what each evaluator gives each model and seed, with its error by dialogue.

A value is the mean of the scores, or a corpus metric from summable counts (micro-F1, a ratio, BLEU), as the task's card
says. Its error is cluster-robust by dialogue (linearised; Liang and Zeger 1986), so that noise of the items is not
taken for seeds. A value needs the sums of its dialogues only, never its rows: `summing.py` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from seedvote.dialogue.cards import Aggregate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Metric = Callable[[Mapping[str, float]], float]
STEP = 1e-5  # of a numeric derivative, as a share of the sums


class Key(NamedTuple):
    """What a group of scores has in common, but for the seed."""

    evaluator: str
    task: str
    model: str
    checkpoint: str
    rater: str
    condition: str


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """What a value is made of: per dialogue its rows, and the numbers that they sum to."""

    kind: Aggregate | Literal[""]
    labels: tuple[str, ...]
    fields: tuple[str, ...]
    numbers: Floats  # (clusters, fields); the first column counts rows

    @property
    def rows(self) -> dict[str, int]:
        """Dialogue -> how many examples of it were scored."""
        return dict(zip(self.labels, self.numbers[:, 0].astype(int).tolist(), strict=True))

    def value(self, only: Collection[str] | None = None) -> Value:
        """The value, of some dialogues alone where they are given."""
        chosen = np.array([only is None or label in only for label in self.labels])
        numbers, labels = self.numbers[chosen], tuple(label for label in self.labels if only is None or label in only)
        rows = int(numbers[:, 0].sum())
        if self.kind in ("bleu", "combined"):
            counted = dict(zip(self.fields, numbers.T, strict=True))
            full = {name: column for name, column in counted.items() if not np.isnan(column).all()}
            aggregate = of_counts(self.kind, full, labels, rows)
        else:
            aggregate = ratio(numbers[:, 1], numbers[:, 2], np.arange(len(labels)), labels, examples=rows)
        return aggregate._replace(sums=self)


class Value(NamedTuple):
    """One model's value and what each dialogue adds to its error, both in parts of one."""

    value: float
    examples: int
    clusters: tuple[str, ...]
    parts: Floats  # (clusters,), sum zero
    sums: ClusterSums | None = None

    @property
    def error(self) -> float:
        """Standard error by dialogue; NaN for a single one."""
        groups = len(self.parts)
        return math.sqrt(groups / (groups - 1) * float(self.parts @ self.parts)) if groups > 1 else math.nan


def ratio(top: Floats, bottom: Floats, cluster: Ints, names: Sequence[str], *, examples: int | None = None) -> Value:
    """sum(top) / sum(bottom) and what each cluster adds to its error (the linearised ratio).

    `top` and `bottom` are rows, or sums of `examples` rows.
    """
    total, codes = float(bottom.sum()), np.unique(cluster)
    labels, number = tuple(names[code] for code in codes), len(top) if examples is None else examples
    if total == 0:
        return Value(1.0, number, labels, np.full(len(codes), math.nan))
    value = float(top.sum()) / total
    residual = np.bincount(np.searchsorted(codes, cluster), top - value * bottom)
    return Value(value, number, labels, residual / total)


def of_counts(kind: Aggregate, sums: Mapping[str, Floats], labels: tuple[str, ...], examples: int) -> Value:
    """A corpus metric from the counts that every cluster sums to, each (clusters,), with its linearised error."""
    total = {name: float(part.sum()) for name, part in sums.items()}
    metric = bleu if kind == "bleu" else combined
    slopes = {name: _slope(metric, total, name) for name in total}
    parts = sum((slope * sums[name] for name, slope in slopes.items()), np.zeros(len(labels)))
    return Value(metric(total), examples, labels, parts)


def _slope(metric: Metric, total: Mapping[str, float], name: str) -> float:
    """The derivative by one of the counts."""
    step = STEP * max(abs(total[name]), 1.0)
    low, high = ({**total, name: total[name] + sign * step} for sign in (-1, 1))
    return (metric(high) - metric(low)) / (2 * step)


def bleu(total: Mapping[str, float]) -> float:
    """Corpus BLEU, 0 to 100, of as many orders as are counted.

    BLEU-4 is sacrebleu's: 0 where nothing matches or no response has four words, and an order without a match counts as
    half a match, the next such as a quarter. BLEU-2, which single responses have too, leaves an order out for which no
    response is long enough, and is 0 where one does not match.
    """
    orders = sorted(int(name[5:]) for name in total if name.startswith("match"))
    used = [n for n in orders if total.get(f"total{n}", 0.0) > 0]
    is_bleu4 = len(orders) == 4
    # Counts are whole; slopes move them a little, and what is next to none is still none.
    matched = {n: total[f"match{n}"] for n in used if total[f"match{n}"] >= 0.5}
    if 1 not in matched or (used != orders if is_bleu4 else len(matched) < len(used)):
        return 0.0
    logs, missed = 0.0, 0
    for n in used:
        missed += n not in matched
        logs += math.log(matched.get(n, 0.5**missed) / total[f"total{n}"]) / len(used)
    return 100 * math.exp(min(1 - total["reference"] / total["length"], 0.0) + logs)


def combined(total: Mapping[str, float]) -> float:
    """(Inform + Success) / 2 + BLEU, as MultiWOZ's leaderboard adds them up."""
    return 50 * (total["inform"] + total["success"]) / total["rows"] + bleu(total)
