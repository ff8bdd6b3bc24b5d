"""Which system is ranked higher where several are judged at once.

The ranks of one ranking are one answer of one rater to one item, so intervals draw items and raters anew, never the
comparisons that a ranking implies. Where every ranking holds every system, two systems are compared by their mean
ranks. Where rankings hold only some, a mean rank depends on the opponents, so strengths of a Plackett-Luce model with
ties take its place. Ranks that hold at once are what the comparisons show after Holm's correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata

from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.stats.net_preference import bounded_interval, interval_of, net_estimate, net_interval, p_of_zero
from seedvote.analysis.stats.paired.davidson import Parameter
from seedvote.analysis.stats.paired.plackett_luce import Group, Ranking, equal_strength_p, fit_groups, stages_of
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.votes.cautions import list_cautions
from seedvote.analysis.votes.clusters import Ways, clusters_of
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SystemRank:
    """One system over all rankings that hold it."""

    system: str
    rankings: int
    mean: Interval | None  # mean rank, 1 the best; None where some rankings leave systems out
    strength: Parameter | None  # log scale, zero the mean of its group; None in a group of its own
    group: int  # 1 the highest: between groups no strength is finite
    rank_low: int  # ranks that it may have, of all systems at once
    rank_high: int


@dataclass(frozen=True, slots=True)
class RankedPair:
    """Two systems; numbers above 0 put the first one higher."""

    first: str
    second: str
    rankings: int  # that hold both
    difference: Interval | None  # of ranks in the same ranking, where all rankings hold all systems
    strength: Parameter | None  # difference on the log scale, where rankings are incomplete and it is finite
    lead: float  # above 0 where the first stands higher
    p: float
    p_holm: float
    above: int
    below: int
    equal: int
    net: Interval | None  # (above - below) / all; None for fewer than two rankings that hold both


@dataclass(frozen=True, slots=True)
class Concordance:
    """How far complete rankings agree: Kendall's W, and Friedman's statistic, with p for independent rankings only."""

    w: float
    statistic: float
    freedom: int
    p: float | None


@dataclass(frozen=True, eq=False)
class RanksAnswer:
    """Every system and every two systems, with what to know before quoting a number."""

    noun, verb = "rank", "ranked"
    systems: tuple[SystemRank, ...]  # the best first
    contrasts: tuple[RankedPair, ...]
    unlinked: int  # pairs of systems that no chain of rankings compares
    rankings: int
    complete: bool
    clusters: tuple[str, ...]
    tie: Parameter | None  # log delta of two equals, of the largest group
    concordance: Concordance | None
    warnings: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class Sheets:
    """All rankings: ranks from 1, equals share the mean, not a number where a ranking leaves a system out."""

    systems: tuple[str, ...]
    ranks: Floats  # (rankings, systems)
    votes: Votes  # item, rater and dialogue of every ranking
    clusters: str

    def ways(self, rows: NDArray[np.bool_] | None = None) -> Ways:
        """How the rankings, or some of them, are clustered."""
        return clusters_of(self.votes if rows is None else self.votes.select(rows), self.clusters, part=True)

    @property
    def complete(self) -> bool:
        """Whether every ranking holds every system."""
        return not np.isnan(self.ranks).any()


@dataclass(frozen=True, slots=True)
class _Test:
    """How two systems compare: an estimate where there is one, and p; None: nothing compares them."""

    lead: float
    chance: float | None  # p
    difference: Interval | None = None
    strength: Parameter | None = None


def compare_ranks(table: RatingsTable, *, clusters: str = "auto") -> RanksAnswer:
    """Every system and every two systems of a table whose scores are ranks."""
    return compare_rankings(_collect_rankings(table, clusters))


def compare_rankings(sheets: Sheets) -> RanksAnswer:
    """The same of rankings in memory."""
    rankings, ways = [_ordered_groups(row) for row in sheets.ranks], sheets.ways()
    groups, doubts = _fit_strengths(rankings, sheets, ways)
    codes = list(combinations(np.argsort(sheets.systems).tolist(), 2))
    tests = _test_mean_ranks(sheets, codes) if sheets.complete else _test_strengths(rankings, groups, codes, ways)
    adjusted = holm_where([test.chance for test in tests])
    contrasts = tuple(
        _describe_pair(sheets, pair, test, p)
        for pair, test, p in zip(codes, tests, adjusted, strict=True)
        if p is not None
    )
    notes = [text for text in list_cautions(sheets.votes) if not text.startswith("The votes have no round column")]
    return RanksAnswer(
        systems=_order_systems(sheets, groups, contrasts),
        contrasts=contrasts,
        unlinked=len(codes) - len(contrasts),
        rankings=len(rankings),
        complete=sheets.complete,
        clusters=tuple(ways),
        tie=_tie_parameter(groups),
        concordance=_measure_concordance(sheets, ways),
        warnings=(*notes, *doubts),
        signature=signature(
            ranks=int((~np.isnan(sheets.ranks)).sum()),
            rankings=len(rankings),
            clusters="+".join(ways) or "ranking",
            model="mean-ranks" if sheets.complete else "davidson-luce",
        ),
    )


def _collect_rankings(table: RatingsTable, clusters: str) -> Sheets:
    rows = table.rows
    names, first, code = np.unique(rows.sheet, return_index=True, return_inverse=True)
    ranks = np.full((len(names), len(table.systems)), np.nan)
    ranks[code, rows.system] = rows.score
    several = (~np.isnan(ranks)).sum(1) > 1
    if several.sum() < 2:
        raise InputError("One ranking has no interval; two or more are needed.")
    ranks = np.apply_along_axis(rankdata, 1, ranks[several], nan_policy="omit")
    return Sheets(table.systems, ranks, rows.votes.select(first[several]), clusters)


def _ordered_groups(ranks: Floats) -> Ranking:
    """The systems of one ranking from the best down, equals together."""
    codes = np.flatnonzero(~np.isnan(ranks))
    return tuple(tuple(codes[ranks[codes] == rank].tolist()) for rank in np.unique(ranks[codes]))


def _fit_strengths(rankings: Sequence[Ranking], sheets: Sheets, ways: Ways) -> tuple[list[Group], list[str]]:
    """The strengths; complete rankings go without where they have too many equals for them."""
    try:
        return fit_groups(rankings, sheets.systems, ways), []
    except InputError as error:
        if not sheets.complete:
            raise
        return [Group(tuple(range(len(sheets.systems))), None, frozenset())], [f"No strengths: {error}"]


def _test_mean_ranks(sheets: Sheets, codes: Sequence[tuple[int, int]]) -> list[_Test]:
    reach, ways = float(len(sheets.systems) - 1), sheets.ways()
    gaps = [sheets.ranks[:, second] - sheets.ranks[:, first] for first, second in codes]
    if reach == 1:  # the difference of two ranks is the vote of a pair
        net, mean = net_estimate(gaps[0], by=ways), mean_interval(gaps[0], by=ways)
        return [_Test(net.value, net.p, interval_of(net, mean))]
    means = [bounded_interval(gap, low=-reach, high=reach, by=ways) for gap in gaps]
    return [_Test(mean.value, p_of_zero(mean, reach), mean) for mean in means]


def _test_strengths(
    rankings: Sequence[Ranking], groups: Sequence[Group], codes: Sequence[tuple[int, int]], ways: Ways
) -> list[_Test]:
    stages = stages_of(rankings, sum(len(group.members) for group in groups))
    place = {system: number for number, group in enumerate(groups) for system in group.members}
    tests = []
    for first, second in codes:
        higher, lower = place[first], place[second]
        if higher == lower:
            value, p = groups[higher].apart(first, second)
            tests.append(_Test(value.value, p, strength=value))
        elif lower in groups[higher].above or higher in groups[lower].above:
            sign = 1.0 if lower in groups[higher].above else -1.0
            tests.append(_Test(sign, equal_strength_p(stages, first, second, ways)))
        else:
            tests.append(_Test(0.0, None))
    return tests


def _describe_pair(sheets: Sheets, pair: tuple[int, int], test: _Test, p_holm: float) -> RankedPair:
    first, second = pair
    gap = sheets.ranks[:, second] - sheets.ranks[:, first]
    has_two = ~np.isnan(gap)
    signs = np.sign(gap[has_two])
    return RankedPair(
        first=sheets.systems[first],
        second=sheets.systems[second],
        rankings=len(signs),
        difference=test.difference,
        strength=test.strength,
        lead=test.lead,
        p=float(test.chance or 0.0),
        p_holm=p_holm,
        above=int((signs > 0).sum()),
        below=int((signs < 0).sum()),
        equal=int((signs == 0).sum()),
        net=net_interval(signs, by=sheets.ways(has_two)) if len(signs) > 1 else None,
    )


def _order_systems(sheets: Sheets, groups: Sequence[Group], contrasts: Sequence[RankedPair]) -> tuple[SystemRank, ...]:
    """The systems from the best down, each with the ranks that the comparisons shown leave open."""
    above, below = dict.fromkeys(sheets.systems, 0), dict.fromkeys(sheets.systems, 0)
    for pair in contrasts:
        if pair.p_holm < 0.05:
            higher, lower = (pair.first, pair.second) if pair.lead > 0 else (pair.second, pair.first)
            below[higher] += 1
            above[lower] += 1
    systems = [
        SystemRank(
            system=sheets.systems[code],
            rankings=int((~np.isnan(sheets.ranks[:, code])).sum()),
            mean=_mean_rank(sheets, code),
            strength=group.strength(code),
            group=number,
            rank_low=1 + above[sheets.systems[code]],
            rank_high=len(sheets.systems) - below[sheets.systems[code]],
        )
        for number, group in enumerate(groups, 1)
        for code in group.members
    ]
    return tuple(sorted(systems, key=_sort_key))


def _sort_key(system: SystemRank) -> tuple[float, float]:
    if system.mean is not None:
        return 0.0, system.mean.value
    return float(system.group), -system.strength.value if system.strength else 0.0


def _mean_rank(sheets: Sheets, code: int) -> Interval | None:
    if not sheets.complete:
        return None
    return bounded_interval(sheets.ranks[:, code], low=1.0, high=float(len(sheets.systems)), by=sheets.ways())


def _tie_parameter(groups: Sequence[Group]) -> Parameter | None:
    fit = max(groups, key=lambda group: len(group.members)).fit
    return fit.parameter(fit.tie) if fit is not None and fit.tie is not None else None


def _measure_concordance(sheets: Sheets, ways: Ways) -> Concordance | None:
    """Friedman's test takes rankings as independent, so it has no p where they share raters or items."""
    rankings, systems = sheets.ranks.shape
    if not sheets.complete or systems < 3 or (sheets.ranks == sheets.ranks[:, :1]).all():
        return None
    statistic, p = friedmanchisquare(*sheets.ranks.T)
    are_independent = all(len(np.unique(codes)) == rankings for codes in ways.values())
    return Concordance(
        w=float(statistic) / (rankings * (systems - 1)),
        statistic=float(statistic),
        freedom=systems - 1,
        p=float(p) if are_independent else None,
    )
