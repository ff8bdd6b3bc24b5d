"""AssignmentRules: plans, balance and the count of votes, as properties of pure functions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crowd.rating.assignment import AssignmentRules, Fewest, counts, left_side, plan_sitting, unswapped, verdict

RULES = st.builds(
    AssignmentRules,
    votes_per_pair=st.integers(1, 5),
    pairs_per_sitting=st.integers(1, 30),
    first_checks=st.integers(0, 5),
    later_checks=st.integers(0, 10),
    late_votes=st.sampled_from(["keep", "count"]),
)


@given(RULES, st.integers(0, 6), st.integers(0, 2**62), st.text(max_size=5), st.integers(1, 9))
def test_a_sitting_holds_the_checks_due_then_the_real_pairs_with_the_later_checks_among_them(
    rules, admitted, seed, rater, sitting
):
    slots = plan_sitting(rules, admitted=admitted, seed=seed, rater=rater, sitting=sitting)
    due = max(0, rules.first_checks - admitted)
    assert slots[:due] == ("check",) * due
    rest = slots[due:]
    assert rest[0] == "real"
    assert rest.count("real") == rules.pairs_per_sitting
    assert rest.count("check") == min(rules.later_checks, rules.pairs_per_sitting)
    assert all(one == "real" or other == "real" for one, other in pairwise(rest))
    assert slots == plan_sitting(rules, admitted=admitted, seed=seed, rater=rater, sitting=sitting)


def test_later_checks_stand_at_places_that_differ_from_rater_to_rater():
    rules = AssignmentRules(pairs_per_sitting=20, later_checks=5)
    assert len({plan_sitting(rules, admitted=0, seed=0, rater=str(n), sitting=1) for n in range(20)}) > 15


def test_no_pair_left_ends_a_sitting_and_pairs_in_other_hands_are_waited_for():
    rules = AssignmentRules(votes_per_pair=3)
    assert verdict(None, rules) == "finished"
    assert verdict(Fewest("p", votes=1, held=2), rules) == "wait"
    assert verdict(Fewest("p", votes=2, held=0), rules) == "show"


@given(RULES, st.integers(0, 9), st.booleans())
def test_a_vote_counts_only_while_the_pair_is_short_and_if_late_only_by_policy(rules, votes, late):
    expected = votes < rules.votes_per_pair and not (late and rules.late_votes == "keep")
    assert counts(votes, late=late, assignment=rules) == expected


@given(st.integers(0, 50), st.integers(0, 2**62))
def test_sides_stay_balanced_within_a_pair(shown, seed):
    pair = {"a": 0, "b": 0}
    for n in range(shown):
        pair[left_side(pair, {"a": n, "b": 0}, seed=seed, name=(n,))] += 1
        assert abs(pair["a"] - pair["b"]) <= 1


@given(st.integers(0, 50), st.integers(0, 2**62))
def test_sides_stay_balanced_within_a_rater_where_the_pair_leaves_it_open(shown, seed):
    rater = {"a": 0, "b": 0}
    for n in range(shown):
        rater[left_side({"a": 1, "b": 1}, rater, seed=seed, name=(n,))] += 1
        assert abs(rater["a"] - rater["b"]) <= 1


def test_the_first_side_is_a_fair_coin():
    even = {"a": 0, "b": 0}
    lefts = [left_side(even, even, seed=0, name=(n,)) for n in range(2000)]
    assert 900 < lefts.count("a") < 1100


def test_a_choice_is_unswapped_on_both_sides():
    table = [(choice, left, unswapped(choice, left)) for choice in ("left", "right", "tie") for left in "ab"]
    assert table == [
        ("left", "a", "a"),
        ("left", "b", "b"),
        ("right", "a", "b"),
        ("right", "b", "a"),
        ("tie", "a", "tie"),
        ("tie", "b", "tie"),
    ]
