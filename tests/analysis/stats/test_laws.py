"""Laws of the share of ties in a set: the papers' numbers, scipy's, and every order one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seedvote.analysis.stats import laws
from seedvote.analysis.stats.resample import Clusters, set_shares


def test_the_papers_figures_follow_from_the_counts_alone():
    law = laws.hypergeometric_law(2000, 700, 200)
    assert round(law.sd, 4) == 0.0320
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.29, 0.415)
    assert f"{law.above(0.5):.1e}" == "1.5e-06"
    law = laws.binomial_law(0.35, 200)
    assert round(law.sd, 4) == 0.0337
    assert (law.quantile(0.025), law.quantile(0.975)) == (0.285, 0.415)
    assert f"{law.above(0.5):.1e}" == "4.9e-06"


@pytest.mark.parametrize(("votes", "ties", "size"), [(2000, 700, 200), (10, 0, 5), (10, 10, 5), (7, 3, 7), (1, 1, 1)])
def test_the_vote_laws_are_scipys(votes, ties, size):
    k = np.arange(size + 1)
    ours = laws.hypergeometric_law(votes, ties, size).probability
    np.testing.assert_allclose(ours, stats.hypergeom(votes, ties, size).pmf(k), rtol=1e-10, atol=1e-300)
    ours = laws.binomial_law(ties / votes, size).probability
    np.testing.assert_allclose(ours, stats.binom(size, ties / votes).pmf(k), rtol=1e-10, atol=1e-300)


def enumerated(votes, ties, size, replace, taken=()):
    """Slow twin: every order of clusters until the set is full, every way of cutting the last one; {ties: chance}."""
    law = {}
    free = [i for i in range(len(votes)) if replace or i not in taken]
    for i in free:
        if votes[i] < size:
            rest = enumerated(votes, ties, size - votes[i], replace, (*taken, i))
            parts = [(ties[i] + more, p) for more, p in rest.items()]
        else:
            single = [1] * ties[i] + [0] * (votes[i] - ties[i])
            cuts = [sum(cut) for cut in itertools.combinations(single, size)]
            parts = [(cut, 1 / len(cuts)) for cut in cuts]
        for found, p in parts:
            law[found] = law.get(found, 0) + p / len(free)
    return law


CLUSTERED = [
    ([3] * 6, [0, 1, 1, 2, 3, 3]),
    ([2] * 5, [0, 0, 0, 2, 2]),
    ([1, 3, 2, 5, 3], [0, 3, 1, 1, 2]),
    ([9, 1, 1, 1], [5, 0, 0, 1]),
]


@pytest.mark.parametrize("size", [1, 4, 6, 7])
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(("votes", "ties"), CLUSTERED)
def test_the_cluster_laws_are_those_of_every_order_one_by_one(votes, ties, replace, size):
    truth = enumerated(votes, ties, size, replace)
    exact = laws.clusters_with_replacement if replace else laws.clusters_without_replacement
    law = exact(np.array(votes), np.array(ties), size)
    if law is None:
        assert not replace and len(set(votes)) > 1
        drawn = set_shares(
            Clusters(np.array(votes), np.array(ties)), size=size, sets=40_000, replace=False,
            generator=np.random.default_rng(size),
        )  # fmt: skip
        law = laws.sampled_law(drawn, size)
    close = 1e-13 if law.method != "sampled" else 4 * np.sqrt(0.25 / 40_000)
    found = dict(zip(np.rint(law.share * size).astype(int).tolist(), law.probability.tolist(), strict=True))
    assert all(abs(found.get(k, 0.0) - truth.get(k, 0.0)) < close for k in range(size + 1))


def test_a_rater_with_more_votes_than_a_set_is_cut():
    law = laws.clusters_with_replacement(np.array([100_000, 3]), np.array([50_000, 3]), 5)
    half = stats.binom(5, 0.5).pmf(np.arange(6))
    after_three = np.concatenate([[0, 0, 0], stats.binom(2, 0.5).pmf([0, 1, 2])])  # the small rater came first
    twice = np.eye(6)[5]
    np.testing.assert_allclose(law.probability, half / 2 + after_three / 4 + twice / 4, atol=2e-5)


def test_laws_that_would_cost_too_much_are_left_to_drawing():
    sizes = np.arange(1, 400)
    assert laws.clusters_with_replacement(sizes, sizes // 2, 2_000) is None
    assert laws.clusters_without_replacement(np.full(5_000, 20), np.arange(5_000) % 21, 5_000) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.data())
def test_every_vote_law_is_a_law_with_the_known_moments(votes, data):
    ties = data.draw(st.integers(0, votes))
    size = data.draw(st.integers(1, votes))
    p = ties / votes
    without, with_ = laws.hypergeometric_law(votes, ties, size), laws.binomial_law(p, size)
    for law in (without, with_):
        assert abs(law.probability.sum() - 1) < 1e-12 and (law.probability >= 0).all()
        assert abs(law.mean - p) < 1e-9
    assert abs(with_.sd**2 - p * (1 - p) / size) < 1e-9
    left = (votes - size) / (votes - 1) if votes > 1 else 0
    assert abs(without.sd**2 - p * (1 - p) / size * left) < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 0.99), st.integers(2, 300), st.floats(1.0, 20.0))
def test_the_beta_binomial_has_the_variance_that_is_asked_for(share, size, effect):
    variance = min(effect / size, 0.9) * share * (1 - share)
    law = laws.beta_binomial(share, size, variance)
    assert abs(law.mean - share) < 1e-6 and abs(law.sd**2 - variance) < 1e-6


def test_whoever_looks_at_nothing_ties_as_often_as_chance():
    answers = np.random.default_rng(0).choice(["a", "b", "tie"], 100_000)
    assert np.mean(answers == "tie") == pytest.approx(laws.CHANCE, abs=0.01)
