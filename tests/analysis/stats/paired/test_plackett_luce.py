"""Strengths from rankings: other people's fits, Davidson's model, the likelihood itself, and what has no maximum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from seedvote.analysis.stats.paired.davidson import count_games, fit_model
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.plackett_luce import equal_strength_p, fit_groups, fit_rankings, stages_of
from seedvote.dialogue.errors import InputError

NAMES = tuple("abcdef")


def drawn(generator, *, number, size, worth, grain=0.0):
    """Rankings of `size` systems each; `grain` makes equals."""
    rankings = []
    for _ in range(number):
        some = generator.choice(len(worth), size, replace=False)
        utility = worth[some] + generator.gumbel(size=size)
        utility = np.floor(utility / grain) if grain else utility
        rankings.append(tuple(tuple(sorted(some[utility == level].tolist())) for level in np.unique(utility)[::-1]))
    return rankings


def test_without_equals_the_strengths_are_choixs():
    import choix

    rankings = drawn(np.random.default_rng(0), number=100, size=4, worth=np.linspace(-1, 1, 6))
    ours = fit_rankings(rankings, NAMES, {})
    theirs = choix.opt_rankings(6, [tuple(place[0] for place in ranking) for ranking in rankings], tol=1e-12)
    assert ours.tie is None and ours.strengths == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_rankings_of_two_equal_davidson():
    generator = np.random.default_rng(1)
    a = generator.integers(0, 4, 500)
    b, choice = (a + generator.integers(1, 4, 500)) % 4, generator.integers(0, 3, 500)
    by = {"item": generator.integers(0, 60, 500), "rater": generator.integers(0, 9, 500)}
    rankings = [
        (((x,), (y,)), ((y,), (x,)), ((x, y),))[z] for x, y, z in zip(a.tolist(), b.tolist(), choice, strict=True)
    ]
    ours, played = fit_rankings(rankings, NAMES[:4], by), count_games(NAMES[:4], a, b, choice, None)
    theirs = cluster_errors(played, fit_model(played), by)
    assert ours.parameters == pytest.approx(theirs.parameters, abs=1e-9)
    assert ours.covariance == pytest.approx(theirs.covariance, abs=1e-6)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood) and ours.freedom == theirs.freedom


def likelihood(theta, rankings, systems):
    """The formula word by word: the chance of every next place among all sets of the sizes that occur."""
    from itertools import combinations

    sizes = sorted({len(place) for ranking in rankings for place in ranking} | {1})
    delta = {1: 0.0, **dict(zip(sizes[1:], theta[systems:], strict=True))}
    total = 0.0
    for ranking in rankings:
        left = {code for place in ranking for code in place}
        for place in ranking:
            if len(left) > 1:
                sets = [one for size in sizes for one in combinations(sorted(left), size)]
                worth = [np.exp(delta[len(one)] + np.mean([theta[code] for code in one])) for one in sets]
                total += delta[len(place)] + np.mean([theta[code] for code in place]) - np.log(np.sum(worth))
            left -= set(place)
    return total


def test_with_equals_the_fit_has_the_highest_likelihood_of_the_formula():
    rankings = drawn(np.random.default_rng(2), number=30, size=4, worth=np.linspace(-1, 1, 5), grain=1.5)
    ours = fit_rankings(rankings, NAMES[:5], {})
    assert ours.tie == 5 and len(ours.parameters) > 6  # two equals, and three
    assert ours.log_likelihood == pytest.approx(likelihood(ours.parameters, rankings, 5))
    slope = approx_fprime(ours.parameters, lambda theta: likelihood(theta, rankings, 5), 1e-6)
    assert np.abs(slope).max() < 1e-3
    other = minimize(lambda theta: -likelihood(theta, rankings, 5), np.zeros(len(ours.parameters)))
    assert ours.log_likelihood >= -other.fun - 1e-6


def test_systems_that_nobody_ranks_below_others_are_a_group_of_their_own():
    """A over B now and then the other way, C and D so too; A and B always above C and D; E never met anybody but F."""
    a, b, c, d, e, f = range(6)
    rankings = [((a,), (b,)), ((b,), (a,)), ((a,), (c,)), ((b,), (d,)), ((c,), (d,)), ((d,), (c,)), ((e,), (f,))]
    groups = fit_groups(rankings, NAMES, {})
    members = [group.members for group in groups]
    assert sorted(members) == [(0, 1), (2, 3), (4,), (5,)]
    upper, lower, alone = members.index((0, 1)), members.index((2, 3)), members.index((4,))
    assert groups[upper].above == {lower} and members.index((5,)) in groups[alone].above
    assert groups[alone].strength(e) is None and groups[upper].strength(a).value == pytest.approx(0, abs=1e-9)
    assert fit_groups([((a,), (b,), (c,))] * 3, NAMES[:3], {})[0].fit is None


def test_where_all_agree_the_p_of_equal_strength_is_that_of_as_many_coins():
    rankings = [((0,), (1,))] * 12
    raters = np.repeat(np.arange(6), 2)
    assert equal_strength_p(stages_of(rankings, 2), 0, 1, {"rater": raters}) == pytest.approx(2 * 0.5**6)
    assert equal_strength_p(stages_of(rankings, 2), 1, 0, {}) == pytest.approx(2 * 0.5**12)
    assert equal_strength_p(stages_of([*rankings, ((1,), (0,))], 2), 0, 1, {"rater": np.append(raters, 9)}) > 2 * 0.5**7
    assert equal_strength_p(stages_of([((0, 1),)] * 4, 2), 0, 1, {}) == 1.0


def test_too_many_possible_places_are_refused_in_a_sentence():
    tied = [(tuple(range(9)), *((code,) for code in range(9, 30)))]
    with pytest.raises(InputError, match="systems with up to 9 equal ones"):
        stages_of(tied, 30)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [3, 8, 30])
def test_intervals_of_strengths_hold_those_of_all_raters_and_items(raters):
    """Three of five systems a ranking; raters and items lean to systems. The truth is the fit to 18,000 rankings."""
    from tests.analysis.worlds import Rankers

    world = Rankers(size=3, raters=raters, items=40, grain=1.0)

    def fitted(some, seed):
        ranks, item, rater = some.study(np.random.default_rng(seed))
        rankings = [tuple(tuple(np.flatnonzero(row == rank).tolist()) for rank in np.unique(row[~np.isnan(row)]))
                    for row in ranks]  # fmt: skip
        return fit_rankings(rankings, NAMES[:5], {"item": item, "rater": rater})

    truth = fitted(Rankers(size=3, raters=600, items=6_000, grain=1.0), 0).strengths
    studies = [fitted(world, seed) for seed in range(1, 201)]
    held = np.mean([[low <= true <= high for true, (low, high) in zip(truth, map(one.interval, range(5)), strict=True)]
                    for one in studies])  # fmt: skip
    print(raters, held)
    assert held > 0.93 - 0.015
