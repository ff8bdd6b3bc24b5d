"""What `python -m analysis preference` shows: the keys of `--json`, and tables and sentences for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Protocol

from analysis.preference.answer import Position, Preference, PreferenceAnswer, Untested
from analysis.preference.careful_text import careful_document, careful_sentences, careful_tables
from analysis.preference.mixed_text import mixed_document, mixed_parts
from analysis.preference.ranking import Ranked, Ranking
from analysis.preference.raters import fixed_parts, mean_parts, raters_document
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, number, p_equals, p_value, percent, plain
from analysis.stats.equivalence import Equivalence
from analysis.stats.round_drift import RoundDrift
from analysis.stats.sign_tests import TieIndex
from analysis.votes.voters import marked_parts, not_people

MODELS = {"davidson": "Davidson's model", "rao-kupper": "Rao and Kupper's model"}
_HEAD = ("first", "second", "votes", "first", "second", "ties", "net", "SE", "95 % interval", "p", "p (Holm)",
         "p as if votes were independent")  # fmt: skip
MOST_VOTED = ("comparisons", "with the most votes")
MOST_NAMED = 6


class Bounded(Protocol):
    """Anything with the ends of an interval."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def document(answer: PreferenceAnswer) -> dict[str, Any]:
    """The stable keys of `--json`; `net`, `sign_test` and `tost` are those of the first contrast."""
    listed = [_contrast(one, p) for one, p in zip(answer.preferences, answer.adjusted, strict=True)]
    listed += [_without_interval(one) for one in answer.untested]
    found: dict[str, Any] = plain(
        {
            "systems": answer.matches.systems,
            **listed[0],
            "contrasts": listed,
            "position": None if answer.position is None else _position(answer.position),
            "rounds": None if answer.rounds is None else asdict(answer.rounds),
            "davidson": None if answer.ranking is None else _ranking(answer.ranking),
            "careful": None if answer.careful is None else careful_document(answer.careful),
            "mixed": None if answer.mixed is None else mixed_document(answer.mixed),
            "these_raters": raters_document(answer.fixed),
            "over_raters": raters_document(answer.over_raters),
            "unverified": [_alone(one) for one in answer.unverified],
            "tie_index": None if answer.index is None else asdict(answer.index),
            "voters": asdict(answer.voters),
            "warnings": [*not_people(answer.voters), *answer.warnings],
            "signature": answer.signature,
        }
    )
    return found


def _contrast(one: Preference, adjusted: float) -> dict[str, Any]:
    net, sign, alike = one.net, one.sign, one.equivalence
    return {
        "first": one.first,
        "second": one.second,
        "votes": net.n,
        "net": {"value": net.value, "se": net.se, "low": net.low, "high": net.high, "p": one.p, "p_holm": adjusted,
                "df": net.df, "clusters": net.unit, "design_effect": net.design_effect, "effective_n": net.effective_n,
                "worth": net.worth},
        "sign_test": {"first": sign.a, "second": sign.b, "ties": sign.ties, "p": sign.p},
        "tost": None if alike is None else {**asdict(alike), "equivalent": alike.equivalent},
        "reason": None,
    }  # fmt: skip


def _without_interval(one: Untested) -> dict[str, Any]:
    counts = {"first": one.sign.a, "second": one.sign.b, "ties": one.sign.ties, "p": None}
    return {"first": one.first, "second": one.second, "votes": one.votes, "net": None, "sign_test": counts,
            "tost": None, "reason": one.reason}  # fmt: skip


def _position(found: Position) -> dict[str, Any]:
    share = found.share
    ends = (None, None, None) if share is None else (share.value, share.low, share.high)
    return {
        "left": found.test.a,
        "right": found.test.b,
        "p": found.p,
        "p_vote": found.test.p,
        **dict(zip(("share", "low", "high"), ends, strict=True)),
    }


def _ranking(found: Ranking) -> dict[str, Any]:
    return {
        "model": found.model,
        "strengths": {one.system: asdict(one.strength) for one in found.systems},
        "tie": None if found.tie is None else asdict(found.tie),
        "position": None if found.position is None else asdict(found.position),
        "ranks": {
            one.system: {"rank": one.rank, "low": one.rank_low, "high": one.rank_high, "all_low": one.all_low,
                         "all_high": one.all_high}
            for one in found.systems
        },
        "wrong_order": [
            {"above": one.system, "below": other.system, "p": one.below_next} for one, other in pairwise(found.systems)
        ],
        "unranked": [asdict(one) for one in found.unranked],
        "freedom": found.freedom,
        "sets": found.sets,
    }  # fmt: skip


