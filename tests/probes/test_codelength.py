"""The online code against a plain loop, what a code must obey, and truths that were planted."""

import math

import numpy as np
import pytest
import torch

from seedvote.probes import measuring
from seedvote.probes.classifiers.logistic import fit_features
from tests.probes.classifiers.test_logistic import as_labels, one_of, states


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def coded(x, labels, dialogues=60, c=1.0, seed=0):
    clusters = [f"d{row * dialogues // len(x)}" for row in range(len(x))]
    axes = fit_features(x)
    return measuring.online_code(axes.apply(x), axes, labels, measuring.draw_blocks(clusters, seed=seed), c=c)


def test_blocks_hold_every_example_once_and_cut_no_dialogue():
    clusters = [f"d{row // 7}" for row in range(700)]
    parts = measuring.draw_blocks(clusters, seed=0)
    assert sorted(np.concatenate(parts)) == list(range(700))
    owners = [{clusters[row] for row in part} for part in parts]
    assert sum(map(len, owners)) == len(set().union(*owners)) == 100
    assert len(parts[-1]) == pytest.approx(350, abs=7)
    assert not np.array_equal(parts[-1], measuring.draw_blocks(clusters, seed=1)[-1])


def test_without_features_it_is_the_frequency_code_of_a_plain_loop():
    target = np.random.default_rng(0).choice(4, size=400, p=[0.6, 0.2, 0.15, 0.05])
    clusters = [f"d{row}" for row in range(400)]
    x = np.zeros((400, 1), np.float32)
    axes = fit_features(x)
    blocks = measuring.draw_blocks(clusters, seed=0)
    got = measuring.online_code(axes.apply(x), axes, one_of(target, 4), blocks, c=1.0)
    seen, bits = [], 0.0
    for block in blocks:
        for row in block:
            share = seen.count(target[row]) / len(seen) if seen else 0
            bits -= math.log2((len(seen) * share + 1 / 4) / (len(seen) + 1))
        seen.extend(target[block])
    assert sum(got.bits) == pytest.approx(bits, rel=1e-4)
    assert got.uniform == 2 * 400


@pytest.mark.parametrize("many", [True, False])
def test_the_prices_of_all_labels_are_those_of_a_code(many):
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)) * 20
    if many:
        truths = [np.array([[a, b, c]], bool) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    else:
        truths = list(np.eye(3, dtype=bool)[:, None])
    for row in logits:
        prices = [measuring._count_bits(row[None], truth, many, known=9) for truth in truths]
        assert sum(2.0**-price for price in prices) == pytest.approx(1, rel=1e-9)


def test_a_planted_label_is_short_and_a_random_one_is_not():
    x = states(2000, 12)
    plain = x[:, 0] > np.median(x[:, 0])
    chance = np.random.default_rng(5).random(2000) < 0.5
    told, learned = (coded(x, one_of(target.astype(int), 2)) for target in (plain, chance))
    assert told.compression > 4
    assert learned.compression < 1.02  # nothing is saved, and learning by heart costs
    both = coded(x, as_labels(np.stack([plain, chance], 1)))
    assert 1 < both.compression < told.compression


def test_a_probe_that_needs_fewer_examples_has_the_shorter_code():
    x = states(2000, 12)
    target = (x[:, 0] > np.median(x[:, 0])).astype(int)
    noise = np.random.default_rng(1).standard_normal((2000, 100)).astype(np.float32)
    assert sum(coded(x, one_of(target, 2)).bits) < sum(coded(np.hstack([x, noise]), one_of(target, 2)).bits)


def test_one_class_alone_costs_nothing():
    got = coded(states(200, 3), one_of(np.zeros(200, int), 1))
    assert (sum(got.bits), got.compression) == (0, 1)
