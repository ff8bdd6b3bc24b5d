"""People, metrics and probes on the same axes."""

import math

import numpy as np
import pyarrow as pa
import pytest

from seedvote.analysis.questions.comparison.answer import between_seeds
from seedvote.analysis.votes.scores.panel import methods
from seedvote.analysis.votes.scores.study_panels import compared_panels, people_panels
from seedvote.analysis.votes.scores.values import ratio
from seedvote.analysis.votes.study import study_of
from seedvote.analysis.votes.votes import votes_from_columns
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair

ROW = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "checkpoint": "last", "rater": "logistic"}


def panels_in(table):
    """The panels of a table of scores in memory."""
    return compared_panels(study_of([table.to_pydict()], None, []))[0]


def rows(seed, counts):
    for number, (tp, fp, fn) in enumerate(counts):
        place = {"item": f"d{number}:1", "cluster": f"d{number}", "condition": "", "score": 0.0, "seed": seed}
        yield ROW | place | {"stats": {"tp": float(tp), "fp": float(fp), "fn": float(fn)}}


def votes(names, net, raters=None, **more):
    """Votes of these net scores, one a pair's name."""
    choices = [{1.0: "a", -1.0: "b", 0.0: "tie"}[float(one)] for one in net]
    known = {} if raters is None else {"rater": [f"r{rater}" for rater in raters]}
    numbered = {"round": list(range(1, len(choices) + 1))}
    return votes_from_columns({"pair": list(names), "choice": choices, **numbered, **known, **more})


def pair(name, a, b, dialogue):
    return Pair(name, f"{dialogue}:1", (), Candidate("x", "hred", a), Candidate("y", "hred", b), dialogue=dialogue)


def test_probes_give_micro_f1_a_seed_in_points():
    table = pa.Table.from_pylist([*rows(0, [(1, 0, 1), (2, 1, 0)]), *rows(1, [(1, 0, 0), (2, 0, 0)])])
    (panel,) = panels_in(table)
    (method,) = methods(panel)
    assert method.seeds == (0, 1)
    assert method.values == pytest.approx((75.0, 100.0))
    assert method.over_seeds.sd == pytest.approx(25 / math.sqrt(2))
    assert method.items == 2


def token_row(row, **more):
    return row | {"evaluator": "token", "task": "bleu2", "score": 50.0, "stats": None} | more


def test_one_seed_has_no_spread_and_other_scores_are_averaged():
    (row,) = rows(0, [(0, 0, 0)])
    (alone,) = methods(panels_in(pa.Table.from_pylist([token_row(row)]))[0])
    assert not alone.several and math.isnan(alone.over_seeds.sd)
    both = pa.Table.from_pylist([token_row(row), token_row(row, seed=7)])
    assert panels_in(both)[0].values.tolist() == [50.0, 50.0]


def test_two_decodings_of_one_model_are_two_lines_that_name_them():
    (row,) = rows(0, [(0, 0, 0)])
    both = pa.Table.from_pylist([token_row(row, condition=way, seed=n) for way in ("greedy", "beam:5") for n in (0, 1)])
    labels = [method.shown.label for panel in panels_in(both) for method in methods(panel)]
    assert sorted(labels) == ["token metrics: BLEU-2, beam:5", "token metrics: BLEU-2, greedy"]


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
    assert [panel.name for panel in panels_in(pa.Table.from_pylist(found))] == ["bleu2"]


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
    (panel,) = people_panels(votes(names, net), [*pairs, pair("other", 0, 0, "d")])
    (method,) = methods(panel)
    assert method.seeds == (0, 3, 5)
    assert sum(method.values) == pytest.approx(0, abs=1e-9)
    for value, truth, error in zip(method.values, strength.values(), method.item_se, strict=True):
        assert abs(value - 100 * truth) < 3.5 * error
    assert method.sd_if_alike == pytest.approx(1.0, abs=0.3)


def test_strengths_across_architectures_sum_to_zero():
    sides = [(("hred", 0), ("hred", 1)), (("hred", 1), ("seq2seq", 0)), (("seq2seq", 0), ("hred", 0))]
    pairs = [
        Pair(f"p{n}", f"d{n}:1", (), Candidate("x", *a), Candidate("y", *b), dialogue=f"d{n}")
        for n in range(30)
        for a, b in [sides[n % 3]]
    ]
    net = np.array([(1.0, 1.0, -1.0)[n % 3] for n in range(30)])
    (panel,) = people_panels(votes([p.pair for p in pairs], net, np.arange(30) % 5), pairs)
    strength = dict(zip(panel.systems, panel.values, strict=True))
    assert sum(strength.values()) == pytest.approx(0, abs=1e-9)
    assert strength["hred", 0] > strength["hred", 1] > strength["seq2seq", 0]
    assert set(panel.covariance) == {"items", "raters", "both"} and panel.clusters == {"items": 30, "raters": 5}
    hred, other = methods(panel)
    assert hred.several and not other.several and len(hred.rater_se) == 2


