"""Planning: the figures that the paper's study could have known beforehand, other packages, and simulated studies."""

import json

import numpy as np
import pytest
from scipy.stats import binom, t
from statsmodels.stats.power import TTestIndPower, ttest_power

from seedvote.analysis import notebook
from seedvote.analysis.__main__ import COMMANDS
from seedvote.analysis.stats import power as planning
from seedvote.analysis.stats import seed_power
from seedvote.analysis.stats.intervals import mean_interval, robust_variance
from seedvote.analysis.stats.net_preference import net_estimate, tost
from seedvote.analysis.stats.power import Assumptions, smallest_shown, votes_to_show
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch

PAPER = Assumptions(0.35)


def test_what_two_hundred_votes_can_tell():
    assert round(planning.smallest_difference(200, PAPER), 2) == 0.16
    assert round(planning.smallest_margin(200, PAPER), 3) == 0.166
    assert round(planning.power_of_share(0.35, 200), 2) == 0.07
    assert planning.votes_for_difference(planning.smallest_difference(200, PAPER), PAPER) in (200, 201)
    assert planning.votes_for_margin(planning.smallest_margin(200, PAPER), PAPER) in (200, 201)


def test_design_effects_of_the_papers_study():
    assert [round(Assumptions(0.35, per_rater=11.8, rater_icc=icc).design_effect, 1) for icc in (0.1, 0.2, 0.3)] == [
        2.1,
        3.2,
        4.2,
    ]
    assert Assumptions(0.35, per_pair=3, pair_icc=0.3).design_effect == pytest.approx(1.6)
    ten = Assumptions(0.35, per_pair=3, pair_icc=0.3, per_dialogue=10, dialogue_icc=0.1)
    assert ten.design_effect == pytest.approx(1 + 2 * 0.3 + 27 * 0.1)
    assert ten.clusters(600) == 20


def test_uneven_work_makes_fewer_clusters_and_a_larger_design_effect():
    """Two kinds of raters, half of them with 3 votes and half with 21: mean 12, SD 9."""
    sizes = np.repeat([3.0, 21.0], 50)
    crowd = Assumptions(0.35, per_rater=12, rater_icc=0.1, rater_cv=9 / 12)
    assert crowd.rater_size == pytest.approx((sizes**2).sum() / sizes.sum())
    assert crowd.clusters(sizes.sum()) == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())


def test_power_equals_statsmodels():
    """Ours is there for TOST, for which statsmodels has none, and where its noncentral t is not a number."""
    for ratio, freedom, alpha in ((1.5, 24, 0.05), (3.2, 14, 0.05), (3.5, 5, 0.01), (1.1, 199, 0.1)):
        theirs = ttest_power(ratio / np.sqrt(100), 100, alpha, df=freedom)
        assert planning.t_power(ratio, freedom, alpha=alpha) == pytest.approx(theirs, abs=1e-5)
    for seeds in (2, 5, 17):
        theirs = TTestIndPower().power(1.0, seeds, 0.05)
        assert seed_power.power_of_seeds(1.0, seeds) == pytest.approx(theirs, abs=1e-5)
    assert np.isnan(ttest_power(40 / 7, 49, 0.05, df=9)) and planning.t_power(40, 9) == pytest.approx(1)
    assert seed_power.seeds_for_difference(2.0, 2.0) == 17


@pytest.mark.parametrize("net", [0.02, 0.1, 0.25])
def test_independent_votes_have_the_power_of_the_t_test(net):
    """Where the difference is small that is statsmodels'; beyond, a plain simulation."""
    power, votes = planning.power_for_difference(net, 150, PAPER), 150
    theirs = ttest_power(net / np.sqrt(PAPER.variance(net)), votes, 0.05)
    assert power == pytest.approx(theirs, abs=0.005 if net < 0.1 else 0.02)
    drawn = np.random.default_rng(0).multinomial(votes, [0.325 + net / 2, 0.325 - net / 2, 0.35], 40_000) / votes
    seen = drawn[:, 0] - drawn[:, 1]
    error = np.sqrt((drawn[:, 0] + drawn[:, 1] - seen**2) / (votes - 1))
    assert power == pytest.approx(np.mean(np.abs(seen) > t.ppf(0.975, votes - 1) * error), abs=0.008)


