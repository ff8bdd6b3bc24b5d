"""People, metrics and probes on the same axes."""

import math

import numpy as np
import pyarrow as pa
import pytest

from analysis.comparison.methods import score_panels
from analysis.comparison.strengths import people_panels
from analysis.reading.panel import methods
from analysis.reading.values import by_seed, ratio
from dialogue.records import Candidate, Pair

ROW = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "checkpoint": "last", "rater": "logistic"}


def rows(seed, counts):
    for number, (tp, fp, fn) in enumerate(counts):
        place = {"item": f"d{number}:1", "cluster": f"d{number}", "condition": "", "score": 0.0, "seed": seed}
        yield ROW | place | {"stats": {"tp": float(tp), "fp": float(fp), "fn": float(fn)}}


def pair(name, a, b, dialogue):
    return Pair(name, f"{dialogue}:1", (), Candidate("x", "hred", a), Candidate("y", "hred", b), dialogue=dialogue)


def test_probes_give_micro_f1_a_seed_in_points():
    table = pa.Table.from_pylist([*rows(0, [(1, 0, 1), (2, 1, 0)]), *rows(1, [(1, 0, 0), (2, 0, 0)])])
    (panel,) = score_panels(by_seed(table))
    (method,) = methods(panel)
    assert method.seeds == (0, 1)
    assert method.values == pytest.approx((75.0, 100.0))
    assert method.over_seeds.sd == pytest.approx(25 / math.sqrt(2))
    assert method.items == 2


def token_row(row, **more):
    return row | {"evaluator": "token", "task": "bleu2", "score": 50.0, "stats": None} | more


def test_one_seed_has_no_spread_and_other_scores_are_averaged():
    (row,) = rows(0, [(0, 0, 0)])
    (alone,) = methods(score_panels(by_seed(pa.Table.from_pylist([token_row(row)])))[0])
    assert not alone.several and math.isnan(alone.over_seeds.sd)
    both = pa.Table.from_pylist([token_row(row), token_row(row, seed=7)])
    assert score_panels(by_seed(both))[0].values.tolist() == [50.0, 50.0]


def test_second_draws_and_diagnostic_metrics_are_left_out():
    kinds = [
        ("bleu2", "nucleus:0.8"),
        ("bleu2", "nucleus:0.8 draw 1"),
        ("perplexity", ""),
        ("bleu2_swapped", ""),
        ("bleu2", "constant"),
    ]
    found = [
        token_row(row, task=task, condition=condition)
        for seed in (0, 1)
        for row in rows(seed, [(0, 0, 0)])
        for task, condition in kinds
    ]
    assert [panel.name for panel in score_panels(by_seed(pa.Table.from_pylist(found)))] == ["bleu2"]


def test_the_item_error_is_the_spread_of_means_over_new_dialogues():
    random = np.random.default_rng(0)
    cluster = np.repeat(np.arange(60), 5)
    draws = [random.normal(size=60)[cluster] + random.normal(size=300) for _ in range(1500)]
    found = [ratio(draw, np.ones(300), cluster, [f"d{k}" for k in range(60)]) for draw in draws]
    means, errors = [one.value for one in found], [one.error for one in found]
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.05)


def test_an_empty_ratio_and_a_single_cluster_have_no_error():
    empty = ratio(np.zeros(2), np.zeros(2), np.array([0, 1]), ["d0", "d1"])
    assert empty.value == 1.0 and math.isnan(empty.error)
    assert math.isnan(ratio(np.ones(2), np.ones(2), np.array([0, 0]), ["d0"]).error)


