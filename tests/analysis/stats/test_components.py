"""Variance components against published and REML values, and known truth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import chi2

from seedvote.analysis.stats.components import (
    RESIDUAL,
    error_variance,
    estimate_components,
    evaluate_design,
    resize_study,
    study_sizes,
    terms_of,
)
from seedvote.analysis.votes.long_tables import NESTED, read_long
from seedvote.dialogue.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
TRUE = {"model": 1.0, "model:seed": 0.25, "item": 0.64, "model:item": 0.09, "residual": 0.36}


def crossed_study(seed, *, models=5, seeds=3, items=40, dropped=0.0, true=TRUE):
    generator = np.random.default_rng(seed)
    m, s, i = (axis.ravel() for axis in np.indices((models, seeds, items)))
    score = sum(
        np.sqrt(true[name]) * generator.standard_normal(shape)[at]
        for name, shape, at in (
            ("model", models, m),
            ("model:seed", (models, seeds), (m, s)),
            ("item", items, i),
            ("model:item", (models, items), (m, i)),
            ("residual", m.size, np.arange(m.size)),
        )
    )
    kept = generator.random(m.size) >= dropped
    return score[kept], {"model": m[kept], "seed": s[kept], "item": i[kept]}


def estimate(score, factors, *, sets=2, seed=0):
    return estimate_components(
        score, factors, terms_of(factors, NESTED), generator=np.random.default_rng(seed), sets=sets
    )


def test_shrout_and_fleiss_1979():
    data = json.loads((ROOT / "tests" / "golden" / "shrout_fleiss1979.json").read_text(encoding="utf-8"))
    ratings, published = np.array(data["ratings"], float), data["published"]
    target, judge = (axis.ravel() for axis in np.indices(ratings.shape))
    two_way = {"target": target, "judge": judge}
    found = estimate(ratings.ravel(), two_way)
    residual = found[RESIDUAL].value
    assert round(residual, 2) == published["residual"]
    assert round(4 * found["target"].value + residual, 2) == published["between_targets"]
    assert round(6 * found["judge"].value + residual, 2) == published["between_judges"]
    four = study_sizes(two_way, found, "target")
    for judges, study in ((4, four), (1, resize_study(four, found, {"judge": 1}))):
        line = evaluate_design(found, study)
        assert round(line.generalizability, 2) == published[f"icc_3_{judges}"]
        assert round(line.dependability, 2) == published[f"icc_2_{judges}"]
    one_way = estimate(ratings.ravel(), {"target": target})
    within = one_way[RESIDUAL].value
    assert round(within, 2) == published["within_targets"]
    assert round(one_way["target"].value / (one_way["target"].value + within), 2) == published["icc_1_1"]
    assert round(one_way["target"].value / (one_way["target"].value + within / 4), 2) == published["icc_1_4"]


def test_balanced_data_give_the_reml_estimates_of_statsmodels():
    score, factors = crossed_study(4, models=4, seeds=3, items=8)
    found = estimate(score, factors)
    assert all(part.value > 0 for part in found.parts)
    frame = pd.DataFrame({"score": score, **factors, "one": 1})
    frame["model_seed"] = frame.model * 10 + frame.seed
    frame["model_item"] = frame.model * 100 + frame.item
    formulas = {name: f"0 + C({name})" for name in ("model", "item", "model_seed", "model_item")}
    reml = sm.MixedLM.from_formula("score ~ 1", groups="one", vc_formula=formulas, data=frame).fit(method="powell")
    theirs = dict(zip(reml.model.exog_vc.names, reml.vcomp, strict=True))
    for ours, name in (
        ("model", "model"),
        ("item", "item"),
        ("model:seed", "model_seed"),
        ("model:item", "model_item"),
    ):
        assert found[ours].value == pytest.approx(theirs[name], rel=0.02)
    assert found[RESIDUAL].value == pytest.approx(reml.scale, rel=0.01)


@pytest.mark.slow
def test_components_are_unbiased_on_unbalanced_data():
    estimates = []
    for seed in range(300):
        score, factors = crossed_study(seed, dropped=0.4)
        estimates.append([part.value for part in estimate(score, factors).parts])
    names = [part.name for part in estimate(score, factors).parts]
    error = np.std(estimates, axis=0) / np.sqrt(300)
    for name, mean, se in zip(names, np.mean(estimates, 0), error, strict=True):
        assert abs(mean - TRUE[name]) < 3.5 * se, name


def test_votes_of_a_sparse_crowd_are_unbiased_too():
    estimates = []
    for seed in range(200):
        generator = np.random.default_rng(seed)
        pair, rater = np.repeat(np.arange(300), 3), generator.integers(0, 60, 900)
        score = generator.normal(0, 0.3, 300)[pair] + generator.normal(0, 0.4, 60)[rater] + generator.normal(0, 1, 900)
        estimates.append([part.value for part in estimate(score, {"pair": pair, "rater": rater}).parts])
    error = np.std(estimates, axis=0) / np.sqrt(200)
    assert (np.abs(np.mean(estimates, 0) - [0.09, 0.16, 1.0]) < 3.5 * error).all()


def test_the_terms_are_those_that_the_data_can_tell_apart():
    _, factors = crossed_study(0)
    assert terms_of(factors, NESTED) == [("model",), ("item",), ("model", "seed"), ("model", "item")]
    pair = np.repeat(np.arange(50), 3)
    rater = np.random.default_rng(0).integers(0, 20, 150)
    assert terms_of({"pair": pair, "rater": rater}, NESTED) == [("pair",), ("rater",)]
    dialogue = {"dialogue": pair // 5, "pair": pair}
    assert terms_of(dialogue, {}) == [("dialogue",), ("pair",)]


def test_one_observation_has_no_variance():
    with pytest.raises(InputError, match="One observation has no variance"):
        estimate_components(np.ones(1), {}, [], generator=np.random.default_rng(0))


def test_what_cannot_be_told_apart_is_refused():
    codes = np.repeat(np.arange(10), 3)
    with pytest.raises(InputError, match="cannot tell one, two"):
        estimate_components(
            np.arange(30.0), {"one": codes, "two": codes}, [("one",), ("two",)], generator=np.random.default_rng(0)
        )


def test_an_estimate_below_zero_is_kept_and_its_interval_starts_at_zero():
    generator = np.random.default_rng(0)
    for seed in range(20):
        score = np.random.default_rng(seed).standard_normal(60)
        found = estimate_components(
            score, {"pair": np.repeat(np.arange(20), 3)}, [("pair",)], generator=generator, sets=50
        )
        if found["pair"].value < 0:
            break
    assert found["pair"].value < 0
    assert found["pair"].low == 0 < found["pair"].high
    assert found["pair"].sd == 0


def test_the_error_of_a_study_is_the_spread_of_its_means():
    """Means of one model over 3000 fresh studies scatter with the error variance that the components give."""
    true = {"model": 0.0, "model:seed": 0.25, "item": 0.64, "model:item": 0.09, "residual": 0.36}
    differences = []
    for seed in range(1500):
        score, factors = crossed_study(seed, models=2, items=20, true=true)
        first, second = (score[factors["model"] == k].mean() for k in (0, 1))
        differences.append(first - second)
    score, factors = crossed_study(0, models=2, items=20)
    found = estimate(score, factors)
    study = study_sizes(factors, found, "model")
    assert study.sizes == {"seed": 3, "item": 20}
    assert study.counts == {"model": 1, "item": 20, "model:seed": 3, "model:item": 20, "residual": 60}
    known = 2 * (0.25 / 3 + 0.09 / 20 + 0.36 / 60)
    assert np.var(differences) == pytest.approx(known, rel=0.12)
    parts = {name: max(found[name].value, 0) / study.counts[name] for name in ("model:seed", "model:item", "residual")}
    assert error_variance(found, study) == pytest.approx(sum(parts.values()))
    larger = resize_study(study, found, {"seed": 6})
    assert larger.counts["model:seed"] == 6
    assert larger.counts[RESIDUAL] == 120
    assert larger.counts["model:item"] == 20


@pytest.mark.slow
@pytest.mark.parametrize(("models", "seeds"), [(2, 3), (5, 3), (5, 10)])
def test_the_interval_of_the_seed_component_covers(models, seeds):
    covered = 0
    for run in range(400):
        score, factors = crossed_study(run, models=models, seeds=seeds)
        found = estimate(score, factors, sets=100, seed=run)
        covered += found["model:seed"].low <= TRUE["model:seed"] <= found["model:seed"].high
    print(models, seeds, covered / 400)
    assert covered / 400 > 0.90


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "raters"), [(0.0, 0.03), (0.005, 0.03), (0.02, 0.02), (0.04, 0.0)])
def test_component_intervals_cover_and_hold_zero(pairs, raters):
    covered, width = np.zeros(2), []
    for run in range(400):
        generator = np.random.default_rng(run)
        pair, rater = np.repeat(np.arange(200), 3), generator.integers(0, 60, 600)
        leanings = (generator.uniform(-1, 1, size) * np.sqrt(3 * v) for size, v in ((200, pairs), (60, raters)))
        chance = 0.5 + sum(lean[at] for lean, at in zip(leanings, (pair, rater), strict=True))
        found = estimate(
            (generator.random(600) < chance).astype(float), {"pair": pair, "rater": rater}, sets=100, seed=run
        )
        parts = found["pair"], found["rater"]
        covered += [part.low <= true <= part.high for part, true in zip(parts, (pairs, raters), strict=True)]
        width.append([part.high - part.low for part in parts])
    print(pairs, raters, covered / 400, np.mean(width, 0))
    assert (covered / 400 > 0.92).all()


def test_without_noise_the_interval_is_that_of_a_variance():
    """Ten groups told apart by nothing else: chi-square with nine degrees of freedom, as in any textbook."""
    generator = np.random.default_rng(0)
    groups = generator.normal(0, 2, 10)
    score = np.repeat(groups, 50) + generator.normal(0, 1e-6, 500)
    found = estimate(score, {"pair": np.repeat(np.arange(10), 50)}, sets=4000)["pair"]
    ends = 9 * groups.var(ddof=1) / chi2.ppf([0.975, 0.025], 9)
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=0.05)


def test_simulated_tables_have_the_components_that_were_found():
    generator = np.random.default_rng(3)
    pair = np.repeat(np.arange(60), 5)
    score = generator.normal(0, 2, 60)[pair] + generator.normal(0, 3, 300)
    found = estimate(score, {"pair": pair}, sets=2000)
    for name in ("pair", RESIDUAL):
        assert found[name].draws.mean() == pytest.approx(found[name].value, rel=0.05)


def test_seeds_of_different_models_are_not_paired(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(
        "model,seed,item,score\n" + "".join(f"{m},{s},{i},{i}\n" for m in "ab" for s in (0, 1) for i in range(3))
    )
    (table,) = read_long(path)
    assert ("seed",) not in terms_of(table.factors, NESTED)
