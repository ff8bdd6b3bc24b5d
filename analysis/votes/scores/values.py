"""Score tables as values: what each evaluator gives each model and seed, with its error by dialogue.

A value is the mean of the scores, or a corpus metric from summable counts (micro-F1, a ratio, BLEU), as the task's card
says. Its error is cluster-robust by dialogue (linearised; Liang and Zeger 1986), so that noise of the items is not
taken for seeds. A value needs the sums of its dialogues only, never its rows: tables of any length are added up batch
by batch, so that memory follows what is compared, and nothing but the columns that are needed is read, names as codes.

A score that is not there (NaN) is never averaged: it is counted with its reason, and its item is left out for every
model of the same scale, so that all are compared on the same items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seedvote.dialogue.cards import ASIDE, COUNTS, PROBE, Aggregate, Card
from seedvote.dialogue.formulas.counts import corpus_bleu

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
    slopes = {name: _differentiate_metric(metric, total, name) for name in total}
    parts = sum((slope * sums[name] for name, slope in slopes.items()), np.zeros(len(labels)))
    return Value(metric(total), examples, labels, parts)


def _differentiate_metric(metric: Metric, total: Mapping[str, float], name: str) -> float:
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
    is_bleu4 = len(orders) == 4
    # Counts are whole; slopes move them a little, and what is next to none is still none.
    counts = {name: 0.0 if name.startswith("match") and count < 0.5 else count for name, count in total.items()}
    counts = {**{f"total{order}": 0.0 for order in orders}, "match1": 0.0, **counts}
    return corpus_bleu(counts, orders, smooth="exp" if is_bleu4 else "none", effective=not is_bleu4)


def combined(total: Mapping[str, float]) -> float:
    """(Inform + Success) / 2 + BLEU, as MultiWOZ's leaderboard adds them up."""
    return 50 * (total["inform"] + total["success"]) / total["rows"] + bleu(total)


# Sums by model and dialogue


Bools = NDArray[np.bool_]
KEYS = (*Key._fields, "seed")
Batches = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]  # the columns wanted -> batches with those that are there
ByRows = dict[Key, dict[int | None, Value]]
MOST_CELLS = 500_000  # sums that wait to be added up
UNSAID = "no reason given"


@dataclass(slots=True)
class Gaps:
    """Scores that are not there: how many of which reason, whose, and which items."""

    reasons: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)  # by evaluator and task
    items: dict[Key, set[str]] = field(default_factory=dict)  # by scale (a key without model)
    alone: list[tuple[Key, int | None]] = field(default_factory=list)  # models without a single score

    def __bool__(self) -> bool:
        return bool(self.reasons)


def scale_of(key: Key) -> Key:
    """What all models on one scale have in common."""
    return key._replace(model="")


def gaps_of(batches: Batches) -> Gaps:
    """Look for scores that are not there; where there are none, one column is read."""
    gaps = Gaps()
    if all(np.isfinite(numbers_in(batch)).all() for batch in batches(["score"])):
        return gaps
    scored, empty = Counter[tuple[Key, int | None]](), Counter[tuple[Key, int | None]]()
    lost: dict[tuple[Key, int | None], set[str]] = {}
    for batch in batches([*KEYS, "item", "score", "reason"]):
        groups, code = grouped(batch)
        absent = ~np.isfinite(numbers_in(batch))
        for k, number in enumerate(np.bincount(code[~absent], minlength=len(groups))):
            scored[groups[k]] += int(number)
        rows = np.flatnonzero(absent)
        for k, item, reason in zip(
            code[rows], texts_of(batch, "item", rows), texts_of(batch, "reason", rows), strict=True
        ):
            key, _ = groups[k]
            empty[groups[k]] += 1
            gaps.reasons.setdefault((key.evaluator, key.task), Counter())[reason or UNSAID] += 1
            lost.setdefault(groups[k], set()).add(item)
    gaps.alone = [group for group in empty if not scored[group]]
    for group, items in lost.items():
        if scored[group]:
            gaps.items.setdefault(scale_of(group[0]), set()).update(items)
    return gaps


