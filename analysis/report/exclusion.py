"""What the rules of [exclude] do to the main numbers: the same rooms, asked about the votes with and without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.preference.answer import Preference, PreferenceAnswer
from analysis.preference.section import points
from analysis.report.answers import VotesAnswers, ties_and_preference
from analysis.showing.page import Section
from analysis.showing.tables import Table
from analysis.showing.words import count, percent, signed
from analysis.stats.intervals import Interval
from analysis.ties.answer import TiesAnswer
from analysis.votes.study import Study
from analysis.votes.votes import read_votes
from dialogue.errors import InputError

# `crowd export` writes these beside the study's own columns where a rule of [exclude] has left anybody out.
COLUMNS = {"counted": "counted_without_rules", "round": "round_without_rules"}
RULE = "excluded_by"
MOST_COMPARED = 10  # of two systems, with most votes first


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
        votes = read_votes(path, columns=COLUMNS, also=("submitted", RULE), **study.how)
    except InputError:
        return None
    broke = votes.also.get(RULE)
    if broke is None or votes.rater is None or not any(broke):
        return None
    named = {votes.raters[code]: str(rule) for code, rule in zip(votes.rater, broke, strict=True) if rule}
    ties, preference, _ = ties_and_preference(replace(study, votes=votes), margin, clusters, columns=COLUMNS)
    return WithoutRules(len(named), sum(map(bool, broke)), Counter(named.values()), ties, preference)


def section(found: WithoutRules | None, votes: VotesAnswers) -> Section | None:
    """One sentence on who was left out, and the numbers side by side."""
    if found is None:
        return None
    rules = ", ".join(f"{rule} ({count(number, 'rater')})" for rule, number in sorted(found.rules.items()))
    text = (
        f"Excluded by the rules of [exclude] in hit.toml: {count(found.raters, 'rater')} with "
        f"{count(found.votes, 'vote')} that would count otherwise; the rules broken: {rules}. Every other number of "
        "this report is with the rules. Without them the votes in the right column would count."
    )
    table = Table(
        ("number", "with the rules", "without the rules"), tuple(_rows(votes, found)), "With and without them"
    )
    return Section("excluded", "With and without the excluded raters", (text,), inline=(table,))


def document(found: WithoutRules | None, votes: VotesAnswers) -> dict[str, Any] | None:
    """The same under the key `excluded` of report.json."""
    if found is None:
        return None
    rows = [dict(zip(("number", "with_rules", "without_rules"), row, strict=True)) for row in _rows(votes, found)]
    return {"raters": found.raters, "votes": found.votes, "rules": dict(found.rules), "numbers": rows}


def _rows(votes: VotesAnswers, found: WithoutRules) -> Iterator[Sequence[str]]:
    both = votes.ties, found.ties
    yield "votes", *(f"{one.pooled.votes:,}" if one else "-" for one in both)
    yield "share of ties", *(_share(one) for one in both)
    led = votes.preference.led if votes.preference else ()
    for one in sorted(led, key=lambda each: -each.net.n)[:MOST_COMPARED]:
        name = f"net preference for {one.first} over {one.second}, points"
        yield name, _net(one.net), _net(_same(one, found.preference))


def _share(ties: TiesAnswer | None) -> str:
    if ties is None:
        return "-"
    reach = ties.pooled.interval
    return percent(ties.pooled.share) + (f" ({percent(reach.low)} to {percent(reach.high)})" if reach else "")


def _net(net: Interval | None) -> str:
    return "-" if net is None else f"{signed(100 * net.value)} ({points(net.low, net.high)})"


def _same(one: Preference, answer: PreferenceAnswer | None) -> Interval | None:
    """The same comparison in the other answer, in the same direction."""
    for other in answer.preferences if answer else ():
        if (other.first, other.second) == (one.first, one.second):
            return other.net
        if (other.second, other.first) == (one.first, one.second):
            return replace(other.net, value=-other.net.value, low=-other.net.high, high=-other.net.low)
    return None
