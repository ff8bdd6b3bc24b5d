"""Rank flips, generalisability and the seeds that certainty costs: outside truth, a slow twin, simulations."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, t

from seedvote.analysis.questions.comparison.answer import between_architectures, between_seeds, orders, seeds_needed
from seedvote.analysis.stats.components import estimate_components, evaluate_design, study_sizes, terms_of
from seedvote.analysis.votes.long_tables import NESTED
from seedvote.analysis.votes.scores.panel import Panel, System

GOLDEN = Path(__file__).parents[3] / "golden"


def panel(scores):
    """Scores (models, seeds, items) as a panel of means; an item is its own dialogue."""
    models, seeds, items = scores.shape
    rows = scores.reshape(-1, items)
    parts = (rows - rows.mean(1, keepdims=True)) / items
    covariance = parts @ parts.T * items / (items - 1)
    systems = tuple(System(f"m{m}", s) for m in range(models) for s in range(seeds))
    ways = {"items": covariance, "both": covariance}
    return Panel("probe", "task", "last", systems, rows.mean(1), ways, {"items": items}, {"m0": items, "m1": items})


def draw(random, truth, sd, shape):
    """Scores with a mean a model and SDs by name: seed, item, model_item, rest."""
    models, seeds, items = shape
    return (
        np.asarray(truth, float)[:, None, None]
        + sd["seed"] * random.standard_normal((models, seeds, 1))
        + sd["item"] * random.standard_normal((1, 1, items))
        + sd["model_item"] * random.standard_normal((models, 1, items))
        + sd["rest"] * random.standard_normal(shape)
    )


SD = {"seed": 2.0, "item": 8.0, "model_item": 4.0, "rest": 6.0}


def test_reliability_of_seeds_is_the_published_intraclass_correlation():
    """Shrout and Fleiss (1979), ICC(3, 4) of six targets by four judges: targets are seeds here, judges items."""
    table = json.loads((GOLDEN / "shrout_fleiss1979.json").read_text())
    found = between_seeds(panel(np.array(table["ratings"], float)[None]), "m0")
    assert found.value == pytest.approx(table["published"]["icc_3_4"], abs=0.005)
    assert found.freedom == (5, 15)


def test_new_items_alone_scatter_a_difference_as_the_components_say():
    random = np.random.default_rng(3)
    scores = draw(random, [0.0, 1.0], SD, (2, 60, 150))
    (found,) = orders(panel(scores))
    model, seed, item = (part.ravel() for part in np.indices(scores.shape))
    factors = {"model": model, "seed": seed, "item": item}
    terms = [("model",), ("model", "seed"), ("item",), ("model", "item")]
    parts = estimate_components(scores.ravel(), factors, terms, generator=random, sets=2)
    residual = parts["residual"].value / 60 / 150
    error = {"seeds": parts["model:seed"].value / 60 + residual, "items": parts["model:item"].value / 150 + residual}
    error["everything"] = sum(error.values()) - residual
    for way, variance in error.items():
        assert found.flips[way].se == pytest.approx(np.sqrt(2 * variance), rel=0.03)
    assert found.flips["raters"] is None


def test_generalisability_is_that_of_variance_components():
    scores = draw(np.random.default_rng(5), [0.0, 3.0, 4.0], SD, (3, 5, 40))
    factors = dict(zip(("model", "seed", "item"), (part.ravel() for part in np.indices(scores.shape)), strict=True))
    parts = estimate_components(
        scores.ravel(), factors, terms_of(factors, NESTED), generator=np.random.default_rng(0), sets=2
    )
    assert min(part.value for part in parts.parts) > 0
    theirs = evaluate_design(parts, study_sizes(factors, parts, "model")).generalizability
    assert between_architectures(panel(scores)).value == pytest.approx(theirs, rel=1e-9)


def test_equal_values_of_all_seeds_say_nothing_of_their_reliability():
    assert np.isnan(between_seeds(panel(np.ones((1, 3, 1)) * np.arange(9.0)), "m0").value)


def test_near_values_are_not_certain_to_differ():
    noise = np.random.default_rng(0).normal(size=(1, 3, 40))
    near = between_seeds(panel(noise - noise.mean(-1, keepdims=True) + np.array([0.0, 1e-3, -1e-3])[:, None]), "m0")
    assert 0 < near.f < 0.01 and (near.value, near.low, near.high) == (0, 0, 1)
    apart = between_seeds(panel(noise + np.array([0.0, 1.0, -1.0])[:, None]), "m0")
    assert 0 < apart.low < apart.value < apart.high < 1


@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize("studies", [250, pytest.param(800, marks=pytest.mark.slow)])
def test_re_runs_flip_as_often_as_predicted(seeds, studies):
    random = np.random.default_rng(seeds)
    shape, predicted, flipped, inside = (2, seeds, 40), [], [], []
    for _ in range(studies):
        truth = [0.0, random.uniform(-6, 6)]  # wide and flat, as the prediction assumes
        (found,) = orders(panel(draw(random, truth, SD, shape)))
        again = draw(random, truth, SD, shape).mean((1, 2))
        predicted.append(found.flips["everything"].p)
        flipped.append(again[int(found.first[1])] < again[int(found.second[1])])
        error = np.sqrt(2 * (SD["seed"] ** 2 / seeds + SD["model_item"] ** 2 / 40 + SD["rest"] ** 2 / seeds / 40))
        chance = norm.sf((truth[int(found.first[1])] - truth[int(found.second[1])]) / error)
        inside.append(found.flips["everything"].low <= chance <= found.flips["everything"].high)
    predicted, flipped = np.array(predicted), np.array(flipped)
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.5)):
        chosen = (predicted >= low) & (predicted < high)
        noise = np.sqrt(0.25 / chosen.sum())
        assert abs(flipped[chosen].mean() - predicted[chosen].mean()) < 0.03 + 2 * noise
    assert np.mean(inside) > 0.92


@pytest.mark.parametrize(("sd", "margin"), [(1.0, 1.0), (5.0, 2.0), (0.3, 1.0)])
def test_the_seeds_are_the_fewest_that_do(sd, margin):
    n = seeds_needed(sd, margin)
    assert t.ppf(0.975, n - 1) * sd / n**0.5 <= margin
    assert n == 2 or t.ppf(0.975, n - 2) * sd / (n - 1) ** 0.5 > margin


def test_what_cannot_be_reached_or_known_is_none():
    assert seeds_needed(float("nan"), 1.0) is None
    assert seeds_needed(1e6, 0.001) is None