def numbers_in(batch: pa.RecordBatch) -> Floats:
    """The scores, NaN where there is none."""
    return np.asarray(batch.column("score").cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def texts_of(batch: pa.RecordBatch, name: str, rows: Ints) -> list[str]:
    """What some rows say in a column; empty where they say nothing."""
    if name not in batch.schema.names:
        return [""] * len(rows)
    return [text or "" for text in batch.column(name).take(pa.array(rows)).to_pylist()]


def grouped(batch: pa.RecordBatch) -> tuple[list[tuple[Key, int | None]], Ints]:
    """The distinct keys with their seed and, for each row, which of them it has."""
    code = np.zeros(len(batch), np.int64)
    levels = []
    for name in KEYS:
        column = _encode_column(batch, name)
        names = column.dictionary.to_pylist()
        indices = column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
        code = code * (len(names) + 1) + indices
        levels.append([*names, None if name == "seed" else ""])
        if code.size and int(code.max()) > 1 << 40:
            code = np.unique(code, return_inverse=True)[1]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    picked = batch.take(pa.array(first))
    columns = [picked.column(n).to_pylist() if n in picked.schema.names else [""] * len(first) for n in Key._fields]
    seeds = picked.column("seed").to_pylist()
    return [
        (Key(*(part or "" for part in parts)), None if seed is None else int(seed))
        for *parts, seed in zip(*columns, seeds, strict=True)
    ], inverse


def _encode_column(batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
    if name not in batch.schema.names:
        return pa.array([""] * len(batch)).dictionary_encode()
    column = batch.column(name)
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


@dataclass(slots=True)
class Sums:
    """What is added up: a row of numbers for every model, seed and dialogue."""

    fields: tuple[str, ...]
    groups: dict[tuple[Key, int | None], int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    waiting: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    room: int = MOST_CELLS

    def add(self, groups: Ints, clusters: Ints, numbers: Floats) -> None:
        """Add rows, each (rows,) or (rows, fields), to the sums."""
        self.waiting.append(_add_up(groups, clusters, numbers))
        if sum(len(part[0]) for part in self.waiting) > self.room:
            self.room = max(MOST_CELLS, 2 * len(self.settled()[0]))

    def settled(self) -> tuple[Ints, Ints, Floats]:
        """Everything so far, one row for each group and cluster, in order of groups."""
        if not self.waiting:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, len(self.fields)))
        groups, clusters, numbers = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
        self.waiting = [_add_up(groups, clusters, numbers)]
        return self.waiting[0]


def _add_up(groups: Ints, clusters: Ints, numbers: Floats) -> tuple[Ints, Ints, Floats]:
    width = int(clusters.max()) + 1 if len(clusters) else 1
    cells, place = np.unique(groups * width + clusters, return_inverse=True)
    sums = np.stack([np.bincount(place, column, len(cells)) for column in numbers.T], 1)
    return np.asarray(cells // width, np.int64), np.asarray(cells % width, np.int64), np.asarray(sums, np.float64)


class Summed(NamedTuple):
    """Values, and those that cannot be made from what their rows hold, each with the reason."""

    values: ByRows
    without: list[tuple[Key, int | None, str]]


def summed(batches: Batches, cards: Mapping[str, Card], gaps: Gaps) -> Summed:
    """Key without the seed -> seed -> value with its error by dialogue."""
    kinds: set[Aggregate] = {task.aggregate for card in cards.values() for task in card.tasks.values()} | {"micro_f1"}
    counts = tuple(sorted({name for kind in kinds & {"bleu", "combined"} for name in _counts_of(kind)}))
    sums = Sums(("rows", "top", "bottom", *counts))
    nested = sorted({f"stats.{name}" for kind in kinds for name in _counts_of(kind)})
    for batch in batches([*KEYS, "item", "cluster", "score", *nested]):
        groups, code = grouped(batch)
        mask = np.isfinite(numbers_in(batch)) & ~_find_gone(batch, groups, code, gaps)
        if not mask.all():
            batch, code = batch.filter(pa.array(mask)), code[mask]
        place = np.array([sums.groups.setdefault(group, len(sums.groups)) for group in groups], np.int64)
        sums.add(place[code], cluster_codes(batch, sums.clusters), _numbers_to_add(batch, groups, code, cards, counts))
    return _make_values(sums, cards)


def _counts_of(kind: Aggregate) -> tuple[str, ...]:
    """The counts that a corpus metric is made of; of BLEU up to four orders."""
    longer = [f"{name}{n}" for name in ("match", "total") for n in (2, 3, 4)] if "match1" in COUNTS[kind] else []
    return (*COUNTS[kind], *longer)


def _find_gone(batch: pa.RecordBatch, groups: Sequence[tuple[Key, int | None]], code: Ints, gaps: Gaps) -> Bools:
    """Rows of an item that some model on the same scale has no score for."""
    gone = np.zeros(len(batch), bool)
    for k, (key, _) in enumerate(groups):
        if items := gaps.items.get(scale_of(key)):
            rows = np.flatnonzero(code == k)
            texts = batch.column("item").take(pa.array(rows)).cast(pa.string())
            gone[rows] = pc.is_in(texts, value_set=pa.array(sorted(items))).to_numpy(zero_copy_only=False)
    return gone


def cluster_codes(batch: pa.RecordBatch, known: dict[str, int]) -> Ints:
    """The dialogue of each row as a code; a row without one is a cluster of its own item."""
    if "cluster" not in batch.schema.names or batch.column("cluster").null_count:
        items = batch.column("item").cast(pa.string())
        column = (
            pc.coalesce(batch.column("cluster").cast(pa.string()), items) if "cluster" in batch.schema.names else items
        )
    else:
        column = batch.column("cluster")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = np.array([known.setdefault(name, len(known)) for name in encoded.dictionary.to_pylist()], np.int64)
    return np.asarray(codes[encoded.indices.to_numpy(zero_copy_only=False)])


def _numbers_to_add(
    batch: pa.RecordBatch,
    groups: Sequence[tuple[Key, int | None]],
    code: Ints,
    cards: Mapping[str, Card],
    counts: Sequence[str],
) -> Floats:
    """What every row adds: 1, its numerator, its denominator, and counts of corpus metrics that are no ratio."""
    top, bottom = numbers_in(batch).copy(), np.ones(len(batch))
    stats = counts_in(batch)
    kinds = (
        np.array([_aggregate_of(key, cards) for key, _ in groups], object)[code] if len(groups) else np.zeros(0, object)
    )
    if (rows := _by_f1(groups, cards)[code] if len(groups) else np.zeros(0, bool)).any():
        top[rows] = bottom[rows] = np.nan
    if set(COUNTS["micro_f1"]) <= set(stats):
        rows = ((kinds == "micro_f1") | (kinds == "")) & np.isfinite(stats["tp"])
        double = 2 * stats["tp"][rows]
        top[rows], bottom[rows] = double, double + stats["fp"][rows] + stats["fn"][rows]
    if (rows := kinds == "ratio").any():
        for into, name in ((top, "numerator"), (bottom, "denominator")):
            into[rows] = stats[name][rows] if name in stats else np.nan
    corpus_counts = [np.where(np.isin(kinds, ["bleu", "combined"]), stats.get(name, np.nan), 0.0) for name in counts]
    return np.stack([np.ones(len(batch)), top, bottom, *corpus_counts], 1)


def _by_f1(groups: Sequence[tuple[Key, int | None]], cards: Mapping[str, Card]) -> Bools:
    """Whether counts alone make the value; a probe's row without them (version 0.2.0) counts as right or wrong."""
    own = (cards.get(key.evaluator) != PROBE and key.evaluator not in ASIDE for key, _ in groups)
    return np.array(
        [is_own and _aggregate_of(key, cards) == "micro_f1" for is_own, (key, _) in zip(own, groups, strict=True)]
    )


def _aggregate_of(key: Key, cards: Mapping[str, Card]) -> Aggregate | Literal[""]:
    """How single scores make one number; empty where no card says so: then counts decide, or the mean."""
    owner = cards.get(key.evaluator) or next(
        (card for card in cards.values() if key.evaluator in ASIDE and card.task(key.task)), None
    )
    task = owner and owner.task(key.task)
    return task.aggregate if task else ""


def counts_in(batch: pa.RecordBatch) -> dict[str, Floats]:
    """The counts of `stats` that are there, each (rows,); NaN where a row has none."""
    if "stats" not in batch.schema.names or not pa.types.is_struct(batch.schema.field("stats").type):
        return {}
    column = batch.column("stats")
    return {
        count.name: np.asarray(
            pc.fill_null(pc.struct_field(column, count.name).cast(pa.float64()), np.nan), dtype=np.float64
        )
        for count in column.type
    }


def _make_values(sums: Sums, cards: Mapping[str, Card]) -> Summed:
    groups, clusters, numbers = sums.settled()
    names = list(sums.clusters)
    bounds = np.searchsorted(groups, np.arange(len(sums.groups) + 1))
    sums_of_values = Summed({}, [])
    for (key, seed), k in sums.groups.items():
        part, codes = numbers[bounds[k] : bounds[k + 1]], clusters[bounds[k] : bounds[k + 1]]
        if not len(part):
            continue
        kind, counted = _aggregate_of(key, cards), dict(zip(sums.fields, part.T, strict=True))
        if why := _say_lacking(kind, counted):
            sums_of_values.without.append((key, seed, why))
            continue
        made_of = ClusterSums(kind, tuple(names[code] for code in codes), tuple(sums.fields), part)
        sums_of_values.values.setdefault(key, {})[seed] = made_of.value()
    return sums_of_values


def _say_lacking(kind: Aggregate | Literal[""], counted: Mapping[str, Floats]) -> str:
    """Why a corpus metric cannot be made from what is there; empty where it can."""
    if kind == "" or kind == "mean":
        return ""
    needed = ", ".join(COUNTS[kind])
    if kind in ("bleu", "combined"):
        used = [name for name in _counts_of(kind) if name in COUNTS[kind] or not np.isnan(counted[name]).all()]
        lost = [name for name in used if np.isnan(counted[name]).any()]
        empty = not lost and counted["total1"].sum() > 0 >= counted["length"].sum()
    else:
        lost = [needed] if np.isnan(counted["top"]).any() or np.isnan(counted["bottom"]).any() else []
        empty = not lost and kind == "ratio" and counted["bottom"].sum() == 0
    if lost:
        return f"its card adds it up as {kind} from the counts {needed}; rows lack {', '.join(lost)}"
    return f"its counts add up to 0, which makes no {kind}" if empty else ""
