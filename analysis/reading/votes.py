"""Votes as columns: what every analysis reads, from our files or any other tool's.

A vote is one judgement of one pair by one rater. Only `pair` and `choice` are needed; what cannot be computed without
the other columns is refused where it is asked for, never guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.reading.columns import Columns, codes_of, columns_in_memory, read_columns
from analysis.reading.naming import LABELS, known_columns, legal_labels, translated
from analysis.showing.words import count
from dialogue.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIELDS = {
    "pair": pa.string(),
    "rater": pa.string(),
    "choice": pa.string(),
    "round": pa.int64(),
    "left": pa.string(),
    "seconds": pa.float64(),
    "source": pa.string(),
    "counted": pa.bool_(),
    "kind": pa.string(),
    "identical": pa.bool_(),
    "dialogue": pa.string(),
    "item": pa.string(),
}


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of one study, one entry a vote; a column that the file lacks is None."""

    pair: Ints  # code of the pair, into `pairs`
    pairs: tuple[str, ...]
    choice: Ints  # code of the choice, into `labels`
    labels: tuple[str, ...] = LABELS
    rater: Ints | None = None  # code of the rater, into `raters`
    raters: tuple[str, ...] = ()
    round: Ints | None = None  # as numbered in the file; `in_round` tells which votes belong to one
    left: Ints | None = None  # which response stood on the left: 0 = a, 1 = b, -1 = not known
    seconds: Floats | None = None  # time from showing to answering, NaN where not known
    dialogue: Ints | None = None  # code of the dialogue, into `dialogues`
    dialogues: tuple[str, ...] = ()
    item: Ints | None = None  # code of the context that the responses answer; many pairs may share one
    identical: Bools | None = None  # both responses were the same text
    kind: tuple[str, ...] = ("real",)  # the kinds of pairs that were kept
    counted: Bools | None = None  # one of the pair's k votes
    source: Mapping[str, int] = field(default_factory=dict)  # door -> votes
    also: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)  # further text columns that were asked for
    warnings: tuple[str, ...] = ()  # what was left out or could not be told, each one sentence

    def __len__(self) -> int:
        return len(self.choice)

    @property
    def tie(self) -> Bools:
        """Which votes are ties; refused where the labels have none."""
        if "tie" not in self.labels:
            raise InputError(f"No label is called tie (found: {', '.join(self.labels)}). Map it: --values tie=...")
        return np.asarray(self.choice == self.labels.index("tie"))

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds (HumanExp-k) that have votes, in order; empty without a round column."""
        return () if self.round is None else tuple(np.unique(self.round[self.in_round]).tolist())

    @property
    def in_round(self) -> Bools:
        """Which votes belong to a round; ours have 0 if they are not counted, and other tools may count from 0."""
        if self.round is None:
            return np.zeros(len(self), dtype=bool)
        return (self.round > 0) | (True if self.counted is None else self.counted)

    def select(self, mask: NDArray[Any]) -> Votes:
        """The votes where `mask` is true; codes keep their meaning."""
        n = len(self)
        changed = {
            f.name: value[mask]
            for f in dataclasses.fields(self)
            if isinstance(value := getattr(self, f.name), np.ndarray) and len(value) == n
        }
        also = {name: values[mask] for name, values in self.also.items()}
        return dataclasses.replace(self, also=also, **changed)

    def need(self, column: str, purpose: str) -> Any:
        """The column, or a sentence that says what it is needed for."""
        value = getattr(self, column)
        if value is None:
            raise InputError(
                f"The votes have no {column} column, and {purpose} needs it. "
                f"If it has another name, map it: --columns {column}=..."
            )
        return value


def read_votes(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    labels: Literal["tie", "any"] = "tie",
    kinds: Sequence[str] = ("real",),
    uncounted: bool = False,
    also: Sequence[str] = (),
) -> Votes:
    """Read votes from JSON Lines (with or without our header), CSV or Parquet.

    `columns` maps our name to theirs, `values` maps their value to ours; `labels="any"` takes every value as a label;
    `kinds` are the kinds of pairs to keep and `uncounted` keeps late votes and those of blocked raters;
    `also` names further text columns to keep under `Votes.also`.
    """
    names = known_columns(columns or {}, [*FIELDS, *also])
    wanted = {names.get(name, name): kind for name, kind in {**FIELDS, **dict.fromkeys(also, pa.string())}.items()}
    read = read_columns(Path(path), wanted, record="votes")
    return _votes(read, names, values or {}, labels, tuple(kinds), uncounted, tuple(also))


def votes_from_columns(
    table: Any,
    *,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    labels: Literal["tie", "any"] = "tie",
    kinds: Sequence[str] = ("real",),
    uncounted: bool = False,
    also: Sequence[str] = (),
) -> Votes:
    """The same from a mapping of columns or a DataFrame."""
    names = known_columns(columns or {}, [*FIELDS, *also])
    wanted = {names.get(name, name): kind for name, kind in {**FIELDS, **dict.fromkeys(also, pa.string())}.items()}
    read = columns_in_memory("votes", table, wanted)
    return _votes(read, names, values or {}, labels, tuple(kinds), uncounted, tuple(also))


def _votes(
    read: Columns,
    names: Mapping[str, str],
    values: Mapping[str, str],
    labels: str,
    kinds: tuple[str, ...],
    uncounted: bool,
    also: tuple[str, ...],
) -> Votes:
    """Check the columns, keep the votes that are asked for and say what was left out."""
    given = {ours: read.arrays.get(names.get(ours, ours)) for ours in [*FIELDS, *also]}
    _complain_of_missing(read, names, given)
    kept, left_out = _kept(given, kinds, uncounted)
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise InputError(f"{read.path} has no votes to analyse" + (f" ({'; '.join(left_out)})." if left_out else "."))
    given = {name: None if array is None else array.filter(pa.array(kept)) for name, array in given.items()}
    choice, found = _codes(read, rows, given["choice"], "choice")
    legal = legal_labels(found, values, labels)
    pair, pairs = _codes(read, rows, given["pair"], "pair")
    rater, raters = _optional_codes(read, rows, given["rater"], "rater")
    dialogue, dialogues = _optional_codes(read, rows, given["dialogue"], "dialogue")
    item, _ = _optional_codes(read, rows, given["item"], "item")
    return Votes(
        pair=pair,
        pairs=pairs,
        choice=translated(read, rows, choice, found, values, legal, "choice"),
        labels=legal,
        rater=rater,
        raters=raters,
        round=_rounds(read, rows, given["round"]),
        left=_left(read, rows, given["left"], values),
        seconds=None if given["seconds"] is None else given["seconds"].to_numpy().astype(np.float64),
        dialogue=dialogue,
        dialogues=dialogues,
        item=item,
        identical=_flags(given["identical"], missing=False),
        kind=kinds,
        counted=_flags(given["counted"], missing=True),
        source=_tally(given["source"]),
        also={name: _texts(given[name]) for name in also if given[name] is not None},
        warnings=tuple(f"{part}." for part in left_out),
    )


def _complain_of_missing(read: Columns, names: Mapping[str, str], given: Mapping[str, Any]) -> None:
    for ours, theirs in names.items():
        if given[ours] is None:
            raise InputError(f"{read.path} has no column {theirs!r} (found: {', '.join(read.found) or 'none'}).")
    for ours in ("pair", "choice"):
        if given[ours] is None:
            raise InputError(
                f"{read.path} has no column {ours!r}, which every vote needs (of those known, found: "
                f"{', '.join(read.found) or 'none'}). If it has another name, map it: --columns {ours}=..."
            )


def _kept(given: Mapping[str, Any], kinds: tuple[str, ...], uncounted: bool) -> tuple[Bools, list[str]]:
    """Which votes to keep, and what is left out, e.g. `12 votes on check pairs`."""
    kept = np.ones(len(given["choice"]), dtype=bool)
    said, real = [], kept.copy()
    if given["kind"] is not None:
        codes, names = codes_of(given["kind"].fill_null("real"))
        real = np.isin(codes, [code for code, name in enumerate(names) if name == "real"])
        for code, name in enumerate(names):
            if name not in kinds:
                said.append(f"Left out: {count(int((codes == code).sum()), 'vote')} on {name} pairs")
                kept &= codes != code
    if given["counted"] is not None:
        counted = _flags(given["counted"], missing=True)
        if late := int((kept & ~counted).sum()):
            used = "Used too" if uncounted else "Left out"
            known = int((kept & ~counted & ~real).sum())  # named, or two commands would seem to count differently
            more = f", {known:,} of them on control pairs" if known else ""
            said.append(f"{used}: {count(late, 'vote')} not counted (late, or of raters blocked later){more}")
        kept &= counted | uncounted
    return kept, said


def _codes(read: Columns, rows: Ints, array: Any, name: str) -> tuple[Ints, tuple[str, ...]]:
    codes, names = codes_of(array)
    if (missing := np.flatnonzero(codes < 0)).size:
        raise InputError(f"{read.place(int(rows[missing[0]]))}: {name} is empty; give every vote one.")
    return codes.astype(np.int64), names


def _optional_codes(read: Columns, rows: Ints, array: Any, name: str) -> tuple[Ints | None, tuple[str, ...]]:
    if array is None or array.null_count == len(array):
        return None, ()
    return _codes(read, rows, array, name)


def _rounds(read: Columns, rows: Ints, array: Any) -> Ints | None:
    if array is None or array.null_count == len(array):
        return None
    wrong = pc.fill_null(pc.less(array, 0), True)
    if (row := int(pc.index(wrong, True).as_py())) >= 0:
        found = array[row].as_py()
        raise InputError(
            f"{read.place(int(rows[row]))}: round is {'empty' if found is None else found}; give every vote 1, 2, ... "
            "(0 where `counted` says it is not), or leave the column out."
        )
    return np.asarray(array.to_numpy(), dtype=np.int64)


def _left(read: Columns, rows: Ints, array: Any, values: Mapping[str, str]) -> Ints | None:
    if array is None or array.null_count == len(array):
        return None
    codes, found = codes_of(array)
    known = translated(read, rows, np.maximum(codes, 0), found, values, ("a", "b"), "left")
    return np.where(codes < 0, -1, known)


def _flags(array: Any, *, missing: bool) -> Any:
    return None if array is None else array.fill_null(missing).to_numpy().astype(bool)


def _tally(array: Any) -> dict[str, int]:
    if array is None:
        return {}
    codes, names = codes_of(array.fill_null("unknown"))
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def _texts(array: Any) -> NDArray[np.object_]:
    return np.array(array.to_pylist(), dtype=object)


def net_scores(choice: Ints) -> Floats:
    """+1 for a, -1 for b, 0 for a tie: the mean is the net preference for a."""
    return np.array([1.0, -1.0, 0.0])[choice]
