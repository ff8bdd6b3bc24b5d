"""Preference as people and programs read it: findings, tables, figures, the keys of `--json`, the report.

Two systems are shown with the leader first, and net preferences in points of all votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, Literal

from seedvote.analysis.arguments import check_margin, check_ranges
from seedvote.analysis.questions.preference.answer import (
    GroupPreference,
    Position,
    Preference,
    PreferenceAnswer,
    RaterNet,
    TieShare,
    Untested,
    answer,
    answer_groups,
)
from seedvote.analysis.questions.preference.covariates import adjusted_answer, adjusted_parts
from seedvote.analysis.questions.preference.models import (
    careful_document,
    careful_sentences,
    careful_tables,
    mixed_document,
    mixed_parts,
    spell_span,
)
from seedvote.analysis.showing.page import QUARTERS, Axis, Mark, Row, RowFigure, Section, round_steps
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import MOST_ROWS, Table, in_short
from seedvote.analysis.showing.words import count, number, p_equals, p_value, percent, signed, to_plain
from seedvote.analysis.stats.disparity import Disparity
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.paired.reversal import Reversal
from seedvote.analysis.stats.round_drift import RoundDrift
from seedvote.analysis.stats.sign_tests import TieIndex
from seedvote.analysis.votes.cautions import marked_parts, not_people, told_of_reading, with_reading
from seedvote.analysis.votes.clusters import strata_of
from seedvote.analysis.votes.inputs import JUDGED, matches_of, pairs_known, unverified_apart
from seedvote.analysis.votes.ranking import Ranked, Ranking
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.systems import DIFFERENT, SAME, contrasts
from seedvote.dialogue.errors import InputError

MODELS = {"davidson": "Davidson's model", "rao-kupper": "Rao and Kupper's model"}
CONTRAST_HEAD = (
    "comparison",
    "votes",
    "first",
    "second",
    "ties",
    "net, points",
    "95 % interval",
    "p",
    "p (Holm)",
    "p as if votes were independent",
)
RANKING_HEAD = (
    "rank",
    "system",
    "votes",
    "log strength",
    "SE",
    "95 % interval",
    "95 % ranks",
    "95 % ranks, all at once",
    "P(in truth below the next)",
)
MOST_VOTED = ("comparisons", "with the most votes")
FIRST_LISTED = ("comparisons", "first in the list")
MOST_NAMED = 6
FEW_SYSTEMS = 3
PAIR_KINDS = {
    "": "real pairs",
    SAME: "one seed against itself, two samples",
    DIFFERENT: "reference against a random response",
    "reference-model": "reference against a model's response",
}


def parts(answer: PreferenceAnswer) -> list[Table | str]:
    """Tables and sentences for people, the cautions, and the recipe last; of many systems the ranking comes first."""
    strengths: list[Table | str] = []
    if answer.ranking is not None:
        strengths = [ranking_table(answer.ranking), *explain_ranking(answer.ranking)]
    nets: list[Table | str] = [contrast_tables(answer)[0], *equivalence_sentences(answer.led)]
    nets = [part for part in nets if part not in equivalent_within(answer)]  # said among the findings
    ordered = [*strengths, *nets] if len(answer.matches.systems) > 2 else [*nets, *strengths]
    models = [] if answer.mixed is None else mixed_parts(answer.mixed)
    blocks = [*ordered, *findings(answer), *_detail_parts(answer), *models]
    return [*marked_parts(blocks, answer.voters), *not_people(answer.voters), *answer.warnings, answer.signature]


def _detail_parts(answer: PreferenceAnswer) -> list[Table | str]:
    """What command and report say after the comparisons: position, rounds, raters, models, votes of no marketplace."""
    careful = answer.careful
    models: list[Table | str] = [*careful_tables(careful), *careful_sentences(careful)] if careful else []
    return [
        *_describe_position(answer.position),
        *round_sentences(answer.rounds),
        *disagreement(answer),
        *_fixed_rater_parts(answer.fixed),
        *_mean_rater_parts(answer.over_raters),
        *models,
        *(_describe_unverified(preference) for preference in answer.unverified[:MOST_ROWS]),
        *_describe_index(answer.index),
    ]


def findings(answer: PreferenceAnswer) -> list[str]:
    """Who may be the best of several, whether any difference was shown, the largest one, how few votes turn it."""
    return [*best_of(answer), *preferred(answer), *equivalent_within(answer), *decisive_votes(answer)]


def best_of(answer: PreferenceAnswer) -> list[str]:
    """Of several systems, who may be the best."""
    if answer.ranking is None or len(answer.ranking.systems) < 3:
        return []
    ranking = answer.ranking.systems
    candidates = [ranked.system for ranked in ranking if ranked.all_low == 1]
    if len(candidates) == 1:
        return [f"{candidates[0]} is the best of {len(ranking)} systems (95 % confidence, all ranks at once)."]
    if len(candidates) == len(ranking):  # no leader may be named, and the comparisons say what there is to say
        return []
    *others, last = candidates[1:]
    rivals = f"{', '.join(others)} or {last}" if others else last
    if len(candidates) >= MOST_NAMED:
        rivals = f"one of {len(candidates) - 1} others"
    return [
        f"Of {len(ranking)} systems, {ranking[0].system} ranks first, but the best may also be {rivals} (95 % "
        "confidence, all ranks at once)."
    ]


def preferred(answer: PreferenceAnswer) -> list[str]:
    """Whether any difference was shown, then the largest one seen."""
    if not answer.led:
        return ["No two systems were compared often enough for an interval."]
    comparisons = list(zip(answer.led, answer.adjusted, answer.shown, strict=True))
    shown_ones = [comparison for comparison in comparisons if comparison[2]]
    largest, p, _ = max(shown_ones or comparisons, key=lambda comparison: comparison[0].net.value)
    sentences = (
        _describe_largest(answer, largest, p, len(shown_ones))
        if largest.net.value
        else [_describe_balance(answer, largest)]
    )
    return [*sentences, *_of_these_raters(answer), *_where_raters_count_alike(answer)]


def decisive_votes(answer: PreferenceAnswer) -> Iterator[str]:
    """How few votes, raters or dialogues would have to be missing for another system to lead."""
    known = [reversal for reversal in answer.reversals if reversal.fewest is not None]
    if not known or known[0].unit != "vote":
        return
    sentences = []
    for rival in dict.fromkeys(reversal.rival for reversal in known):
        *others, last = [_spell_fewest(reversal) for reversal in known if reversal.rival == rival]
        missing = f"{', '.join(others)} or {last}" if others else last
        sentences.append(f"{rival} would lead if {missing} were missing.")
    yield " ".join(sentences)


def _spell_fewest(reversal: Reversal) -> str:
    return f"{reversal.fewest:,} of the {count(reversal.of, reversal.unit)}"


def _describe_largest(answer: PreferenceAnswer, largest: Preference, p: float, shown_count: int) -> list[str]:
    interval = f"95 % interval {spell_points(largest.net.low, largest.net.high)}"
    size = f"{100 * largest.net.value:.1f} points of net preference"
    if len(answer.led) == 1:
        if shown_count:
            who = "Raters" if answer.voters.simulated or answer.voters.judges else "People"
            return [f"{who} preferred {largest.first} to {largest.second}, by {size} ({interval})."]
        names = f"{largest.first} and {largest.second}"
        return [f"No preference between {names} was shown: {largest.first} leads by {size} ({interval})."]
    total = f"{len(answer.led)} comparisons of two systems"
    names = f"{largest.first} over {largest.second}"
    is_apart = not largest.net.low <= 0 <= largest.net.high
    alone = ", this comparison alone" if is_apart else ""
    detail = f"The largest difference is {size}, {names} ({interval}{alone})."
    if not shown_count:
        chance = f"Corrected for {len(answer.led)} comparisons it may be chance ({p_equals(p)}, Holm)."
        doubt = [chance] if is_apart and p >= 0.05 else []
        return [f"No preference was shown in any of {total}.", detail, *doubt]
    most = f", the largest for {names}" if shown_count > 1 else f": for {names}"
    return [f"A preference was shown in {shown_count} of {total}{most}.", detail]


def _describe_balance(answer: PreferenceAnswer, preference: Preference) -> str:
    """That every comparison came out even: nobody leads, so no leader may be named."""
    if len(answer.led) == 1:
        ends = f"95 % interval {spell_points(preference.net.low, preference.net.high)} points"
        names = f"{preference.first} and {preference.second}"
        return f"No preference between {names} was shown: both got the same number of votes ({ends})."
    total = f"{len(answer.led)} comparisons of two systems"
    return f"No preference was shown in any of {total}: in each, both systems got the same number of votes."


def _of_these_raters(answer: PreferenceAnswer) -> Iterator[str]:
    """What these few raters alone prefer, which says nothing of others."""
    nets = answer.fixed
    shown_count = sum(net.p_holm < 0.05 for net in nets)
    if not nets or shown_count <= sum(answer.shown):
        return
    raters = count(max(net.raters for net in nets), "rater")
    where = "" if len(nets) == 1 else f" in {shown_count} of {count(len(nets), 'comparison')}"
    yield f"These {raters} have a preference{where}, also on new pairs. Whether other raters share it is not shown."


def _where_raters_count_alike(answer: PreferenceAnswer) -> Iterator[str]:
    """Where the mean over raters shows a preference, and the mean over votes points the other way."""
    leaders = {(preference.first, preference.second) for preference in answer.led}  # by the mean over votes
    turned = []
    for net in answer.over_raters:
        led = (net.first, net.second) if net.value > 0 else (net.second, net.first)
        if net.p_holm < 0.05 and led[::-1] in leaders:
            turned.append((led, sorted((abs(net.low), abs(net.high)))))
    if not turned:
        return
    busy = "Raters who gave many votes lean another way than the others."
    if len(turned) > 1:
        yield f"Where each rater counts the same, {len(turned)} comparisons show the opposite preference. {busy}"
        return
    (((first, second), (low, high)),) = turned
    interval = f"95 % interval {spell_points(low, high)} points"
    yield f"Where each rater counts the same, {first} leads {second} ({interval}). {busy}"


def contrast_tables(answer: PreferenceAnswer) -> tuple[Table, ...]:
    """The comparisons, of very many those with the most votes and, folded, all."""
    rows = [
        (pair.net.n, _tested_cells(pair, adjusted)) for pair, adjusted in zip(answer.led, answer.adjusted, strict=True)
    ]
    rows += [(pair.votes, [*_vote_cells(pair, pair.votes, pair.net), *["-"] * 4]) for pair in answer.untested]
    if len(rows) > MOST_ROWS:  # too many to be read in the order of the systems' names
        rows.sort(key=lambda row: -row[0])
    caption = (
        "Preference between systems; p is by the error of the interval. The last column is the sign test without ties: "
        "it ignores that votes share dialogues and raters, so it finds too much"
    )
    if reasons := _list_untested(answer):
        caption = f"{caption}. {reasons}"
    return in_short(Table(CONTRAST_HEAD, [cells for _, cells in rows], caption), *MOST_VOTED)


def _tested_cells(pair: Preference, adjusted: float) -> list[str]:
    ends = spell_points(pair.net.low, pair.net.high)
    return [*_vote_cells(pair, pair.net.n, pair.net.value), ends, *map(p_value, (pair.p, adjusted, pair.sign.p))]


def _vote_cells(pair: Preference | Untested, votes: int, net: float) -> list[str]:
    counts = (f"{n:,}" for n in (votes, pair.sign.a, pair.sign.b, pair.sign.ties))
    return [f"{pair.first} against {pair.second}", *counts, signed(100 * net)]


def _list_untested(answer: PreferenceAnswer) -> str:
    """Who has a dash for which reason; of very many only how many they are."""
    if not answer.untested:
        return ""
    reasons: dict[str, list[str]] = {}
    for untested in answer.untested:
        reasons.setdefault(untested.reason, []).append(f"{untested.first} and {untested.second}")
    pairs = "; ".join(f"{reason}: {_name_some(names)}" for reason, names in reasons.items())
    return f"A dash: one vote gives no interval, and votes that share one cluster say nothing about others ({pairs})"


def _name_some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else count(len(names), "comparison")


def spell_points(low: float, high: float) -> str:
    """The ends of an interval of net preference, in points."""
    return f"{signed(100 * low)} to {signed(100 * high)}"


def equivalence_sentences(preferences: Sequence[Preference]) -> list[str]:
    """Whether systems are equivalent, which is claimed only against a stated margin; of very many how many are."""
    tested = [(pair, pair.equivalence) for pair in preferences if pair.equivalence is not None]
    if not tested:
        return [
            "No equivalence margin was stated (--margin), so no two systems are called equivalent. "
            f"{_list_met_margins(preferences)}"
        ]
    margin = f"{100 * tested[0][1].margin:g} points"
    if len(tested) > MOST_ROWS:
        equivalent = sum(test.equivalent for _, test in tested)
        return [
            f"{equivalent:,} of {len(tested):,} comparisons are equivalent within {margin} (two one-sided tests, not "
            "corrected for their number); --json and report.json name them."
        ]
    return [
        f"{pair.first} and {pair.second} {'are equivalent' if test.equivalent else 'are not shown to be equivalent'} "
        f"within {margin} (two one-sided tests, {p_equals(test.p)}; 90 % interval "
        f"{spell_points(test.low, test.high)})."
        for pair, test in tested
    ]


def equivalent_within(answer: PreferenceAnswer) -> list[str]:
    """Whether systems are equivalent, where a margin was stated: of several comparisons, in how many."""
    tests = [pair.equivalence for pair in answer.led if pair.equivalence is not None]
    if len(tests) < 2:
        return equivalence_sentences(answer.led) if tests else []
    equivalent = sum(test.equivalent for test in tests)
    which = (
        f"{equivalent:,} of {len(tests):,} comparisons are" if equivalent else f"None of {len(tests):,} comparisons is"
    )
    return [
        f"{which} shown to be equivalent within {100 * tests[0].margin:g} points (two one-sided tests, not corrected "
        "for their number)."
    ]


def _list_met_margins(preferences: Sequence[Preference]) -> str:
    """The margins that would have been met, had they been stated before the votes were seen."""
    if not preferences:
        return ""
    least = [100 * pair.claimable for pair in preferences]
    if max(least) > 99:  # a net preference has no margin of 100 points
        met = sum(margin <= 99 for margin in least)
        return f"Only {met} of {len(least)} comparisons could have met one." if met else "These votes could meet none."
    ends = dict.fromkeys(f"{ceil(margin)}" for margin in (min(least), max(least)))  # rounded down, none was met
    ways = ", depending on the two systems" if len(ends) > 1 else ""
    return f"A margin stated beforehand would have been met at {' to '.join(ends)} points or more{ways}."


def ranking_table(ranking: Ranking) -> Table:
    """The ranking, then the systems that have no rank."""
    rows = [
        (
            f"{ranked.rank}",
            ranked.system,
            f"{ranked.votes:,}",
            number(ranked.strength.value),
            number(ranked.strength.se),
            spell_span(ranked.strength),
            _spell_ranks(ranked.rank_low, ranked.rank_high),
            _spell_ranks(ranked.all_low, ranked.all_high),
            "" if ranked.below_next is None else p_value(ranked.below_next),
        )
        for ranked in ranking.systems
    ]
    blank = ("-",) * (len(RANKING_HEAD) - 3)
    unranked_rows = [("-", unranked.system, f"{unranked.votes:,}", *blank) for unranked in ranking.unranked]
    return Table(RANKING_HEAD, [*rows, *unranked_rows], f"Ranking by {MODELS[ranking.model]}")


def _spell_ranks(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}-{high}"


def explain_ranking(ranking: Ranking) -> Iterator[str]:
    """How its ranks read, what the model's other parameters are, and who has no rank for which reason."""
    yield (
        "95 % ranks: a system's true rank is among these with 95 % confidence (of all systems at once: every true rank "
        "is). Ranks go by all votes on a system, comparisons by the votes on the two alone."
    )
    parameters = (("tie parameter", ranking.tie), ("left side", ranking.position))
    if extra := [f"{name} (log) {number(part.value)} ({spell_span(part)})" for name, part in parameters if part]:
        yield f"{'; '.join(extra).capitalize()}."
    reasons: dict[str, list[str]] = {}
    for unranked in ranking.unranked:
        reasons.setdefault(unranked.reason, []).append(unranked.system)
    for reason, names in reasons.items():
        yield f"Not ranked, because {reason}: {', '.join(names)}."


