"""Adaptive studies of a world whose truth is known: what is given out, what it costs, and that intervals still hold."""

import random
from dataclasses import replace

import numpy as np
import pytest

from seedvote.analysis.stats.adaptive import (
    FEWEST,
    MOST,
    PairPool,
    Rule,
    VoteLog,
    World,
    estimate_strengths,
    give_out,
    measure_spread,
    share_votes,
    weigh_votes,
)
from seedvote.analysis.stats.net_preference import net_estimate
from seedvote.dialogue.formulas.allocation import (
    Aim,
    ContrastPool,
    Tally,
    VoteSums,
    draw_batch,
    judge_strengths,
    share_contrasts,
)

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
        ours = VoteSums(4, 2)
        for row in zip(group.tolist(), score.astype(int).tolist(), rater.tolist(), dialogue.tolist(), strict=True):
            ours.add(row[0], row[1], row[2:])
        assert measure_spread(group, score, [rater, dialogue]) == pytest.approx(ours.spread())


@pytest.mark.parametrize("aim", [Aim("best"), Aim("ranking"), Aim("better", (0, 1)), Aim("alike", (1, 2), 0.1)])
def test_the_shares_are_the_rating_servers(aim):
    pool = FOUR.pool()
    for seed in range(20):
        generator = np.random.default_rng(seed)
        votes = generator.integers(0, 60, 6).astype(float)
        net = np.round(votes * generator.uniform(-1, 1, 6))
        judge = generator.normal(0, 0.4, 4) * (seed % 3 > 0)
        columns = (pool.first.tolist(), pool.second.tolist(), votes.tolist(), net.tolist())
        tallies = [Tally(*row) for row in zip(*columns, strict=True)]
        theirs = share_contrasts(tallies, 4, aim, spread=0.9, floor=0.1, judge=judge.tolist())
        ours = share_votes(pool, votes, net, aim, spread=0.9, floor=0.1, judge=judge)
        assert ours == pytest.approx(theirs)


def judged_world(accuracy, seed=0, shared=0.5):
    generator = np.random.default_rng(seed)
    pool, responses = FOUR.pool(), FOUR.respond(generator)
    return replace(pool, verdict=FOUR.judge(pool, responses, accuracy, shared, generator)), responses


@pytest.mark.parametrize("accuracy", [0.2, 0.5, 0.65, 0.8])
def test_a_simulated_judge_is_right_as_often_as_asked(accuracy):
    rights = []
    for seed in range(30):
        pool, responses = judged_world(accuracy, seed)
        quality = np.array(FOUR.strengths) + responses
        gap = np.diff(quality[pool.dialogue[:, None], np.stack([pool.second, pool.first], 1)[pool.contrast]])[:, 0]
        rights.append((1 + np.sign(gap) * pool.verdict).mean() / 2)
    assert np.mean(rights) == pytest.approx(accuracy, abs=0.04)


def test_a_judges_strengths_are_those_that_the_rating_server_computes():
    pool, _ = judged_world(0.8)
    votes, net = pool.sum_by_contrast(pool.contrast, pool.verdict)
    columns = (pool.first.tolist(), pool.second.tolist(), votes.tolist(), net.tolist())
    strengths = judge_strengths([Tally(*row) for row in zip(*columns, strict=True)], 4)
    assert pool.judge_strengths() == pytest.approx(strengths)
    assert np.corrcoef(strengths, FOUR.strengths)[0, 1] > 0.8


def test_verdicts_take_out_what_chance_favoured_and_a_constant_judge_nothing():
    verdict = np.where(np.arange(100) < 60, 1.0, -1.0)  # net .2; the votes are on 40 pairs of which 20 say so
    verdict[90:] = np.nan
    one = PairPool(2, *(np.array([k]) for k in range(2)), *(np.zeros(100, int), np.arange(100)), verdict=verdict)
    pairs = np.repeat(np.arange(40, 80), 2)
    ones = np.ones(80, int)
    log = VoteLog(pairs, 0.1 + 0.5 * verdict[pairs], ones, ones, ones)
    first, second = estimate_strengths(one, log, with_verdicts=True)
    assert first - second == pytest.approx(0.1 + 0.5 * 30 / 90, abs=1e-4)
    first, second = plain = estimate_strengths(one, log)
    assert first - second == pytest.approx(0.1, abs=1e-4)
    silent = replace(one, verdict=np.ones(100))
    assert (estimate_strengths(silent, log, with_verdicts=True) == plain).all()


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
