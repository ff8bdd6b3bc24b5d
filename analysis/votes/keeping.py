"""Which votes of a table count, and what is said of those that do not: by kind, standing, visit, and who cast them.

Votes whose visit no marketplace has confirmed could be anybody's. They are reported apart from the others, and pooled
only on request. A judge's vote is refused, or counted as a rater's on request (`dialogue/judges.py` has the rule).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.columns import Columns, codes_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.judges import (
    JUDGE,
    UNKNOWN_DOOR,
    door_of,
    find_judges,
    is_judge_name,
    refusal,
    refuse_verdicts,
    whose,
)

Bools = NDArray[np.bool_]
Unverified = Literal["", "out", "only", "with"]  # "": out, and refused where they would be pooled

KINDS = ("real", "check", "control")
NOT_COUNTED = "not counted (late, or of raters blocked or excluded)"
VERIFIED = "Verified: "
UNVERIFIED = "of visits that no marketplace has confirmed"
NO_JUDGES = "No vote here is a judge's, so --with-judges changed nothing."


@dataclass(frozen=True, slots=True)
class Keep:
    """What is asked for."""

    kinds: tuple[str, ...] = ("real",)
    uncounted: bool = False
    unverified: Unverified = ""
    asked: Bools | None = None  # the rows that answer the question; None: all


def keep_votes(table: Columns, columns: dict[str, Any], keep: Keep) -> tuple[Bools, list[str], dict[str, int]]:
    """Which votes to keep, and what is left out: in sentences, e.g. `12 votes on check pairs`, and by reason.

    Unverified votes that are taken in count from then on, so `columns` has their rounds and their standing afterwards.
    """
    mask = np.ones(len(columns["choice"]), dtype=bool) if keep.asked is None else keep.asked.copy()
    sentences, real, excluded = [], mask.copy(), {}
    if columns["kind"] is not None:
        codes, names = codes_of(columns["kind"].fill_null("real"))
        _check_kinds(table, codes, names)
        real = np.isin(codes, [code for code, name in enumerate(names) if name == "real"])
        for code, name in enumerate(names):
            if name not in keep.kinds:
                excluded[f"on {name} pairs"] = int((mask & (codes == code)).sum())
                sentences.append(f"Left out: {count(excluded[f'on {name} pairs'], 'vote')} on {name} pairs")
                mask &= codes != code
    _tell_unverified(table, columns, keep, mask, sentences, excluded)
    if columns["counted"] is not None:
        counted = read_flags(columns["counted"], missing=True)
        if late := int((mask & ~counted).sum()):
            used = "Used too" if keep.uncounted else "Left out"
            known = int((mask & ~counted & ~real).sum())  # named, or two commands would seem to count differently
            controls = f", {known:,} of them on control pairs" if known else ""
            sentences.append(f"{used}: {count(late, 'vote')} {NOT_COUNTED}{controls}")
            excluded |= {} if keep.uncounted else {"not counted: late, or of raters blocked or excluded": late}
        mask &= counted | keep.uncounted
    return mask, sentences, excluded


def _tell_unverified(
    table: Columns, columns: dict[str, Any], keep: Keep, mask: Bools, sentences: list[str], excluded: dict[str, int]
) -> None:
    """Tell verified and unverified votes apart, and keep those that are asked for; refuse to pool them unasked."""
    verified = read_flags(columns["verified"], missing=True)
    if verified is None or not (mask & ~verified).any():
        if keep.unverified == "only":
            raise InputError(f"{table.path} has no vote {UNVERIFIED}, so --unverified only leaves nothing.")
        return
    counted = (
        np.ones(len(mask), dtype=bool) if columns["counted"] is None else read_flags(columns["counted"], missing=True)
    )
    waiting = read_flags(columns["waiting"], missing=False)
    usable = mask & ~verified & (counted if waiting is None else counted | waiting)
    pooled = mask & ~verified & (counted | keep.uncounted)
    if not keep.unverified and pooled.any():
        raise InputError(
            f"{table.path}: {count(int(pooled.sum()), 'vote')} would be counted {UNVERIFIED}. They are not pooled with "
            "the others unasked. Add --unverified out (without them), only (them alone) or with (both together)."
        )
    trusted = mask & verified & counted
    used = {"only": ", which alone are used", "with": ", which are used too"}.get(keep.unverified, ", left out")
    sentences.append(
        f"{VERIFIED}{_say_shares(columns['choice'], trusted)}. Not verified ({UNVERIFIED}): "
        f"{_say_shares(columns['choice'], usable)}{used}"
    )
    lost = mask & ~verified
    if keep.unverified in ("only", "with"):
        _count_too(columns, usable if keep.unverified == "only" else usable | trusted)
        lost &= ~usable
    if lost.any():
        excluded[UNVERIFIED] = int(lost.sum())
    mask &= usable if keep.unverified == "only" else ~lost


def _say_shares(choice: Any, mask: Bools) -> str:
    """`36 votes, a 41.7 %, b 30.6 %, tie 27.8 %`, by the words of the table."""
    number = int(mask.sum())
    codes, names = codes_of(choice)
    shares = [(names[code], int((mask & (codes == code)).sum())) for code in range(len(names))]
    tally = [f"{name} {number_of_choice / number:.1%}" for name, number_of_choice in sorted(shares) if number_of_choice]
    return ", ".join([count(number, "vote"), *tally])


def _count_too(columns: dict[str, Any], counted: Bools) -> None:
    """These votes count, each pair's in the order in which they stand in the table."""
    columns["counted"] = pa.array(counted)
    if columns["round"] is None:
        return
    codes, _ = codes_of(columns["pair"])
    rows = np.flatnonzero(counted)
    order = rows[np.argsort(codes[rows], kind="stable")]
    first = np.r_[True, codes[order][1:] != codes[order][:-1]] if len(order) else np.zeros(0, dtype=bool)
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    rounds = np.zeros(len(counted), dtype=np.int64)
    rounds[order] = place + 1
    columns["round"] = pa.array(rounds)


