"""Erasers: nothing of the task is left to a linear reader, and nothing else is touched more than it must be."""

import numpy as np
import pytest

from seedvote.probes.classifiers.logistic import fit_features, fit_logistic
from seedvote.probes.erasing import (
    by_map,
    count_varying,
    erase_everything,
    fit_inlp,
    fit_leace,
    random_erasure,
    variance_erased,
)
from seedvote.probes.tasks.labels import Labels

N, CUT, WIDTH, CLASSES = 1500, 1000, 16, 3


def one_label(numbers):
    classes = tuple("abc"[: numbers.max() + 1])
    return Labels("T", False, classes, np.arange(len(numbers) + 1), numbers, np.zeros(len(numbers), int), 0)


def world(seed=0):
    """Two views of examples with two facts in them, on axes of very unlike size."""
    rng = np.random.default_rng(seed)
    fact, other = rng.integers(0, CLASSES, N), rng.integers(0, 2, N)
    mixed = rng.standard_normal((WIDTH, WIDTH)) * np.geomspace(1, 0.05, WIDTH)
    view = rng.standard_normal((N, WIDTH)) @ mixed.T + 3
    view += 2 * rng.standard_normal((CLASSES, WIDTH))[fact] + 2 * rng.standard_normal((2, WIDTH))[other]
    last = view * 0.5 + rng.standard_normal((N, WIDTH)) + rng.standard_normal((CLASSES, WIDTH))[fact]
    return view, last, fact, other


@pytest.fixture(scope="module")
def known():
    return world()


def accuracy(vectors, numbers):
    """Of a probe fitted on the first two thirds and asked about the others."""
    labels, vectors = one_label(numbers), vectors.astype(np.float32)
    axes = fit_features(vectors[:CUT])
    fit = fit_logistic(axes.apply(vectors[:CUT]), axes, labels.take(np.arange(CUT)))
    return float((fit.predict(axes.apply(vectors[CUT:])).argmax(1) == numbers[CUT:]).mean())


def majority(numbers):
    return np.bincount(numbers[CUT:]).max() / (N - CUT)


def test_probe_after_leace_falls_to_the_majority(known):
    view, last, fact, other = known
    labels = np.eye(CLASSES)[fact]
    erased = fit_leace([view[:CUT], last[:CUT]], labels[:CUT])
    assert erased.rank == 2 * (CLASSES - 1)
    for one in (view, last, np.hstack([view, last])):
        assert accuracy(one, fact) > 0.7
    both = np.hstack([erased.apply(view), erased.apply(last)])
    for one in (*np.split(both, 2, axis=1), both):
        assert accuracy(one, fact) < majority(fact) + 0.04
        assert np.abs((one[:CUT] - one[:CUT].mean(0)).T @ (labels[:CUT] - labels[:CUT].mean(0))).max() < 1e-8 * N
    assert accuracy(erased.apply(view), other) > accuracy(view, other) - 0.05


def test_leace_is_the_closed_form_of_its_paper(known):
    """Theorem 4.3 of Belrose et al.: the whitened cross-covariance is projected away; here for one label, by hand."""
    view, _, fact, _ = known
    label = (fact == 0).astype(float)[:, None]
    centred, z = view - view.mean(0), label - label.mean()
    sigma, cross = centred.T @ centred / N, centred.T @ z / N
    solved = np.linalg.solve(sigma, cross)
    by_hand = view - centred @ solved @ cross.T / (cross.T @ solved)
    assert np.allclose(fit_leace([view], label).apply(view), by_hand, atol=1e-8)


def test_no_eraser_of_the_task_moves_vectors_less(known):
    """Least squares: mixing in any other map that erases too can only move them further, whatever the metric."""
    view, _, fact, _ = known
    labels = np.eye(CLASSES)[fact]
    best = fit_leace([view], labels)
    rng = np.random.default_rng(3)
    for _ in range(3):
        ours = best.apply(view)
        also = fit_leace([view], np.hstack([labels, rng.standard_normal((N, 1))])).apply(
            view
        )  # erases the task, and more
        for metric in (np.eye(WIDTH), np.diag(rng.uniform(0.1, 10, WIDTH))):
            assert (((ours - view) @ metric) ** 2).sum() < (((also - view) @ metric) ** 2).sum()


def test_inlp_leaves_a_probe_next_to_nothing_and_the_other_fact(known):
    view, _, fact, other = known
    erased = fit_inlp([view[:CUT]], one_label(fact).take(np.arange(CUT)))
    assert CLASSES - 1 <= erased.rank < WIDTH - 1
    assert accuracy(erased.apply(view), fact) < majority(fact) + 0.07
    assert accuracy(erased.apply(view), other) > 0.9 * accuracy(view, other)


def test_inlp_erases_nothing_where_there_is_nothing_to_read():
    rng = np.random.default_rng(0)
    assert fit_inlp([rng.standard_normal((N, WIDTH))], one_label(rng.integers(0, 2, N))).rank == 0


def test_random_eraser_has_the_requested_rank(known):
    view, last, fact, _ = known
    drawn = [random_erasure([view, last], 4, np.random.default_rng(seed)) for seed in range(40)]
    one = drawn[0]
    assert one.rank == 4 and np.allclose(one.read @ one.write, np.eye(4), atol=1e-8)
    twice = one.apply(one.apply(view))
    assert np.allclose(one.apply(view), twice) and accuracy(one.apply(view), fact) > majority(fact) + 0.2
    assert np.mean([variance_erased([view, last], each) for each in drawn]) == pytest.approx(4 / WIDTH, abs=0.05)
    assert variance_erased([view, last], erase_everything([view, last])) == pytest.approx(1)


