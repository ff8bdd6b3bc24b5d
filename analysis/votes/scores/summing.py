"""Score tables of any length as sums by model and dialogue: batch by batch, so that memory follows what is compared.

Nothing but the columns that are needed is read, names as codes. A score that is not there (NaN) is never averaged: it
is counted with its reason, and its item is left out for every model of the same scale, so that all are compared on the
same items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seedvote.analysis.votes.scores.values import ClusterSums, Floats, Ints, Key, Value
from seedvote.dialogue.cards import ASIDE, COUNTS, PROBE, Aggregate, Card

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
        column = _encoded(batch, name)
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


def _encoded(batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
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
        self.waiting.append(_added(groups, clusters, numbers))
        if sum(len(part[0]) for part in self.waiting) > self.room:
            self.room = max(MOST_CELLS, 2 * len(self.settled()[0]))

    def settled(self) -> tuple[Ints, Ints, Floats]:
        """Everything so far, one row for each group and cluster, in order of groups."""
        if not self.waiting:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, len(self.fields)))
        groups, clusters, numbers = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
        self.waiting = [_added(groups, clusters, numbers)]
        return self.waiting[0]


def _added(groups: Ints, clusters: Ints, numbers: Floats) -> tuple[Ints, Ints, Floats]:
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
    counts = tuple(sorted({name for kind in kinds & {"bleu", "combined"} for name in _counts(kind)}))
    sums = Sums(("rows", "top", "bottom", *counts))
    nested = sorted({f"stats.{name}" for kind in kinds for name in _counts(kind)})
    for batch in batches([*KEYS, "item", "cluster", "score", *nested]):
        groups, code = grouped(batch)
        mask = np.isfinite(numbers_in(batch)) & ~_gone(batch, groups, code, gaps)
        if not mask.all():
            batch, code = batch.filter(pa.array(mask)), code[mask]
        place = np.array([sums.groups.setdefault(group, len(sums.groups)) for group in groups], np.int64)
        sums.add(place[code], cluster_codes(batch, sums.clusters), _numbers(batch, groups, code, cards, counts))
    return _values(sums, cards)


def _counts(kind: Aggregate) -> tuple[str, ...]:
    """The counts that a corpus metric is made of; of BLEU up to four orders."""
    longer = [f"{name}{n}" for name in ("match", "total") for n in (2, 3, 4)] if "match1" in COUNTS[kind] else []
    return (*COUNTS[kind], *longer)


def _gone(batch: pa.RecordBatch, groups: Sequence[tuple[Key, int | None]], code: Ints, gaps: Gaps) -> Bools:
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


def _numbers(
    batch: pa.RecordBatch,
    groups: Sequence[tuple[Key, int | None]],
    code: Ints,
    cards: Mapping[str, Card],
    counts: Sequence[str],
) -> Floats:
    """What every row adds: 1, its numerator, its denominator, and counts of corpus metrics that are no ratio."""
    top, bottom = numbers_in(batch).copy(), np.ones(len(batch))
    stats = counts_in(batch)
    kinds = np.array([_kind(key, cards) for key, _ in groups], object)[code] if len(groups) else np.zeros(0, object)
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
    return np.array([is_own and _kind(key, cards) == "micro_f1" for is_own, (key, _) in zip(own, groups, strict=True)])


def _kind(key: Key, cards: Mapping[str, Card]) -> Aggregate | Literal[""]:
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


def _values(sums: Sums, cards: Mapping[str, Card]) -> Summed:
    groups, clusters, numbers = sums.settled()
    names = list(sums.clusters)
    bounds = np.searchsorted(groups, np.arange(len(sums.groups) + 1))
    sums_of_values = Summed({}, [])
    for (key, seed), k in sums.groups.items():
        part, codes = numbers[bounds[k] : bounds[k + 1]], clusters[bounds[k] : bounds[k + 1]]
        if not len(part):
            continue
        kind, counted = _kind(key, cards), dict(zip(sums.fields, part.T, strict=True))
        if why := _lacking(kind, counted):
            sums_of_values.without.append((key, seed, why))
            continue
        made_of = ClusterSums(kind, tuple(names[code] for code in codes), tuple(sums.fields), part)
        sums_of_values.values.setdefault(key, {})[seed] = made_of.value()
    return sums_of_values


def _lacking(kind: Aggregate | Literal[""], counted: Mapping[str, Floats]) -> str:
    """Why a corpus metric cannot be made from what is there; empty where it can."""
    if kind == "" or kind == "mean":
        return ""
    needed = ", ".join(COUNTS[kind])
    if kind in ("bleu", "combined"):
        used = [name for name in _counts(kind) if name in COUNTS[kind] or not np.isnan(counted[name]).all()]
        lost = [name for name in used if np.isnan(counted[name]).any()]
        empty = not lost and counted["total1"].sum() > 0 >= counted["length"].sum()
    else:
        lost = [needed] if np.isnan(counted["top"]).any() or np.isnan(counted["bottom"]).any() else []
        empty = not lost and kind == "ratio" and counted["bottom"].sum() == 0
    if lost:
        return f"its card adds it up as {kind} from the counts {needed}; rows lack {', '.join(lost)}"
    return f"its counts add up to 0, which makes no {kind}" if empty else ""
