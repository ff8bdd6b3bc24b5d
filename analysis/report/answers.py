"""What the rooms answer about one study, each asked as its command asks it, with the same defaults.

Where the rules of [exclude] left raters out, the same rooms are asked about the votes with and without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seedvote.analysis.questions.agreement import showing as agreement_question
from seedvote.analysis.questions.agreement.answer import AgreementAnswer
from seedvote.analysis.questions.preference import showing as preference_question
from seedvote.analysis.questions.preference.answer import Preference, PreferenceAnswer
from seedvote.analysis.questions.preference.showing import spell_points
from seedvote.analysis.questions.ratings import showing as ratings
from seedvote.analysis.questions.ratings.showing import Answer as RatedAnswer
from seedvote.analysis.questions.ties import showing as tie_question
from seedvote.analysis.questions.ties.answer import TiesAnswer
from seedvote.analysis.showing.page import Section
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, percent, signed
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.power import smallest_shown
from seedvote.analysis.votes.cautions import reading_of
from seedvote.analysis.votes.inputs import with_items
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.votes import Votes, read_votes
from seedvote.dialogue.errors import InputError

# `crowd export` writes these beside the study's own columns where a rule of [exclude] has left anybody out.
_COLUMNS = {"counted": "counted_without_rules", "round": "round_without_rules"}
_RULE = "excluded_by"
_MOST_COMPARED = 10  # of two systems, with most votes first


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

    @property
    def smallest_shown(self) -> float | None:
        """The net preference in points that the comparison with most votes shows with power .80; None: unknown."""
        nets = [preference.net for preference in self.preference.preferences] if self.preference else []
        largest = max(nets, key=lambda net: net.n, default=None)
        return 100 * smallest_shown(largest) if largest and largest.se else None

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


@dataclass(frozen=True, eq=False)
class WithoutRules:
    """The answers on the votes that would count if hit.toml had no [exclude]."""

    raters: int
    """Left out by a rule, with votes that would count."""
    votes: int
    """Those votes."""
    rules: Mapping[str, int]
    """The rules that they broke: raters."""
    ties: TiesAnswer | None
    preference: PreferenceAnswer | None


def without_rules(study: Study, margin: float | None, clusters: str) -> WithoutRules | None:
    """Ask the rooms again; None where no rule left anybody out, or the export is older than these columns."""
    path = study.folder / "votes.jsonl"
    if not path.exists() or not any(rater.status == "excluded" for rater in study.raters):
        return None
    try:
        votes = read_votes(path, columns=_COLUMNS, also=("submitted", _RULE), **study.how)
    except InputError:
        return None
    broke = votes.also.get(_RULE)
    if broke is None or votes.rater is None or not any(broke):
        return None
    rule_of_rater = {votes.raters[code]: str(rule) for code, rule in zip(votes.rater, broke, strict=True) if rule}
    ties, preference, _ = ties_and_preference(replace(study, votes=votes), margin, clusters, columns=_COLUMNS)
    return WithoutRules(len(rule_of_rater), sum(map(bool, broke)), Counter(rule_of_rater.values()), ties, preference)


def exclusion_section(answer: WithoutRules | None, votes: VotesAnswers) -> Section | None:
    """One sentence on who was left out, and the numbers side by side."""
    if answer is None:
        return None
    rules = ", ".join(f"{rule} ({count(number, 'rater')})" for rule, number in sorted(answer.rules.items()))
    text = (
        f"Excluded by the rules of [exclude] in hit.toml: {count(answer.raters, 'rater')} with "
        f"{count(answer.votes, 'vote')} that would count otherwise; the rules broken: {rules}. Every other number of "
        "this report is with the rules. Without them the votes in the right column would count."
    )
    table = Table(
        ("number", "with the rules", "without the rules"), tuple(_build_rows(votes, answer)), "With and without them"
    )
    return Section("excluded", "With and without the excluded raters", (text,), inline=(table,))


def exclusion_document(answer: WithoutRules | None, votes: VotesAnswers) -> dict[str, Any] | None:
    """The same under the key `excluded` of report.json."""
    if answer is None:
        return None
    rows = [
        dict(zip(("number", "with_rules", "without_rules"), row, strict=True)) for row in _build_rows(votes, answer)
    ]
    return {"raters": answer.raters, "votes": answer.votes, "rules": dict(answer.rules), "numbers": rows}


def _build_rows(votes: VotesAnswers, answer: WithoutRules) -> Iterator[Sequence[str]]:
    tie_answers = votes.ties, answer.ties
    yield "votes", *(f"{ties.pooled.votes:,}" if ties else "-" for ties in tie_answers)
    yield "share of ties", *map(_format_share, tie_answers)
    led = votes.preference.led if votes.preference else ()
    for preference in sorted(led, key=lambda preference: -preference.net.n)[:_MOST_COMPARED]:
        name = f"net preference for {preference.first} over {preference.second}, points"
        yield name, _format_net(preference.net), _format_net(_find_same_comparison(preference, answer.preference))


def _format_share(ties: TiesAnswer | None) -> str:
    if ties is None:
        return "-"
    reach = ties.pooled.interval
    return percent(ties.pooled.share) + (f" ({percent(reach.low)} to {percent(reach.high)})" if reach else "")


def _format_net(net: Interval | None) -> str:
    return "-" if net is None else f"{signed(100 * net.value)} ({spell_points(net.low, net.high)})"


def _find_same_comparison(preference: Preference, answer: PreferenceAnswer | None) -> Interval | None:
    """The same comparison in the other answer, in the same direction."""
    for candidate in answer.preferences if answer else ():
        if (candidate.first, candidate.second) == (preference.first, preference.second):
            return candidate.net
        if (candidate.second, candidate.first) == (preference.first, preference.second):
            return replace(candidate.net, value=-candidate.net.value, low=-candidate.net.high, high=-candidate.net.low)
    return None
