"""The questions of the analysis as functions: what a notebook calls and what the commands print.

Votes are a DataFrame, a mapping of columns, a list of records or dicts, a file or a study folder. Every function
returns a `Result`, which shows itself as tables, keeps every number in `document` and draws itself with `plot()`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from analysis.arguments import check_margin, check_ranges
from analysis.showing.result import Result
from analysis.votes.cautions import reading_of, told_of_reading
from analysis.votes.inputs import JUDGED, matches_of, study_from, unverified_apart, votes_of
from dialogue.errors import InputError

if TYPE_CHECKING:
    from analysis.questions.choice.asking import choice as choice
    from analysis.questions.compare_runs import compare_runs as compare_runs
    from analysis.questions.erasure import erasure as erasure
    from analysis.questions.judge.asking import judged as judged
    from analysis.questions.leaderboard import leaderboard as leaderboard
    from analysis.questions.planning.asking import plan as plan
    from analysis.questions.ratings.asking import ranks as ranks
    from analysis.questions.ratings.asking import ratings as ratings
    from analysis.questions.robustness import robustness as robustness
    from analysis.questions.variance.asking import variance as variance
    from analysis.questions.worth import worth as worth
    from analysis.votes.keeping import Unverified
    from analysis.votes.systems import Matches
    from analysis.votes.votes import Votes

HOMES = {
    "choice": "analysis.questions.choice.asking",
    "compare_runs": "analysis.questions.compare_runs",
    "erasure": "analysis.questions.erasure",
    "judged": "analysis.questions.judge.asking",
    "leaderboard": "analysis.questions.leaderboard",
    "plan": "analysis.questions.planning.asking",
    "ranks": "analysis.questions.ratings.asking",
    "ratings": "analysis.questions.ratings.asking",
    "robustness": "analysis.questions.robustness",
    "worth": "analysis.questions.worth",
    "variance": "analysis.questions.variance.asking",
}


def __getattr__(name: str) -> Any:
    """A question is imported when it is first asked: none of them waits for the libraries of the others."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def ties(
    votes: Any,
    *,
    size: int | None = None,
    unit: str = "vote",
    replace: bool = False,
    method: str = "exact",
    sets: int = 50_000,
    clusters: str = "auto",
    mixed: bool = False,
    seed: int = 0,
    **reading: Any,
) -> Result:
    """The share of ties of each HumanExp, in sets of `size` votes, and by every unit (`analyze_ties.py`).

    The size is 200, as in the papers, or half of the smallest HumanExp where that has fewer votes.
    """
    from analysis.ties.answer import answer
    from analysis.ties.text import document, parts
    from analysis.votes.inputs import with_items

    read = with_items(votes_of(votes, **reading), clusters, votes)
    found = answer(
        read,
        size=size,
        unit=unit,
        replace=replace,
        method=method,
        sets=sets,
        clusters=clusters,
        mixed=mixed,
        seed=seed,
    )

    def draw() -> Any:
        from analysis.ties.figures import figures

        return figures(found)

    return Result(_with_reading(document(found), read), parts(found), draw, told_of_reading(read))


def agreement(
    votes: Any,
    *,
    labels: str = "tie",
    clusters: str = "auto",
    seed: int = 0,
    raters: str | Path | None = None,
    by: str = "",
    **reading: Any,
) -> Result:
    """How far raters agree, with intervals, and every rater's habits (`python -m analysis agreement`).

    `raters` is a table of people and `by` its column: agreement within each group then stands beside that of all.
    """
    from analysis.agreement.answer import answer
    from analysis.agreement.text import document, parts
    from analysis.votes.inputs import with_items

    read = votes_of(votes, labels="tie" if labels == "tie" else "any", **reading)
    read = with_items(read, clusters, votes)
    found = answer(read, labels=labels, clusters=clusters, seed=seed)

    def draw() -> Any:
        from analysis.agreement.figures import figures

        return figures(found)

    result = Result(_with_reading(document(found), read), parts(found), draw, told_of_reading(read))
    return result if raters is None else _with_agreement_by(result, read, Path(raters), by, clusters)


