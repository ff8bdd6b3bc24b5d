"""Dawid and Skene's model against the paper's example, the plain algorithm written out, and simulated raters."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from seedvote.analysis.questions.agreement.answer import SMOOTHING
from seedvote.analysis.stats.between_raters.dawid_skene import dawid_skene
from seedvote.analysis.stats.between_raters.mace import mace

GOLDEN = Path(__file__).resolve().parents[3] / "golden"


def paper():
    data = json.loads((GOLDEN / "dawid_skene1979.json").read_text(encoding="utf-8"))
    votes = [
        (patient, observer, label - 1)
        for patient, row in enumerate(data["ratings"])
        for observer, labels in enumerate(row)
        for label in labels
    ]
    return [np.array(column) for column in zip(*votes, strict=True)], data["published"]


def plain_em(item, rater, label, categories, steps, imagined=0.0):
    """The paper's equations, one loop an index; `imagined` votes are added to every rater's table (truth x label)."""
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
                table[r, j] += np.broadcast_to(imagined, (categories, categories))[j]
                table[r, j] /= max(table[r, j].sum(), 1e-300)
        for i in range(items):
            joint = [prior[j] * np.prod(table[:, j] ** n[i]) for j in range(categories)]
            t[i] = joint / np.sum(joint)
    return t, prior, table


def simulated(items, raters, votes_each, seed, *, right=0.75, shares=(0.4, 0.25, 0.35)):
    generator = np.random.default_rng(seed)
    categories = len(shares)
    truth = generator.choice(categories, items, p=shares)
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


def test_dawid_skene_likelihood_never_falls():
    item, rater, label, _, _ = simulated(300, 12, 4, 1)
    climbs = [dawid_skene(item, rater, label, 3, max_steps=k, tolerance=-1).log_likelihood for k in range(1, 30)]
    assert np.all(np.diff(climbs) > -1e-9)


def test_dawid_skene_recovers_simulated_raters():
    item, rater, label, truth, strength = simulated(3000, 30, 5, 2, right=0.62)
    found = dawid_skene(item, rater, label, 3, smoothing=1.0)
    counts = np.bincount(item * 3 + label, minlength=9000).reshape(-1, 3)
    assert (found.posterior.argmax(1) == truth).mean() > (counts.argmax(1) == truth).mean() + 0.02
    diagonal = np.einsum("rtt,t->r", found.confusion, found.prior)
    assert np.corrcoef(diagonal, strength)[0, 1] > 0.97
    assert found.prior == pytest.approx([0.4, 0.25, 0.35], abs=0.03)


def test_imaginary_votes_are_half_right_and_half_spread():
    item, rater, label, _, _ = simulated(20, 4, 3, 5)
    found = dawid_skene(item, rater, label, 3, smoothing=6.0, max_steps=3, tolerance=-1)
    posterior, _, table = plain_em(item, rater, label, 3, 3, imagined=3 * np.eye(3) + 1)
    assert found.posterior == pytest.approx(posterior, abs=1e-9)
    assert found.confusion == pytest.approx(table)


SHARES = {3: (0.15, 0.25, 0.6), 6: (0.4, 0.25, 0.15, 0.1, 0.06, 0.04)}


def accuracies(categories, per_rater, items, seeds):
    """Shares of right labels in per cent: majority, maximum likelihood, one vote in every cell, ours, MACE."""
    right = np.zeros((len(seeds), 5))
    for k, seed in enumerate(seeds):
        item, rater, label, truth, _ = simulated(items, 3 * items // per_rater, 3, seed, shares=SHARES[categories])
        counts = np.bincount(item * categories + label, minlength=items * categories).reshape(-1, categories)
        found = [
            counts + np.random.default_rng(seed).random(counts.shape) / 2,  # a draw breaks equal counts
            dawid_skene(item, rater, label, categories).posterior,
            one_in_every_cell(item, rater, label, categories),
            dawid_skene(item, rater, label, categories, smoothing=SMOOTHING).posterior,
            mace(item, rater, label, categories).posterior,
        ]
        right[k] = [100 * (posterior.argmax(1) == truth).mean() for posterior in found]
    return right.mean(0)


def one_in_every_cell(item, rater, label, categories):
    """Ours as it was: a vote for every label under every truth, which makes raters of few votes guess."""
    shape = int(item.max()) + 1, (int(rater.max()) + 1) * categories
    votes = sparse.csr_array((np.ones(len(item)), (item, rater * categories + label)), shape=shape)
    posterior = votes @ np.tile(np.eye(categories), (shape[1] // categories, 1)) / votes.sum(1)[:, None]
    for _ in range(60):
        table = (votes.T @ posterior).reshape(-1, categories, categories) + 1
        joint = votes @ np.log(table / table.sum(1, keepdims=True)).reshape(-1, categories) + np.log(posterior.mean(0))
        posterior = np.exp(joint - joint.max(1, keepdims=True))
        posterior /= posterior.sum(1, keepdims=True)
    return posterior


@pytest.mark.parametrize("categories", [3, 6])
def test_dawid_skene_learns_from_a_dozen_votes_a_rater(categories):
    majority, likelihood, cells, ours, _ = accuracies(categories, 12, 400, range(3))
    assert ours > majority - 1 and ours > likelihood + 5 and ours > cells + 5
    assert categories == 3 or cells < 70 < ours


@pytest.mark.slow
@pytest.mark.parametrize("categories", [3, 6])
@pytest.mark.parametrize("per_rater", [12, 60])
def test_the_table_of_right_labels_that_the_docs_show(categories, per_rater):
    found = accuracies(categories, per_rater, 600, range(40))
    print(f"\n{categories} labels, {per_rater} votes a rater:", found.round(1))
    assert found[3] > max(found[:3]) - 1


def test_an_item_without_votes_keeps_the_prior():
    found = dawid_skene(np.array([0, 0, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 0, 0]), 2)
    assert found.posterior[1] == pytest.approx(found.prior)
