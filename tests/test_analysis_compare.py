"""People, metrics and probes on the same axes."""

import math

import numpy as np
import pyarrow as pa
import pytest

from analysis.compare import from_scores, from_votes, ratio_with_error
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
    (method,) = from_scores(table)
    assert method.seeds == (0, 1)
    assert method.values == pytest.approx((75.0, 100.0))
    assert method.over_seeds.sd == pytest.approx(25 / math.sqrt(2))
    assert method.items == 2


def token_row(row, **more):
    return row | {"evaluator": "token", "task": "bleu2", "score": 50.0, "stats": None} | more


def test_one_seed_is_no_method_and_other_scores_are_averaged():
    (row,) = rows(0, [(0, 0, 0)])
    assert from_scores(pa.Table.from_pylist([token_row(row)])) == []
    both = pa.Table.from_pylist([token_row(row), token_row(row, seed=7)])
    assert from_scores(both)[0].values == (50.0, 50.0)


def test_second_draws_and_diagnostic_metrics_are_left_out():
    kinds = [("bleu2", "nucleus:0.8"), ("bleu2", "nucleus:0.8 draw 1"), ("perplexity", ""), ("bleu2_swapped", "")]
    found = [
        token_row(row, task=task, condition=condition)
        for seed in (0, 1)
        for row in rows(seed, [(0, 0, 0)])
        for task, condition in kinds
    ]
    assert [method.name for method in from_scores(pa.Table.from_pylist(found))] == ["bleu2"]


def test_the_item_error_is_the_spread_of_means_over_new_dialogues():
    random = np.random.default_rng(0)
    cluster = np.repeat(np.arange(60), 5)
    draws = [random.normal(size=60)[cluster] + random.normal(size=300) for _ in range(1500)]
    means, errors = zip(*(ratio_with_error(draw, np.ones(300), cluster) for draw in draws), strict=True)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.05)


def test_an_empty_ratio_and_a_single_cluster_have_no_error():
    value, error = ratio_with_error(np.zeros(2), np.zeros(2), np.array([0, 1]))
    assert value == 1.0 and math.isnan(error)
    assert math.isnan(ratio_with_error(np.ones(2), np.ones(2), np.array([0, 0]))[1])


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
    (method,) = from_votes(names, np.array(net), [*pairs, pair("other", 0, 0, "d")])
    assert method.seeds == (0, 3, 5)
    assert sum(method.values) == pytest.approx(0, abs=1e-9)
    for value, truth, error in zip(method.values, strength.values(), method.item_se, strict=True):
        assert abs(value - 100 * truth) < 3.5 * error
    assert method.noise == pytest.approx(1.0, abs=0.3)


def test_votes_on_checks_and_across_architectures_say_nothing_of_seeds():
    across = Pair("p", "d:1", (), Candidate("x", "hred", 0), Candidate("y", "seq2seq", 1))
    assert from_votes(["p", "q"], np.array([1.0, -1.0]), [across]) == []
