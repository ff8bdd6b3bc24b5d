"""Votes that answer several questions: those of one are taken, and two are never pooled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.votes.columns import Columns, codes_of
from dialogue.errors import InputError, Unclear
from dialogue.files import read_records
from dialogue.importing.naming import IGNORED
from dialogue.records import Comment

Bools = NDArray[np.bool_]
MOST_QUESTIONS = 20  # a column with more values holds something else, e.g. what people asked a system
QUESTION = "question"


def with_questions(wanted: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The columns to read, with that of the questions."""
    name = names.get(QUESTION, QUESTION)
    return dict(wanted) if name == IGNORED else {**wanted, name: pa.string()}


def rows_asked(read: Columns, names: Mapping[str, str], question: str) -> Bools | None:
    """Which rows answer the question; None where there is but one. Several without a word which are refused."""
    array = read.arrays.get(names.get(QUESTION, QUESTION))
    if array is None:
        if question:
            raise InputError(
                f"--question is {question!r}, and {read.path} has no column of questions. Name it: --columns "
                "question=..."
            )
        return None
    codes, found = codes_of(array.fill_null(""))
    if question:
        if question not in found:
            raise InputError(f"--question is {question!r}; the questions are {', '.join(found[:MOST_QUESTIONS])}.")
        return np.asarray(codes == found.index(question))
    if 1 < len(found) <= MOST_QUESTIONS and (QUESTION in names or _judged_twice(read, names)):
        raise Unclear(
            f"{read.path} holds {len(found)} questions ({', '.join(found)}), which are analysed one by one and never "
            "pooled.",
            *({"--question": one} for one in found),
        )
    return None


def comments_beside(path: Path, pairs: Sequence[str], raters: Sequence[str]) -> NDArray[np.object_] | None:
    """What the rater of each vote wrote about its pair, from the comments.jsonl beside the votes; None without one."""
    beside = path.parent / "comments.jsonl"
    if not beside.exists():
        return None
    wrote = defaultdict[tuple[str, str], list[str]](list)
    for one in read_records(beside, Comment):
        wrote[one.pair, one.rater].append(one.text)
    return np.array([" / ".join(wrote.get(key, ())) for key in zip(pairs, raters, strict=True)], dtype=object)


def _judged_twice(read: Columns, names: Mapping[str, str]) -> bool:
    columns = [read.arrays.get(names.get(field, field)) for field in ("pair", "rater")]
    codes = np.stack([codes_of(one)[0] for one in columns if one is not None], axis=1)
    return len(np.unique(codes, axis=0)) < len(codes)
