"""Planning in words, verdicts and the checklist: simulations with a known truth, and what is not to be claimed."""

import numpy as np
import pytest
from scipy.stats import f

from seedvote.analysis.questions.comparison.answer import (
    ComparedMethod,
    ComparisonAnswer,
    Generalisability,
    ordered,
    rank_spreads,
)
from seedvote.analysis.questions.comparison.verdicts import verdicts
from seedvote.analysis.report.answers import VotesAnswers, votes_answers
from seedvote.analysis.report.design import fill_checklist
from seedvote.analysis.report.findings import write_advice
from seedvote.analysis.stats.spread import sd_ratio, seed_spread
from seedvote.analysis.votes.scores.panel import Method
from seedvote.analysis.votes.scores.study_panels import compared_panels
from seedvote.analysis.votes.study import read_study
from tests.analysis.report_study import add_scores, add_votes
from tests.analysis.stats.test_seed_power import panel

NONE = VotesAnswers(None, None, None, ())


def test_the_ratio_of_two_sds_covers_the_truth():
    random = np.random.default_rng(2)
    inside = 0
    for _ in range(3000):
        found = sd_ratio(seed_spread(random.normal(0, 3, 4)), seed_spread(random.normal(0, 1, 6)))
        inside += found.low <= 3 <= found.high
    assert inside / 3000 == pytest.approx(0.95, abs=0.012)
    assert (
        sd_ratio(seed_spread([1.0]), seed_spread([1.0, 2.0])) is None
        and sd_ratio(seed_spread([1.0, 1.0]), seed_spread([1.0, 2.0])) is None
    )


def method(kind, name, values):
    seeds = tuple(range(len(values)))
    return Method(kind, name, "hred", "last", seeds, tuple(values), (1.0,) * len(values), 10)


def answered(*methods):
    """A comparison of these methods, for what may be claimed from it."""
    compared = tuple(ComparedMethod(None, one, None) for one in methods)
    return ComparisonAnswer(
        (), compared, (), rank_spreads(methods), (), (), (), (), (), 2.0, None, (), False, (), (), "methods"
    )


def test_seeds_are_told_apart_where_their_reliability_is_surely_above_zero():
    def one(kind, name, low):
        share = Generalisability(0.8, low, 0.9, 5.0, (2, 98))
        return ComparedMethod(None, method(kind, name, (0.0, 1.0, 2.0)), share)

    def said(*compared):
        answer = ComparisonAnswer((), compared, (), (), (), (), (), (), (), 2.0, None, (), False, (), (), "methods")
        return [sentence for sentence in verdicts(answer) if "differ" in sentence]

    (alone,) = said(one("people", "net preference", 0.0))
    assert alone == "By people, the seeds of hred are not shown to differ (E rho^2 0.80, 95 % interval 0.00 to 0.90)."
    (two,) = said(one("probe", "A", 0.2), one("probe", "B", 0.0))
    assert two.startswith("By probe, seeds differ in 1 of 2 cases, each a task on an architecture")
    assert (
        said(ComparedMethod(None, method("probe", "A", (1.0, 1.0)), Generalisability(np.nan, 0, 1, np.nan, (1, 9))))
        == []
    )


def test_spreads_are_ranked_if_their_ratio_excludes_one():
    person, near = method("people", "net preference", (0.0, 3.0, 6.0)), method("probe", "A", (0.0, 1.0, 2.0))
    said = verdicts(answered(person, near))
    assert said[0].startswith("Over 3 seeds of hred, people's SD is 3 times the SD of 1 other method (95 % interval")
    assert said[0].endswith("No method's SD is shown to differ from it.")
    assert f"{3 / np.sqrt(f.ppf(0.975, 2, 2)):.2g} to {3 * np.sqrt(f.ppf(0.975, 2, 2)):.2g}" in said[0]
    assert "the true SD may be 0.5 to 6.3 times as large" in said[1]
    far = method("probe", "B", (0.0, 0.01, 0.02))
    assert verdicts(answered(person, far))[0].endswith(". That is shown to be lower.")
    (three,) = rank_spreads([person, far, near, method("probe", "C", (0.0, 1.5, 3.0))])
    assert three.median == sd_ratio(person.over_seeds, near.over_seeds)
    said = verdicts(answered(person, far, near, method("probe", "C", (0.0, 1.5, 3.0))))[0]
    assert "people's SD is 3 times the median of 3 other methods" in said
    assert said.endswith(". One method is shown to be lower.")
    wide = method("probe", "D", (0.0, 900.0, 1800.0))
    said = verdicts(answered(person, far, near, wide))[0]
    assert said.endswith(". 2 of them are shown to differ, each tested by itself: 1 lower and 1 higher.")