def _describe_position(side: Position | None) -> Iterator[str]:
    """Left against right, over all votes."""
    if side is None:
        return
    chosen = f"The left response was chosen in {side.test.a:,} of {count(side.test.a + side.test.b, 'decisive vote')}"
    if side.share is None or side.p is None:
        yield f"{chosen}."
        return
    yield (
        f"{chosen} ({percent(side.share.value)}, 95 % interval {percent(side.share.low)} to "
        f"{percent(side.share.high)}; {p_equals(side.p)} against one half)."
    )


def round_sentences(rounds: RoundDrift | None) -> Iterator[str]:
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


def disagreement(answer: PreferenceAnswer) -> Iterator[str]:
    """The comparisons that the votes on the two show, and the ranking does not, or the other way round."""
    alone, ranked = [], []
    for preference, p, is_shown in zip(answer.led, answer.adjusted, answer.shown, strict=True):
        names = f"{preference.first} and {preference.second}"
        if p < 0.05 and not is_shown:
            alone.append(names)
        elif p >= 0.05 and answer.ranking is not None and _are_ranks_apart(answer.ranking, preference):
            ranked.append(names)
    if alone:
        yield (
            f"By their own votes (p, Holm) a preference between {_name_some(alone)} would be shown, by the ranking "
            "with all comparisons at once not. A preference counts as shown only where both agree."
        )
    if ranked:
        yield (
            f"The ranking orders {_name_some(ranked)}, whose own votes do not show a preference (p, Holm). "
            "A preference counts as shown only where both agree."
        )


