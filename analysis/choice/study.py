"""The answer of a study folder, and which stratum every rater belongs to.

A stratum is what a rater said in raters.jsonl, or a column of a table of people.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from analysis.choice.answer import ChoiceAnswer, answer
from analysis.votes.choices import Choices, profiles_beside, read_answers, read_models
from analysis.votes.forms import read_elsewhere
from dialogue.errors import InputError
from dialogue.importing.naming import Names
from dialogue.importing.people import NOT_GIVEN, groups_of_people
from dialogue.questions import read_questions


def choice_answer(
    study: Path, *, choices: Path | None = None, columns: Names = (), count_from: int = 0, by: str = "",
    raters: Path | None = None, clusters: str = "auto", uncounted: bool = False,
) -> ChoiceAnswer:  # fmt: skip
    """The answer of a study folder with questions.jsonl, and choices.jsonl or nuc.parquet or both."""
    if not (study / "questions.jsonl").is_file():
        raise InputError(_without_questions(study))
    questions = read_questions(study / "questions.jsonl")
    path = study / "choices.jsonl" if choices is None else choices
    found = None
    if choices is not None or path.exists():
        found = read_answers(path, questions, columns=columns, first=count_from, uncounted=uncounted)
    models = read_models(study / "nuc.parquet", questions) if (study / "nuc.parquet").exists() else []
    profiles = profiles_beside(path.parent if found else study)
    groups = strata_by(by, raters, profiles, found) if by else None
    return answer(questions, found, models, groups=groups, by=by, profiles=profiles, clusters=clusters)


def _without_questions(study: Path) -> str:
    if study.is_file():
        return f"{study} is not a folder. Give the study folder, which has questions.jsonl."
    if (study / "choices.jsonl").exists():
        return f"{study} has choices.jsonl and no questions.jsonl: put the questions beside their answers."
    what = read_elsewhere(study) or (
        f"its raters judged pairs: python -m analysis preference {study}" if (study / "votes.jsonl").exists()
        else "make some: python -m evaluators questions"
    )  # fmt: skip
    return f"{study} has no questions.jsonl, so nobody chose among options there; {what}"


def strata_by(
    by: str, table: Path | None, profiles: Mapping[str, Mapping[str, str]], choices: Choices | None
) -> dict[str, str]:
    """Rater -> stratum."""
    if table is not None:
        groups = groups_of_people(table, by)
        if choices is not None and not set(groups) & set(choices.raters):
            raise InputError(f"{table} holds none of the raters of these answers, e.g. {choices.raters[:1]}.")
        return groups
    asked = sorted({name for profile in profiles.values() for name in profile})
    if by not in asked:
        there = f"it has {', '.join(asked)}" if asked else "no rater told anything there"
        raise InputError(
            f"--by {by}: nobody was asked that in raters.jsonl ({there}). Name one of these, or give a table of "
            "people: --raters TABLE"
        )
    return {rater: profile.get(by, NOT_GIVEN) for rater, profile in profiles.items()}
