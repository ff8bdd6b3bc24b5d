"""Which votes of a table are kept, and what is said of those that are not: by kind, by standing, by whose visit it was.

Votes whose visit no marketplace has confirmed could be anybody's. They are told apart from the others, and never pooled
with them unless somebody says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.showing.words import count
from analysis.votes.columns import Columns, codes_of
from dialogue.errors import InputError

Bools = NDArray[np.bool_]
Unverified = Literal["", "out", "only", "with"]  # "": out, and refused where they would be pooled

KINDS = ("real", "check", "control")
NOT_COUNTED = "not counted (late, or of raters blocked or excluded)"
VERIFIED = "Verified: "
UNVERIFIED = "of visits that no marketplace has confirmed"


@dataclass(frozen=True, slots=True)
class Keep:
    """What is asked for."""

    kinds: tuple[str, ...] = ("real",)
    uncounted: bool = False
    unverified: Unverified = ""
    asked: Bools | None = None  # the rows that answer the question; None: all


def kept_votes(read: Columns, given: dict[str, Any], keep: Keep) -> tuple[Bools, list[str], dict[str, int]]:
    """Which votes to keep, and what is left out: in sentences, e.g. `12 votes on check pairs`, and by reason.

    Unverified votes that are taken in count from then on, so `given` has their rounds and their standing afterwards.
    """
    kept = np.ones(len(given["choice"]), dtype=bool) if keep.asked is None else keep.asked.copy()
    said, real, excluded = [], kept.copy(), {}
    if given["kind"] is not None:
        codes, names = codes_of(given["kind"].fill_null("real"))
        _check_kinds(read, codes, names)
        real = np.isin(codes, [code for code, name in enumerate(names) if name == "real"])
        for code, name in enumerate(names):
            if name not in keep.kinds:
                excluded[f"on {name} pairs"] = int((kept & (codes == code)).sum())
                said.append(f"Left out: {count(excluded[f'on {name} pairs'], 'vote')} on {name} pairs")
                kept &= codes != code
    _tell_unverified(read, given, keep, kept, said, excluded)
    if given["counted"] is not None:
        counted = flags(given["counted"], missing=True)
        if late := int((kept & ~counted).sum()):
            used = "Used too" if keep.uncounted else "Left out"
            known = int((kept & ~counted & ~real).sum())  # named, or two commands would seem to count differently
            more = f", {known:,} of them on control pairs" if known else ""
            said.append(f"{used}: {count(late, 'vote')} {NOT_COUNTED}{more}")
            excluded |= {} if keep.uncounted else {"not counted: late, or of raters blocked or excluded": late}
        kept &= counted | keep.uncounted
    return kept, said, excluded


def _tell_unverified(
    read: Columns, given: dict[str, Any], keep: Keep, kept: Bools, said: list[str], excluded: dict[str, int]
) -> None:
    """Tell verified and unverified votes apart, and keep those that are asked for; refuse to pool them unasked."""
    verified = flags(given["verified"], missing=True)
    if verified is None or not (kept & ~verified).any():
        if keep.unverified == "only":
            raise InputError(f"{read.path} has no vote {UNVERIFIED}, so --unverified only leaves nothing.")
        return
    counted = np.ones(len(kept), dtype=bool) if given["counted"] is None else flags(given["counted"], missing=True)
    waiting = flags(given["waiting"], missing=False)
    usable = kept & ~verified & (counted if waiting is None else counted | waiting)
    pooled = kept & ~verified & (counted | keep.uncounted)
    if not keep.unverified and pooled.any():
        raise InputError(
            f"{read.path}: {count(int(pooled.sum()), 'vote')} would be counted {UNVERIFIED}. They are not pooled with "
            "the others unasked. Add --unverified out (without them), only (them alone) or with (both together)."
        )
    trusted = kept & verified & counted
    used = {"only": ", which alone are used", "with": ", which are used too"}.get(keep.unverified, ", left out")
    said.append(
        f"{VERIFIED}{_shares(given['choice'], trusted)}. Not verified ({UNVERIFIED}): "
        f"{_shares(given['choice'], usable)}{used}"
    )
    if keep.unverified in ("only", "with"):
        taken = usable if keep.unverified == "only" else usable | (kept & verified & (counted | keep.uncounted))
        _count_too(given, usable if keep.unverified == "only" else usable | trusted)
    else:
        taken = kept & verified
    lost = kept & ~verified & ~taken
    if lost.any():
        excluded[UNVERIFIED] = int(lost.sum())
    kept &= taken if keep.unverified == "only" else ~lost


def _shares(choice: Any, mask: Bools) -> str:
    """`36 votes, a 41.7 %, b 30.6 %, tie 27.8 %`, by the words of the table."""
    number = int(mask.sum())
    codes, names = codes_of(choice)
    shares = [(names[code], int((mask & (codes == code)).sum())) for code in range(len(names))]
    told = [f"{name} {found / number:.1%}" for name, found in sorted(shares) if found]
    return ", ".join([count(number, "vote"), *told])


def _count_too(given: dict[str, Any], counted: Bools) -> None:
    """These votes count, each pair's in the order in which they stand in the table."""
    given["counted"] = pa.array(counted)
    if given["round"] is None:
        return
    codes, _ = codes_of(given["pair"])
    rows = np.flatnonzero(counted)
    order = rows[np.argsort(codes[rows], kind="stable")]
    first = np.r_[True, codes[order][1:] != codes[order][:-1]] if len(order) else np.zeros(0, dtype=bool)
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    rounds = np.zeros(len(counted), dtype=np.int64)
    rounds[order] = place + 1
    given["round"] = pa.array(rounds)


def leave_out(choice: Any, none: frozenset[str], kept: Bools, left_out: list[str], excluded: dict[str, int]) -> None:
    """Without the votes whose answer is stated to be none, counted word by word."""
    if not none:
        return
    codes, names = codes_of(choice)
    for code, name in enumerate(names):
        if name.strip() in none and (number := int((kept & (codes == code)).sum())):
            excluded[f"{name!r}, stated as no vote"] = number
            left_out.append(f"Left out: {count(number, 'answer')} {name!r}, stated as no vote")
            kept &= codes != code


def _check_kinds(read: Columns, codes: NDArray[Any], names: Sequence[str]) -> None:
    """A column called kind that means something else would leave votes out."""
    if strange := [code for code, name in enumerate(names) if name not in KINDS]:
        row = int(np.flatnonzero(codes == strange[0])[0])
        raise InputError(
            f"{read.place(row)}: kind is {names[strange[0]]!r}, which is not one of {', '.join(KINDS)}. If the column "
            "means something else, leave it out: --columns kind=-."
        )


def flags(array: Any, *, missing: bool) -> Any:
    """A column of true and false; None where there is none."""
    return None if array is None else array.fill_null(missing).to_numpy(zero_copy_only=False).astype(bool)