def _are_ranks_apart(ranking: Ranking, preference: Preference) -> bool:
    """Whether the ranks of two systems, all at once, do not overlap."""
    ends = [
        (ranked.all_low, ranked.all_high)
        for ranked in ranking.systems
        if ranked.system in (preference.first, preference.second)
    ]
    return len(ends) == 2 and max(low for low, _ in ends) > min(high for _, high in ends)


def _fixed_rater_parts(nets: Sequence[RaterNet]) -> list[Table | str]:
    """The answer for these raters alone, and what it leaves open."""
    if not nets:
        return []
    raters = count(max(net.raters for net in nets), "rater")
    shown_count = sum(net.p_holm < 0.05 for net in nets)
    answer = f"a preference is{'' if shown_count else ' not'} shown on new pairs"
    if len(nets) > 1:
        answer = f"a preference is shown in {shown_count} of {count(len(nets), 'comparison')}"
    return [
        _rater_table(nets, f"For these {raters} alone, on new pairs"),
        f"For these {raters}, {answer}. The other intervals allow for new raters as well.",
    ]


def _mean_rater_parts(nets: Sequence[RaterNet]) -> list[Table | str]:
    """The means over raters, and how they differ from those over votes."""
    if not nets:
        return []
    return [
        "A net preference is the mean over votes, so raters who gave more votes count for more.",
        _rater_table(nets, "Mean over raters, each counting the same"),
    ]


