"""R@k against a slow twin that tries every order of what is tied."""

import itertools
import math

import numpy as np
import pytest

from seedvote.evaluators.choosing.recall import by_chance, recall_table, recalled


def slow_recall(scores, answer):
    """The mean over every order of the options that is sorted by score."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    ranks = [order.index(answer) for order in orders]
    return tuple(np.mean([hit(rank) for rank in ranks]) for hit in (
        lambda rank: rank < 1, lambda rank: rank < 2, lambda rank: 1 / (rank + 1)))  # fmt: skip


def test_ties_share_what_every_order_of_them_would_get():
    rng = np.random.default_rng(0)
    for _ in range(150):
        scores = rng.integers(0, 3, rng.integers(2, 6)).astype(float)
        answer = int(rng.integers(len(scores)))
        assert recalled(scores, answer) == pytest.approx(slow_recall(scores, answer))


@pytest.mark.parametrize("options", [2, 4, 5, 10])
def test_equal_scores_give_exactly_k_of_the_options(options):
    first, second, _ = recalled(np.full(options, -3.7), options - 1)
    assert (first, second) == (1 / options, 2 / options)
    assert by_chance([options] * 3)[:2] == pytest.approx((1 / options, 2 / options))


def test_whoever_knows_the_answer_gets_all_and_what_cannot_be_scored_is_no_number():
    assert recalled(np.array([0.0, 1.0, 0.5]), 1) == (1.0, 1.0, 1.0)
    assert recalled(np.array([-np.inf, 0.0]), 0) == (0.0, 1.0, 0.5)
    assert recalled(np.array([-np.inf, -np.inf]), 0) == (0.5, 1.0, 0.75)
    assert all(map(math.isnan, recalled(np.array([np.nan, 0.0]), 1)))


def test_chance_of_unequal_questions_is_the_mean():
    assert by_chance([2, 4])[0] == pytest.approx(0.375)


def test_the_order_of_the_options_changes_nothing():
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=5).round(1) for _ in range(50)]
    answers = rng.integers(0, 5, 50).tolist()
    turned = [rng.permutation(5) for _ in range(50)]
    moved = [np.flatnonzero(turn == answer)[0] for turn, answer in zip(turned, answers, strict=True)]
    ours = recall_table([each[turn] for each, turn in zip(scores, turned, strict=True)], moved)
    assert np.array_equal(ours, recall_table(scores, answers))


def test_the_middle_rule_gives_a_rule_and_its_opposite_more_than_chance():
    scores = np.array([1.0, 1.0, 2.0, 0.0])
    assert recalled(scores, 0, "middle") == (0.0, 1.0, 0.4)
    assert recalled(scores, 0) == (0.0, 0.5, pytest.approx((1 / 2 + 1 / 3) / 2))