def test_advice_names_votes_seeds_and_hours(tmp_path):
    study = read_study(add_scores(add_votes(tmp_path), models=("bilstm_attn", "hred")))
    said = write_advice(
        study,
        votes_answers(study, None, "auto").preference,
        compared_panels(study)[0],
        ordered(compared_panels(study)[0]),
    )
    assert "can show no net preference with power .80" in said[0] and "of rating" in said[0]
    assert any("6 more seeds would bring the 95 % interval of an SD below twice the SD." in s for s in said)


def test_advice_names_the_pay_where_hit_toml_does(tmp_path):
    study = add_scores(add_votes(tmp_path), models=("bilstm_attn", "hred"))
    (study / "hit.toml").write_text('pay_per_sitting = 10\npairs_per_sitting = 10\ncurrency = "GBP"\n')
    read = read_study(study)
    assert "takes 61 more votes (about 1 hour of rating, 61 GBP of pay)" in write_advice(
        read, votes_answers(read, None, "auto").preference, [], []
    )[0]  # fmt: skip


def test_single_seed_gets_no_advice_on_seeds(tmp_path):
    study = read_study(add_scores(tmp_path, seeds=1))
    assert write_advice(study, None, compared_panels(study)[0], ordered(compared_panels(study)[0])) == []


def test_checklist_separates_files_from_the_author(tmp_path):
    study = read_study(add_scores(add_votes(tmp_path)))
    asked = fill_checklist(study, votes_answers(study, None, "auto"), compared_panels(study)[0])
    answers = {one.what: one for one in asked}
    assert answers["Judgements per item"].answer == "3, 90 in all"
    assert answers["More than one training seed"].answer == "bilstm_attn: 3 seeds"
    assert not answers["Ethics review"].known and answers["Ethics review"].answer.startswith("For the author to add: ")
    assert not answers["Pay, and whether it is fair where raters live"].known
    (tmp_path / "hit.toml").write_text('question = "Which is kinder?"\npay_per_sitting = 2.5\n')
    again = {one.what: one for one in fill_checklist(read_study(tmp_path), NONE, [])}
    assert "Which is kinder?" in again["Which quality was judged, and how it was worded"].answer
    assert again["Pay, and whether it is fair where raters live"].answer == "2.5 USD a sitting"
    assert not again["Agreement, with its interval"].known


def test_without_votes_only_models_and_files_are_asked_about(tmp_path):
    study = read_study(add_scores(tmp_path))
    assert [one.what for one in fill_checklist(study, NONE, compared_panels(study)[0])] == [
        "More than one training seed",
        "Decoding of the responses",
        "Data and recipe to repeat it",
    ]


def advised(tmp_path, seed_sd, item_sd):
    """The advice on two architectures of four seeds each, judged on the same 50 items, one point apart."""
    random = np.random.default_rng(6)
    seeds = seed_sd * np.array([-1.3, -0.4, 0.4, 1.3])[:, None] / 1.13
    items = random.standard_normal((2, 1, 50))
    items = item_sd * (items - items.mean(2, keepdims=True)) / items.std()
    made = panel(np.array([1.0, 0.0])[:, None, None] + seeds + items + 0.01 * random.standard_normal((2, 4, 50)))
    return " ".join(write_advice(read_study(add_scores(tmp_path)), None, [made], ordered([made])))


def test_more_seeds_are_not_advised_where_the_doubt_comes_from_items(tmp_path):
    said = advised(tmp_path, seed_sd=0.05, item_sd=5.0)
    assert "By probe, the one order of two architectures could flip in a re-run." in said
    assert "1 needs 8.2 times the items: more seeds would not help, because all seeds share the items." in said
    assert "seeds per architecture" not in said


def test_seeds_are_advised_where_they_are_enough(tmp_path):
    said = advised(tmp_path, seed_sd=1.0, item_sd=0.05)
    assert "1 needs 17 seeds per architecture." in said and "items" not in said