def _rater_table(nets: Sequence[RaterNet], caption: str) -> Table:
    head = ("first", "second", "raters", "net, points", "95 % interval", "p", "p (Holm)")
    rows = [
        (
            net.first,
            net.second,
            str(net.raters),
            signed(100 * net.value),
            spell_points(net.low, net.high),
            p_value(net.p),
            p_value(net.p_holm),
        )
        for net in nets
    ]
    return in_short(Table(head, rows, caption), *FIRST_LISTED)[0]


def _describe_unverified(pair: Preference | Untested) -> str:
    """What votes say that no marketplace has confirmed, which are in no other number."""
    votes = f"{pair.sign.a} for {pair.first}, {pair.sign.b} for {pair.second}, {pair.sign.ties} ties"
    if isinstance(pair, Untested):
        net = f"net preference {pair.net:+z.3f} (no interval: {pair.reason})"
    else:
        net = f"net preference {pair.net.value:+z.3f} (95 % interval {spell_span(pair.net)})"
    return f"Unverified votes alone, {pair.first} against {pair.second}: {votes}; {net}."


def _describe_index(index: TieIndex | None) -> Iterator[str]:
    """The tie index, whose interval says nothing where it leaves 0 to 1."""
    if index is None or not (index.low >= 0 and index.high <= 1):
        return
    yield (
        f"Tie index {index.value:.2f} (95 % interval {index.low:.2f} to {index.high:.2f}). At 0, ties are as frequent "
        f"as on clearly different pairs ({percent(index.different)}), at 1 as on one system against itself "
        f"({percent(index.same)})."
    )


