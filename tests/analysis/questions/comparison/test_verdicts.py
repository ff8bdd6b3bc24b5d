"""Odd score tables: nothing varies, one item, nothing is left, shares above 1. What is said of them is true."""

import pytest

from seedvote.analysis.notebook import compare, variance
from seedvote.analysis.questions.comparison.answer import answer
from seedvote.analysis.questions.comparison.verdicts import verdicts
from seedvote.analysis.votes.scores.study_panels import shortened
from seedvote.analysis.votes.study import read_study
from seedvote.dialogue.cards import LONGEST, Card, TaskCard
from seedvote.dialogue.errors import InputError
from tests.analysis.evaluators_study import card, rows, write


def compared(path, table, cards=None):
    return answer(read_study(write(path / "mine.parquet", table, cards)))


def test_no_order_is_claimed_where_nothing_varies(tmp_path):
    found = compared(tmp_path, [row | {"score": 0.5} for row in rows("mine")], {"mine": card()})
    assert found.orders[0].order.sign == "="
    told = " ".join(verdicts(found))
    assert "the values do not vary, so the effect of new seeds on their order is unknown" in told
    assert "one seed" not in told.lower()
    with pytest.raises(InputError, match=r"whose variance can be taken apart\. .*its scores are all the same"):
        variance(tmp_path)


def test_one_item_leaves_the_seeds_to_speak(tmp_path):
    one = [row for row in rows("mine") if row["item"] == "d0:0"]
    told = " ".join(verdicts(compared(tmp_path, one, {"mine": card()})))
    assert "so the effect of new items on their order is unknown. The chance that it is reversed: new seeds" in told


def test_an_architecture_of_one_seed_beside_others_is_not_said_of_all(tmp_path):
    some = [row for row in rows("mine") if row["model"] == "good" or row["seed"] == 0]
    told = " ".join(verdicts(compared(tmp_path, some, {"mine": card()})))
    assert "By made-up judge, some architecture has one seed, so the effect of new seeds" in told


def test_what_leaves_nothing_to_compare_is_named(tmp_path):
    minor = {"mine": Card("my judge", tasks={"*": TaskCard(main=False)})}
    write(tmp_path / "mine.parquet", rows("mine"), minor)
    with pytest.raises(InputError, match=r"nothing to compare\. not compared: my judge quality \(its card does not"):
        compare(tmp_path)


def test_a_task_that_a_card_does_not_name_is_said_so(tmp_path):
    found = compared(tmp_path, rows("mine"), {"mine": card(task="qualities")})
    assert found.missing[0].startswith("The card of made-up judge has no task 'quality': its scores are shown as they")


def test_percentages_that_a_card_calls_shares_are_pointed_out(tmp_path):
    found = compared(tmp_path, rows("mine", base=57.0), {"mine": card()})
    assert "quality reaches 5,7" in found.missing[0] and "a share has 100 at most" in found.missing[0]


def test_long_names_are_shortened_and_people_recognised(tmp_path):
    found = compared(tmp_path, rows("m" * 200) + rows(" People"))
    assert {scale.group for scale in found.scales} == {shortened("m" * 200)} and len(shortened("m" * 200)) == LONGEST
    assert "what people say is read from votes.jsonl alone" in str(found.not_compared[0])


def test_variance_says_it_shows_leading_models_alone(tmp_path):
    table = rows("mine", noise=0.3, models=[f"m{k:02d}" for k in range(12)])
    write(tmp_path / "mine.parquet", table, {"mine": card()})
    assert "Shown are the orders of the 6 that lead, of 12 models." in str(variance(tmp_path))