def preference(
    votes: Any,
    *,
    pairs: Any = None,
    margin: float | None = None,
    model: Literal["davidson", "rao-kupper"] = "davidson",
    clusters: str = "auto",
    sets: int = 5000,
    careful: bool | None = None,
    mixed: bool = False,
    seed: int = 0,
    raters: str | Path | None = None,
    by: str = "",
    **reading: Any,
) -> Result:
    """Which system raters prefer, and whether two are equivalent (`python -m analysis preference`).

    `raters` is a table of people and `by` its column: the preference of each group then stands beside that of all.
    """
    from analysis.preference.answer import answer
    from analysis.preference.text import document, parts

    check_ranges(locals(), sets=(2, math.inf))
    check_margin(margin)
    matches, known = matches_of(votes, pairs, kinds=JUDGED, **reading)
    found = answer(
        matches, known=known, margin=margin, model=model, clusters=clusters, sets=sets, careful=careful, mixed=mixed,
        seed=seed, alone=unverified_apart(votes, pairs, matches, **reading),
    )  # fmt: skip

    def draw() -> Any:
        from analysis.preference.figures import figures

        return figures(found)

    shown = _with_reading(document(found), matches.votes, matches.systems)
    result = Result(shown, parts(found), draw, told_of_reading(matches.votes))
    return result if raters is None else _with_preference_by(result, matches, Path(raters), by, clusters)


def _with_reading(document: Mapping[str, Any], votes: Votes | None, systems: Sequence[str] = ()) -> dict[str, Any]:
    """The same with what was read and what was left out of it; null where no votes were."""
    return {**document, "reading": None if votes is None else reading_of(votes, systems)}


def _with_preference_by(result: Result, matches: Matches, raters: Path, by: str, clusters: str) -> Result:
    """The same with the preference of each group of raters."""
    from analysis.preference.strata import preference_by, strata_document, strata_parts
    from analysis.votes.strata import strata_of
    from analysis.votes.systems import contrasts

    if not by:
        raise InputError("--raters names a table of people; say which of its columns makes the groups: --by COLUMN.")
    whole = strata_of(matches.votes, raters, by)
    each = [(one, strata_of(one.votes, raters, by)) for one in contrasts(matches)]
    found = preference_by(each, clusters)
    *shown, recipe = result.parts
    return replace(
        result,
        document={**result.document, "strata": strata_document(found, by, whole.notes)},
        parts=[*shown, *strata_parts(found, by, whole.notes), recipe],
    )


def _with_agreement_by(result: Result, votes: Votes, raters: Path, by: str, clusters: str) -> Result:
    """The same with the agreement within each group of raters."""
    from analysis.agreement.strata import agreement_by, agreement_strata_document, agreement_strata_parts
    from analysis.votes.strata import strata_of

    if not by:
        raise InputError("--raters names a table of people; say which of its columns makes the groups: --by COLUMN.")
    strata = strata_of(votes, raters, by)
    found = agreement_by(votes, strata, clusters)
    *shown, recipe = result.parts
    return replace(
        result,
        document={**result.document, "strata": agreement_strata_document(found, by, strata.notes)},
        parts=[*shown, *agreement_strata_parts(found, by, strata.notes), recipe],
    )


def compare(
    study: Any,
    *,
    votes: Any = None,
    pairs: Any = None,
    within: float = 2.0,
    pay: float | None = None,
    machine: float | None = None,
    published: bool = False,
    clusters: str = "auto",
    with_judges: bool = False,
    unverified: Unverified = "",
    question: str = "",
) -> Result:
    """People and every evaluator side by side (`python -m analysis compare`).

    `study` is a study folder, or a table of scores as `variance` takes it (None: no scores) with votes and their pairs.
    """
    from analysis.comparison import answer as comparison
    from analysis.comparison.text import document, parts

    check_ranges(locals(), within=(0.001, math.inf), pay=(0, math.inf), machine=(0, math.inf))
    read = study_from(study, votes, pairs, with_judges=with_judges, unverified=unverified, question=question)
    found = comparison.answer(read, within=within, pay=pay, machine=machine, papers=published, clusters=clusters)
    if found is None:
        raise comparison.nothing(read, "What was given" if votes is not None else str(study))

    def draw() -> Any:
        from analysis.comparison.figures import figures

        return figures(found)

    return Result(_with_reading(document(found), read.votes), parts(found), draw)