def test_inlp_reads_states_of_unit_variance(known):
    view, last, fact, _ = known
    found = fit_leace([view, last], np.eye(CLASSES)[fact])
    seen = (np.concatenate([view, last]) - found.mean) @ found.read.T
    assert np.allclose(seen.T @ seen / len(seen), np.eye(found.rank), atol=1e-8)


def test_numbers_that_never_vary_and_copies_of_others_do_no_harm(known):
    view, _, fact, _ = known
    poor = np.hstack([view, view[:, :3], np.full((N, 2), 7.0)])
    erased = fit_leace([poor[:CUT]], np.eye(CLASSES)[fact[:CUT]])
    assert erased.rank == CLASSES - 1 and np.allclose(erased.apply(poor)[:, -2:], 7)
    assert accuracy(erased.apply(poor), fact) < majority(fact) + 0.04
    assert random_erasure([poor], 99, np.random.default_rng(0)).rank == WIDTH


def hidden_world(seed=0):
    """Single precision: one fact is in all numbers, another in the wide ones alone, some hardly vary, one never does.

    Those that hardly vary do so a ten-millionth as much as the widest, and hold more of the first fact than the others.
    """
    rng = np.random.default_rng(seed)
    fact, other = rng.integers(0, CLASSES, N), rng.integers(0, 2, N)
    wide = rng.standard_normal((N, WIDTH)) * np.geomspace(10, 0.1, WIDTH)
    wide += np.geomspace(10, 0.1, WIDTH) * (0.5 * rng.standard_normal((CLASSES, WIDTH))[fact])
    wide += np.geomspace(10, 0.1, WIDTH) * rng.standard_normal((2, WIDTH))[other]
    mixed = rng.standard_normal((3, 3))
    flat = 1e-6 * (2 * np.eye(CLASSES)[fact] + 0.3 * rng.standard_normal((N, 3))) @ mixed + 0.01
    return np.hstack([wide, flat, np.zeros((N, 1))]).astype(np.float32), fact, other


def erasers_of(states, fact):
    """Of the fact by both methods, and a random one of the rank of the first."""
    fitted, labels = states[:CUT].astype(np.float64), np.eye(CLASSES)[fact[:CUT]]
    exact = fit_leace([fitted], labels)
    chance = random_erasure([fitted], exact.rank, np.random.default_rng(0))
    return exact, fit_inlp([fitted], one_label(fact).take(np.arange(CUT))), chance


def test_leace_erases_directions_that_hardly_vary():
    states, fact, other = hidden_world()
    spread = states[:CUT].std(0)
    assert 1e-15 < (spread[WIDTH:-1] / spread.max()).max() ** 2 < 1e-12
    assert accuracy(states[:, WIDTH:], fact) > 0.9, "a probe scales them up and reads the fact"
    assert accuracy(states, fact) > (wide := accuracy(states[:, :WIDTH], fact)) + 0.1
    exact, _, chance = erasers = erasers_of(states, fact)
    after = [one.apply(states.astype(np.float64)).astype(np.float32) for one in erasers]
    assert exact.rank == chance.rank == CLASSES - 1
    for one, left in zip(erasers, after, strict=True):
        assert one.flats == 4 and np.array_equal(one.flat, exact.flat)
        assert np.abs((left - one.mean) @ one.flat).max() < 1e-8 and not left[:, -1].any()
        assert accuracy(left, other) > accuracy(states, other) - 0.1
    for columns in (slice(None), slice(WIDTH, None)):
        assert accuracy(after[0][:, columns], fact) < majority(fact) + 0.04
        assert accuracy(after[1][:, columns], fact) < majority(fact) + 0.07
    assert majority(fact) + 0.2 < accuracy(after[2], fact) < wide + 0.02, "a random one leaves what the others hold"


def test_no_more_directions_count_as_varying_than_an_eraser_can_take():
    states = hidden_world()[0]
    assert count_varying([states.astype(np.float64)]) == WIDTH
    assert random_erasure([states.astype(np.float64)], 99, np.random.default_rng(0)).rank == WIDTH


def test_the_state_and_the_memory_have_a_map_each():
    views = {name: np.full((2, 1), n) for n, name in enumerate(("state", "mean", "last", "third"))}
    found = by_map(views)
    assert [[one.item(0) for one in part] for part in found["memory"]] == [[1, 2], [3]]
    assert [[one.item(0) for one in part] for part in found["state"]] == [[0], []]
    assert list(by_map({"state": views["state"]})) == ["state"]
    assert list(by_map({name: views[name] for name in ("mean", "last")})) == ["memory"]


def test_a_map_does_not_throw_single_positions_far_away(known):
    """Means over positions vary little where positions vary much: what is large is what is large for both."""
    view, _, fact, _ = known
    rng = np.random.default_rng(0)
    mean, positions = view * np.geomspace(1, 0.01, WIDTH), view + rng.standard_normal((N, WIDTH))
    labels = np.eye(CLASSES)[fact]
    for one in (fit_leace([mean], labels, [positions]), fit_inlp([mean], one_label(fact), [positions])):
        moved = np.square(one.apply(positions) - positions).sum() / np.square(positions - positions.mean(0)).sum()
        assert moved < 1.5
    alone = fit_leace([mean], labels)
    assert np.square(alone.apply(positions) - positions).sum() > np.square(one.apply(positions) - positions).sum()
    erased = fit_leace([mean], labels, [positions]).apply(mean)
    assert np.abs((erased - erased.mean(0)).T @ (labels - labels.mean(0))).max() < 1e-8 * N
