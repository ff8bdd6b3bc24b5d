"""Which two conversations meet: on one goal, each once, seeds with seeds; and at random where no goal is named."""

import dataclasses
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedvote.dialogue.conversations.pairing import pairs_of_systems, within_systems
from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Utterance


def held(system, number, goal="", seed=None):
    turns = (Utterance("user", f"Hello {number}."), Utterance("system", f"This is {system} {number} on {goal}."))
    return RatedConversation(f"{system}:{number}", f"{system}-{number}", turns, "system", system, seed, goal=goal)


def of(pair):
    return frozenset((pair.a.model, pair.b.model))


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 4)), min_size=2, max_size=40), st.integers(0, 99))
def test_pairs_share_a_goal_and_meet_a_system_once(drawn, seed):
    known = [held(system, n, goal=f"g{goal}") for n, (system, goal) in enumerate(drawn)]
    try:
        pairs = pairs_of_systems(known, seed=seed)
    except InputError as error:
        assert "one system" in str(error) or "same goal" in str(error)
        return
    assert len({pair.pair for pair in pairs}) == len(pairs)
    for pair in pairs:
        goals = {side.text.rpartition(" on ")[2].rstrip(".") for side in (pair.a, pair.b)}
        assert goals == {pair.dialogue} and len(of(pair)) == 2
    uses = Counter((side.text, of(pair)) for pair in pairs for side in (pair.a, pair.b))
    assert set(uses.values()) == {1}
    counts = Counter(drawn)
    for one, two in (("x", "y"), ("x", "z"), ("y", "z")):
        wanted = sum(min(counts[one, goal], counts[two, goal]) for goal in range(5))
        assert sum(of(pair) == {one, two} for pair in pairs) == wanted


def test_pairs_without_goals_meet_by_their_position():
    known = [held(system, n) for system in "xyz" for n in range(9)]
    pairs = pairs_of_systems(known, seed=0)
    assert len(pairs) == 27 and {pair.item for pair in pairs} == {pair.dialogue for pair in pairs}
    for item in {pair.item for pair in pairs}:
        mine = [pair for pair in pairs if pair.item == item]
        assert len(mine) == 3 and len({side.text for pair in mine for side in (pair.a, pair.b)}) == 3
    assert pairs == pairs_of_systems(known, seed=0) != pairs_of_systems(known, seed=1)


def test_seeds_meet_seeds_and_a_short_side_leaves_no_seed_out():
    both = [held(system, 3 * n + s, "g", s) for system in "xy" for n in range(4) for s in range(3)]
    assert all(pair.a.seed == pair.b.seed for pair in pairs_of_systems(both, seed=0))
    short = [held("x", n, seed=n % 3) for n in range(30)] + [held("y", n) for n in range(6)]
    met = Counter(side.seed for pair in pairs_of_systems(short, seed=0) for side in (pair.a, pair.b))
    assert met == {0: 2, 1: 2, 2: 2, None: 6}


def test_of_one_system_two_seeds_are_compared():
    pairs = pairs_of_systems([held("x", 2 * n + s, f"g{n}", s) for n in range(5) for s in range(2)], seed=0)
    assert len(pairs) == 5 and all({pair.a.seed, pair.b.seed} == {0, 1} for pair in pairs)


def test_fewer_pairs_keep_contrasts_balanced():
    known = [held(system, n) for system in "xyz" for n in range(200)]
    pairs = pairs_of_systems(known, 300, seed=0)
    assert set(Counter(map(of, pairs)).values()) == {100}
    firsts = Counter(pair.a.model < pair.b.model for pair in pairs)
    assert 110 < firsts[True] < 190


def test_identical_conversations_are_flagged():
    one = held("x", 1)
    same = dataclasses.replace(one, system="y")
    (pair,) = pairs_of_systems([one, same], seed=0)
    assert pair.identical
    (pair,) = pairs_of_systems([one, dataclasses.replace(same, speaker="user")], seed=0)
    assert not pair.identical


def test_controls_pair_a_system_with_itself_on_one_goal():
    known = [held(system, 4 * n + k, f"g{n}", k % 2) for system in "xy" for n in range(3) for k in range(4)]
    found = within_systems(known, 4, seed=0)
    assert len(found) == 4 and len({pair.pair for pair in found}) == 4
    for pair in found:
        assert (pair.kind, pair.contrast, pair.a.model, pair.a.seed) == (
            "control", "within-system", pair.b.model, pair.b.seed,
        )  # fmt: skip
        assert pair.a.text != pair.b.text and pair.dialogue in {"g0", "g1", "g2"}
    assert within_systems(known[:1], 4, seed=0) == []


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ([held("x", 1), held("x", 2)], "one system .x.; a comparison needs two"),
        ([held("x", 1, "g"), held("y", 2)], "y:2 has no goal, and others have one"),
        ([held("x", 1, "g"), held("y", 2, "h")], "on the same goal"),
        ([], "a comparison needs two"),
    ],
)
def test_what_cannot_be_paired_is_said_in_a_sentence(known, says):
    with pytest.raises(InputError, match=says):
        pairs_of_systems(known, seed=0)