def test_models_that_no_vote_connects_are_on_scales_of_their_own():
    pairs = [pair("p", 0, 1, "d0"), pair("q", 0, 1, "d1")]
    far = [Pair(n, f"{n}:1", (), Candidate("x", "far", 0), Candidate("y", "far", 1)) for n in ("r", "s")]
    panels = people_panels(votes("pqrs", [1.0, 1.0, -1.0, -1.0]), [*pairs, *far])
    assert [panel.models for panel in panels] == [("far",), ("hred",)]
    assert panels[0].values.tolist() == pytest.approx([-50, 50])


def test_votes_on_checks_and_on_one_model_alone_say_nothing():
    check = Pair("p", "d:1", (), Candidate("x", "hred", 0), Candidate("y", "seq2seq", 1), kind="check", answer="a")
    assert people_panels(votes("pqr", [1.0, -1.0, 0.0]), [check, pair("r", 0, 0, "d")]) == []


def test_covariance_of_strengths_is_that_of_refits():
    random = np.random.default_rng(7)
    pairs = [pair(f"p{n}", *random.choice(4, 2, replace=False).tolist(), f"d{n // 3}") for n in range(90)]
    rater, net = random.integers(0, 11, 90), random.integers(-1, 2, 90).astype(float)
    (panel,) = people_panels(votes([p.pair for p in pairs], net, rater), pairs)
    design = np.zeros((90, 4))
    for row, p in zip(design, pairs, strict=True):
        row[p.a.seed], row[p.b.seed] = 1, -1
    dialogue = np.arange(90) // 3

    def fit(kept):
        return np.linalg.pinv(design[kept].T @ design[kept]) @ design[kept].T @ net[kept]

    def jackknife(codes):
        moved = np.array([fit(codes != g) - fit(codes >= 0) for g in np.unique(codes)])
        return (1 - 1 / len(moved)) * moved.T @ moved * 1e4

    assert panel.covariance["items"] == pytest.approx(jackknife(dialogue))
    both = jackknife(dialogue) + jackknife(rater) - jackknife(dialogue * 100 + rater)
    assert panel.covariance["both"] == pytest.approx(both)


def test_a_system_that_one_cluster_alone_judged_moves_nobody_to_infinity():
    sides = [(0, 1), (1, 2), (2, 0)]
    pairs = [pair(f"p{n}", *(sides[n % 3] if n < 60 else (0, 3)), f"d{n // 2}") for n in range(62)]
    net = np.random.default_rng(0).integers(-1, 2, 62).astype(float)
    net[-2:] = 1.0
    (panel,) = people_panels(votes([p.pair for p in pairs], net, np.arange(62) % 9), pairs)
    assert np.abs(panel.covariance["both"]).max() < 1e4


def crowd(dialogues, sides=((0, 1), (1, 2), (2, 0))):
    """Three pairs of seeds a dialogue with two votes each, and the pairs; each dialogue favours one seed."""
    pairs = [pair(f"p{d}.{k}", a, b, f"d{d}") for d in range(dialogues) for k, (a, b) in enumerate(sides)]
    names = [p.pair for p in pairs for _ in range(2)]
    net = [float(p.a.seed == d % 3) - float(p.b.seed == d % 3) for d, p in
           ((int(p.dialogue[1:]), p) for p in pairs) for _ in range(2)]  # fmt: skip
    return names, net, pairs


def test_people_are_clustered_by_the_rule_of_all_commands():
    names, net, pairs = crowd(20)
    given = votes(names, net, np.arange(len(names)) % 9)
    (auto,) = people_panels(given, pairs)
    assert auto.unit == "dialogue+rater" and auto.clusters == {"items": 20, "raters": 9}
    assert auto.replicates.clusters["items"] == pytest.approx(20)
    (by_pair,) = people_panels(given, pairs, "pair+rater")
    assert by_pair.unit == "pair+rater" and by_pair.clusters == {"items": 60, "raters": 9}
    # Votes on one dialogue agree, so pairs taken for independent are too sure.
    assert methods(auto)[0].item_se[0] > methods(by_pair)[0].item_se[0]
    (by_rater,) = people_panels(given, pairs, "rater")
    (alone,) = methods(by_rater)
    assert set(by_rater.covariance) == {"raters", "both"} and alone.item_se == () and len(alone.rater_se) == 3
    (none,) = people_panels(given, pairs, "vote")
    assert none.unit == "vote" and none.clusters == {"items": 120}


