"""Dawid and Skene's model against the paper's example, the plain algorithm written out, and simulated raters."""

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.stats.dawid_skene import dawid_skene

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def paper():
    data = json.loads((GOLDEN / "dawid_skene1979.json").read_text(encoding="utf-8"))
    votes = [
        (patient, observer, label - 1)
        for patient, row in enumerate(data["ratings"])
        for observer, labels in enumerate(row)
        for label in labels
    ]
    return [np.array(column) for column in zip(*votes, strict=True)], data["published"]


def plain_em(item, rater, label, categories, steps):
    """The paper's equations, one loop an index."""
    items, raters = item.max() + 1, rater.max() + 1
    n = np.zeros((items, raters, categories))
    for i, r, c in zip(item, rater, label, strict=True):
        n[i, r, c] += 1
    t = n.sum(1) / n.sum((1, 2))[:, None]
    for _ in range(steps):
        prior, table = t.mean(0), np.zeros((raters, categories, categories))
        for r in range(raters):
            for j in range(categories):
                table[r, j] = [t[:, j] @ n[:, r, c] for c in range(categories)]
                table[r, j] /= max(table[r, j].sum(), 1e-300)
        for i in range(items):
            joint = [prior[j] * np.prod(table[:, j] ** n[i]) for j in range(categories)]
            t[i] = joint / np.sum(joint)
    return t, prior, table


def simulated(items, raters, votes_each, seed, *, right=0.75, categories=3):
    generator = np.random.default_rng(seed)
    truth = generator.choice(categories, items, p=[0.4, 0.25, 0.35])
    strength = np.clip(generator.normal(right, 0.12, raters), 0.34, 0.98)
    item = np.repeat(np.arange(items), votes_each)
    rater = generator.integers(0, raters, item.size)
    off = (truth[item] + generator.integers(1, categories, item.size)) % categories
    return item, rater, np.where(generator.random(item.size) < strength[rater], truth[item], off), truth, strength


def test_the_anaesthetists_of_1979():
    (item, rater, label), published = paper()
    found = dawid_skene(item, rater, label, 4)
    assert found.prior.round(2).tolist() == published["prior"]
    assert found.confusion.round(2).tolist() == published["error_rates"]
    rounded = found.posterior.round(2)
    unsure = {str(patient + 1): rounded[patient].tolist() for patient in np.flatnonzero(rounded.max(1) < 1)}
    assert unsure == published["unsure"]
    assert found.converged


def test_each_step_equals_the_equations_written_out():
    (item, rater, label), _ = paper()
    found = dawid_skene(item, rater, label, 4, max_steps=4, tolerance=-1)
    posterior, prior, table = plain_em(item, rater, label, 4, 4)
    assert found.posterior == pytest.approx(posterior, abs=1e-9)
    assert found.prior == pytest.approx(prior)
    assert found.confusion == pytest.approx(table)
    assert not found.converged


def test_the_likelihood_never_falls_and_one_more_step_changes_nothing_at_the_end():
    item, rater, label, _, _ = simulated(300, 12, 4, 1)
    climbs = [dawid_skene(item, rater, label, 3, max_steps=k, tolerance=-1).log_likelihood for k in range(1, 30)]
    assert np.all(np.diff(climbs) > -1e-9)


def test_simulated_raters_are_recovered_and_the_posterior_beats_the_majority():
    item, rater, label, truth, strength = simulated(3000, 30, 5, 2, right=0.62)
    found = dawid_skene(item, rater, label, 3, smoothing=1.0)
    counts = np.bincount(item * 3 + label, minlength=9000).reshape(-1, 3)
    assert (found.posterior.argmax(1) == truth).mean() > (counts.argmax(1) == truth).mean() + 0.02
    diagonal = np.einsum("rtt,t->r", found.confusion, found.prior)
    assert np.corrcoef(diagonal, strength)[0, 1] > 0.97
    assert found.prior == pytest.approx([0.4, 0.25, 0.35], abs=0.03)


def test_with_few_votes_a_rater_smoothing_gives_better_posteriors_than_maximum_likelihood():
    item, rater, label, truth, _ = simulated(2000, 500, 3, 3)
    correct = [
        (dawid_skene(item, rater, label, 3, smoothing=smooth).posterior.argmax(1) == truth).mean()
        for smooth in (0.0, 1.0)
    ]
    assert correct[1] > correct[0]


def test_an_item_without_votes_keeps_the_prior():
    found = dawid_skene(np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 0, 0]), 2)
    assert found.posterior[1] == pytest.approx(found.prior)
