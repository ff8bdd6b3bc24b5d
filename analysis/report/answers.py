"""What the rooms answer about one study, each asked as its command asks it, with the same defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.agreement.answer import AgreementAnswer
from analysis.agreement.answer import answer as ask_agreement
from analysis.agreement.text import document as agreement_document
from analysis.preference.answer import PreferenceAnswer
from analysis.preference.answer import answer as ask_preference
from analysis.preference.text import document as preference_document
from analysis.reading.inputs import JUDGED, matches_of
from analysis.reading.panel import Panel
from analysis.reading.study import Study
from analysis.ties.answer import TiesAnswer, size_that_fits
from analysis.ties.answer import answer as ask_ties
from analysis.ties.section import asked_size
from analysis.ties.text import document as ties_document
from analysis.variance.answer import VarianceAnswer
from analysis.variance.answer import answer as ask_variance
from analysis.variance.tables import study_tables
from dialogue.errors import InputError


@dataclass(frozen=True, eq=False)
class VotesAnswers:
    """One answer a question; None where the study has no such thing, with the reason in `refusals` if it has votes."""

    ties: TiesAnswer | None
    agreement: AgreementAnswer | None
    preference: PreferenceAnswer | None
    refusals: tuple[str, ...]

    def documents(self) -> dict[str, Any]:
        """Every room's numbers under the keys of its command's `--json`."""
        return {
            "ties": self.ties and ties_document(self.ties),
            "agreement": self.agreement and _nameless(agreement_document(self.agreement)),
            "preference": self.preference and preference_document(self.preference),
        }


def votes_answers(study: Study, margin: float | None, clusters: str) -> VotesAnswers:
    """Ask every room that reads votes."""
    votes = study.votes
    if votes is None:
        return VotesAnswers(None, None, None, ())
    preference, refusal = _preference(study, margin, clusters)
    ties = ask_ties(votes, size=size_that_fits(votes, asked_size(study)), clusters=clusters) if len(votes) > 1 else None
    return VotesAnswers(ties, ask_agreement(votes, clusters=clusters), preference, (refusal,) if refusal else ())


def variance_of(study: Study, panels: Sequence[Panel]) -> VarianceAnswer | None:
    """The answer of `analysis variance STUDY`; None where the study holds nothing that varies, or too little of it."""
    tables = study_tables(study, panels)
    try:
        return ask_variance(tables) if tables else None
    except InputError:
        return None


def _preference(study: Study, margin: float | None, clusters: str) -> tuple[PreferenceAnswer | None, str]:
    """The answer, or None with the reason, which is empty where the report gives it anyway."""
    try:
        matches, known = matches_of(study.folder, None, kinds=JUDGED)
        # From our own pages the sides are drawn by chance: without pairs.jsonl they mean nothing.
        if not known and set(matches.votes.source) - {"imported"}:
            return None, ""
        return ask_preference(matches, known=known, margin=margin, clusters=clusters), ""
    except InputError as error:
        reason = str(error).replace(f"{study.folder}/", "")
        return None, f"Which system is preferred is unknown. {reason}"


def _nameless(document: dict[str, Any]) -> dict[str, Any]:
    """The same without the raters' pseudonyms, which must not appear in any file of a report."""
    rows = [{key: value for key, value in row.items() if key != "rater"} for row in document["raters"]]
    return {**document, "raters": rows}
