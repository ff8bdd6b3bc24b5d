"""AssignmentRules: plans, balance and the count of votes, as properties of pure functions."""

import dataclasses
from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.forms.pairs import PairForm
from seedvote.crowd.rating.assignment import (
    AssignmentRules,
    Life,
    check_is_due,
    check_places,
    first_votes,
    is_eligible,
    later_checks,
    length_of_sitting,
)
from seedvote.crowd.rating.leasing import judge_offer

RULES = st.builds(
    AssignmentRules,
    votes_per_pair=st.integers(1, 5),
    pairs_per_sitting=st.integers(1, 30),
    first_checks=st.integers(0, 5),
    later_checks=st.integers(0, 10),
    late_votes=st.sampled_from(["keep", "count"]),
)


def lived(rules, *, checks, sittings, seed=0, rater="r"):
    """The kinds of pairs of each sitting of one rater."""
    life, told = Life(reals=0, checks=0, last_check=0, unseen=checks), []
    for _ in range(sittings):
        kinds = []
        for _ in range(length_of_sitting(rules, life.checks)):
            if check_is_due(rules, life, seed=seed, rater=rater):
                seen = {"checks": life.checks + 1, "unseen": life.unseen - 1, "last_check": life.reals}
                life = dataclasses.replace(life, **seen)
                kinds.append("check")
            else:
                life = dataclasses.replace(life, reals=life.reals + 1)
                kinds.append("real")
        told.append(kinds)
    return told


@given(RULES, st.integers(0, 40), st.integers(2, 4), st.integers(0, 2**62), st.text(max_size=5))
def test_the_length_of_a_sitting_tells_nobody_how_many_checks_are_left(rules, checks, sittings, seed, rater):
    few = lived(rules, checks=rules.first_checks + checks, sittings=sittings, seed=seed, rater=rater)
    many = lived(rules, checks=1000, sittings=sittings, seed=seed, rater=rater)
    assert [len(kinds) for kinds in few] == [len(kinds) for kinds in many]


@given(RULES, st.integers(1, 4), st.integers(0, 2**62), st.text(max_size=5))
def test_first_checks_come_first_and_later_ones_apart(rules, sittings, seed, rater):
    rules = dataclasses.replace(rules, later_checks=min(rules.later_checks, rules.pairs_per_sitting))
    told = lived(rules, checks=1000, sittings=sittings, seed=seed, rater=rater)
    kinds = [kind for sitting in told for kind in sitting]
    assert kinds[: rules.first_checks] == ["check"] * rules.first_checks
    rest = kinds[rules.first_checks :]
    assert rest[0] == "real" and rest.count("check") == rules.later_checks * sittings
    assert all("real" in pair for pair in pairwise(rest))


@given(RULES, st.lists(st.integers(0, 60), min_size=2, max_size=6), st.integers(0, 2**62))
def test_later_checks_follow_a_rater_s_total_however_it_is_cut_into_pieces(rules, cuts, seed):
    ends = sorted(cuts)
    pieces = [later_checks(rules, a, b, seed=seed, rater="r") for a, b in pairwise(ends)]
    assert sum(pieces) == later_checks(rules, ends[0], ends[-1], seed=seed, rater="r")


def test_one_check_makes_up_for_places_that_were_passed_by():
    rules = AssignmentRules(pairs_per_sitting=20, later_checks=20, first_checks=3)
    behind = Life(reals=50, checks=3, last_check=0, unseen=9)
    assert check_is_due(rules, behind, seed=0, rater="r")
    assert not check_is_due(rules, dataclasses.replace(behind, last_check=50), seed=0, rater="r")
    assert not check_is_due(rules, dataclasses.replace(behind, unseen=0), seed=0, rater="r")


def test_later_checks_differ_between_raters_and_blocks():
    rules = AssignmentRules(pairs_per_sitting=20, later_checks=5)
    assert len({check_places(rules, 0, seed=0, rater=str(n)) for n in range(20)}) > 15
    assert len({check_places(rules, n, seed=0, rater="r") for n in range(20)}) > 15


def test_assignment_ends_or_waits_without_pairs():
    rules = AssignmentRules(votes_per_pair=3)
    assert judge_offer(None, rules.votes_per_pair) == "finished"
    assert judge_offer(SimpleNamespace(pair="p", votes=1, live=1 + 2, target=None), rules.votes_per_pair) == "wait"
    assert judge_offer(SimpleNamespace(pair="p", votes=2, live=2 + 0, target=None), rules.votes_per_pair) == "show"
    assert judge_offer(SimpleNamespace(pair="p", votes=2, live=2 + 0, target=2), rules.votes_per_pair) == "wait"


@given(st.lists(st.booleans(), max_size=9), st.integers(1, 5))
def test_the_first_k_votes_that_may_count_do(eligible, k):
    found = first_votes(eligible, k)
    assert sum(found) == min(k, sum(eligible))
    assert [place for place, counts in enumerate(found) if counts] == [n for n, may in enumerate(eligible) if may][:k]


def test_vote_counts_of_passed_raters_only():
    may = [
        (status, late, aside, policy)
        for status in ("passed", "blocked", "incomplete", "excluded")
        for late in (False, True)
        for aside in (False, True)
        for policy in ("keep", "count")
        if is_eligible(status, late=late, aside=aside, late_votes=policy)
    ]
    assert may == [
        ("passed", False, False, "keep"),
        ("passed", False, False, "count"),
        ("passed", True, False, "count"),
    ]


@given(st.integers(0, 50), st.integers(0, 2**62))
def test_sides_stay_balanced_within_a_pair(shown, seed):
    pair = {"a": 0, "b": 0}
    for n in range(shown):
        pair[PairForm().choose_layout(None, pair, {"a": n, "b": 0}, seed=seed, name=(n,))] += 1
        assert abs(pair["a"] - pair["b"]) <= 1


@given(st.integers(0, 50), st.integers(0, 2**62))
def test_sides_stay_balanced_within_a_rater_where_the_pair_leaves_it_open(shown, seed):
    rater = {"a": 0, "b": 0}
    for n in range(shown):
        rater[PairForm().choose_layout(None, {"a": 1, "b": 1}, rater, seed=seed, name=(n,))] += 1
        assert abs(rater["a"] - rater["b"]) <= 1


def test_the_first_side_is_a_fair_coin():
    even = {"a": 0, "b": 0}
    lefts = [PairForm().choose_layout(None, even, even, seed=0, name=(n,)) for n in range(2000)]
    assert 900 < lefts.count("a") < 1100


def test_a_choice_is_unswapped_on_both_sides():
    table = [(choice, left, PairForm().answer_of(choice, left)) for choice in ("left", "right", "tie") for left in "ab"]
    assert table == [
        ("left", "a", "a"),
        ("left", "b", "b"),
        ("right", "a", "b"),
        ("right", "b", "a"),
        ("tie", "a", "tie"),
        ("tie", "b", "tie"),
    ]
