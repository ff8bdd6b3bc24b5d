"""Asks who picks what was really said, of a study folder: for a notebook, the command and the report.

A stratum is what a rater said in raters.jsonl, or a column of a table of people.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seedvote.analysis.questions.choice.answer import ChoiceAnswer, answer
from seedvote.analysis.questions.choice.showing import document, parts, row_figures, section
from seedvote.analysis.showing.page import Reported
from seedvote.analysis.showing.result import Result
from seedvote.analysis.votes.choices import Choices, profiles_beside, read_answers, read_models
from seedvote.analysis.votes.forms import read_elsewhere
from seedvote.analysis.votes.study import ReportRequest
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.naming import Names
from seedvote.dialogue.importing.people import NOT_GIVEN, groups_of_people
from seedvote.dialogue.questions import read_questions


def choice(
    study: str | Path,
    *,
    choices: str | Path | None = None,
    columns: Names = (),
    count_from: int = 0,
    by: str = "",
    raters: str | Path | None = None,
    clusters: str = "auto",
    uncounted: bool = False,
    as_published: bool = False,
    published: bool = False,
    participants: bool = False,
) -> Result:
    """How often people and models pick what was really said (`python -m analysis choose`)."""
    shares = answer_folder(
        Path(study),
        choices=None if choices is None else Path(choices),
        columns=columns,
        count_from=count_from,
        by=by,
        raters=None if raters is None else Path(raters),
        clusters=clusters,
        uncounted=uncounted,
    )
    pieces = parts(shares, as_published=as_published, published=published, participants=participants)
    return Result(document(shares), pieces, lambda: row_figures(shares))


def in_report(request: ReportRequest) -> Reported:
    """As of `analysis choose STUDY`; nothing where the study has no questions, or nobody has answered them."""
    folder = request.study.folder
    has_answers = any((folder / name).exists() for name in ("choices.jsonl", "nuc.parquet"))
    if not has_answers or not (folder / "questions.jsonl").exists():
        return Reported()
    shares = answer_folder(folder, clusters=request.clusters)
    return Reported(section(shares), document(shares), shares)


def answer_folder(
    study: Path,
    *,
    choices: Path | None = None,
    columns: Names = (),
    count_from: int = 0,
    by: str = "",
    raters: Path | None = None,
    clusters: str = "auto",
    uncounted: bool = False,
) -> ChoiceAnswer:
    """The answer of a study folder with questions.jsonl, and choices.jsonl or nuc.parquet or both."""
    if not (study / "questions.jsonl").is_file():
        raise InputError(_explain_no_questions(study))
    questions = read_questions(study / "questions.jsonl")
    path = study / "choices.jsonl" if choices is None else choices
    answers = None
    if choices is not None or path.exists():
        answers = read_answers(path, questions, columns=columns, first=count_from, uncounted=uncounted)
    models = read_models(study / "nuc.parquet", questions) if (study / "nuc.parquet").exists() else []
    profiles = profiles_beside(path.parent if answers else study)
    groups = read_strata(by, raters, profiles, answers) if by else None
    return answer(questions, answers, models, groups=groups, by=by, profiles=profiles, clusters=clusters)


def _explain_no_questions(study: Path) -> str:
    if study.is_file():
        return f"{study} is not a folder. Give the study folder, which has questions.jsonl."
    if (study / "choices.jsonl").exists():
        return f"{study} has choices.jsonl and no questions.jsonl: put the questions into the folder of their answers."
    advice = read_elsewhere(study) or (
        f"its raters judged pairs: python -m analysis preference {study}"
        if (study / "votes.jsonl").exists()
        else "make some: python -m evaluators questions"
    )
    return f"{study} has no questions.jsonl, so nobody chose among options there; {advice}"


def read_strata(
    by: str, table: Path | None, profiles: Mapping[str, Mapping[str, str]], choices: Choices | None
) -> dict[str, str]:
    """Rater -> stratum."""
    if table is not None:
        groups = groups_of_people(table, by)
        if choices is not None and not set(groups) & set(choices.raters):
            raise InputError(f"{table} holds none of the raters of these answers, e.g. {choices.raters[:1]}.")
        return groups
    names = sorted({name for profile in profiles.values() for name in profile})
    if by not in names:
        known = f"it has {', '.join(names)}" if names else "no rater told anything there"
        raise InputError(
            f"--by {by}: nobody was asked that in raters.jsonl ({known}). Name one of these, or give a table of "
            "people: --raters TABLE"
        )
    return {rater: profile.get(by, NOT_GIVEN) for rater, profile in profiles.items()}