def test_single_pairs_are_clustered_by_pair():
    names, net, pairs = crowd(20, sides=((0, 1),))
    (panel,) = people_panels(votes(names, net, np.arange(40) % 7), pairs)
    assert panel.unit == "pair+rater"
    with pytest.raises(InputError, match="no rater column"):
        people_panels(votes(names, net), pairs, "dialogue+rater")


def test_raters_of_unequal_work_count_as_fewer():
    names, net, pairs = crowd(20)
    rater = np.where(np.arange(120) < 100, 0, np.arange(120))
    (panel,) = people_panels(votes(names, net, rater), pairs)
    assert panel.clusters["raters"] == 21
    assert panel.replicates.clusters["raters"] == pytest.approx(120**2 / (100**2 + 20))


def test_ring_is_the_noise_between_seeds():
    """Dialogues of unequal difficulty move all seeds together: large errors of items, a small ring."""
    random = np.random.default_rng(0)
    hard, table = random.random(60), []
    for seed in range(4):
        hits = random.random((60, 5)) < hard[:, None]
        table += [
            ROW | {"item": f"d{d}:{k}", "cluster": f"d{d}", "condition": "", "score": float(hits[d, k]), "seed": seed,
                   "stats": None}
            for d in range(60) for k in range(5)
        ]  # fmt: skip
    (panel,) = panels_in(pa.Table.from_pylist(table))
    (method,) = methods(panel)
    between = np.sqrt(1e4 * np.mean(hard * (1 - hard)) / 300)
    assert method.sd_if_alike == pytest.approx(between, rel=0.15)
    assert min(method.item_se) > 1.4 * method.sd_if_alike


def study_of_seeds_alike(random, *, dialogues, raters, uneven):
    """Votes between three seeds that do not differ; a response may be better, and raters have tastes of their own."""
    sides = [(0, 1), (1, 2), (2, 0)]
    pairs = [pair(f"p{d}.{k}", a, b, f"d{d}") for d in range(dialogues) for k, (a, b) in enumerate(sides)]
    work = random.pareto(1.5, raters) + 0.1 if uneven else np.ones(raters)
    place = np.repeat(np.arange(len(pairs)), 3)
    rater = random.choice(raters, len(place), p=work / work.sum())
    a, b = np.array(sides)[place % 3].T
    better, taste = 0.7 * random.standard_normal((dialogues, 3)), 0.5 * random.standard_normal((raters, 3))
    felt = better[place // 3, a] - better[place // 3, b] + taste[rater, a] - taste[rater, b]
    felt += random.logistic(size=len(place))
    net = np.where(np.abs(felt) < 0.8, 0.0, np.sign(felt))
    return votes([f"p{k // 3}.{k % 3}" for k in place], net, rater, dialogue=[f"d{k // 3}" for k in place]), pairs


@pytest.mark.parametrize(
    ("raters", "uneven", "studies"),
    [
        (20, True, 40),
        *(pytest.param(*one, 600, marks=pytest.mark.slow) for one in ((8, False), (20, False), (20, True))),
    ],
)
def test_people_seldom_tell_seeds_apart_that_are_alike(raters, uneven, studies):
    """The claim of E rho^2 at .025, with dialogues and raters drawn anew, whoever gave most of the votes."""
    random, claimed, squares, rings = np.random.default_rng(raters), 0, [], []
    for _ in range(studies):
        (panel,) = people_panels(*study_of_seeds_alike(random, dialogues=40, raters=raters, uneven=uneven))
        (method,), found = methods(panel), between_seeds(panel, "hred")
        claimed += found is not None and found.low > 0
        squares.append(method.over_seeds.sd**2)
        rings.append(method.sd_if_alike**2)
    print(raters, uneven, claimed / studies, np.mean(squares) / np.mean(rings))
    assert claimed / studies < 0.025 + 3 * np.sqrt(0.025 / studies)
    assert 0.6 < np.mean(squares) / np.mean(rings) < 1.0 + 3 / np.sqrt(studies)
