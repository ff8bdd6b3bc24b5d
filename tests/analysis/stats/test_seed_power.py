"""Seeds and items that a statement about architectures needs: simulated ones, and what more seeds cannot do."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from seedvote.analysis.questions.comparison.answer import orders
from seedvote.analysis.report.findings import error_of_order
from seedvote.analysis.stats import seed_power
from seedvote.analysis.stats.seed_power import (
    DifferenceError,
    items_for_order,
    power_of_order,
    seeds_for_order,
    votes_or_seeds,
)
from seedvote.analysis.votes.scores.panel import Panel, System


def test_the_number_of_seeds_is_the_first_that_reaches_the_power():
    for effect in (*np.geomspace(0.2, 50, 40), 500.0):
        seeds = seed_power.seeds_for_difference(effect, 1.0)
        assert seed_power.power_of_seeds(effect, seeds) >= 0.8
        assert seeds == 2 or seed_power.power_of_seeds(effect, seeds - 1) < 0.8


def test_simulated_seeds_have_the_planned_power():
    generator = np.random.default_rng(1)
    one, other = generator.normal(1.5, 1, (4000, 9)), generator.normal(0, 1, (4000, 9))
    assert np.mean(ttest_ind(one, other, axis=1).pvalue < 0.05) == pytest.approx(
        seed_power.power_of_seeds(1.5, 9), abs=0.02
    )


def test_the_power_to_show_that_seeds_differ_is_that_of_simulated_studies():
    random, seeds, variance, noise = np.random.default_rng(0), 6, 4.0, 1.0
    values = random.normal(0, np.sqrt(variance + noise), (20_000, seeds))
    shown = (seeds - 1) * values.var(1, ddof=1) / noise > 11.0705  # .95 of chi-square with 5
    assert votes_or_seeds(variance, noise, seeds).power == pytest.approx(shown.mean(), abs=0.01)


def test_more_votes_or_more_seeds_bring_the_power_there():
    found = votes_or_seeds(1.0, 1.0, 4)
    assert found.power < 0.8 and found.votes > 1 and found.seeds > 4
    assert votes_or_seeds(1.0, 1.0 / found.votes, 4).power >= 0.8
    assert votes_or_seeds(1.0, 1.0, found.seeds).power >= 0.8
    assert votes_or_seeds(1.0, 1.0, found.seeds - 1).power < 0.8
    assert votes_or_seeds(1e-6, 1.0, 3).votes is None


SEEDS_ONLY = DifferenceError(seeds=2.0, own=0.0, shared=0.0, freedom=99)
ITEMS_ONLY = DifferenceError(seeds=0.0, own=0.0, shared=1.0, freedom=99)


def test_without_noise_of_items_it_is_the_t_test_over_seeds():
    assert power_of_order(1.5, SEEDS_ONLY, 9) == pytest.approx(seed_power.power_of_seeds(1.5, 9))
    assert seeds_for_order(1.5, SEEDS_ONLY, 3) == seed_power.seeds_for_difference(1.5, 1.0)


def test_without_any_noise_every_difference_is_shown():
    assert power_of_order(0.1, DifferenceError(seeds=0.0, own=0.0, shared=0.0, freedom=9), 3) == 1


def test_what_the_seeds_share_of_the_items_needs_more_items():
    assert seeds_for_order(1.0, ITEMS_ONLY, 3) is None
    times = items_for_order(1.0, ITEMS_ONLY, 3)
    assert times is not None and power_of_order(1.0, ITEMS_ONLY, 3, times) >= 0.8
    assert power_of_order(1.0, ITEMS_ONLY, 3, times - 0.2) < 0.8
    assert items_for_order(0.5, SEEDS_ONLY, 3) is None


def test_no_number_of_items_is_passed_over_because_it_looks_hopeless():
    error = DifferenceError(seeds=0.02, own=0.4, shared=0.3, freedom=30.0)
    first = next(k / 10 for k in range(10, 100) if power_of_order(1.0, error, 4, k / 10) >= 0.8)
    assert items_for_order(1.0, error, 4) == first > 2


def drawn(random, truth, sd, seeds, items):
    """Scores (2 architectures, seeds, items) with SDs of seed, item of the architecture, and of a single answer."""
    return (
        np.array([truth, 0.0])[:, None, None]
        + sd["seed"] * random.standard_normal((2, seeds, 1))
        + sd["item"] * random.standard_normal((2, 1, items))
        + sd["rest"] * random.standard_normal((2, seeds, items))
    )


def panel(scores):
    """The scores as a panel of means; an item is its own dialogue."""
    rows = scores.reshape(-1, scores.shape[2])
    covariance = np.cov(rows) / scores.shape[2]
    systems = tuple(System(f"m{m}", s) for m in range(2) for s in range(scores.shape[1]))
    ways, items = {"items": covariance, "both": covariance}, scores.shape[2]
    return Panel("probe", "task", "last", systems, rows.mean(1), ways, {"items": items}, {"m0": items, "m1": items})


SD = {"seed": 0.5, "item": 6.0, "rest": 3.0}


def test_order_error_splits_into_seeds_and_items():
    random = np.random.default_rng(4)
    found = [
        error_of_order(made, *orders(made)) for made in (panel(drawn(random, 3.0, SD, 8, 100)) for _ in range(300))
    ]
    assert np.mean([one.own for one in found]) == pytest.approx(2 * SD["rest"] ** 2 / 100, rel=0.05)
    assert np.mean([one.shared for one in found]) == pytest.approx(2 * SD["item"] ** 2 / 100, rel=0.05)
    assert np.mean([one.seeds for one in found]) == pytest.approx(2 * SD["seed"] ** 2, rel=0.1)


@pytest.mark.parametrize(("seeds", "times"), [(4, 1), (12, 1), (4, 3)])
def test_the_power_to_show_an_order_is_that_of_simulated_re_runs(seeds, times):
    """Each re-run has new seeds and new items; its test knows both kinds of error."""
    random, items, truth = np.random.default_rng(5), 60, 2.5
    true = DifferenceError(2 * SD["seed"] ** 2, 2 * SD["rest"] ** 2 / items, 2 * SD["item"] ** 2 / items, items - 1)
    values = np.array([drawn(random, truth, SD, seeds, times * items).mean(2).mean(1) @ [1, -1] for _ in range(2000)])
    assert values.var() == pytest.approx(true.variance(seeds, times), rel=0.1)
    shown = np.abs(values) > 1.96 * np.sqrt(true.variance(seeds, times))
    assert shown.mean() == pytest.approx(power_of_order(truth, true, seeds, times), abs=0.05)
