"""Signals of bots and second accounts: what they find, and how seldom they point at somebody who did nothing."""

import statistics

import numpy as np
import pytest
from scipy import stats

from seedvote.crowd.watching.signals import FEWEST, LIKE_A_PROGRAM, RARE, TimedAnswer, _rank_values, signals_of
from seedvote.dialogue.formulas.chances import binomial_tail
from seedvote.dialogue.seeds import child_random

LENGTHS = {f"p{n}": 150 + 37 * (n * 7 % 40) for n in range(60)}


def reader(rng, name, pairs, truth, skill=0.6):
    """Somebody who reads at some pace and often sees what is there to see."""
    pace = rng.lognormvariate(3.6, 0.4)  # characters a second
    for pair in pairs:
        choice = truth[pair] if rng.random() < skill else rng.choice(["a", "b", "tie"])
        left = rng.choice("ab")
        button = "tie" if choice == "tie" else "left" if choice == left else "right"
        seconds = (2 + LENGTHS[pair] / pace) * rng.lognormvariate(0, 0.5)
        yield TimedAnswer(name, pair, choice, button, seconds, LENGTHS[pair])


def crowd_of(seed, raters=18):
    rng = child_random(seed, "signals")
    truth = {pair: rng.choice(["a", "b", "tie"]) for pair in LENGTHS}
    rows = []
    for n in range(raters):
        pairs = rng.sample(sorted(LENGTHS), 25)
        rows += reader(rng, f"r{n}", pairs, truth, rng.uniform(0.3, 0.9))
    return rng, truth, rows


@pytest.mark.slow
def test_raters_who_did_nothing_are_hardly_ever_pointed_at():
    """200 crowds of 18 unequal readers: in at most 2 % of the crowds is anybody said to be like another one."""
    pointed = sum(any(one.doubts for one in signals_of(crowd_of(seed)[2]).values()) for seed in range(200))
    assert pointed <= 4, pointed


@pytest.mark.parametrize("seed", range(5))
def test_second_accounts_programs_and_idle_buttons_are_found(seed):
    rng, truth, rows = crowd_of(seed)
    pairs = rng.sample(sorted(LENGTHS), 30)
    first = list(reader(rng, "one", pairs, truth))
    rows += first + [TimedAnswer("two", g.pair, g.choice, g.button, g.seconds, g.characters) for g in first[:26]]
    rows += [TimedAnswer("bot", p, "a", "left" if n % 2 else "right", 0.4, LENGTHS[p]) for n, p in enumerate(pairs)]
    rows += [TimedAnswer("idle", p, "tie", "tie", 20.0, LENGTHS[p]) for p in pairs]
    found = signals_of(rows)
    for name in ("one", "two"):
        assert "answers like another rater's" in found[name].doubts and found[name].twin == (26, 26)
        assert found[name].chance < RARE
    assert "faster than people read" in found["bot"].doubts and found["bot"].with_length is None
    assert found["idle"].doubts == ("always the same button", LIKE_A_PROGRAM) and found["idle"].bits == 0
    assert statistics.median(found[f"r{n}"].with_length for n in range(18)) > 0.2


def test_too_few_judgements_say_nothing():
    assert signals_of(crowd_of(0)[2][: FEWEST - 1]) == {}


def test_the_formulas_are_those_of_scipy_and_of_the_gate():
    rng = np.random.default_rng(0)
    for _ in range(20):
        k, n, p = int(rng.integers(0, 30)), int(rng.integers(30, 50)), float(rng.uniform(0.05, 0.95))
        assert binomial_tail(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p))
        values = rng.integers(0, 9, 25).tolist()
        assert [rank + 1 for rank in _rank_values(values)] == stats.rankdata(values).tolist()
