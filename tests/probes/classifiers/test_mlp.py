"""The MLP: what a line cannot separate, its own randomness, and the epoch it keeps."""

import numpy as np
import torch

from seedvote.probes.classifiers import logistic, mlp
from seedvote.probes.classifiers.logistic import fit_features
from seedvote.probes.scoring import count_hits
from seedvote.probes.tasks.labels import Labels


def one_of(target):
    n = len(target)
    names = tuple(map(str, range(target.max() + 1)))
    return Labels("Corners", False, names, np.arange(n + 1), target.astype(np.int32), np.zeros(n, np.int32), 0)


def corners(n=3000, seed=0):
    """Exclusive or of two signs: no line tells the classes apart."""
    x = np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)
    return x, one_of((x[:, 0] * x[:, 1] > 0).astype(int))


def fitted(seed, valid=None):
    torch.set_num_threads(1)
    x, labels = corners()
    axes = fit_features(x)
    features = axes.apply(x)
    chosen = valid and (axes.apply(valid[0]), valid[1])
    return mlp.fit_mlp(features, labels, chosen, seed=seed), axes, features, labels


def test_it_learns_what_a_line_cannot():
    net, axes, _, _ = fitted(0)
    x, labels = corners(seed=1)
    assert count_hits(net.predict(axes.apply(x)), labels).micro_f1 > 0.9
    features = axes.apply(x)
    assert count_hits(logistic.fit_logistic(features, axes, labels).predict(features), labels).micro_f1 < 0.6


def test_the_seed_and_nothing_else_makes_the_difference():
    first, again, other = fitted(0)[0], fitted(0)[0], fitted(1)[0]
    assert torch.equal(first.inner, again.inner) and torch.equal(first.outer, again.outer)
    assert not torch.equal(first.inner, other.inner)


def test_the_epoch_is_chosen_on_the_split_to_choose_on():
    net, axes, _, _ = fitted(0, valid=corners(400, seed=2))
    assert 1 <= net.epochs <= mlp.EPOCHS
    x, labels = corners(seed=1)
    assert count_hits(net.predict(axes.apply(x)), labels).micro_f1 > 0.9


def test_many_labels_are_decided_one_by_one():
    x, _ = corners()
    y = np.stack([x[:, 0] > 0, x[:, 1] > 1], 1)
    _, columns = np.nonzero(y)
    labels = Labels(
        "Signs", True, ("a", "b"), np.cumsum([0, *y.sum(1)]), columns.astype(np.int32), np.zeros(len(x), np.int32), 0
    )
    features = fit_features(x).apply(x)
    assert (mlp.fit_mlp(features, labels, None, seed=0).predict(features) == y).mean() > 0.95