def group_parts(groups: Sequence[GroupPreference], by: str, notes: Sequence[str]) -> list[Table | str]:
    """A table of groups of raters, and what they say."""
    head = ("systems", by, "people", "votes", "net preference (95 %)", "apart from the others (95 %)", "p (Holm)")
    rows = [
        (
            f"{group.first} - {group.second}",
            group.group,
            str(group.people),
            f"{group.votes:,}",
            _group_span(group.net),
            _group_span(group.apart),
            p_value(group.p_holm),
        )
        for group in groups
    ]
    return [Table(head, rows, f"Net preference by {by}"), *group_findings(groups), *notes]


def group_findings(groups: Sequence[GroupPreference]) -> list[str]:
    """Which groups prefer otherwise, after the correction; of two that mirror each other the first one."""
    differing = [
        (group, group.apart) for group in groups if group.apart and group.p_holm is not None and group.p_holm < 0.05
    ]
    sentences = [
        f"The group {group.group!r} prefers otherwise than the others: {gap.value:+z.3f}."
        for k, (group, gap) in enumerate(differing)
        if not any(
            (group.first, group.second) == (earlier.first, earlier.second) and gap.mirrors(mirror)
            for earlier, mirror in differing[:k]
        )
    ]
    none = "No group is shown to prefer otherwise than the others; small groups show large differences only."
    return sentences or [none]