def test_votes_between_seeds_give_back_the_strengths_that_made_them():
    strength = {0: 0.3, 3: -0.1, 5: -0.2}
    random = np.random.default_rng(1)
    pairs, names, net = [], [], []
    for number in range(6000):
        a, b = random.permutation(list(strength))[:2].tolist()
        pairs.append(pair(f"p{number}", a, b, f"d{number % 900}"))
        names.append(f"p{number}")
        wins = (1 + strength[a] - strength[b]) / 2
        net.append(1.0 if random.random() < wins else -1.0)
    (panel,) = people_panels(names, np.array(net), [*pairs, pair("other", 0, 0, "d")])
    (method,) = methods(panel)
    assert method.seeds == (0, 3, 5)
    assert sum(method.values) == pytest.approx(0, abs=1e-9)
    for value, truth, error in zip(method.values, strength.values(), method.item_se, strict=True):
        assert abs(value - 100 * truth) < 3.5 * error
    assert method.noise == pytest.approx(1.0, abs=0.3)


def test_votes_across_architectures_put_them_on_one_scale_that_sums_to_zero():
    sides = [(("hred", 0), ("hred", 1)), (("hred", 1), ("seq2seq", 0)), (("seq2seq", 0), ("hred", 0))]
    pairs = [
        Pair(f"p{n}", f"d{n}:1", (), Candidate("x", *a), Candidate("y", *b), dialogue=f"d{n}")
        for n in range(30)
        for a, b in [sides[n % 3]]
    ]
    net = np.array([(1.0, 1.0, -1.0)[n % 3] for n in range(30)])
    (panel,) = people_panels([p.pair for p in pairs], net, pairs, np.arange(30) % 5)
    strength = dict(zip(panel.systems, panel.values, strict=True))
    assert sum(strength.values()) == pytest.approx(0, abs=1e-9)
    assert strength["hred", 0] > strength["hred", 1] > strength["seq2seq", 0]
    assert set(panel.covariance) == {"items", "raters", "both"} and panel.clusters == {"items": 30, "raters": 5}
    hred, other = methods(panel)
    assert hred.several and not other.several and len(hred.rater_se) == 2


def test_models_that_no_vote_connects_are_on_scales_of_their_own():
    pairs = [pair("p", 0, 1, "d0"), pair("q", 0, 1, "d1")]
    far = [Pair(n, f"{n}:1", (), Candidate("x", "far", 0), Candidate("y", "far", 1)) for n in ("r", "s")]
    panels = people_panels(["p", "q", "r", "s"], np.array([1.0, 1.0, -1.0, -1.0]), [*pairs, *far])
    assert [panel.models for panel in panels] == [("far",), ("hred",)]
    assert panels[0].values.tolist() == pytest.approx([-50, 50])


def test_votes_on_checks_and_on_one_model_alone_say_nothing():
    check = Pair("p", "d:1", (), Candidate("x", "hred", 0), Candidate("y", "seq2seq", 1), kind="check", answer="a")
    assert people_panels(["p", "q", "r"], np.array([1.0, -1.0, 0.0]), [check, pair("r", 0, 0, "d")]) == []


def test_the_covariance_of_strengths_is_that_of_a_brute_force_sandwich():
    random = np.random.default_rng(7)
    pairs = [pair(f"p{n}", *random.choice(4, 2, replace=False).tolist(), f"d{n // 3}") for n in range(90)]
    rater, net = random.integers(0, 11, 90), random.integers(-1, 2, 90).astype(float)
    (panel,) = people_panels([p.pair for p in pairs], net, pairs, rater)
    design = np.zeros((90, 4))
    for row, p in zip(design, pairs, strict=True):
        row[p.a.seed], row[p.b.seed] = 1, -1
    inverse = np.linalg.pinv(design.T @ design)
    residual = net - design @ inverse @ design.T @ net
    dialogue = np.arange(90) // 3

    def meat(codes):
        sums = np.array([(design[codes == g] * residual[codes == g, None]).sum(0) for g in np.unique(codes)])
        return len(sums) / (len(sums) - 1) * inverse @ sums.T @ sums @ inverse * 1e4

    assert panel.covariance["items"] == pytest.approx(meat(dialogue))
    both = meat(dialogue) + meat(rater) - meat(dialogue * 100 + rater)
    assert panel.covariance["both"] == pytest.approx(both)
