"""What `analysis compare` reads: a study folder, or a table of scores with votes and their pairs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from seedvote.analysis.questions.comparison.answer import WITHIN, ComparisonAnswer, answer
from seedvote.analysis.questions.comparison.showing import document, parts, row_figures
from seedvote.analysis.showing.result import Result
from seedvote.analysis.votes.cautions import with_reading
from seedvote.analysis.votes.forms import read_elsewhere
from seedvote.analysis.votes.inputs import study_from
from seedvote.analysis.votes.keeping import Unverified
from seedvote.analysis.votes.options import check_ranges
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.command_line import next_command
from seedvote.dialogue.errors import InputError


def compare(
    study: Any,
    *,
    votes: Any = None,
    pairs: Any = None,
    within: float = WITHIN,
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
    check_ranges(locals(), within=(0.001, math.inf), pay=(0, math.inf), machine=(0, math.inf))
    try:
        sources = study_from(study, votes, pairs, with_judges=with_judges, unverified=unverified, question=question)
    except InputError as error:
        _send_votes_elsewhere(study, error)
        raise
    comparison = answer(sources, within=within, pay=pay, machine=machine, papers=published, clusters=clusters)
    if comparison is None:
        raise _nothing_to_compare(sources, "What was given" if votes is not None else str(study))
    return Result(with_reading(document(comparison), sources.votes), parts(comparison), lambda: row_figures(comparison))


def answer_study(study: Study, clusters: str) -> tuple[ComparisonAnswer | None, dict[str, Any] | None]:
    """The answer of `analysis compare STUDY` and its numbers; None where nothing says which model was judged."""
    comparison = answer(study, clusters=clusters)
    return comparison, None if comparison is None else with_reading(document(comparison), study.votes)


def _send_votes_elsewhere(study: Any, error: InputError) -> None:
    """Of a table of votes or ratings the error says which command reads these."""
    if not isinstance(study, str | Path) or not Path(study).is_file() or "a score table has" not in str(error):
        return
    if instead := read_elsewhere(Path(study)):
        raise InputError(f"compare puts people beside metrics. {instead}") from error
    step = next_command("python -m analysis preference", study)
    raise InputError(f"{error} compare puts people beside metrics; for votes alone type: {step}") from error


def _nothing_to_compare(study: Study, name: str) -> InputError:
    """Why there is nothing to compare: all that was read and left out, or votes that name no model."""
    unused = [] if study.scores is None else compared_panels(study)[1]
    if unused:
        return InputError(f"{name} has nothing to compare. {'; '.join(map(str, unused))}.")
    return InputError(
        f"{name} has votes without pairs.jsonl and no scores, so it does not say which model was judged; nothing to "
        "compare. `python -m analysis preference` reads votes alone."
    )
