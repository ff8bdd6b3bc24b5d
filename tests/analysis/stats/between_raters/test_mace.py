"""MACE against the paper's model written out, and against simulated spammers."""

import numpy as np
import pytest
from scipy.special import digamma

from seedvote.analysis.stats.between_raters.mace import mace
from tests.analysis.agreeing import coded
from tests.analysis.worlds import Crowd


def crowd(items, raters, seed, *, spammers=0.2, per_pair=3, shares=(0.4, 0.4, 0.2)):
    """Spammers never look at the pair and favour labels of their own; the others look in most of their votes."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(len(shares), items, p=shares)
    item = np.repeat(np.arange(items), per_pair)
    rater = np.concatenate([generator.permutation(raters) for _ in range(len(item) // raters + 1)])[: len(item)]
    spams = np.where(np.arange(raters) < spammers * raters, 1.0, generator.beta(2, 9, raters))
    habit = generator.dirichlet(np.ones(len(shares)), raters)
    guess = (generator.random(len(item))[:, None] > habit[rater].cumsum(1)[:, :-1]).sum(1)
    spam = generator.random(len(item)) < spams[rater]
    return item, rater, np.where(spam, guess, truth[item]), truth, spams, spam


def plain_step(item, rater, label, categories, spam):
    """One step of variational Bayes over every truth of an item and every vote's own switch, loop by loop."""
    raters, items = rater.max() + 1, item.max() + 1
    knows, habit = np.full((raters, 2), 0.5), np.full((raters, categories), 10.0)
    for r, c, s in zip(rater, label, spam, strict=True):
        knows[r] += [1 - s, s]
        habit[r, c] += s
    chance = np.exp(digamma(knows) - digamma(knows.sum(1))[:, None])
    habit = np.exp(digamma(habit) - digamma(habit.sum(1))[:, None])
    posterior, again = np.zeros((items, categories)), np.zeros(len(item))
    for i in range(items):
        mine = np.flatnonzero(item == i)
        for t in range(categories):
            told = [
                chance[rater[v], 0] * (label[v] == t) + chance[rater[v], 1] * habit[rater[v], label[v]] for v in mine
            ]
            posterior[i, t] = np.prod(told) / categories
        posterior[i] /= posterior[i].sum()
        for v in mine:
            r, c = rater[v], label[v]
            spammed = chance[r, 1] * habit[r, c]
            again[v] = 1 - posterior[i, c] * chance[r, 0] / (chance[r, 0] + spammed)
    return posterior, again


def test_each_step_equals_the_model_written_out():
    item, rater, label, *_ = crowd(30, 6, 1)
    counts = np.array([np.bincount(label[item == i], minlength=3) for i in range(30)])
    spam = 1 - (counts / counts.sum(1, keepdims=True))[item, label]
    for steps in (1, 2, 3):
        posterior, spam = plain_step(item, rater, label, 3, spam)
        found = mace(item, rater, label, 3, even=True, max_steps=steps, tolerance=-1)
        assert found.posterior == pytest.approx(posterior, abs=1e-9)
        assert found.spam == pytest.approx(spam, abs=1e-9)
    assert not found.converged
    votes = np.bincount(rater)
    assert found.spamming == pytest.approx((np.bincount(rater, spam) + 0.5) / (votes + 1))


def test_spammers_are_told_from_those_who_look():
    item, rater, label, truth, spams, spam = crowd(800, 80, 2)
    found = mace(item, rater, label, 3)
    counts = np.bincount(item * 3 + label, minlength=2400).reshape(-1, 3)
    assert found.converged
    assert (found.posterior.argmax(1) == truth).mean() > (counts.argmax(1) == truth).mean() + 0.02
    assert (found.spamming[spams == 1] > 0.5).all() and (found.spamming[spams < 1] < 0.5).mean() > 0.85
    assert found.spam.mean() == pytest.approx(spam.mean(), abs=0.04)
    assert found.prior == pytest.approx([0.4, 0.4, 0.2], abs=0.06)


def test_mace_learns_a_common_label():
    item, rater, label, truth, *_ = crowd(1200, 60, 4, shares=(0.1, 0.1, 0.8), spammers=0.3)
    learned, even = mace(item, rater, label, 3), mace(item, rater, label, 3, even=True)
    right = [(found.posterior.argmax(1) == truth).mean() for found in (learned, even)]
    assert right[0] > right[1]
    assert even.prior == pytest.approx(1 / 3)


def test_an_item_without_votes_keeps_the_prior():
    found = mace(np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 0, 0]), 2)
    assert found.posterior[1] == pytest.approx(found.prior, abs=1e-3)


@pytest.mark.slow
def test_what_the_docs_say_of_spammers_and_of_close_calls():
    """Twelve votes a rater: who is found among spammers, and what it makes of honest raters of close calls."""
    told, held, share = [], [], []
    for seed in range(30):
        item, rater, label, _, spams, _ = crowd(400, 100, seed)
        found = mace(item, rater, label, 3)
        told.append((found.spamming[spams == 1] > 0.5).mean())
        held.append((found.spamming[spams < 1] > 0.5).mean())
        votes = Crowd(400).study(np.random.default_rng(seed))
        honest = mace(votes["pair"], votes["rater"], coded(votes), 3)
        share.append(((honest.spamming > 0.5).mean(), honest.spam.mean()))
    print("\nspammers found", np.mean(told), "others", np.mean(held), "honest", np.mean(share, axis=0))
    assert np.mean(told) > 0.95 and np.mean(held) < 0.15 and np.mean(share, axis=0)[0] > 0.5