def parts(answer: PreferenceAnswer) -> list[Table | str]:
    """Tables and sentences for people, the cautions, and the recipe last."""
    strengths = [] if answer.ranking is None else _strengths(answer.ranking)
    contrasts = [*_net_table(answer), *untested_in_words(answer), *_claims(answer)]
    many = len(answer.matches.systems) > 2  # then the ranking is the answer, and the contrasts are its ground
    first, then = (strengths, contrasts) if many else (contrasts, strengths)
    shown = [*first, *then, *_checks(answer)]
    shown += differing(answer)
    shown += [*fixed_parts(answer.fixed), *mean_parts(answer.over_raters)]
    if answer.careful:
        shown += [*careful_tables(answer.careful), *careful_sentences(answer.careful)]
    if answer.mixed is not None:
        shown += mixed_parts(answer.mixed)
    shown += unverified_in_words(answer)
    shown += index_in_words(answer.index)
    shown = [*marked_parts(shown, answer.voters), *not_people(answer.voters)]
    return [*shown, *answer.warnings, answer.signature]


def differing(answer: PreferenceAnswer) -> Iterator[str]:
    """The comparisons whose p alone would show a preference that the ranks, all at once, do not."""
    names = [
        f"{one.first} and {one.second}"
        for one, p, is_shown in zip(answer.preferences, answer.adjusted, answer.shown, strict=True)
        if p < 0.05 and not is_shown
    ]
    if names:
        yield (
            f"By their own votes (p, Holm) a preference between {_named(names)} would be shown, by the ranks of all "
            "systems at once not. A preference counts as shown only where both agree."
        )


def index_in_words(index: TieIndex | None) -> Iterator[str]:
    """The tie index, whose interval says nothing where it leaves 0 to 1."""
    if index is None or not (index.low >= 0 and index.high <= 1):
        return
    yield (
        f"Tie index {index.value:.2f} (95 % interval {index.low:.2f} to {index.high:.2f}): 0 is the tie share of "
        f"clearly different pairs ({percent(index.different)}), 1 that of one system against itself "
        f"({percent(index.same)})."
    )


def _reach(found: Bounded) -> str:
    low, high = number(found.low), number(found.high)
    return "no bound" if "-" in (low, high) else f"{low} to {high}"


def unverified_in_words(answer: PreferenceAnswer) -> list[str]:
    """What votes say that no marketplace has confirmed, which are in no other number; the first ones of very many."""
    return [_said_alone(one) for one in answer.unverified[:MOST_ROWS]]


def _said_alone(one: Preference | Untested) -> str:
    cast = f"{one.sign.a} for {one.first}, {one.sign.b} for {one.second}, {one.sign.ties} ties"
    if isinstance(one, Untested):
        said = f"net preference {one.net:+z.3f} (no interval: {one.reason})"
    else:
        said = f"net preference {one.net.value:+z.3f} (95 % interval {_reach(one.net)})"
    return f"Unverified votes alone, {one.first} against {one.second}: {cast}; {said}."


def _alone(one: Preference | Untested) -> dict[str, Any]:
    net = None if isinstance(one, Untested) else one.net
    return {
        "first": one.first, "second": one.second, "for_first": one.sign.a, "for_second": one.sign.b,
        "ties": one.sign.ties, "net": one.net if isinstance(one, Untested) else one.net.value, "low": net and net.low,
        "high": net and net.high, "no_interval": one.reason if isinstance(one, Untested) else "",
    }  # fmt: skip


def _net_table(answer: PreferenceAnswer) -> list[Table | str]:
    """The contrasts; of very many those with the most votes."""
    tested = [
        (one.net.n, [one.first, one.second, one.net.n, one.sign.a, one.sign.b, one.sign.ties, f"{one.net.value:+z.3f}",
                     number(one.net.se), _reach(one.net), p_value(one.p), p_value(adjusted), p_value(one.sign.p)])
        for one, adjusted in zip(answer.preferences, answer.adjusted, strict=True)
    ]  # fmt: skip
    without = [
        (one.votes, [one.first, one.second, one.votes, one.sign.a, one.sign.b, one.sign.ties, f"{one.net:+z.3f}",
                     *["-"] * 5])
        for one in answer.untested
    ]  # fmt: skip
    return [in_short(Table(_HEAD, most_voted([*tested, *without])), *MOST_VOTED)[0]]


def most_voted(rows: Sequence[tuple[int, Sequence[object]]]) -> list[Sequence[object]]:
    """Rows by their numbers of votes, where they are too many to be read in the order of the systems' names."""
    ordered = sorted(rows, key=lambda row: -row[0]) if len(rows) > MOST_ROWS else rows
    return [row for _, row in ordered]


def untested_in_words(answer: PreferenceAnswer) -> Iterator[str]:
    """Who has a dash for which reason; of very many only how many they are."""
    if not answer.untested:
        return
    reasons: dict[str, list[str]] = {}
    for one in answer.untested:
        reasons.setdefault(one.reason, []).append(f"{one.first} and {one.second}")
    told = "; ".join(f"{reason}: {_named(names)}" for reason, names in reasons.items())
    yield f"A dash: one vote gives no interval, and votes that share one cluster say nothing about others ({told})."


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else count(len(names), "comparison")