def _group_span(value: Interval | Disparity | None) -> str:
    return "-" if value is None else f"{value.value:+z.3f} ({value.low:+z.3f} to {value.high:+z.3f})"


def row_figures(answer: PreferenceAnswer) -> tuple[RowFigure, ...]:
    """Net preferences and ranks, whichever says more first, and ties on control pairs."""
    several = answer.ranking is not None and len(answer.matches.systems) > 2
    figures = [_net_figure(answer.led)] if answer.led else []
    if answer.ranking is not None and several:
        ranks = ranks_figure(answer.ranking)
        figures = [*figures, ranks] if len(answer.matches.systems) <= FEW_SYSTEMS else [ranks, *figures]
    return *figures, *((_controls_figure(answer.shares),) if len(answer.shares) > 1 else ())


def _net_figure(preferences: Sequence[Preference]) -> RowFigure:
    """Net preferences; of very many those with the most votes."""
    title, preferences_drawn = "Net preference with its 95 % interval", preferences
    if len(preferences) > MOST_ROWS:
        preferences_drawn = sorted(preferences, key=lambda pair: -pair.net.n)[:MOST_ROWS]
        title += f": the {MOST_ROWS} {' '.join(MOST_VOTED)}, of {len(preferences):,}"
    ends = [100 * end for pair in preferences_drawn for end in (pair.net.low, pair.net.high, 0.0)]
    axis = Axis(min(ends) - 2, max(ends) + 2)
    rows = tuple(
        Row(
            f"{pair.first} over {pair.second}",
            f"{signed(100 * pair.net.value)} ({spell_points(pair.net.low, pair.net.high)})",
            axis.interval(100 * pair.net.low, 100 * pair.net.value, 100 * pair.net.high),
            described=f"net preference {signed(100 * pair.net.value)} points",
        )
        for pair in preferences_drawn
    )
    ticks = axis.round_ticks()
    zero = ((axis.at(0), "no preference"),)
    return RowFigure(
        title,
        rows,
        ticks,
        "points, first minus second",
        zero,
        note_head="points (95 % interval)",
        name="net-preference",
    )


def ranks_figure(ranking: Ranking) -> RowFigure:
    """The ranks that each system may truly have."""
    axis = Axis(0.5, len(ranking.systems) + 0.5)
    return RowFigure(
        "Ranks that the votes leave open",
        tuple(_rank_row(axis, ranked) for ranked in ranking.systems),
        axis.ticks(round_steps(1, len(ranking.systems), whole=True)),
        "rank",
        legend=(
            ("dot", "people", "rank"),
            ("bar", "people", "95 % set of one system"),
            ("bar", "grey", "95 % sets of all systems at once"),
        ),
        note_head="95 % ranks",
        name="ranks",
    )


def _rank_row(axis: Axis, ranked: Ranked) -> Row:
    ranks = _spell_ranks(ranked.rank_low, ranked.rank_high)
    marks = (
        Mark("bar", axis.at(ranked.all_low), axis.at(ranked.all_high), 0, "grey"),
        *axis.interval(ranked.rank_low, ranked.rank, ranked.rank_high),
    )
    described = f"rank {ranked.rank}, among {ranks}, all at once {ranked.all_low} to {ranked.all_high}"
    return Row(ranked.system, ranks, marks, described=described)


def _controls_figure(shares: Sequence[TieShare]) -> RowFigure:
    axis = Axis(0, 1)
    rows = tuple(
        Row(
            PAIR_KINDS.get(kind.contrast, kind.contrast),
            f"{percent(kind.share)} of {count(kind.votes, 'vote')}",
            axis.interval(kind.low, kind.share, kind.high) or (Mark("dot", axis.at(kind.share), 0, 0, "people"),),
            described=percent(kind.share),
        )
        for kind in shares
    )
    title, chance = "Ties on control pairs and on real ones, with 95 % intervals", ((axis.at(1 / 3), "chance 33 %"),)
    return RowFigure(title, rows, axis.ticks(QUARTERS, "{:.0%}"), "share of ties", chance, name="control-ties")


