"""Votes as columns: what every analysis reads, from our files or any other tool's.

A vote is one judgement of one pair by one rater. Only `pair` and `choice` are needed; what cannot be computed without
the other columns is refused where it is asked for, never guessed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.votes.asked import comments_beside
from analysis.votes.columns import Columns, codes_of
from analysis.votes.keeping import Keep, Unverified, flags, kept_votes, leave_out
from analysis.votes.naming import LABELS, known_columns, legal_labels, translated
from analysis.votes.opening import Opened, opened_votes
from analysis.votes.people import PeopleOnly, doors_of, refuse_file_of_verdicts
from analysis.votes.sides import oriented, systems_beside
from dialogue.errors import InputError
from dialogue.importing.columns import FIELDS as IMPORTED
from dialogue.importing.naming import IGNORED, no_votes
from dialogue.importing.reading import Reading, Stated
from dialogue.tables.table import RawTable, table_in_memory

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
    "verified": pa.bool_(),
    "waiting": pa.bool_(),
    "kind": pa.string(),
    "identical": pa.bool_(),
    "dialogue": pa.string(),
    "item": pa.string(),
    "system_a": pa.string(),
    "system_b": pa.string(),
    "auto": pa.bool_(),
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
    auto: Bools | None = None  # recorded as a tie for two identical responses: nobody gave it
    door: Ints | None = None  # code of where the rater came from, into `doors`
    doors: tuple[str, ...] = ()
    also: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)  # further text columns that were asked for
    warnings: tuple[str, ...] = ()  # what was left out or could not be told, each one sentence
    system_a: Ints | None = None  # code of the system that `a` is, into `systems`, where the table itself names it
    system_b: Ints | None = None
    systems: tuple[str, ...] = ()
    ledger: Reading | None = None  # how the table was read; None for data in memory

    def __len__(self) -> int:
        return len(self.choice)

    @property
    def tie(self) -> Bools:
        """Which votes are ties; refused where the labels have none."""
        if "tie" not in self.labels:
            raise InputError(f"No label is called tie (found: {', '.join(self.labels)}). Map it: --values tie=...")
        return np.asarray(self.choice == self.labels.index("tie"))

    @property
    def source(self) -> Mapping[str, int]:
        """Door -> votes that somebody gave who came through it; empty where the file says nothing of it."""
        if self.door is None:
            return {}
        given = self.door if self.auto is None else self.door[~self.auto]
        tally = np.bincount(given, minlength=len(self.doors)).tolist()
        return {door: votes for door, votes in zip(self.doors, tally, strict=True) if votes}

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

    def given(self) -> Votes:
        """The votes that somebody gave: without ties that were recorded for identical responses."""
        if self.auto is None or not self.auto.any():
            return self
        kept = self.select(~self.auto)
        named: dict[str, Any] = {}
        for codes, names in (("pair", "pairs"), ("rater", "raters"), ("dialogue", "dialogues")):
            if (found := getattr(kept, codes)) is not None:  # a name without a vote is nobody's and nothing's
                left, named[codes] = np.unique(found, return_inverse=True)
                named[names] = tuple(getattr(kept, names)[code] for code in left)
        return dataclasses.replace(kept, **named)

    @property
    def voters(self) -> int | None:
        """How many raters voted; None where they are not named."""
        given = self.given()
        return None if given.rater is None else len(np.unique(given.rater))

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
    source: str | Path | RawTable,
    *,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    labels: Literal["tie", "any"] = "tie",
    kinds: Sequence[str] = ("real",),
    uncounted: bool = False,
    unverified: Unverified = "",
    also: Sequence[str] = (),
    tool: str = "",
    wide: str | Path | None = None,
    question: str = "",
    explode: str = "",
    with_judges: bool = False,
    beside: Sequence[Path] = (),
) -> Votes:
    """Read votes from a file of any form that `dialogue/importing/` knows, or from a table in memory.

    `columns` maps our name to theirs, `values` maps their value to ours; `labels="any"` takes every value as a label;
    `kinds` are the kinds of pairs to keep and `uncounted` keeps late votes and those of blocked raters;
    `unverified` says what becomes of votes whose visit no marketplace has confirmed (out, only, with);
    `also` names further text columns to keep under `Votes.also`; `tool` (`--from`), `wide` and `question` as typed. A
    judge's vote is refused unless `with_judges`; besides the votes' own folder, `beside` are files whose folders may
    hold verdicts that name the judges.
    """
    names = known_columns(columns or {}, list(dict.fromkeys([*FIELDS, *also, *IMPORTED])))
    fields = {**FIELDS, **dict.fromkeys(also, pa.string())}
    how = PeopleOnly(tuple(beside), with_judges)
    place = source if isinstance(source, RawTable) else Path(source)
    if isinstance(place, Path):
        refuse_file_of_verdicts(place)
    asked = Stated(names, values or {}, tool, Path(wide) if wide else None, question, explode)
    opened = opened_votes(place, asked, fields, labels)
    keep = Keep(tuple(kinds), uncounted, unverified, opened.asked)
    votes = _votes(opened, values or {} if labels == "any" else {}, labels, keep, tuple(also), how)
    return _with_comments(votes, place) if "comment" in also and isinstance(place, Path) else votes


def _with_comments(votes: Votes, path: Path) -> Votes:
    """The comments of a study's own file, where the votes themselves hold none."""
    if votes.rater is None or "comment" in votes.also:
        return votes
    named = [votes.pairs[code] for code in votes.pair], [votes.raters[code] for code in votes.rater]
    found = comments_beside(path, *named)
    return votes if found is None else replace(votes, also={**votes.also, "comment": found})


