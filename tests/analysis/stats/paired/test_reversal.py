"""How few votes decide who leads: by hand, against every subset of small studies, and confirmed in a large one."""

from itertools import combinations

import numpy as np
import pytest

from seedvote.analysis.stats.paired.davidson import count_games, fit_model
from seedvote.analysis.stats.paired.reversal import reverse_leader, reverse_sum
from seedvote.dialogue.errors import InputError


def drawn_votes(seed, votes, systems, spread=0.3):
    generator = np.random.default_rng(seed)
    a = generator.integers(0, systems, votes)
    b = (a + generator.integers(1, systems, votes)) % systems
    strengths = generator.normal(0, spread, systems)
    half = (strengths[a] - strengths[b]) / 2
    chances = np.stack([np.exp(half), np.exp(-half), np.full(votes, 0.7)], axis=1)
    choice = (generator.random((votes, 1)) * chances.sum(1, keepdims=True) > chances.cumsum(1)).sum(1)
    return tuple(f"s{k}" for k in range(systems)), a, b, choice, generator


def fewest_by_trying(names, a, b, choice, codes):
    """The smallest set of units without which another system leads, by a fit without each set; finite fits only."""
    leader = np.argmax(fit_model(count_games(names, a, b, choice, None)).strengths)
    for size in range(1, 3):
        for out in combinations(range(codes.max() + 1), size):
            kept = ~np.isin(codes, out)
            try:
                strengths = fit_model(count_games(names, a[kept], b[kept], choice[kept], None)).strengths
            except InputError:
                continue
            if np.argmax(strengths) != leader:
                return size
    return None


def test_sum_three_votes_ahead_turns_without_four_votes_or_one_rater():
    values = np.array([1.0] * 10 + [-1.0] * 7)
    raters = np.array([0] * 5 + [1] * 5 + [2] * 7)
    votes, by_rater = reverse_sum(values, {"vote": np.arange(17), "rater": raters}, "beta")
    assert (votes.fewest, votes.of, votes.rival) == (4, 17, "beta")
    assert (by_rater.fewest, by_rater.of) == (1, 3)


def test_votes_of_nobody_stay_and_are_not_counted():
    values, raters = np.array([1.0, 1.0, 1.0, -1.0, 0.0, 0.0]), np.array([0, 1, 2, 3, 4, 5])
    (by_rater,) = reverse_sum(values, {"rater": np.where(values == 0, -1, raters)}, "beta")
    assert (by_rater.fewest, by_rater.of) == (3, 4)
    names, a, b, choice, _ = drawn_votes(3, 18, 3)
    codes = np.where(np.arange(18) < 2, -1, np.arange(18))
    (reversal,) = reverse_leader(count_games(names, a, b, choice, None), "davidson", {"vote": codes})
    assert reversal.of == 16


def test_sum_nobody_chose_the_rival_never_turns():
    assert reverse_sum(np.array([1.0, 0.0, 1.0]), {"vote": np.arange(3)}, "beta")[0].fewest is None


@pytest.mark.parametrize("seed", [3, 20, 22])
def test_leader_small_study_matches_every_subset(seed):
    names, a, b, choice, generator = drawn_votes(seed, 18, 3)
    for codes in (np.arange(18), np.unique(generator.integers(0, 6, 18), return_inverse=True)[1]):
        fewest = fewest_by_trying(names, a, b, choice, codes)
        (reversal,) = reverse_leader(count_games(names, a, b, choice, None), "davidson", {"unit": codes})
        assert reversal.fewest == fewest or (fewest is None and (reversal.fewest or 3) > 2)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_leader_large_study_fewer_votes_than_the_lead_and_none_at_all_for_a_clear_one(model):
    names, a, b, choice, _ = drawn_votes(1, 6000, 12, 0.05)
    (reversal,) = reverse_leader(count_games(names, a, b, choice, None), model, {"vote": np.arange(6000)})
    assert reversal.fewest is not None
    assert 1 <= reversal.fewest < 200
    clear = np.where(a == 0, 0, np.where(b == 0, 1, choice))
    clear[:40] = 1 - clear[:40].clip(0, 1)
    (reversal,) = reverse_leader(count_games(names, a, b, clear, None), model, {"vote": np.arange(6000)})
    assert reversal.fewest is None or reversal.fewest > 200
