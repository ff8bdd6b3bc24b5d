"""V-information against truths that are known: a noisy channel, states that say nothing, labels never seen."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seedvote.probes.classifiers.logistic import fit_features
from seedvote.probes.measuring import label_bits, lead_axes, measure_information
from seedvote.probes.tasks.labels import Labels


def entropy(p):
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def labels_of(classes, *, unseen=()):
    """One label an example; those in `unseen` have one that the fitted examples lack."""
    known = np.array([n not in unseen for n in range(len(classes))])
    starts = np.concatenate([[0], np.cumsum(known)])
    columns = np.asarray(classes)[known].astype(np.int32)
    return Labels("t", False, ("no", "yes"), starts, columns, (~known).astype(np.int32), 1)


def material_of(states, sides):
    axes = fit_features(states[: sides[0]])
    parts = [axes.apply(part) for part in np.split(states, np.cumsum(sides)[:-1])]
    return SimpleNamespace(axes=axes, features=parts[0], choose_features=parts[1], report_features=parts[2])


def study_of(noise, width, *, tells=True, many=False, seed=0, number=3000):
    """States one of whose `width` numbers is a bit, and labels that are that bit but for `noise` of them."""
    rng = np.random.default_rng(seed)
    bit = rng.random(number) < 0.5
    label = bit ^ (rng.random(number) < noise)
    states = rng.normal(size=(number, width)).astype(np.float32)
    if tells:
        states[:, 0] = 4 * bit
    sides = [number // 3] * 3
    parts = [labels_of(part.astype(int)) for part in np.split(label, np.cumsum(sides)[:-1])]
    if many:
        starts = [np.concatenate([[0], np.cumsum(part)]) for part in np.split(label, np.cumsum(sides)[:-1])]
        parts = [Labels("t", True, ("yes",), start, np.zeros(start[-1], np.int32), np.zeros(len(start) - 1, int), 0)
                 for start in starts]  # fmt: skip
    return material_of(states, sides), SimpleNamespace(fit=parts[0], choose=parts[1], report=parts[2])


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_a_noisy_channel_tells_what_shannon_says(noise, many):
    material, labelled = study_of(noise, 5, many=many)
    found = measure_information(material, labelled, strengths=(0.1, 1.0), ranks=(0, 2))
    assert found.label_bits == pytest.approx(1, abs=0.01)
    assert found.bits == pytest.approx(1 - entropy(noise), abs=0.06)


def test_states_that_say_nothing_tell_nothing_and_overfitting_costs_bits():
    material, labelled = study_of(0.1, 300, tells=False)
    loose = measure_information(material, labelled, strengths=(10.0,), ranks=(0,))
    chosen = measure_information(material, labelled, strengths=(0.001, 10.0), ranks=(0, 4))
    assert loose.bits < -0.3 and -0.03 < chosen.bits < 0.01
    assert (chosen.c, chosen.rank) == (0.001, 4)


def test_the_choice_is_made_on_valid_alone():
    material, labelled = study_of(0.1, 100)
    before = measure_information(material, labelled, strengths=(0.001, 0.1, 10.0), ranks=(0, 50, 5))
    upset = SimpleNamespace(**vars(labelled) | {"report": labelled.choose})
    after = measure_information(material, upset, strengths=(0.001, 0.1, 10.0), ranks=(0, 50, 5))
    assert (before.c, before.rank) == (after.c, after.rank) and before.state_bits != after.state_bits
    wide = measure_information(material, labelled, strengths=(1.0,), ranks=(0, 500))
    assert wide.rank == 0, "there are no 500 axes"


def test_a_label_that_was_never_seen_has_a_price():
    chances = torch.tensor([[0.25, 0.75]] * 2, dtype=torch.float64)
    known = label_bits(chances, labels_of([1, 0]), 9)
    assert known == pytest.approx(-(math.log2((9 * 0.75 + 0.5) / 10) + math.log2((9 * 0.25 + 0.5) / 10)) / 2)
    unseen = label_bits(chances, labels_of([1, 0], unseen=(1,)), 9)
    assert unseen == pytest.approx((math.log2(2 * 10) - math.log2((9 * 0.75 + 0.5) / 10)) / 2)


def test_leading_axes_are_those_of_most_variance():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(500, 1))
    states = np.hstack([shared + 0.1 * rng.normal(size=(500, 3)), rng.normal(size=(500, 2))]).astype(np.float32)
    axes = fit_features(states)
    some, features = lead_axes(axes, axes.apply(states), 2)
    assert features.shape == (500, 3) and (features[:, -1] == 1).all() and len(some.variance) == 2
    assert float(some.variance.min()) >= float(axes.variance[:-2].max())
    assert torch.allclose(some.apply(states), features, atol=1e-5)
    assert abs(np.corrcoef(features[:, 1], shared[:, 0])[0, 1]) > 0.95
    assert lead_axes(axes, features, 0) == (axes, features)
