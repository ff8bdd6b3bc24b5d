"""Planning: the figures that the paper's study could have known beforehand, other packages, and simulated studies."""

import doctest
import json

import numpy as np
import pytest
from scipy.stats import binom, ttest_ind
from statsmodels.stats.power import NormalIndPower, TTestIndPower

from analysis import notebook
from analysis.__main__ import COMMANDS
from analysis.stats import power as planning
from analysis.stats.equivalence import tost
from analysis.stats.intervals import mean_interval
from analysis.stats.power import Assumptions, smallest_shown, votes_or_seeds, votes_to_show
from dialogue.command_line import dispatch
from dialogue.errors import InputError

PAPER = Assumptions(0.35)


def test_what_two_hundred_votes_can_tell():
    assert round(planning.smallest_difference(200, PAPER), 2) == 0.16
    assert round(planning.smallest_margin(200, PAPER), 3) == 0.167
    assert round(planning.power_of_share(0.35, 200), 2) == 0.07
    assert planning.votes_for_difference(0.16, PAPER) == 200
    assert planning.votes_for_margin(0.167, PAPER) == 200


def test_design_effects_of_the_papers_study():
    assert [round(Assumptions(0.35, per_rater=11.8, rater_icc=icc).design_effect, 1) for icc in (0.1, 0.2, 0.3)] == [
        2.1,
        3.2,
        4.2,
    ]
    assert Assumptions(0.35, per_pair=3, pair_icc=0.3).design_effect == pytest.approx(1.6)
    clustered = Assumptions(0.35, per_pair=3, pair_icc=0.3)
    assert planning.votes_for_difference(0.16, clustered) == pytest.approx(1.6 * 200, abs=2)


def test_power_equals_statsmodels():
    ours = planning.power_for_difference(0.1, 500, PAPER)
    effect = 0.1 / np.sqrt(PAPER.variance)
    assert ours == pytest.approx(NormalIndPower(ddof=0).power(effect, 500, 0.05, ratio=0))
    for seeds in (2, 5, 17):
        assert planning.power_of_seeds(1.0, seeds) == pytest.approx(TTestIndPower().power(1.0, seeds, 0.05), abs=1e-9)
    assert planning.seeds_for_difference(2.0, 2.0) == 17


def test_the_number_of_seeds_is_the_first_that_reaches_the_power():
    for effect in (*np.geomspace(0.2, 50, 40), 500.0):
        seeds = planning.seeds_for_difference(effect, 1.0)
        assert planning.power_of_seeds(effect, seeds) >= 0.8
        assert seeds == 2 or planning.power_of_seeds(effect, seeds - 1) < 0.8


def test_the_exact_power_of_a_share_is_the_sum_over_the_rejecting_counts():
    rejected = [k for k in range(51) if 2 * min(binom.cdf(k, 50, 1 / 3), binom.sf(k - 1, 50, 1 / 3)) <= 0.05]
    assert planning.power_of_share(0.6, 50) == pytest.approx(sum(binom.pmf(k, 50, 0.6) for k in rejected))
    assert planning.power_of_share(1 / 3, 50) <= 0.05


def test_simulated_studies_of_the_planned_size_have_the_planned_power():
    generator = np.random.default_rng(0)
    votes = generator.choice([1.0, -1.0, 0.0], (4000, 200), p=[0.405, 0.245, 0.35])
    z = votes.mean(1) / (votes.std(1, ddof=1) / np.sqrt(200))
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.03)
    equal = generator.choice([1.0, -1.0, 0.0], (4000, 200), p=[0.325, 0.325, 0.35])
    alike = [tost(row.mean(), row.std(ddof=1) / np.sqrt(200), 0.167).equivalent for row in equal]
    assert np.mean(alike) == pytest.approx(0.8, abs=0.03)


def test_simulated_seeds_have_the_planned_power():
    generator = np.random.default_rng(1)
    one, other = generator.normal(1.5, 1, (4000, 9)), generator.normal(0, 1, (4000, 9))
    assert np.mean(ttest_ind(one, other, axis=1).pvalue < 0.05) == pytest.approx(
        planning.power_of_seeds(1.5, 9), abs=0.02
    )


def test_peeking_costs_votes_at_most_but_saves_them_on_average():
    peek = planning.anytime(0.16, PAPER, generator=np.random.default_rng(0))
    assert 200 < peek.mean + 20 < peek.most < 400
    assert peek.power == pytest.approx(0.8, abs=0.01)


def test_questions_without_an_answer_are_refused():
    for call in (
        lambda: planning.votes_for_difference(0, PAPER),
        lambda: planning.votes_for_margin(-0.1, PAPER),
        lambda: planning.seeds_for_difference(0.0001, 1),
    ):
        with pytest.raises(InputError):
            call()


