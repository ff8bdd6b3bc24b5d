"""Votes as columns: what every analysis reads, from our files or any other tool's.

A vote is one judgement of one pair by one rater. Only `pair` and `choice` are needed; what cannot be computed without
the other columns is refused where it is asked for, never guessed. Our own files keep a fast reader, since nothing in
them is to be decided. Everything else goes through `dialogue/importing/`, which `crowd import-votes` uses too, so that
both give the same votes.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seedvote.analysis.stats.adaptive import weigh_votes
from seedvote.analysis.votes.columns import Columns, codes_of, columns_of_table, read_columns
from seedvote.analysis.votes.keeping import (
    Keep,
    PeopleOnly,
    Unverified,
    doors_of,
    keep_votes,
    leave_out,
    read_flags,
    refuse_file_of_verdicts,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.importing.columns import FIELDS as IMPORTED
from seedvote.dialogue.importing.exports import read_folder
from seedvote.dialogue.importing.reading import IGNORED, Reading, Stated, ask_question, no_votes, take_one_question
from seedvote.dialogue.importing.tools import recognise_tool
from seedvote.dialogue.importing.votes import Judgements, read_judgements
from seedvote.dialogue.records import Comment
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, cell_text, table_in_memory

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
    "device": pa.string(),
    "differences": pa.bool_(),
    "batch": pa.int64(),
    "propensity": pa.float64(),
}
LABELS = ("a", "b", "tie")


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
    batch: Ints | None = None  # of an adaptive study: the batch in which the vote's pair came up
    propensity: Floats | None = None  # and the probability with which it did, NaN where it has none
    auto: Bools | None = None  # recorded as a tie for two identical responses: nobody gave it
    door: Ints | None = None  # code of where the rater came from, into `doors`
    doors: tuple[str, ...] = ()
    device: Ints | None = None  # code of the kind of device, into `devices`
    devices: tuple[str, ...] = ()
    differences: Ints | None = None  # 1: the words that differ were underlined, 0: not, -1: none could be
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
        doors_given = self.door if self.auto is None else self.door[~self.auto]
        tally = np.bincount(doors_given, minlength=len(self.doors)).tolist()
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
        votes = self.select(~self.auto)
        fields: dict[str, Any] = {}
        for codes, names in (("pair", "pairs"), ("rater", "raters"), ("dialogue", "dialogues")):
            if (column := getattr(votes, codes)) is not None:  # a name without a vote is nobody's and nothing's
                used_codes, fields[codes] = np.unique(column, return_inverse=True)
                fields[names] = tuple(getattr(votes, names)[code] for code in used_codes)
        return dataclasses.replace(votes, **fields)

    @property
    def voters(self) -> int | None:
        """How many raters voted; None where they are not named."""
        votes = self.given()
        return None if votes.rater is None else len(np.unique(votes.rater))

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
    names, known = columns or {}, dict.fromkeys([*FIELDS, *also, *IMPORTED])
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(known)}.")
    fields = {**FIELDS, **dict.fromkeys(also, pa.string())}
    how = PeopleOnly(tuple(beside), with_judges)
    place = source if isinstance(source, RawTable) else Path(source)
    if isinstance(place, Path):
        refuse_file_of_verdicts(place)
    stated = Stated(names, values or {}, tool, Path(wide) if wide else None, question, explode)
    opened = _open_votes(place, stated, fields, labels)
    keep = Keep(tuple(kinds), uncounted, unverified, opened.asked)
    votes = _make_votes(opened, values or {} if labels == "any" else {}, labels, keep, tuple(also), how)
    return _with_comments(votes, place) if "comment" in also and isinstance(place, Path) else votes


def _with_comments(votes: Votes, path: Path) -> Votes:
    """The votes with what their raters wrote, from the comments.jsonl beside them, unless they hold comments."""
    comments_file = path.parent / "comments.jsonl"
    if votes.rater is None or "comment" in votes.also or not comments_file.exists():
        return votes
    texts = defaultdict[tuple[str, str], list[str]](list)
    for comment in read_records(comments_file, Comment):
        texts[comment.pair, comment.rater].append(comment.text)
    keys = zip(votes.pair.tolist(), votes.rater.tolist(), strict=True)
    comments = [" / ".join(texts.get((votes.pairs[pair], votes.raters[rater]), ())) for pair, rater in keys]
    return replace(votes, also={**votes.also, "comment": np.array(comments, dtype=object)})


def votes_from_columns(table: Any, **options: Any) -> Votes:
    """The same from a mapping of columns or a DataFrame."""
    return read_votes(table_in_memory("votes", table), **options)


def _make_votes(
    opened: Opened, values: Mapping[str, str], labels: str, keep: Keep, also: tuple[str, ...], how: PeopleOnly
) -> Votes:
    """Check the columns, keep the votes that are asked for and say what was left out."""
    table = opened.read
    columns = {ours: table.arrays.get(ours) for ours in [*FIELDS, *also]}
    _complain_of_missing(table, columns)
    columns["source"], of_judges = doors_of(table, columns["source"], columns["rater"], how)
    none, values = no_votes(values), {word: ours for word, ours in values.items() if ours != IGNORED}
    mask, left_out, excluded = keep_votes(table, columns, keep)
    leave_out(columns["choice"], none, mask, left_out, excluded)
    rows = np.flatnonzero(mask)
    if not len(rows):
        raise InputError(f"{table.path} has no votes to analyse" + (f" ({'; '.join(left_out)})." if left_out else "."))
    columns = {name: None if array is None else array.filter(pa.array(mask)) for name, array in columns.items()}
    choice, words_found = _need_codes(table, rows, columns["choice"], "choice")
    legal = _find_labels(words_found, values, labels)
    sides_left = _read_left(table, rows, columns["left"])
    sides = None if labels == "any" else _read_systems(table, rows, columns["system_a"], columns["system_b"])
    choice = _translate_codes(table, rows, choice, words_found, values, legal, "choice")
    pair, pairs = _need_codes(table, rows, columns["pair"], "pair")
    rater, raters = _optional_codes(table, rows, columns["rater"], "rater")
    dialogue, dialogues = _optional_codes(table, rows, columns["dialogue"], "dialogue")
    item, _ = _optional_codes(table, rows, columns["item"], "item")
    door, doors = _optional_codes(table, rows, columns["source"], "source")
    device, devices = _optional_codes(table, rows, _name_unknown(columns["device"]), "device")
    votes = Votes(
        pair=pair,
        pairs=pairs,
        choice=choice,
        labels=legal,
        rater=rater,
        raters=raters,
        round=_read_rounds(table, rows, columns["round"]),
        left=sides_left,
        seconds=None if columns["seconds"] is None else columns["seconds"].to_numpy().astype(np.float64),
        dialogue=dialogue,
        dialogues=dialogues,
        item=item,
        identical=read_flags(columns["identical"], missing=False),
        kind=keep.kinds,
        counted=read_flags(columns["counted"], missing=True),
        auto=read_flags(columns["auto"], missing=False),
        batch=None if columns["batch"] is None else columns["batch"].fill_null(0).to_numpy().astype(np.int64),
        propensity=None if columns["propensity"] is None else columns["propensity"].to_numpy().astype(np.float64),
        door=door,
        doors=doors,
        device=device,
        devices=devices,
        differences=_read_shown(columns["differences"]),
        also={name: np.array(array.to_pylist(), dtype=object) for name in also if (array := columns[name]) is not None},
        warnings=(*(f"{part}." for part in left_out), *of_judges),
    )
    words = {word: values[word] for word in words_found if word in values}
    reading = replace(opened.reading, words={**opened.reading.words, **words}, excluded=excluded)
    turned = {} if sides is None else _orient_pairs(votes.pair, votes.pairs, choice, sides_left, item, sides)
    return replace(votes, ledger=reading, **turned)


def _complain_of_missing(table: Columns, columns: Mapping[str, Any]) -> None:
    for ours in ("pair", "choice"):
        if columns[ours] is None:
            raise InputError(
                f"{table.path} has no column {ours!r}, which every vote needs (of those known, found: "
                f"{', '.join(table.found) or 'none'}). If it has another name, map it: --columns {ours}=..."
            )


def _need_codes(table: Columns, rows: Ints, array: Any, name: str) -> tuple[Ints, tuple[str, ...]]:
    codes, names = codes_of(array)
    if (missing := np.flatnonzero(codes < 0)).size:
        raise InputError(
            f"{table.place(int(rows[missing[0]]))}: {name} is empty; give every vote one, or take the row out."
        )
    return codes.astype(np.int64), names


def _name_unknown(array: Any) -> Any:
    """Votes without a device are of an unknown one, where others have one."""
    return array if array is None or array.null_count == len(array) else array.fill_null("unknown")


def _read_shown(array: Any) -> Ints | None:
    """Three states in one column; None where no vote has one of the first two."""
    if array is None or array.null_count == len(array):
        return None
    return np.asarray(array.cast(pa.int64()).fill_null(-1).to_numpy(), dtype=np.int64)


def _optional_codes(table: Columns, rows: Ints, array: Any, name: str) -> tuple[Ints | None, tuple[str, ...]]:
    if array is None or array.null_count == len(array):
        return None, ()
    return _need_codes(table, rows, array, name)


def _read_rounds(table: Columns, rows: Ints, array: Any) -> Ints | None:
    if array is None or array.null_count == len(array):
        return None
    wrong = pc.fill_null(pc.less(array, 0), True)
    if (row := int(pc.index(wrong, True).as_py())) >= 0:
        number = array[row].as_py()
        raise InputError(
            f"{table.place(int(rows[row]))}: round is {'empty' if number is None else number}; give every vote 1, 2, "
            "... (0 where `counted` says it is not), or leave the column out: --columns round=-."
        )
    return np.asarray(array.to_numpy(), dtype=np.int64)


def _read_left(table: Columns, rows: Ints, array: Any) -> Ints | None:
    if array is None or array.null_count == len(array):
        return None
    codes, words = codes_of(array)
    if strange := [name for name in words if name not in ("a", "b")]:
        row = int(rows[np.flatnonzero(codes == words.index(strange[0]))[0]])
        raise InputError(
            f"{table.place(row)}: left is {strange[0]!r}, which is not one of a, b. It tells which response stood on "
            "the left. If the column means something else, leave it out: --columns left=-."
        )
    known = np.array([("a", "b").index(name) for name in words])[np.maximum(codes, 0)]
    return np.where(codes < 0, -1, known)


def design_weights(votes: Votes, contrast: Ints) -> Floats | None:
    """What each vote counts where pairs of a contrast got further votes by what was answered; None: all the same.

    `contrast` are codes, one a vote. A vote without a probability counts one.
    """
    if votes.propensity is None or votes.batch is None:
        return None
    known = np.isfinite(votes.propensity) & (votes.propensity > 0)
    weights = np.ones(len(votes))
    weights[known] = weigh_votes(contrast[known], votes.pair[known], votes.batch[known], votes.choice[known])
    return None if np.allclose(weights, 1.0) else weights


def net_scores(choice: Ints) -> Floats:
    """+1 for a, -1 for b, 0 for a tie: the mean is the net preference for a."""
    return np.array([1.0, -1.0, 0.0])[choice]


@dataclass(frozen=True, eq=False)
class Sides:
    """The system on either side of every vote, as the table has it."""

    a: Ints  # code into `systems`
    b: Ints
    systems: tuple[str, ...]


def _read_systems(table: Columns, rows: Ints, a: Any, b: Any) -> Sides | None:
    """The two systems of every vote; None where the table names none."""
    if a is None or b is None or a.null_count + b.null_count == len(a) + len(b):
        return None
    texts = []
    for name, array in (("system_a", a), ("system_b", b)):
        codes, names = codes_of(array)
        if (missing := np.flatnonzero(codes < 0)).size:
            raise InputError(f"{table.place(int(rows[missing[0]]))}: {name} is empty; every vote compares two systems.")
        texts.append(np.array(names, dtype=object)[codes])
    systems, joined = np.unique(np.concatenate(texts).astype(str), return_inverse=True)
    return Sides(joined[: len(rows)], joined[len(rows) :], tuple(systems.tolist()))


def _orient_pairs(
    pair: Ints, pairs: tuple[str, ...], choice: Ints, left: Ints | None, item: Ints | None, sides: Sides
) -> dict[str, Any]:
    """Every pair turned one way, as fields of votes; a pair that several comparisons share becomes several pairs."""
    low, high = np.minimum(sides.a, sides.b), np.maximum(sides.a, sides.b)
    turned = sides.a > sides.b
    key = (pair * len(sides.systems) + low) * len(sides.systems) + high
    _, first, of_vote = np.unique(key, return_index=True, return_inverse=True)
    shared = len(first) > len(np.unique(pair))
    names = [pairs[pair[k]] for k in first.tolist()]
    if shared:
        names = [
            f"{name}|{sides.systems[low[k]]}|{sides.systems[high[k]]}" for name, k in zip(names, first, strict=True)
        ]
    return {
        "pair": of_vote,
        "pairs": tuple(names),
        "item": pair if shared and item is None else item,
        "choice": np.where(turned & (choice < 2), 1 - choice, choice),
        "left": None if left is None else np.where(turned & (left >= 0), 1 - left, left),
        "system_a": low,
        "system_b": high,
        "systems": sides.systems,
    }


def _find_labels(words: tuple[str, ...], values: Mapping[str, str], labels: str) -> tuple[str, ...]:
    """a, b and tie; or, where every value is a label, the values found in their order."""
    if labels == "tie":
        return LABELS
    names = {values.get(name, name) for name in words}
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(sorted(names))


def _translate_codes(
    table: Columns,
    rows: Ints,
    codes: Ints,
    words: tuple[str, ...],
    values: Mapping[str, str],
    legal: tuple[str, ...],
    name: str,
) -> Ints:
    """Codes into `legal`; a value that is not legal is named with its line and the mapping that would help."""
    ours = [values.get(value, value) for value in words]
    if wrong := [code for code, value in enumerate(ours) if value not in legal]:
        row = int(rows[np.flatnonzero(codes == wrong[0])[0]])
        raise InputError(
            f"{table.place(row)}: {name} is {words[wrong[0]]!r}, which is not one of {', '.join(legal)} (found: "
            f"{', '.join(map(repr, words[:8]))})."
        )
    return np.array([legal.index(value) for value in ours], dtype=np.int64)[codes]


# A source of votes (a file of any form, a table in memory) as columns of ours, with the account of how it was read


QUESTION = "question"


@dataclass(frozen=True, eq=False)
class Opened:
    """The columns by our names, and the account."""

    read: Columns
    reading: Reading
    asked: Bools | None = None  # which rows answer the question, where the file holds several


def _open_votes(source: Path | RawTable, stated: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    """Read the source by the one reading that it has, or say which readings it may have."""
    if isinstance(source, RawTable):
        opened = _open_table(source, stated, fields, labels)
        quiet = not opened.reading.dropped
        return replace(opened, reading=replace(opened.reading, read=0)) if quiet else opened
    if not (stated.tool or stated.wide or stated.columns or stated.values) and _has_header(source):
        return _open_ours(source, stated, fields)
    if not source.exists():
        read_columns(source, fields, record="votes")  # says so, and how to write the file
    if source.is_dir() and stated.tool == "potato":
        return _open_table(read_folder(source, stated.columns), stated, fields, labels)
    return _open_table(read_table(source), stated, fields, labels)


def _has_header(path: Path) -> bool:
    """Whether this is JSON Lines whose first line says what records it holds."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            head = handle.readline(1 << 16)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        row = json.loads(head.lstrip(b"\xef\xbb\xbf"))
    except ValueError:
        return False
    return isinstance(row, dict) and "format" in row and "version" in row


