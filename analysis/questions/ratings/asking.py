"""Asks which system is rated or ranked higher: for a notebook, the commands and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seedvote.analysis.questions.ratings.rankings import compare_ranks
from seedvote.analysis.questions.ratings.scores import compare_ratings
from seedvote.analysis.questions.ratings.showing import Answer, document, parts, row_figures
from seedvote.analysis.showing.result import Result
from seedvote.analysis.votes.inputs import ranks_of, ratings_of
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.importing.naming import Names


def ratings(
    table: Any,
    *,
    systems: Sequence[str] = (),
    clusters: str = "auto",
    columns: Names = (),
    values: Names = (),
    wide: str | Path | None = None,
    question: str = "",
    mixed: bool = False,
) -> Result:
    """Which system is rated higher on a scale (`python -m analysis ratings`); `table` is a file or a DataFrame."""
    scores = ratings_of(table, systems, columns=columns, values=values, wide=wide, question=question)
    return _make_result(compare_ratings(scores, clusters=clusters, mixed=mixed), scores)


def ranks(table: Any, *, clusters: str = "auto", columns: Names = (), question: str = "") -> Result:
    """Which system is ranked higher (`python -m analysis ranks`); `table` is a file or a DataFrame."""
    rankings = ranks_of(table, columns=columns, question=question)
    return _make_result(compare_ranks(rankings, clusters=clusters), rankings)


def answer_study(study: Study, clusters: str) -> Answer | None:
    """The answer of `analysis ratings STUDY`, or of `ranks` where it holds these; None without either."""
    if study.ratings is None:
        return None
    compare = compare_ranks if study.ratings.ranks else compare_ratings
    return compare(study.ratings, clusters=clusters)


def _make_result(answer: Answer, table: RatingsTable) -> Result:
    return Result(with_reading(answer, table), parts(answer), lambda: row_figures(answer), table.told)


def with_reading(answer: Answer, table: RatingsTable) -> dict[str, Any]:
    """The keys of `--json`, with what was read and left out."""
    return {**document(answer), "reading": table.held}
