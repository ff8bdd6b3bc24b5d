"""The gate against published probabilities, an enumeration of all outcomes, and properties."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.rating.gate import GateRule, judge, pass_probability, rule_within, standing
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import make_pairs

OUTCOMES = st.lists(st.booleans(), max_size=10)
RULES = st.builds(
    GateRule, max_failures=st.integers(1, 5), count=st.sampled_from(["total", "row"]), first_checks=st.just(3)
)


@pytest.mark.parametrize("checks, published", [(3, 0.70), (4, 0.41), (5, 0.21), (6, 0.10), (8, 0.02)])
def test_a_random_clicker_passes_as_often_as_published(checks, published):
    assert pass_probability([2 / 3] * checks, GateRule(max_failures=3)) == pytest.approx(published, abs=0.005)


@given(st.lists(st.floats(0, 1), max_size=7), RULES)
def test_the_probability_is_that_of_all_outcomes_enumerated(fails, rule):
    total = 0.0
    for outcome in itertools.product([False, True], repeat=len(fails)):
        if judge(outcome, rule) != "blocked":
            chance = 1.0
            for p, failed in zip(fails, outcome, strict=True):
                chance *= p if failed else 1 - p
            total += chance
    assert pass_probability(fails, rule) == pytest.approx(total, abs=1e-9)


@given(OUTCOMES, RULES)
def test_who_is_blocked_stays_blocked_whatever_comes_after(outcomes, rule):
    if judge(outcomes, rule) == "blocked":
        assert judge([*outcomes, False], rule) == judge([*outcomes, True], rule) == "blocked"


@given(OUTCOMES, st.integers(1, 5))
def test_counting_in_a_row_blocks_nobody_whom_counting_in_total_would_not(outcomes, limit):
    if judge(outcomes, GateRule(limit, "row")) == "blocked":
        assert judge(outcomes, GateRule(limit, "total")) == "blocked"


def test_a_rater_is_incomplete_until_the_first_checks_are_answered():
    assert [judge([False] * n, GateRule(first_checks=3)) for n in range(5)] == ["incomplete"] * 3 + ["passed"] * 2


def test_failures_in_a_row_are_forgiven_by_a_right_answer():
    outcomes = [True, True, False, True, True]
    assert judge(outcomes, GateRule(3, "row")) == "passed"
    assert judge(outcomes, GateRule(3, "total")) == "blocked"


def test_plan_checks_stops_at_the_checks_of_the_study(tmp_path, capsys):
    made = [dataclasses.replace(one, answer="tie") if one.pair == "c0" else one for one in make_pairs(4, checks=4)]
    write_records(tmp_path / "pairs.jsonl", made, signature="test", kind=Pair)
    dispatch("crowd", "", COMMANDS, ["plan-checks", str(tmp_path)])
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()[2:] if "<-" in line or line.split()[0].isdigit()]
    assert [line[0] for line in lines] == ["1", "2", "3", "4"]
    assert lines[-1][2] == f"{pass_probability([0.75] * 4, GateRule()):.4f}"
    assert "a first sitting of this HIT and all checks that a rater can meet" in told


def test_nobody_is_asked_for_more_first_checks_than_there_are():
    rule = rule_within(GateRule(first_checks=3), 2)
    assert judge([False, False], rule) == "passed" and judge([False], rule) == "incomplete"


@pytest.mark.parametrize(
    "failed, ruling, broke, expected",
    [
        ([], None, False, "incomplete"),
        ([False] * 3, None, False, "passed"),
        ([True] * 3, None, False, "blocked"),
        ([True] * 3, "exclude", True, "blocked"),
        ([False] * 3, "block", True, "blocked"),
        ([False] * 3, "exclude", False, "excluded"),
        ([False] * 3, None, True, "excluded"),
        ([], None, True, "excluded"),
    ],
)
def test_blocked_precedes_excluded_and_checks(failed, ruling, broke, expected):
    assert standing(failed, GateRule(), ruling=ruling, broke=broke) == expected
