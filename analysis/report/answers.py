"""What the rooms answer about one study, each asked as its command asks it, with the same defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.agreement.answer import AgreementAnswer
from analysis.agreement.answer import answer as ask_agreement
from analysis.agreement.text import document as agreement_document
from analysis.preference.answer import PreferenceAnswer
from analysis.preference.answer import answer as ask_preference
from analysis.preference.text import document as preference_document
from analysis.questions.ratings import asking as ratings
from analysis.questions.ratings.showing import Answer as RatedAnswer
from analysis.ties.answer import TiesAnswer, size_that_fits
from analysis.ties.answer import answer as ask_ties
from analysis.ties.section import asked_size
from analysis.ties.text import document as ties_document
from analysis.votes.cautions import reading_of
from analysis.votes.inputs import JUDGED, matches_of, unverified_apart, with_items
from analysis.votes.ratings import RatingsTable
from analysis.votes.study import Study
from analysis.votes.votes import Votes
from dialogue.errors import InputError


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
        read = {"reading": self.votes and reading_of(self.votes)}
        judged = self.preference and self.preference.matches
        return {
            "ties": self.ties and ties_document(self.ties) | read,
            "agreement": self.agreement and _nameless(agreement_document(self.agreement)) | read,
            "preference": self.preference
            and preference_document(self.preference) | {"reading": judged and reading_of(judged.votes, judged.systems)},
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
    votes = with_items(votes, clusters, study.folder)
    agreement = ask_agreement(votes, clusters=clusters) if len(votes.given()) else None
    return VotesAnswers(ties, agreement, preference, (refusal,) if refusal else (), votes)


def ties_and_preference(
    study: Study, margin: float | None, clusters: str, *, columns: Mapping[str, str] | None = None
) -> tuple[TiesAnswer | None, PreferenceAnswer | None, str]:
    """The two main questions, and why the second has no answer; `columns` name others of votes.jsonl, as --columns."""
    votes = study.votes and with_items(study.votes, clusters, study.folder)
    enough = votes is not None and len(votes) > 1
    ties = (
        ask_ties(votes, size=size_that_fits(votes, asked_size(study)), clusters=clusters) if votes and enough else None
    )
    return ties, *_preference(study, margin, clusters, columns or {})


def _preference(
    study: Study, margin: float | None, clusters: str, columns: Mapping[str, str]
) -> tuple[PreferenceAnswer | None, str]:
    """The answer, or None with the reason, which is empty where the report gives it anyway."""
    try:
        reading = {**study.how, **study.reading, **({"columns": columns} if columns else {})}
        data = study.table or study.folder
        matches, known = matches_of(data, None, kinds=JUDGED, **reading)
        # From our own pages the sides are drawn by chance: without pairs.jsonl they mean nothing. Of a table alone the
        # report says what `preference` says, with its caution.
        if study.table is None and not known and set(matches.votes.source) - {"imported"}:
            return None, ""
        apart = unverified_apart(data, None, matches, **reading)
        return ask_preference(matches, known=known, margin=margin, clusters=clusters, alone=apart), ""
    except InputError as error:
        reason = str(error).replace(f"{study.folder}/", "")
        return None, f"Which system is preferred is unknown. {reason}"


def _nameless(document: dict[str, Any]) -> dict[str, Any]:
    """The same without the raters' pseudonyms, which must not appear in any file of a report."""
    rows = [{key: value for key, value in row.items() if key != "rater"} for row in document["raters"]]
    return {**document, "raters": rows}
