"""Adaptive studies of a world whose truth is known: what is given out, what it costs, and that intervals still hold."""

import random

import numpy as np
import pytest

from seedvote.analysis.stats.adaptive import (
    FEWEST,
    MOST,
    PairPool,
    Rule,
    World,
    estimate_strengths,
    give_out,
    measure_spread,
    weigh_votes,
)
from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.dialogue.formulas.allocation import Aim, ContrastPool, draw_batch, spread_of_votes

FOUR = World((0.6, 0.2, 0.0, -0.6), dialogues=40, raters=30)


def run(world, rule, budget, seed, **options):
    generator = np.random.default_rng(seed)
    pool = world.pool()
    return pool, list(give_out(pool, rule, world.crowd(pool, generator), budget, generator, **options))


def test_the_truth_of_a_world_is_what_its_crowds_vote_on_average():
    pool, means = FOUR.pool(), []
    for seed in range(150):
        ask = FOUR.crowd(pool, np.random.default_rng(seed))
        scores, _ = ask(np.arange(len(pool.contrast)))
        means.append(np.bincount(pool.contrast, weights=scores) / FOUR.dialogues)
    assert np.mean(means, axis=0) == pytest.approx(FOUR.truth(pool.first, pool.second), abs=0.02)


def test_the_same_seed_gives_the_same_study():
    first, second = (run(FOUR, Rule(Aim("best")), 200, 7)[1][-1] for _ in range(2))
    assert (first.pair == second.pair).all() and (first.score == second.score).all()


@pytest.mark.parametrize("aim", [None, Aim("best"), Aim("ranking"), Aim("better", (0, 1)), Aim("alike", (1, 2), 0.1)])
def test_no_contrast_starves_and_no_pair_gets_more_votes_than_it_may(aim):
    pool, logs = run(FOUR, Rule(aim), 1100, 3)
    log = logs[-1]
    assert [len(each) for each in logs] == sorted({len(each) for each in logs}) and 1095 <= len(log) <= 1105
    on_pair = np.bincount(log.pair, minlength=len(pool.contrast))
    assert set(on_pair[on_pair > 0]) <= set(range(FEWEST, MOST + 1))
    assert np.bincount(pool.contrast[log.pair], minlength=6).min() > 20
    assert len(np.unique(log.pair * 1000 + log.rater)) == len(log)  # nobody judges a pair twice
    if aim is None:
        assert np.ptp(np.bincount(pool.contrast[log.pair])) < 20 and on_pair.max() - on_pair[on_pair > 0].min() <= 3


def test_the_question_moves_votes_to_what_decides_it():
    pool, logs = run(FOUR, Rule(Aim("better", (1, 2))), 300, 5)
    asked = np.flatnonzero((pool.first == 1) & (pool.second == 2))[0]
    number = np.bincount(pool.contrast[logs[-1].pair], minlength=6)
    assert number[asked] == number.max() and number[asked] > 1.5 * np.sort(number)[-2]


def test_a_study_ends_where_its_pairs_do():
    small = PairPool(2, np.array([0]), np.array([1]), np.zeros(5, int), np.arange(5), np.array([3, 3, 3, 2, 2]))
    generator = np.random.default_rng(0)

    def ask(pairs):
        return np.ones(len(pairs)), np.arange(len(pairs))

    logs = list(give_out(small, Rule(Aim("best")), ask, 100, generator))
    assert np.bincount(logs[-1].pair).tolist() == [3, 3, 3, 2, 2]


def test_strengths_follow_the_truth():
    pool, logs = run(FOUR, Rule(Aim("ranking")), 1100, 1)
    estimate = estimate_strengths(pool, logs[-1])
    assert np.argsort(-estimate)[0] == 0 and np.argsort(-estimate)[-1] == 3
    assert estimate.sum() == pytest.approx(0, abs=1e-6)


def test_the_spread_is_the_rating_servers():
    for votes in (0, 1, 2, 300):
        generator = np.random.default_rng(votes)
        group, rater, dialogue = (generator.integers(0, most, votes) for most in (4, 9, 30))
        score = generator.integers(-1, 2, votes).astype(float)
        ours = spread_of_votes(group.tolist(), score.tolist(), [rater.tolist(), dialogue.tolist()])
        assert measure_spread(group, score, [rater, dialogue]) == pytest.approx(ours)


def test_votes_weighed_by_what_they_stand_for_estimate_all_pairs():
    """Pairs on which two raters agree seldom get a third vote: counted pair by pair, that bends the mean."""
    generator, truth, plain, weighed = np.random.default_rng(2), 0.5, [], []
    for _ in range(400):
        first = np.where(generator.random((200, 2)) < 0.75, 1, -1)  # net .5
        differ = first[:, 0] != first[:, 1]
        pools = [ContrastPool([], list(enumerate(differ.tolist())))]
        drawn = draw_batch([1.0], pools, 60, fewest=2, generator=random.Random(int(generator.integers(2**40))))
        third = np.where(generator.random(len(drawn)) < 0.75, 1, -1)
        pair = np.concatenate([np.repeat(np.arange(200), 2), [part.pair for part in drawn]])
        batch = np.repeat([1, 2], [400, len(drawn)])
        weights = weigh_votes(np.zeros(len(pair), int), pair, batch, np.concatenate([first.ravel(), third]))
        scores = np.concatenate([first.ravel(), third])
        assert weights.sum() == pytest.approx(len(scores))
        weighed.append(np.average(scores, weights=weights))
        means = first.mean(1)
        for part, vote in zip(drawn, third, strict=True):
            means[part.pair] = (first[part.pair].sum() + vote) / 3
        plain.append(means.mean())
    assert np.mean(weighed) == pytest.approx(truth, abs=0.01)
    assert np.mean(plain) > truth + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["best", "ranking"])
def test_the_interval_of_every_contrast_holds_after_adaptive_batches(kind):
    world = World((0.3, 0.15, 0.0, 0.0, -0.2), dialogues=60, raters=50)
    truth, inside = None, []
    for seed in range(120):
        pool, logs = run(world, Rule(Aim(kind)), 900, seed)
        log, truth = logs[-1], world.truth(pool.first, pool.second)
        weights = weigh_votes(pool.contrast[log.pair], log.pair, log.batch, log.score)
        for k in range(len(truth)):
            rows = pool.contrast[log.pair] == k
            codes = {"dialogue": pool.dialogue[log.pair[rows]], "rater": log.rater[rows]}
            by = {name: np.unique(column, return_inverse=True)[1] for name, column in codes.items()}
            low, high = net_estimate(log.score[rows], by=by, weights=weights[rows]).limits(0.025)
            inside.append((k, low <= truth[k] <= high))
    shares = [np.mean([hit for k, hit in inside if k == contrast]) for contrast in range(len(truth))]
    assert min(shares) > 0.93 - 2 * np.sqrt(0.93 * 0.07 / 120)
    assert np.mean([hit for _, hit in inside]) > 0.93
