"""Whether people cast the votes that are read: a judge's vote is refused, or kept as a rater's where that is asked for.

What tells a judge's vote stands in `dialogue/judges.py`; who voted is told by `voters.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.votes.columns import Columns, codes_of
from dialogue.judges import JUDGE, UNKNOWN_DOOR, door_of, is_judge_name, judges_beside, refusal, refuse_verdicts, whose

NO_JUDGES = "No vote here is a judge's, so --with-judges changed nothing."


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


def doors_of(read: Columns, source: Any, rater: Any, how: PeopleOnly) -> tuple[Any, tuple[str, ...]]:
    """The door that every vote came through as an array of texts, and what to say of it.

    A judge's vote stops here, unless judges may be counted. Without sources and judges there is no array.
    """
    sources, doors = (None, ()) if source is None else codes_of(source.fill_null(UNKNOWN_DOOR))
    raters, names = (None, ()) if rater is None else codes_of(rater)
    known = judges_beside([*([read.path] if read.path.is_file() else []), *how.beside])
    ours = [door_of(door, read.place(int(np.flatnonzero(sources == code)[0]))) for code, door in enumerate(doors)]
    judged = np.zeros(max(len(codes) for codes in (sources, raters, ()) if codes is not None), dtype=bool)
    for codes, found in ((sources, [door == JUDGE for door in ours]),
                         (raters, [_whose(name or "", known) is not None for name in names])):  # fmt: skip
        if codes is not None and any(found):
            judged |= np.array([*found, False])[codes]
    if judged.any() and not how.with_judges:
        row = int(np.flatnonzero(judged)[0])
        rater = (names[raters[row]] or "") if raters is not None and raters[row] >= 0 else ""
        by_source = sources is not None and ours[sources[row]] == JUDGE
        why = whose("", rater, known) if by_source else _whose(rater, known)
        raise refusal(read.place(row), why or "")
    said = (NO_JUDGES,) if how.with_judges and not judged.any() else ()
    if not judged.any() and (source is None or ours == [*doors]):
        return (None if source is None else source.fill_null(UNKNOWN_DOOR)), said
    return _renamed(sources, np.array(ours or [UNKNOWN_DOOR], dtype=object), judged), said


def _whose(rater: str, known: Mapping[str, str]) -> str | None:
    """Why a rater is a judge: by the verdicts beside the votes, or by a name that a judge has and no person."""
    return whose("", rater, known) or (f"is {rater!r}, a judge's name" if is_judge_name(rater) else None)


def _renamed(sources: Any, ours: NDArray[np.object_], judged: NDArray[np.bool_]) -> Any:
    """The doors by our words for them, `judge` among them whatever the file calls it."""
    codes = np.zeros(len(judged), np.int64) if sources is None else sources
    return pa.array(np.where(judged, JUDGE, ours[codes]), pa.string())