def test_the_law_of_an_error_by_two_ways_is_that_of_simulated_variances():
    """Three votes a pair and twelve a rater, every effect normal: the interval's own variance, drawn 2,000 times."""
    crowd, generator = Assumptions(0.35, 3, 12, pair_icc=0.2, rater_icc=0.05), np.random.default_rng(1)
    pair, found = np.repeat(np.arange(60), 3), []
    for _ in range(2000):
        rater = np.concatenate([generator.permutation(15) for _ in range(12)])
        parts = generator.normal(0, 0.2**0.5, 60)[pair] + generator.normal(0, 0.05**0.5, 15)[rater]
        score = parts + generator.normal(0, 0.75**0.5, 180)
        found.append(robust_variance(score, by={"pair": pair, "rater": rater}, at_least_one_way=True))
    law = crowd.error_law(180)
    errors, weights = law.errors, law.weights
    true = crowd.design_effect / 180
    assert weights.sum() == pytest.approx(1)
    assert weights @ errors**2 == pytest.approx(np.mean(found) / true, abs=0.03)
    assert weights @ errors == pytest.approx(np.mean(np.sqrt(found)) / np.sqrt(true), abs=0.02)
    shown = np.sqrt(weights @ errors**2 - (weights @ errors) ** 2)
    assert shown == pytest.approx(np.std(np.sqrt(found)) / np.sqrt(true), rel=0.1)


def test_the_exact_power_of_a_share_is_the_sum_over_the_rejecting_counts():
    rejected = [k for k in range(51) if 2 * min(binom.cdf(k, 50, 1 / 3), binom.sf(k - 1, 50, 1 / 3)) <= 0.05]
    assert planning.power_of_share(0.6, 50) == pytest.approx(sum(binom.pmf(k, 50, 0.6) for k in rejected))
    assert planning.power_of_share(1 / 3, 50) <= 0.05


@pytest.mark.slow
def test_simulated_studies_of_the_planned_size_have_the_planned_power():
    generator = np.random.default_rng(0)
    votes = generator.choice([1.0, -1.0, 0.0], (4000, 200), p=[0.405, 0.245, 0.35])
    z = votes.mean(1) / (votes.std(1, ddof=1) / np.sqrt(200))
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.03)
    equal = generator.choice([1.0, -1.0, 0.0], (4000, 200), p=[0.325, 0.325, 0.35])
    alike = [tost(net_estimate(row, by={}), 0.167).equivalent for row in equal]
    assert np.mean(alike) == pytest.approx(0.8, abs=0.03)


def test_peeking_costs_votes_at_most_but_saves_them_on_average():
    peek = planning.plan_anytime(0.16, PAPER, generator=np.random.default_rng(0))
    assert 194 < peek.mean + 20 < peek.most < 400
    assert peek.power == pytest.approx(0.8, abs=0.01)
    few = Assumptions(0.35, per_rater=60)  # ten raters must come before anything is decided
    assert planning.plan_anytime(0.9 * 0.65, few, generator=np.random.default_rng(0)).most >= 600


@pytest.mark.parametrize("crowd", [PAPER, Assumptions(0.35), Assumptions(0.2, per_rater=30, rater_icc=0.1)])
def test_asking_a_few_looks_first_changes_no_price(monkeypatch, crowd):
    found = []
    for coarse in (1, planning.COARSE, 200):  # 1: every look at once; 200: the last one first
        monkeypatch.setattr(planning, "COARSE", coarse)
        found.append(planning.plan_anytime(0.2, crowd, generator=np.random.default_rng(3), studies=600))
    assert found[0] == found[1] == found[2]


def test_questions_without_an_answer_are_refused():
    for call in (
        lambda: planning.votes_for_difference(0, PAPER),
        lambda: planning.votes_for_margin(-0.1, PAPER),
        lambda: seed_power.seeds_for_difference(0.0001, 1),
    ):
        with pytest.raises(InputError):
            call()


def plan(capsys, *words):
    assert dispatch("analysis", "", COMMANDS, ["plan", *map(str, words)]) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("hasty")
def test_the_command_from_assumptions(capsys, tmp_path):
    words = ("--price", 0.1, "--seed-sd", 0.8, "--figure", tmp_path / "power")
    found = json.loads(plan(capsys, *words, "--json", "-"))
    assert round(found["study"]["difference"], 2) == 0.16
    assert round(found["study"]["margin"], 3) == 0.166
    assert round(found["study"]["chance_power"], 2) == 0.07
    middle = found["difference"][2]
    assert middle["money"] == pytest.approx(middle["votes_clustered"] * 0.12)
    assert [row["seeds"] for row in found["seeds"]] == [64, 17, 6, 4]
    assert (tmp_path / "power.png").exists() and (tmp_path / "power-stopping.png").exists()
    shown = plan(capsys)
    assert "dollars" not in shown
    assert "200 votes have the error of 74 independent votes, known from 16.7 effective clusters." in shown
    assert shown.endswith("Next: python -m crowd plan-checks\n")