def _claims(answer: PreferenceAnswer) -> Iterator[str]:
    """Which contrasts are equivalent within the margin, one line each; of very many how many are."""
    tested = [(one, one.equivalence) for one in answer.preferences if one.equivalence is not None]
    if not tested:
        yield "Equivalence was not tested: state the smallest difference that matters with --margin."
    if len(tested) > MOST_ROWS:
        yield equivalent_of_many([alike for _, alike in tested], f"a net preference of {tested[0][1].margin:g}")
        return
    for one, alike in tested:
        verb = "are equivalent" if alike.equivalent else "are not shown to be equivalent"
        yield (
            f"{one.first} and {one.second} {verb} within a net preference of {alike.margin:g} "
            f"(TOST {p_equals(alike.p)}; 90 % interval {_reach(alike)})."
        )


def equivalent_of_many(tested: Sequence[Equivalence], margin: str) -> str:
    """How many of very many comparisons are equivalent."""
    number = sum(alike.equivalent for alike in tested)
    return (
        f"{number:,} of {len(tested):,} comparisons are equivalent within {margin} (two one-sided tests, not corrected "
        "for their number); --json and report.json name them."
    )


def _checks(answer: PreferenceAnswer) -> Iterator[str]:
    """Left against right and change over the rounds, over all votes."""
    if side := answer.position:
        share, p = side.share, side.p
        shown = "" if share is None or p is None else f", {share.value:.3f} ({_reach(share)}; {p_equals(p)})"
        decisive, alone = count(side.test.a + side.test.b, "decisive vote"), p_equals(side.test.p)
        yield f"Left was chosen in {side.test.a:,} of {decisive}{shown}; as if votes were independent, {alone}."
    yield from told_of_rounds(answer.rounds)


def told_of_rounds(rounds: RoundDrift | None) -> Iterator[str]:
    """The share of ties in each round, and whether the same raters changed; nothing where no pair has every round."""
    if rounds is None or not rounds.pairs:
        return
    shares, pairs = ", ".join(map(percent, rounds.shares)), count(rounds.pairs, "pair")
    yield f"Ties by round: {shares}, over {pairs} with a vote in every round."
    if not rounds.everybody:
        yield "Whether the same raters changed is unknown: the votes name no rater."
    elif rounds.p is None or rounds.freedom is None:
        yield (
            f"Whether the same raters changed is unknown: {rounds.raters} of {count(rounds.everybody, 'rater')} voted "
            "in two rounds or more, too few for a test."
        )
    else:
        change = "gave other shares of ties in other rounds" if rounds.p < 0.05 else "show no change over the rounds"
        test = f"F = {rounds.statistic:.2f} on {rounds.freedom[0]:g} and {rounds.freedom[1]:.0f} degrees of freedom"
        yield f"The same raters {change} ({test}, {p_equals(rounds.p)}, {count(rounds.raters, 'rater')})."


RANKING_HEAD = ("rank", "system", "votes", "log strength", "SE", "95 % interval", "95 % ranks",
                "95 % ranks, all at once", "P(in truth below the next)")  # fmt: skip


def ranking_rows(found: Ranking) -> list[tuple[str, ...]]:
    """The ranking, then the systems that have no rank."""
    ranked = [
        (f"{one.rank}", one.system, f"{one.votes:,}", number(one.strength.value), number(one.strength.se),
         _reach(one.strength), rank_range(one), _range(one.all_low, one.all_high),
         "" if one.below_next is None else p_value(one.below_next))
        for one in found.systems
    ]  # fmt: skip
    blank = ("-",) * (len(RANKING_HEAD) - 3)
    return [*ranked, *(("-", one.system, f"{one.votes:,}", *blank) for one in found.unranked)]


def rank_range(one: Ranked) -> str:
    """The ranks that a system may truly have, taken by itself."""
    return _range(one.rank_low, one.rank_high)


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}-{high}"


def told_of_ranking(found: Ranking) -> Iterator[str]:
    """How its ranks read, what the model's other parameters are, and who has no rank for which reason."""
    yield (
        "95 % ranks: a system's true rank is among these with 95 % confidence (of all systems at once: every true rank "
        "is). Of two systems whose ranks overlap, neither is shown to be better."
    )
    named = (("tie parameter", found.tie), ("left side", found.position))
    if extra := [f"{name} (log) {number(part.value)} ({_reach(part)})" for name, part in named if part]:
        yield f"{'; '.join(extra).capitalize()}."
    reasons = {one.reason: [other.system for other in found.unranked if other.reason == one.reason]
               for one in found.unranked}  # fmt: skip
    for reason, names in reasons.items():
        yield f"Not ranked, because {reason}: {', '.join(names)}."


def _strengths(found: Ranking) -> list[Table | str]:
    return [Table(RANKING_HEAD, ranking_rows(found), MODELS[found.model]), *told_of_ranking(found)]
