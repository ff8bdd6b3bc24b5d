"""Plans with a judge: by hand, at the ends, by the crowd's own raters, and what is refused."""

import pytest

from seedvote.analysis.notebook import plan
from seedvote.analysis.questions.planning.answer import Helper, add_judge, answer
from seedvote.analysis.stats.power import Assumptions
from seedvote.dialogue.errors import InputError

pytestmark = pytest.mark.usefixtures("hasty_throughout")


def test_the_gain_by_hand():
    helper = Helper(0.5, 300, 0.2)
    assert helper.gain(100) == pytest.approx(1 / (0.2 + 0.8 * (1 - 0.25 * 0.75)))
    assert helper.gain(0) == pytest.approx(1 / (0.2 + 0.8 * 0.75))


def test_fewest_votes_reach_the_requested_error():
    crowd, helper = Assumptions(0.35, per_pair=3), Helper(0.7, 1000, 0.0)
    row = add_judge("difference", 0.16, 500, crowd, helper)
    assert row.with_judge * helper.gain(row.with_judge / 3) >= 500
    assert (row.with_judge - 1) * helper.gain((row.with_judge - 1) / 3) < 500
    assert row.gain == pytest.approx(helper.gain(row.with_judge / 3))


def test_uncorrelated_judge_spares_no_vote():
    crowd = Assumptions(0.35, per_pair=3)
    none = add_judge("margin", 0.2, 500, crowd, Helper(0.0, 1000, 0.0))
    assert (none.with_judge, none.gain) == (500, 1)
    one, other = (add_judge("margin", 0.2, 500, crowd, Helper(way * 0.6, 1000, 0.0)).with_judge for way in (1, -1))
    assert one == other < 500


def test_the_raters_share_is_that_of_the_crowd_where_none_is_given():
    crowd = Assumptions(0.35, per_pair=3, per_rater=12, pair_icc=0.3, rater_icc=0.1)
    assert crowd.design_effect == pytest.approx(2.7)
    given, unknown = (
        answer(assumed=crowd, judge_correlation=0.4, unlabelled=10, rater_share=share).helper for share in (0.0, None)
    )
    assert given.rater_share == 0 and unknown.rater_share == pytest.approx(1.1 / 2.7)
    measured = Assumptions(0.35, per_pair=3, per_rater=12, pair_icc=0.3, rater_icc=0.1, effect=2.0)
    assert measured.rater_share == pytest.approx(1.1 / 1.7 / 2)
    assert Assumptions(0.35, effect=0.8).rater_share == 0


def test_plan_gives_votes_with_and_without_a_judge():
    found = plan(judge_correlation=0.37, unlabelled=1000, rater_share=0.2)
    judge = found.document["judge"]
    assert [row["shows"] for row in judge["rows"]] == ["difference"] * 5 + ["margin"] * 5
    for row, without in zip(judge["rows"][:5], found.document["difference"], strict=True):
        assert row["votes"] == without["votes_clustered"] > row["with_judge"]
    assert "Raters make 20 % of the variance, which no judge lowers" in repr(found)
    assert "judge:0.37*1000" in found.document["signature"]
    assert plan().document["judge"] is None
    assert "judge:" not in plan().document["signature"]


def test_the_price_of_verdicts_stands_beside_that_of_votes():
    found = plan(judge_correlation=0.5, unlabelled=1000, rater_share=0.0, price=0.5, fee=0.2, verdict_price=0.01)
    for row in found.document["judge"]["rows"]:
        assert row["money"] == pytest.approx(row["votes"] * 0.6)
        assert row["verdicts"] == pytest.approx(0.01 * (1000 + row["with_judge"] / 3))
        assert row["money_with_judge"] == pytest.approx(row["with_judge"] * 0.6 + row["verdicts"])
    assert "costs less in every row" in repr(found)
    dear = plan(judge_correlation=0.5, unlabelled=1000, rater_share=0.0, price=0.5, verdict_price=1)
    assert "the study costs no less in any row: plan without the judge" in repr(dear)
    some = plan(judge_correlation=0.5, unlabelled=1000, rater_share=0.0, price=0.5, verdict_price=0.05)
    assert "costs less in" in repr(some) and "of 10 rows" in repr(some)
    free = plan(judge_correlation=0.5, unlabelled=1000, price=0.5)
    assert all(row["money_with_judge"] is None for row in free.document["judge"]["rows"])


def test_a_correlation_that_costs_more_than_it_brings_is_said():
    assert "With 139 votes a correlation under 0.15 makes the estimate worse" in repr(
        plan(judge_correlation=0.05, unlabelled=1000, rater_share=0.0)
    )
    assert "worse" not in repr(plan(judge_correlation=0.5, unlabelled=1000))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"judge_correlation": 0.4}, "needs both --judge-correlation R and --unlabelled N"),
        ({"unlabelled": 10}, "needs both"),
        ({"rater_share": 0.2}, "--rater-share is about a judge"),
        ({"price": 1, "verdict_price": 1}, "--verdict-price is about a judge"),
        ({"judge_correlation": 0.4, "unlabelled": 9, "verdict_price": 1}, "give their --price DOLLARS too"),
        ({"judge_correlation": 1, "unlabelled": 10}, "--judge-correlation is 1"),
        ({"judge_correlation": float("nan"), "unlabelled": 10}, "--judge-correlation is nan"),
        ({"judge_correlation": 0.4, "unlabelled": 0}, "--unlabelled is 0"),
        ({"judge_correlation": 0.4, "unlabelled": 10, "rater_share": 1}, "--rater-share is 1"),
    ],
)
def test_half_a_judge_and_numbers_out_of_range_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        plan(**words)