def document(answer: PreferenceAnswer) -> dict[str, Any]:
    """The stable keys of `--json`; `net`, `sign_test` and `tost` are those of the first contrast."""
    rows = [
        _preference_keys(pair, p, is_shown)
        for pair, p, is_shown in zip(answer.preferences, answer.adjusted, answer.shown, strict=True)
    ]
    rows += [_untested_keys(pair) for pair in answer.untested]
    numbers: dict[str, Any] = to_plain(
        {
            "systems": answer.matches.systems,
            **rows[0],
            "contrasts": rows,
            "position": None if answer.position is None else _position_keys(answer.position),
            "rounds": answer.rounds,
            "davidson": None if answer.ranking is None else _ranking_keys(answer.ranking),
            "reversals": answer.reversals,
            "careful": None if answer.careful is None else careful_document(answer.careful),
            "mixed": None if answer.mixed is None else mixed_document(answer.mixed),
            "these_raters": answer.fixed,
            "over_raters": answer.over_raters,
            "unverified": [_unverified_keys(pair) for pair in answer.unverified],
            "tie_index": answer.index,
            "voters": answer.voters,
            "warnings": [*not_people(answer.voters), *answer.warnings],
            "signature": answer.signature,
        }
    )
    return numbers


def _preference_keys(pair: Preference, adjusted: float, is_shown: bool) -> dict[str, Any]:
    net, sign, test = pair.net, pair.sign, pair.equivalence
    return {
        "first": pair.first,
        "second": pair.second,
        "votes": net.n,
        "net": {
            "value": net.value,
            "se": net.se,
            "low": net.low,
            "high": net.high,
            "p": pair.p,
            "p_holm": adjusted,
            "df": net.df,
            "clusters": net.unit,
            "design_effect": net.design_effect,
            "effective_n": net.effective_n,
            "worth": net.worth,
        },
        "sign_test": {"first": sign.a, "second": sign.b, "ties": sign.ties, "p": sign.p},
        "tost": None if test is None else {**asdict(test), "equivalent": test.equivalent},
        "shown": is_shown,
        "reason": None,
    }


def _untested_keys(pair: Untested) -> dict[str, Any]:
    counts = {"first": pair.sign.a, "second": pair.sign.b, "ties": pair.sign.ties, "p": None}
    names = {"first": pair.first, "second": pair.second, "votes": pair.votes}
    return {**names, "net": None, "sign_test": counts, "tost": None, "shown": None, "reason": pair.reason}


def _position_keys(side: Position) -> dict[str, Any]:
    share = side.share
    ends = (None, None, None) if share is None else (share.value, share.low, share.high)
    return {
        "left": side.test.a,
        "right": side.test.b,
        "p": side.p,
        "p_vote": side.test.p,
        **dict(zip(("share", "low", "high"), ends, strict=True)),
    }


def _ranking_keys(ranking: Ranking) -> dict[str, Any]:
    return {
        "model": ranking.model,
        "strengths": {ranked.system: ranked.strength for ranked in ranking.systems},
        "tie": ranking.tie,
        "position": ranking.position,
        "ranks": {
            ranked.system: {
                "rank": ranked.rank,
                "low": ranked.rank_low,
                "high": ranked.rank_high,
                "all_low": ranked.all_low,
                "all_high": ranked.all_high,
            }
            for ranked in ranking.systems
        },
        "wrong_order": [
            {"above": upper.system, "below": lower.system, "p": upper.below_next}
            for upper, lower in pairwise(ranking.systems)
        ],
        "unranked": ranking.unranked,
        "freedom": ranking.freedom,
        "sets": ranking.sets,
    }


def _unverified_keys(pair: Preference | Untested) -> dict[str, Any]:
    net = None if isinstance(pair, Untested) else pair.net
    return {
        "first": pair.first,
        "second": pair.second,
        "for_first": pair.sign.a,
        "for_second": pair.sign.b,
        "ties": pair.sign.ties,
        "net": pair.net if isinstance(pair, Untested) else pair.net.value,
        "low": net and net.low,
        "high": net and net.high,
        "no_interval": pair.reason if isinstance(pair, Untested) else "",
    }