def leave_out(choice: Any, none: frozenset[str], mask: Bools, left_out: list[str], excluded: dict[str, int]) -> None:
    """Without the votes whose answer is stated to be none, counted word by word."""
    if not none:
        return
    codes, names = codes_of(choice)
    for code, name in enumerate(names):
        if name.strip() in none and (number := int((mask & (codes == code)).sum())):
            excluded[f"{name!r}, stated as no vote"] = number
            left_out.append(f"Left out: {count(number, 'answer')} {name!r}, stated as no vote")
            mask &= codes != code


def _check_kinds(table: Columns, codes: NDArray[Any], names: Sequence[str]) -> None:
    """A column called kind that means something else would leave votes out."""
    if strange := [code for code, name in enumerate(names) if name not in KINDS]:
        row = int(np.flatnonzero(codes == strange[0])[0])
        raise InputError(
            f"{table.place(row)}: kind is {names[strange[0]]!r}, which is not one of {', '.join(KINDS)}. If the column "
            "means something else, leave it out: --columns kind=-."
        )


def read_flags(array: Any, *, missing: bool) -> Any:
    """A column of true and false; None where there is none."""
    return None if array is None else array.fill_null(missing).to_numpy(zero_copy_only=False).astype(bool)


@dataclass(frozen=True, slots=True)
class PeopleOnly:
    """What the reader of votes must know about judges: where their names may stand, and whether to count them."""

    beside: tuple[Path, ...] = ()
    with_judges: bool = False


def refuse_file_of_verdicts(path: Path) -> None:
    """Refuse a file that holds verdicts, in whatever form, before its columns are asked for."""
    try:
        refuse_verdicts(path, pq.read_schema(path).names if path.suffix == ".parquet" else ())
    except (OSError, pa.ArrowInvalid):
        return  # its reader says what is wrong with it


def doors_of(table: Columns, source: Any, rater: Any, how: PeopleOnly) -> tuple[Any, tuple[str, ...]]:
    """The door that every vote came through as an array of texts, and what to say of it.

    A judge's vote stops here, unless judges may be counted. Without sources and judges there is no array.
    """
    sources, doors = (None, ()) if source is None else codes_of(source.fill_null(UNKNOWN_DOOR))
    raters, names = (None, ()) if rater is None else codes_of(rater)
    known = find_judges([*([table.path] if table.path.is_file() else []), *how.beside])
    ours = [door_of(door, table.place(int(np.flatnonzero(sources == code)[0]))) for code, door in enumerate(doors)]
    judged = np.zeros(max(len(codes) for codes in (sources, raters, ()) if codes is not None), dtype=bool)
    for codes, judged_names in (
        (sources, [door == JUDGE for door in ours]),
        (raters, [_why_judge(name or "", known) is not None for name in names]),
    ):
        if codes is not None and any(judged_names):
            judged |= np.array([*judged_names, False])[codes]
    if judged.any() and not how.with_judges:
        row = int(np.flatnonzero(judged)[0])
        rater = (names[raters[row]] or "") if raters is not None and raters[row] >= 0 else ""
        by_source = sources is not None and ours[sources[row]] == JUDGE
        why = whose("", rater, known) if by_source else _why_judge(rater, known)
        raise refusal(table.place(row), why or "")
    notes = (NO_JUDGES,) if how.with_judges and not judged.any() else ()
    if not judged.any() and (source is None or ours == [*doors]):
        return (None if source is None else source.fill_null(UNKNOWN_DOOR)), notes
    return _rename_doors(sources, np.array(ours or [UNKNOWN_DOOR], dtype=object), judged), notes


def _why_judge(rater: str, known: Mapping[str, str]) -> str | None:
    """Why a rater is a judge: by the verdicts beside the votes, or by a name that a judge has and no person."""
    return whose("", rater, known) or (f"is {rater!r}, a judge's name" if is_judge_name(rater) else None)


def _rename_doors(sources: Any, ours: NDArray[np.object_], judged: NDArray[np.bool_]) -> Any:
    """The doors by our words for them, `judge` among them whatever the file calls it."""
    codes = np.zeros(len(judged), np.int64) if sources is None else sources
    return pa.array(np.where(judged, JUDGE, ours[codes]), pa.string())
