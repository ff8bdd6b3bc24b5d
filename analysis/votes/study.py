"""Reads what a study folder holds; every part may be missing, and the report then says so."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from seedvote.analysis.votes.cautions import Voters, voters
from seedvote.analysis.votes.choices import Choices, read_answers
from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.keeping import Unverified
from seedvote.analysis.votes.ratings import RatingsTable, read_asked
from seedvote.analysis.votes.scores.files import Scores, Unused, find_score_files, read_study_scores, scores_of
from seedvote.analysis.votes.scores.panel import Panel
from seedvote.analysis.votes.votes import Votes, read_votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header, read_json, read_records
from seedvote.dialogue.importing.reading import Stated
from seedvote.dialogue.questions import read_questions
from seedvote.dialogue.records import Pair, Rater, Response

NOWHERE = Path(os.devnull)


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """What the report asks every question: about this study, with these votes together; the panels are compared."""

    study: Study
    clusters: str
    panels: Sequence[Panel] = ()
    left_out: Sequence[Unused] = ()  # scores that are compared nowhere, with the reason


@dataclass(frozen=True, eq=False)
class Study:
    """The files of one study, read."""

    folder: Path
    votes: Votes | None
    controls: Votes | None
    raters: tuple[Rater, ...]
    pairs: tuple[Pair, ...]
    responses: tuple[Response, ...]
    ties: Mapping[str, Any] | None
    scores: Scores | None
    recipes: Mapping[str, str]
    how: Mapping[str, Any] = field(default_factory=dict)  # what was said of judges' and of unverified votes
    table: Path | None = None  # votes from anywhere, without a study around them
    reading: Mapping[str, Any] = field(default_factory=dict)  # how that table is to be read
    ratings: RatingsTable | None = None  # ratings on a scale from anywhere, or ranks, in place of votes

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.folder.name if self.table is None else self.table.name

    @cached_property
    def hit(self) -> Mapping[str, Any]:
        """hit.toml as it was written."""
        path = self.folder / "hit.toml"
        return tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}

    @cached_property
    def choices(self) -> Choices | None:
        """People's answers to the study's questions, in choices.jsonl beside them; None where there are none."""
        answers, questions = self.folder / "choices.jsonl", self.folder / "questions.jsonl"
        if self.table is not None or not answers.exists() or not questions.exists():
            return None
        choices_given = read_answers(answers, read_questions(questions))
        return choices_given if len(choices_given) else None

    @property
    def asked(self) -> Mapping[str, Any]:
        """The one of several questions in hit.toml that the votes answer; empty where one is asked."""
        name = self.how.get("question")
        return next((question for question in self.hit.get("questions", ()) if question.get("name") == name), {})

    @cached_property
    def voters(self) -> Voters | None:
        """Who cast the votes on real pairs; None where there are none."""
        return None if self.votes is None else voters(self.votes)


def read_study(
    folder: Path,
    *,
    with_judges: bool = False,
    unverified: Unverified = "",
    question: str = "",
    votes_too: bool = True,
    ratings_too: bool = False,
) -> Study:
    """Read every file of the study that is there; refuse a folder that holds none of them, and a judge's vote.

    `ratings_too`: also where raters ranked and rated sets of responses, whose answers to one question are read.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the study folder, e.g. runs/demo.")
    votes = folder / "votes.jsonl"
    rated = folder / "ratings.jsonl"
    sets = ratings_too and not votes.exists() and rated.exists()
    if not votes.exists() and not sets and not find_score_files(folder)[0]:
        raise InputError(
            read_elsewhere(folder)
            or f"{folder} holds neither votes.jsonl nor a score table. Serve the study and export its votes (python -m "
            f"crowd serve {folder}), or probe its models (python -m probes run {folder}). Scores of your own come by "
            f"python -m analysis import-scores."
        )
    how: Mapping[str, Any] = {"with_judges": with_judges, "unverified": unverified, "question": question or ""}
    return Study(
        folder=folder,
        votes=read_votes(votes, also=("submitted", "comment"), **how) if votes_too and votes.exists() else None,
        controls=_read_controls(votes, how) if votes_too else None,
        raters=_read_records(folder / "raters.jsonl", Rater),
        pairs=_read_records(folder / "pairs.jsonl", Pair),
        responses=_read_records(folder / "responses.jsonl", Response),
        ties=read_json(folder / "ties.json") if (folder / "ties.json").exists() else None,
        scores=read_study_scores(folder),
        recipes=_read_recipes(folder),
        how=how,
        ratings=read_asked(rated, Stated(question=question)) if sets else None,
    )


def study_of(scores: Sequence[Any], votes: Votes | None, pairs: Sequence[Pair]) -> Study:
    """A study of tables in memory: there is no folder, so no logs of training and no recipes."""
    return Study(NOWHERE, votes, None, (), tuple(pairs), (), None, scores_of(scores) if scores else None, {})


def _read_records(path: Path, kind: type[Any]) -> tuple[Any, ...]:
    return tuple(read_records(path, kind)) if path.exists() else ()


def _read_controls(path: Path, how: Mapping[str, Any]) -> Votes | None:
    if not path.exists():
        return None
    try:
        return read_votes(path, kinds=("control",), also=("comment",), **how)
    except InputError:  # a study without control pairs
        return None


def _read_recipes(folder: Path) -> Mapping[str, str]:
    """The signature line of every file that has one."""
    recipes = {p.name: read_header(p).get("signature", "") for p in sorted(folder.glob("*.jsonl"))}
    recipes |= {
        p.name: read_json(p).get("signature", "") for p in sorted(folder.glob("*.json")) if p.name == "ties.json"
    }
    for path in sorted(folder.glob("*.parquet")):
        metadata = pq.read_schema(path).metadata or {}
        recipes[path.name] = metadata.get(b"signature", b"").decode()
    for path in sorted((folder / "states").glob("*.json"))[:1]:
        recipes[f"states/{path.name}"] = read_json(path).get("signature", "")
    return {name: line for name, line in recipes.items() if line}
