"""What the rooms answer about one study, each asked as its command asks it, with the same defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seedvote.analysis.questions.agreement import showing as agreement_question
from seedvote.analysis.questions.agreement.answer import AgreementAnswer
from seedvote.analysis.questions.preference import showing as preference_question
from seedvote.analysis.questions.preference.answer import PreferenceAnswer
from seedvote.analysis.questions.ratings import showing as ratings
from seedvote.analysis.questions.ratings.showing import Answer as RatedAnswer
from seedvote.analysis.questions.ties import showing as tie_question
from seedvote.analysis.questions.ties.answer import TiesAnswer
from seedvote.analysis.votes.cautions import reading_of
from seedvote.analysis.votes.inputs import with_items
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class VotesAnswers:
    """One answer a question; None where the study has no such thing, with the reason in `refusals` if it has votes."""

    ties: TiesAnswer | None
    agreement: AgreementAnswer | None
    preference: PreferenceAnswer | None
    refusals: tuple[str, ...]
    votes: Votes | None = None
    rated: RatedAnswer | None = None
    table: RatingsTable | None = None

    def documents(self) -> dict[str, Any]:
        """Every room's numbers under the keys of its command's `--json`, with what it read."""
        reading = {"reading": self.votes and reading_of(self.votes)}
        judged = self.preference and self.preference.matches
        return {
            "ties": self.ties and tie_question.document(self.ties) | reading,
            "agreement": self.agreement and agreement_question.nameless_document(self.agreement) | reading,
            "preference": self.preference
            and preference_question.document(self.preference)
            | {"reading": judged and reading_of(judged.votes, judged.systems)},
            **{name: self.scaled(name) for name in ("ratings", "ranks")},
        }

    def scaled(self, name: str) -> dict[str, Any] | None:
        """The numbers of `ratings` or of `ranks`, where the study holds these."""
        if self.rated is None or self.table is None or f"{self.rated.noun}s" != name:
            return None
        return ratings.with_reading(self.rated, self.table)


def votes_answers(study: Study, margin: float | None, clusters: str) -> VotesAnswers:
    """Ask every room that reads votes; of ratings or ranks alone, the one that reads these."""
    votes = study.votes
    if votes is None or study.ratings is not None:
        rated = ratings.answer_study(study, clusters)
        return VotesAnswers(None, None, None, (), rated=rated, table=study.ratings)
    ties, preference, refusal = ties_and_preference(study, margin, clusters)
    votes, agreement = with_items(votes, clusters, study.folder), agreement_question.answer_study(study, clusters)
    return VotesAnswers(ties, agreement, preference, (refusal,) if refusal else (), votes)


def ties_and_preference(
    study: Study, margin: float | None, clusters: str, *, columns: Mapping[str, str] | None = None
) -> tuple[TiesAnswer | None, PreferenceAnswer | None, str]:
    """The two main questions, and why the second has no answer; `columns` name others of votes.jsonl, as --columns."""
    preference, refusal = preference_question.answer_study(study, margin, clusters, columns or {})
    return tie_question.answer_study(study, clusters), preference, refusal