def section(answer: PreferenceAnswer) -> Section:
    """What the report shows: the ranking of several systems, net preferences, equivalence, controls, every caution."""
    text = (
        "Net preference is the votes for the first system (the leader) minus the votes for the second, in points of "
        f"all votes; a tie counts for neither. The intervals allow for new {spell_clusters(answer)}."
    )
    ranking = answer.ranking if len(answer.matches.systems) > 2 else None
    details = _detail_parts(answer)
    items = (
        *(() if ranking is None else explain_ranking(ranking)),
        *equivalence_sentences(answer.led),
        *(part for part in details if isinstance(part, str)),
    )
    tables = (
        *(() if ranking is None else (ranking_table(ranking),)),
        *contrast_tables(answer),
        *(part for part in details if isinstance(part, Table)),
    )
    title = "Which is preferred"
    return Section("preferred", title, (text,), row_figures(answer), items, tables=tables, notes=answer.warnings)


def spell_clusters(answer: PreferenceAnswer) -> str:
    """What the intervals draw anew, in words: `dialogues and raters`."""
    return " and ".join(f"{way}s" for way in answer.clusters or ("vote",))


def preference(
    votes: Any,
    *,
    pairs: Any = None,
    margin: float | None = None,
    model: Literal["davidson", "rao-kupper"] = "davidson",
    clusters: str = "auto",
    sets: int = 5000,
    careful: bool | None = None,
    mixed: bool = False,
    seed: int = 0,
    raters: str | Path | None = None,
    by: str = "",
    covariates: Sequence[str] = (),
    **reading: Any,
) -> Result:
    """Which system raters prefer, and whether two are equivalent (`python -m analysis preference`).

    `raters` is a table of people and `by` its column: the preference of each group is then given after that of all.
    `covariates` names what is held equal: length, markdown, lists, or a measure of the study's scores.
    """
    check_ranges(locals(), sets=(2, math.inf))
    check_margin(margin)
    matches, known = matches_of(votes, pairs, kinds=JUDGED, **reading)
    preferences = answer(
        matches,
        known=known,
        margin=margin,
        model=model,
        clusters=clusters,
        sets=sets,
        careful=careful,
        mixed=mixed,
        seed=seed,
        alone=unverified_apart(votes, pairs, matches, **reading),
    )
    numbers = with_reading(document(preferences), matches.votes, matches.systems)
    blocks = parts(preferences)
    if raters is not None:
        table = Path(raters)
        notes = strata_of(matches.votes, table, by).notes
        pairs_by_group = [(contrast, strata_of(contrast.votes, table, by)) for contrast in contrasts(matches)]
        groups = answer_groups(pairs_by_group, clusters)
        blocks[-1:-1] = group_parts(groups, by, notes)
        numbers["strata"] = to_plain({"by": by, "groups": groups, "warnings": list(notes)})
    if covariates:
        path, known_pairs = pairs_known(votes, pairs)
        names = [covariates] if isinstance(covariates, str) else list(covariates)
        adjusted = adjusted_answer(matches, preferences.ranking, names, path.parent, known_pairs, clusters)
        blocks[-1:-1] = adjusted_parts(adjusted)
        numbers["adjusted"] = to_plain(adjusted)
    return Result(numbers, blocks, lambda: row_figures(preferences), told_of_reading(matches.votes))


def answer_study(
    study: Study, margin: float | None, clusters: str, columns: Mapping[str, str]
) -> tuple[PreferenceAnswer | None, str]:
    """The answer of `analysis preference STUDY`, or None with the reason, empty where the report gives it anyway."""
    try:
        reading = {**study.how, **study.reading, **({"columns": columns} if columns else {})}
        data = study.table or study.folder
        matches, known = matches_of(data, None, kinds=JUDGED, **reading)
        # From our own pages the sides are drawn by chance: without pairs.jsonl they mean nothing. Of a table alone the
        # report says what `preference` says, with its caution.
        if study.table is None and not known and set(matches.votes.source) - {"imported"}:
            return None, ""
        unverified = unverified_apart(data, None, matches, **reading)
        return answer(matches, known=known, margin=margin, clusters=clusters, alone=unverified), ""
    except InputError as error:
        reason = str(error).replace(f"{study.folder}/", "")
        return None, f"Which system is preferred is unknown. {reason}"