def plan(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, ["plan", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_the_command_from_assumptions(capsys, tmp_path):
    words = ("--price", 0.1, "--seed-sd", 0.8, "--figure", tmp_path / "power")
    found = json.loads(plan(capsys, *words, "--json", "-"))
    assert round(found["study"]["difference"], 2) == 0.16
    assert round(found["study"]["margin"], 3) == 0.167
    assert round(found["study"]["chance_power"], 2) == 0.07
    middle = found["difference"][2]
    assert middle["money"] == pytest.approx(middle["votes_clustered"] * 0.12)
    assert [row["seeds"] for row in found["seeds"]] == [64, 17, 6, 4]
    assert (tmp_path / "power.png").stat().st_size > 5000
    assert (tmp_path / "power-stopping.png").stat().st_size > 5000
    shown = plan(capsys)
    assert "dollars" not in shown
    assert "200 votes are worth 74 independent votes" in shown
    assert shown.endswith("Next: python -m crowd plan-checks\n")


def growing_study(path, votes, net):
    generator = np.random.default_rng(0)
    rows = []
    for k in range(votes):
        choice = generator.choice(["a", "b", "tie"], p=[0.325 + net / 2, 0.325 - net / 2, 0.35])
        rows.append(f"p{k // 3},r{(k * 7) % 41},{choice}\n")
    path.write_text("pair,rater,choice\n" + "".join(rows))
    return path


@pytest.mark.parametrize(
    ("votes", "net", "margin", "words"),
    [
        (30, 0.0, 0.1, "go on (10 clusters so far"),
        (600, 0.0, 0.02, "go on (neither"),
        (900, 0.5, 0.1, "stop (a is preferred"),
        (3000, 0.0, 0.3, "stop (the two are equivalent within 0.3"),
    ],
)
def test_the_command_says_whether_a_running_study_may_stop(capsys, tmp_path, votes, net, margin, words):
    shown = plan(capsys, growing_study(tmp_path / "votes.csv", votes, net), "--margin", margin)
    assert words in shown
    assert f"measured on {votes} votes" in shown


def test_a_running_study_is_not_called_alike_against_a_margin_that_nobody_stated(capsys, tmp_path):
    assert "go on (no difference yet" in plan(capsys, growing_study(tmp_path / "votes.csv", 3000, 0.0))


def test_votes_without_any_spread_are_no_plan(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice\n" + "".join(f"p{k},tie\n" for k in range(60)))
    with pytest.raises(InputError, match="All votes are ties"):
        plan(capsys, path)
    path.write_text("pair,choice\np0,a\n")
    with pytest.raises(InputError, match="One vote shows no spread"):
        plan(capsys, path)
    path.write_text("pair,rater,choice\n" + "".join(f"p{k // 2},r{k % 20},a\n" for k in range(120)))
    assert "all votes of this comparison are the same" in plan(capsys, path)


def test_a_single_rater_is_said_where_the_votes_cannot_show_how_alike_raters_are(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,rater,choice\n" + "".join(f"p{k},r,{'ab'[k % 2]}\n" for k in range(60)))
    assert "all from one rater" in plan(capsys, path)


@pytest.mark.parametrize(
    "words",
    [
        ("--ties", 1), ("--ties", -1), ("--power", 2), ("--power", 0), ("--alpha", 0), ("--per-pair", 0), ("--size", 0),
        ("--rater-icc", -3), ("--price", -1), ("--difference", "nan"), ("--difference", 2), ("--seed-sd", 0),
    ],
)  # fmt: skip
def test_a_number_out_of_its_range_is_refused_by_its_name(capsys, words):
    with pytest.raises(InputError, match=f"^{words[0]} is {words[1]}; it must be at least"):
        plan(capsys, *words)


def test_votes_that_nothing_ties_together_have_a_design_effect_of_one(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice\n" + "".join(f"p{k},{'ab'[k % 2]}\n" for k in range(60)))
    found = json.loads(plan(capsys, path, "--json", "-"))
    assert found["assumptions"]["design_effect"] == 1
    assert "raters not named, so each vote" in found["assumptions"]["source"]


@pytest.mark.parametrize(
    ("margin", "sentence"),
    [
        (16.7, "--margin is 16.7; it is a net preference between 0 and 1. For 16.7 points write --margin 0.167."),
        (1, "--margin is 1; it is a net preference between 0 and 1. For 1 point write --margin 0.01."),
        (0, "--margin is 0; it is a net preference between 0 and 1."),
        (500, "--margin is 500; it is a net preference between 0 and 1."),
        (float("nan"), "--margin is nan; it is a net preference between 0 and 1."),
    ],
)
def test_a_margin_in_points_is_refused_with_the_share_to_write(capsys, margin, sentence):
    with pytest.raises(InputError) as refused:
        plan(capsys, "--margin", margin)
    assert str(refused.value) == sentence
    with pytest.raises(InputError, match="it is a net preference between 0 and 1"):
        notebook.plan(margin=margin)


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


def test_the_votes_asked_for_show_the_difference_they_promise():
    random = np.random.default_rng(1)
    net = mean_interval(random.choice([-1.0, 0.0, 1.0], 300, p=[0.3, 0.3, 0.4]), by={"pair": np.arange(300) // 3})
    more = votes_to_show(net, 0.1)
    times = 1 + more / net.n
    assert smallest_shown(net, times) <= 0.1 < smallest_shown(net, times - 0.06)
    assert votes_to_show(net, 1.9) == 0 and votes_to_show(net, 1e-4) is None


def test_examples_in_the_docstrings():
    found = doctest.testmod(planning)
    assert found.attempted >= 2 and found.failed == 0