def _open_ours(path: Path, stated: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    table = read_columns(path, {**fields, QUESTION: pa.string()}, record="votes")
    mask = _rows_of_question(table, stated.question)
    rows = len(next(iter(table.arrays.values()), ())) if mask is None else int(mask.sum())
    form = "file of votes" + (f", question {stated.question}" if stated.question else "")
    return Opened(table, Reading(form, rows), mask)


def _open_table(table: RawTable, stated: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    if unused := [
        name
        for name in ("status", "submission", "left_text")
        if labels == "any" and stated.columns.get(name, "-") != IGNORED
    ]:
        raise InputError(f"--columns {unused[0]}=... does nothing where any label counts.")
    if (
        labels == "any"
        and not stated.wide
        and stated.tool in ("", "plain")
        and recognise_tool(table, stated.columns) == "plain"
    ):
        return _open_labelled(table, stated, fields)
    return _open_judgements(read_judgements(table, stated), fields)


def _are_filled(is_right: Callable[[str], bool]) -> Callable[[Sequence[Any]], bool]:
    """Whether all cells that hold something, and one at least, hold what they should."""

    def check(values: Sequence[Any]) -> bool:
        words = [word for value in values if value is not None and (word := cell_text(value).strip())]
        return bool(words) and all(map(is_right, words))

    return check


def _is_probability(word: str) -> bool:
    try:
        return 0 < float(word) <= 1
    except ValueError:
        return False


# Columns that weigh or part the votes: of a table from elsewhere they are ours only if they hold what ours do.
OURS_ALONE: Mapping[tuple[str, ...], Mapping[str, Callable[[Sequence[Any]], bool]]] = {
    ("device",): {"device": _are_filled({"phone", "tablet", "desktop"}.__contains__)},
    ("differences",): {"differences": _are_filled(lambda word: word.lower() in ("true", "false"))},
    ("batch", "propensity"): {
        "batch": _are_filled(lambda word: word.removesuffix(".0").isdecimal()),
        "propensity": _are_filled(_is_probability),
    },
}


def _drop_foreign(columns: Mapping[str, Sequence[Any]], named: Collection[str]) -> dict[str, Any]:
    """The columns without those that only have the name of one of ours; one that somebody named is meant."""
    foreign = [
        name
        for names, fits in OURS_ALONE.items()
        for name in names
        if name not in named and not all(ours in columns and fits[ours](columns[ours]) for ours in names)
    ]
    return {name: values for name, values in columns.items() if name not in foreign}


def _open_judgements(judgements: Judgements, fields: Mapping[str, pa.DataType]) -> Opened:
    """Settled votes as typed columns; a column of our names that a tool wrote for itself is not one of ours."""
    table, columns = judgements.table, dict[str, Any]()
    ignored = {ours for ours, theirs in judgements.reading.columns.items() if theirs == IGNORED}
    for ours in fields:
        name = judgements.names.get(ours, ours if judgements.tool == "plain" else "")
        if name in table.columns and ours not in ignored:
            columns[ours] = table.columns[name]
    columns = _drop_foreign(columns, judgements.names)
    columns |= {"pair": judgements.pair, "choice": judgements.choice}
    if any(judgements.left):
        columns["left"] = judgements.left
    else:
        columns.pop("left", None)
    if judgements.a:
        columns |= {"system_a": judgements.a, "system_b": judgements.b}
    if judgements.times:
        columns["round"] = _rounds_by_time(judgements)
    if (
        "item" not in columns
        and judgements.names.get("pair") != judgements.names.get("item")
        and "item" in judgements.names
    ):
        columns["item"] = table.text(judgements.names["item"])
    typed = columns_of_table(replace(table, columns=columns, twins=()), fields)
    return Opened(replace(typed, found=table.names), judgements.reading)


def _rounds_by_time(judgements: Judgements) -> list[int]:
    """The order in which each comparison got its votes."""
    numbers: dict[Any, int] = defaultdict(int)
    rounds = []
    for row, pair in enumerate(judgements.pair):
        key = (pair, frozenset((judgements.a[row], judgements.b[row]))) if judgements.a else pair
        numbers[key] += 1
        rounds.append(numbers[key])
    return rounds


def _open_labelled(table: RawTable, stated: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    """A table in which any word is a label."""
    names = {ours: theirs for ours, theirs in stated.columns.items() if theirs != IGNORED}
    table.check_columns(names.values())
    table, question = take_one_question(table, stated, names)
    ignored = {ours for ours, theirs in stated.columns.items() if theirs == IGNORED}
    columns = {
        field: table.columns[name]
        for field in fields
        if (name := names.get(field, field)) in table.columns and field not in ignored
    }
    columns = _drop_foreign(columns, names)
    typed = columns_of_table(replace(table, columns=columns), fields)
    columns_used = {field: names.get(field, field) for field in columns}
    return Opened(
        replace(typed, found=table.names),
        Reading(f"table of votes{question}", len(table), columns_used, notes=table.notes),
    )


def _rows_of_question(table: Columns, question: str) -> Bools | None:
    """Which rows answer the question; None where there is but one."""
    array = table.arrays.get(QUESTION)
    codes, questions = (None, ()) if array is None else codes_of(array.fill_null(""))
    question = ask_question(table.path, questions, question, lambda: _has_repeated_votes(table))
    return np.asarray(codes == questions.index(question)) if question else None


def _has_repeated_votes(table: Columns) -> bool:
    """Whether some rater votes on some pair in several rows."""
    columns = [array for name in ("pair", "rater") if (array := table.arrays.get(name)) is not None]
    codes = np.stack([codes_of(column)[0] for column in columns], axis=1)
    return len(np.unique(codes, axis=0)) < len(codes)
