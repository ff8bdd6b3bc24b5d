"""The report's section on which system is preferred: the answer's numbers, with the leader of each pair first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from analysis.preference.answer import Preference, PreferenceAnswer, TieShare
from analysis.preference.careful_text import careful_points, careful_sentences, careful_tables
from analysis.preference.ranking import Ranking
from analysis.preference.raters import fixed_parts, mean_parts
from analysis.preference.text import (
    MODELS,
    MOST_VOTED,
    RANKING_HEAD,
    differing,
    equivalent_of_many,
    index_in_words,
    most_voted,
    rank_range,
    ranking_rows,
    told_of_ranking,
    told_of_rounds,
    untested_in_words,
    unverified_in_words,
)
from analysis.showing.page import QUARTERS, Axis, Mark, Row, RowFigure, Section, round_steps
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, p_equals, p_value, percent, signed
from analysis.votes.study import Study
from analysis.votes.systems import DIFFERENT, SAME

PAIR_KINDS = {
    "": "real pairs",
    SAME: "one seed against itself, two samples",
    DIFFERENT: "reference against a random response",
    "reference-model": "reference against a model's response",
}
FEW_SYSTEMS = 3
_HEAD = ("comparison", "votes", "first", "second", "ties", "net, points", "95 % interval", "p", "p (Holm)",
         "p as if votes were independent")  # fmt: skip


def section(answer: PreferenceAnswer | None, study: Study) -> Section | None:
    """The ranking of several systems, net preference with intervals, equivalence, controls, and every caution."""
    if answer is None:
        return None
    text = (
        "Net preference is the votes for the first system (the leader) minus the votes for the second, in points of "
        "all votes; a tie counts for neither. The intervals allow for "
        f"new {clusters_in_words(answer)}.",
    )
    ranking = answer.ranking if len(answer.matches.systems) > 2 else None
    drawn = [*_rank_figure(ranking), *_net_figure(answer.led)]
    if len(answer.matches.systems) <= FEW_SYSTEMS:  # few comparisons say more than ranks do
        drawn.reverse()
    if study.controls is not None and len(answer.shares) > 1:
        drawn.append(_controls_figure(answer.shares))
    told = () if ranking is None else told_of_ranking(ranking)
    raters = [*differing(answer), *fixed_parts(answer.fixed), *mean_parts(answer.over_raters)]
    items = (*told, *alike(answer.led), *index_in_words(answer.index), *_checks(answer), *unverified_in_words(answer))
    items += tuple(part for part in raters if isinstance(part, str))
    tables = (*_ranking_table(ranking), *_table(answer), *(part for part in raters if isinstance(part, Table)))
    if answer.careful is not None:
        items += (*careful_sentences(answer.careful), careful_points(answer.careful))
        tables += tuple(careful_tables(answer.careful))
    return Section("preferred", "Which is preferred", text, tuple(drawn), items, tables=tables, notes=answer.warnings)


def clusters_in_words(answer: PreferenceAnswer) -> str:
    """What the intervals draw anew, in words: `dialogues and raters`."""
    return " and ".join(f"{way}s" for way in answer.clusters or ("vote",))


def _ranking_table(found: Ranking | None) -> list[Table]:
    return [] if found is None else [Table(RANKING_HEAD, ranking_rows(found), f"Ranking by {MODELS[found.model]}")]


def _rank_figure(found: Ranking | None) -> list[RowFigure]:
    """The ranks that each system may truly have."""
    if found is None:
        return []
    axis = Axis(0.5, len(found.systems) + 0.5)
    rows = tuple(
        Row(one.system, rank_range(one), (Mark("bar", axis.at(one.all_low), axis.at(one.all_high), 0, "grey"),
                                     *axis.interval(one.rank_low, one.rank, one.rank_high)),
            described=f"rank {one.rank}, among {rank_range(one)}, all at once {one.all_low} to {one.all_high}")
        for one in found.systems
    )  # fmt: skip
    legend = (("dot", "people", "rank"), ("bar", "people", "95 % set of one system"),
              ("bar", "grey", "95 % sets of all systems at once"))  # fmt: skip
    ticks = axis.ticks(round_steps(1, len(found.systems), whole=True))
    return [RowFigure("Ranks that the votes leave open", rows, ticks, "rank", legend=legend, note_head="95 % ranks",
                      name="ranks")]  # fmt: skip


def points(low: float, high: float) -> str:
    """The ends of an interval of net preference, in points."""
    return f"{signed(100 * low)} to {signed(100 * high)}"


def _net_figure(preferences: Sequence[Preference]) -> list[RowFigure]:
    """Net preferences; of very many those with the most votes."""
    if not preferences:
        return []
    title, shown = "Net preference with its 95 % interval", preferences
    if len(preferences) > MOST_ROWS:
        shown = sorted(preferences, key=lambda one: -one.net.n)[:MOST_ROWS]
        title += f": the {MOST_ROWS} {' '.join(MOST_VOTED)}, of {len(preferences):,}"
    ends = [100 * end for one in shown for end in (one.net.low, one.net.high, 0.0)]
    axis = Axis(min(ends) - 2, max(ends) + 2)
    rows = [
        Row(
            f"{one.first} over {one.second}",
            f"{signed(100 * one.net.value)} ({points(one.net.low, one.net.high)})",
            axis.interval(100 * one.net.low, 100 * one.net.value, 100 * one.net.high),
            described=f"net preference {signed(100 * one.net.value)} points",
        )
        for one in shown
    ]
    ticks = axis.ticks(round_steps(axis.low, axis.high))
    return [RowFigure(title, tuple(rows), ticks, "points, first minus second", ((axis.at(0), "no preference"),),
                      note_head="points (95 % interval)", name="net-preference")]  # fmt: skip


def alike(preferences: Sequence[Preference]) -> list[str]:
    """Whether systems are equivalent, which is claimed only against a stated margin."""
    tested = [(one, one.equivalence) for one in preferences if one.equivalence is not None]
    if not tested:
        return [
            "No equivalence margin was stated (--margin), so no two systems are called equivalent. " + _met(preferences)
        ]
    if len(tested) > MOST_ROWS:
        return [equivalent_of_many([test for _, test in tested], f"{100 * tested[0][1].margin:g} points")]
    return [
        f"{one.first} and {one.second} {'are equivalent' if test.equivalent else 'are not shown to be equivalent'} "
        f"within {100 * test.margin:g} points (two one-sided tests, {p_equals(test.p)}; 90 % interval "
        f"{points(test.low, test.high)})."
        for one, test in tested
    ]


def _met(preferences: Sequence[Preference]) -> str:
    """The margins that would have been met, had they been stated before the votes were seen."""
    if not preferences:
        return ""
    least = [100 * one.claimable for one in preferences]
    if max(least) > 99:  # a net preference has no margin of 100 points
        met = sum(margin <= 99 for margin in least)
        return f"Only {met} of {len(least)} comparisons could have met one." if met else "These votes could meet none."
    ends = dict.fromkeys(f"{ceil(margin)}" for margin in (min(least), max(least)))  # rounded down, none was met
    ways = ", depending on the two systems" if len(ends) > 1 else ""
    return f"A margin stated beforehand would have been met at {' to '.join(ends)} points or more{ways}."


def _controls_figure(shares: Sequence[TieShare]) -> RowFigure:
    axis = Axis(0, 1)
    made = tuple(
        Row(PAIR_KINDS.get(one.contrast, one.contrast), f"{percent(one.share)} of {count(one.votes, 'vote')}",
            axis.interval(one.low, one.share, one.high) or (Mark("dot", axis.at(one.share), 0, 0, "people"),),
            described=percent(one.share))
        for one in shares
    )  # fmt: skip
    return RowFigure(
        "Ties on control pairs and on real ones, with 95 % intervals", made, axis.ticks(QUARTERS, "{:.0%}"),
        "share of ties", ((axis.at(1 / 3), "chance 33 %"),), name="control-ties",
    )  # fmt: skip


def _checks(answer: PreferenceAnswer) -> Iterator[str]:
    """Left against right, and change over the rounds."""
    side = answer.position
    if side is not None and side.share is not None and side.p is not None:
        chosen = count(side.test.a + side.test.b, "decisive vote")
        yield (
            f"The left response was chosen in {side.test.a:,} of {chosen} ({percent(side.share.value)}, 95 % interval "
            f"{percent(side.share.low)} to {percent(side.share.high)}; {p_equals(side.p)} for no side effect)."
        )
    yield from told_of_rounds(answer.rounds)


def _table(answer: PreferenceAnswer) -> tuple[Table, ...]:
    tested = [
        (
            one.net.n,
            (
                f"{one.first} against {one.second}", *(f"{n:,}" for n in (one.net.n, s.a, s.b, s.ties)),
                signed(100 * one.net.value), points(one.net.low, one.net.high),
                *(p_value(p) for p in (one.p, adjusted, s.p)),
            ),
        )
        for one, adjusted in zip(answer.led, answer.adjusted, strict=True)
        for s in [one.sign]
    ]  # fmt: skip
    without = [
        (
            one.votes,
            (f"{one.first} against {one.second}", *(f"{n:,}" for n in (one.votes, s.a, s.b, s.ties)),
             signed(100 * one.net), "-", "-", "-", "-"),
        )
        for one in answer.untested
        for s in [one.sign]
    ]  # fmt: skip
    caption = (
        "Preference between systems; p is by the error of the interval. The last column is the sign test without ties: "
        "it ignores that votes share dialogues and raters, so it finds too much"
    )
    if told := " ".join(untested_in_words(answer)).rstrip("."):
        caption = f"{caption}. {told}"
    return in_short(Table(_HEAD, most_voted([*tested, *without]), caption), *MOST_VOTED)