def votes_from_columns(table: Any, **options: Any) -> Votes:
    """The same from a mapping of columns or a DataFrame."""
    return read_votes(table_in_memory("votes", table), **options)


def _votes(
    opened: Opened, values: Mapping[str, str], labels: str, keep: Keep, also: tuple[str, ...], how: PeopleOnly
) -> Votes:
    """Check the columns, keep the votes that are asked for and say what was left out."""
    read = opened.read
    given = {ours: read.arrays.get(ours) for ours in [*FIELDS, *also]}
    _complain_of_missing(read, given)
    given["source"], of_judges = doors_of(read, given["source"], given["rater"], how)
    none, values = no_votes(values), {word: ours for word, ours in values.items() if ours != IGNORED}
    kept, left_out, excluded = kept_votes(read, given, keep)
    leave_out(given["choice"], none, kept, left_out, excluded)
    rows = np.flatnonzero(kept)
    if not len(rows):
        raise InputError(f"{read.path} has no votes to analyse" + (f" ({'; '.join(left_out)})." if left_out else "."))
    given = {name: None if array is None else array.filter(pa.array(kept)) for name, array in given.items()}
    choice, found = _codes(read, rows, given["choice"], "choice")
    legal = legal_labels(found, values, labels)
    left = _left(read, rows, given["left"])
    sides = None if labels == "any" else systems_beside(read, rows, given["system_a"], given["system_b"])
    choice = translated(read, rows, choice, found, values, legal, "choice")
    pair, pairs = _codes(read, rows, given["pair"], "pair")
    rater, raters = _optional_codes(read, rows, given["rater"], "rater")
    dialogue, dialogues = _optional_codes(read, rows, given["dialogue"], "dialogue")
    item, _ = _optional_codes(read, rows, given["item"], "item")
    door, doors = _optional_codes(read, rows, given["source"], "source")
    votes = Votes(
        pair=pair,
        pairs=pairs,
        choice=choice,
        labels=legal,
        rater=rater,
        raters=raters,
        round=_rounds(read, rows, given["round"]),
        left=left,
        seconds=None if given["seconds"] is None else given["seconds"].to_numpy().astype(np.float64),
        dialogue=dialogue,
        dialogues=dialogues,
        item=item,
        identical=flags(given["identical"], missing=False),
        kind=keep.kinds,
        counted=flags(given["counted"], missing=True),
        auto=flags(given["auto"], missing=False),
        door=door,
        doors=doors,
        also={name: _texts(given[name]) for name in also if given[name] is not None},
        warnings=(*(f"{part}." for part in left_out), *of_judges),
    )
    words = {word: values[word] for word in found if word in values}
    reading = replace(opened.reading, words={**opened.reading.words, **words}, excluded=excluded)
    turned = {} if sides is None else oriented(votes.pair, votes.pairs, choice, left, item, sides)
    return replace(votes, ledger=reading, **turned)


def _complain_of_missing(read: Columns, given: Mapping[str, Any]) -> None:
    for ours in ("pair", "choice"):
        if given[ours] is None:
            raise InputError(
                f"{read.path} has no column {ours!r}, which every vote needs (of those known, found: "
                f"{', '.join(read.found) or 'none'}). If it has another name, map it: --columns {ours}=..."
            )


def _codes(read: Columns, rows: Ints, array: Any, name: str) -> tuple[Ints, tuple[str, ...]]:
    codes, names = codes_of(array)
    if (missing := np.flatnonzero(codes < 0)).size:
        raise InputError(
            f"{read.place(int(rows[missing[0]]))}: {name} is empty; give every vote one, or take the row out."
        )
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
            "(0 where `counted` says it is not), or leave the column out: --columns round=-."
        )
    return np.asarray(array.to_numpy(), dtype=np.int64)


def _left(read: Columns, rows: Ints, array: Any) -> Ints | None:
    if array is None or array.null_count == len(array):
        return None
    codes, found = codes_of(array)
    if strange := [name for name in found if name not in ("a", "b")]:
        row = int(rows[np.flatnonzero(codes == found.index(strange[0]))[0]])
        raise InputError(
            f"{read.place(row)}: left is {strange[0]!r}, which is not one of a, b. It tells which response stood on "
            "the left. If the column means something else, leave it out: --columns left=-."
        )
    known = np.array([("a", "b").index(name) for name in found])[np.maximum(codes, 0)]
    return np.where(codes < 0, -1, known)


def _texts(array: Any) -> NDArray[np.object_]:
    return np.array(array.to_pylist(), dtype=object)


def net_scores(choice: Ints) -> Floats:
    """+1 for a, -1 for b, 0 for a tie: the mean is the net preference for a."""
    return np.array([1.0, -1.0, 0.0])[choice]