def test_votes_without_any_spread_are_no_plan(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,choice\n" + "".join(f"p{k},tie\n" for k in range(60)))
    with pytest.raises(InputError, match="All votes are ties"):
        plan(capsys, path)
    path.write_text("pair,choice\np0,a\n")
    with pytest.raises(InputError, match="One vote shows no spread"):
        plan(capsys, path)


@pytest.mark.usefixtures("hasty")
def test_plan_says_when_rater_spread_is_unknown(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,rater,choice\n" + "".join(f"p{k},r,{'ab'[k % 2]}\n" for k in range(60)))
    assert "all from one rater" in plan(capsys, path)


@pytest.mark.parametrize(
    "words",
    [
        ("--ties", 1), ("--ties", -1), ("--power", 2), ("--power", 0), ("--alpha", 0), ("--per-pair", 0), ("--size", 0),
        ("--rater-icc", -3), ("--rater-cv", -1), ("--per-dialogue", 0), ("--dialogue-icc", 1),
        ("--price", -1), ("--difference", "nan"), ("--difference", 2), ("--seed-sd", 0),
    ],
)  # fmt: skip
def test_a_number_out_of_its_range_is_refused_by_its_name(capsys, words):
    with pytest.raises(InputError, match=f"^{words[0]} is {words[1]}; it must be at least"):
        plan(capsys, *words)


@pytest.mark.usefixtures("hasty")
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


def test_the_votes_asked_for_show_the_difference_they_promise():
    random = np.random.default_rng(1)
    net = mean_interval(random.choice([-1.0, 0.0, 1.0], 300, p=[0.3, 0.3, 0.4]), by={"pair": np.arange(300) // 3})
    more = votes_to_show(net, 0.1)
    times = 1 + more / net.n
    assert smallest_shown(net, times) <= 0.1 < smallest_shown(net, times - 0.06)
    assert votes_to_show(net, 1.9) == 0 and votes_to_show(net, 1e-4) is None


@pytest.mark.usefixtures("hasty")
def test_impossible_difference_is_said_beside_the_plan(capsys, tmp_path):
    shown = plan(capsys, "--ties", 0.95, "--figure", tmp_path / "power")
    assert "No net preference reaches 0.16 with 95.0 % ties: the most is 0.050. Ask for a smaller" in shown
    assert "Votes needed to show a difference" not in shown
    assert "Votes needed to show that two systems are equivalent" in shown
    assert (tmp_path / "power-stopping.png").exists()
    shown = plan(capsys, "--ties", 0.9)  # half the difference has room
    assert "No net preference reaches 0.16" in shown and "Votes needed to show a difference" in shown


def test_a_plan_that_nearly_all_votes_tie_asks_for_enough_raters_to_say_so():
    """With all votes tied there is no error, and only the number of raters speaks: (1 - margin)^raters <= .05."""
    crowd = Assumptions(0.998, per_rater=30)
    votes = planning.votes_for_margin(0.2, crowd)
    assert crowd.clusters(votes) >= np.log(0.05) / np.log(0.8) - 1e-9


@pytest.mark.usefixtures("hasty")
def test_votes_are_worth_the_same_number_of_independent_votes_everywhere(tmp_path):
    generator = np.random.default_rng(2)
    lean = generator.normal(0, 0.5, 30)
    rows = [(f"d{k // 12}", f"p{k // 3}", r := int(generator.integers(30)), lean[r]) for k in range(480)]
    choices = ["tie" if generator.random() < 0.3 else "ab"[int(generator.random() > 0.5 + one / 2)] for *_, one in rows]
    path = tmp_path / "votes.csv"
    lines = (f"{d},{p},r{r},{choice},1" for (d, p, r, _), choice in zip(rows, choices, strict=True))
    path.write_text("dialogue,pair,rater,choice,round\n" + "\n".join(lines) + "\n")
    for clusters in ("auto", "pair+rater", "rater", "vote"):
        net = notebook.preference(path, clusters=clusters).document["net"]
        planned = notebook.plan(path, size=480, clusters=clusters).document
        assert planned["study"]["effective_votes"] == pytest.approx(net["effective_n"])
        assert planned["assumptions"]["design_effect"] == pytest.approx(max(net["design_effect"], 1))
    assert planned["study"]["clusters"] == 480


@pytest.mark.usefixtures("hasty")
def test_votes_that_are_all_the_same_are_worth_no_more_than_their_raters(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("pair,rater,choice\n" + "".join(f"p{k // 3},r{(k * 7) % 20},a\n" for k in range(600)))
    assert notebook.plan(path, size=600).document["study"]["effective_votes"] == pytest.approx(20)
    assert notebook.preference(path).document["net"]["effective_n"] == pytest.approx(20)
