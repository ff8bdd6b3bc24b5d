"""The rules of [exclude]: each against a rater who breaks it and one who does not, and all of them in a study."""

import dataclasses
import random
from collections import Counter

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.tables import Exclusion
from seedvote.crowd.rating import excluding
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.excluding import JudgedPair, Others, broken_rule, exclude_by_rule
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import raters, votes
from tests.crowd.study import SHORT, database, desk_of, make_pairs, seated, vote, work


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def given(buttons, seconds=5.0):
    """Judgements with response a on the left."""
    choice = {"l": "a", "r": "b", "t": "tie"}
    pressed = {"l": "left", "r": "right", "t": "tie"}
    return [JudgedPair(f"p{n}", choice[button], pressed[button], seconds) for n, button in enumerate(buttons)]


OTHERS = Others({f"p{n}": Counter({"a": 2}) for n in range(40)}, ties=0.2)


@pytest.mark.parametrize(
    "rules, breaks, keeps, told",
    [
        (
            Exclusion(seconds=2.0),
            given("lrtrl" * 5, 1.9),
            given("lrtrl" * 5, 2.0),
            "seconds: the median of 25 is 1.90 s",
        ),
        (Exclusion(same=6), given("llllll" + "lr" * 9), given("lllll" + "rl" * 9), "same: the same button 7 times"),
        (Exclusion(left=1e-3), given("l" * 20), given("lr" * 10), "left: 20 of 20 on the left, probability 1e-06"),
        (
            Exclusion(ties=1e-3),
            given("t" * 14 + "l" * 6),
            given("t" * 5 + "l" * 15),
            "ties: 14 of 20 where others have 20%",
        ),
        (
            Exclusion(agreement=0.3),
            given("r" * 15 + "l" * 5),
            given("l" * 15 + "r" * 5),
            "agreement: 25% of 40 answers",
        ),
    ],
)
def test_a_rule_names_who_breaks_it_and_nobody_else(rules, breaks, keeps, told):
    assert broken_rule(breaks, OTHERS, rules).startswith(told)
    assert broken_rule(keeps, OTHERS, rules) is None
    assert broken_rule(breaks[:19], OTHERS, rules) is None  # before it may speak
    assert broken_rule(breaks, OTHERS, Exclusion()) is None  # no rule at all


@pytest.mark.slow
@pytest.mark.parametrize("bound", [0.05, 0.01])
def test_fair_raters_break_rules_within_the_bound(bound):
    draw, broken = random.Random(1), Counter()
    for _ in range(2000):
        mine = given(draw.choices("lrt", [4, 4, 2], k=40))
        for name in ("left", "ties"):
            broken[name] += broken_rule(mine, OTHERS, Exclusion(**{name: bound})) is not None
    assert all(0 < number / 2000 <= bound * 1.25 for number in broken.values())


def test_exclusion_returns_pairs_and_lifts_with_its_key(url, tmp_path):
    hit = dataclasses.replace(SHORT, votes_per_pair=2, exclude=Exclusion(after=3, seconds=2.0))
    with desk_of(url, tmp_path, hit, make_pairs(4)) as desk:
        fast, slow = seated(desk, "fast"), seated(desk, "slow")
        for seat, seconds in ((fast, 0.4), (slow, 9.0)):
            while desk.next_step(seat).stage == "task":
                vote(desk, seat, seconds=seconds)

        def state():
            with desk.store.read() as connection:
                counted = connection.scalar(sa.select(sa.func.sum(votes.c.counted)))
                who = connection.execute(sa.select(raters.c.status, raters.c.broke).order_by(raters.c.status)).all()
            return counted, [tuple(row) for row in who]

        assert state() == (8, [("passed", None), ("passed", None)])
        assert exclude_by_rule(desk.store, 1.0).startswith("Excluded by rule: 1 rater. Raters: 1 passed now excluded.")
        assert state() == (4, [("excluded", "seconds: the median of 4 is 0.40 s, below 2 s"), ("passed", None)])
        assert exclude_by_rule(desk.store, 2.0) == "Excluded by rule: 1 rater, as before."
        assert desk.next_step(fast).stage != "no_more"
        assert work(desk, seated(desk, "third")) in ("done", "complete")
        assert state()[0] == 8
        take_up(desk.store, dataclasses.replace(hit, exclude=None), 3.0)
        assert state() == (8, [("passed", None)] * 3)


def test_tie_share_of_others_counts_their_votes_only(url, tmp_path, monkeypatch):
    told = {}
    monkeypatch.setattr(excluding, "broken_rule", lambda mine, others, rules: told.update({len(mine): others.ties}))
    hit = dataclasses.replace(SHORT, votes_per_pair=3, pairs_per_sitting=8)
    with desk_of(url, tmp_path, hit, make_pairs(8)) as desk:
        for name, choices in (("one", "a"), ("two", ("tie", "a", "a")), ("three", ("tie", "tie", "b", "b", "tie"))):
            seat = seated(desk, name)
            for choice in choices:
                vote(desk, seat, choice)
        with desk.store.read() as connection:
            excluding.broken_rules(connection, Exclusion(ties=0.01))
    assert told == {1: 4 / 8, 3: 3 / 6, 5: 1 / 4}


def test_the_export_says_what_would_count_without_the_rules(url, tmp_path):
    """Against the same study after [exclude] was taken out of hit.toml."""
    hit = dataclasses.replace(SHORT, votes_per_pair=2, exclude=Exclusion(after=3, seconds=2.0), identical="tie")
    with desk_of(url, tmp_path, hit, make_pairs(4, identical=1)) as desk:
        for name, seconds in (("fast", 0.4), ("one", 9.0), ("by hand", 9.0)):
            seat = seated(desk, name)
            while desk.next_step(seat).stage == "task":
                vote(desk, seat, "a" if name == "fast" else "b", seconds)
            exclude_by_rule(desk.store, 1.0)
        rule_on(desk.store, desk.rater_id("by hand"), "exclude", "a reason", 1.0)
        work(desk, seated(desk, "last"))

        def exported():
            with desk.store.read() as connection:
                return exporting.export(connection, votes_per_pair=2, auto_ties=True).votes

        said = exported()
        fast = {one.extra["excluded_by"] for one in said if one.rater == desk.rater_id("fast")}
        assert fast == {"seconds"} and sum(one.extra["excluded_by"] != "" for one in said) == 4
        take_up(desk.store, dataclasses.replace(hit, exclude=None), 2.0)
        plain = exported()
        would = [(one.extra["counted_without_rules"], one.extra["round_without_rules"]) for one in said]
        assert would == [(one.counted, one.round) for one in plain]
        assert [one.counted for one in said] != [one.counted for one in plain]
        assert not any("excluded_by" in one.extra for one in plain)


def test_people_are_named_by_their_id_or_by_their_hash(url, tmp_path):
    with desk_of(url, tmp_path, SHORT, make_pairs(4)) as desk:
        ann, bob = seated(desk, "ann"), seated(desk, "bob")
        work(desk, ann)
        with desk.store.read() as connection:
            found = excluding.broken_rules(connection, Exclusion(raters=("ann", bob.rater)))
        assert found == dict.fromkeys([ann.rater, bob.rater], "raters: named in hit.toml")


def test_excluded_rater_stays_excluded_when_forgotten(url, tmp_path):
    """The rules have nothing left to judge by: no durations, and a name that hit.toml does not have."""
    hit = dataclasses.replace(SHORT, votes_per_pair=2, exclude=Exclusion(after=3, seconds=2.0, raters=("named",)))
    with desk_of(url, tmp_path, hit, make_pairs(4)) as desk:
        for name, seconds in (("fast", 0.4), ("named", 9.0)):
            seat = seated(desk, name)
            while desk.next_step(seat).stage == "task":
                vote(desk, seat, "a", seconds)
        exclude_by_rule(desk.store, 0.0)
        for name in ("fast", "named"):
            assert forget(desk.store, desk.rater_id(name), votes_per_pair=2, now=0.0) == 4
        exclude_by_rule(desk.store, 0.0)
        with desk.store.read() as connection:
            known = connection.execute(sa.select(raters.c.status, raters.c.broke)).all()
            assert sorted(map(tuple, known)) == [("excluded", "raters"), ("excluded", "seconds")]
            assert connection.scalar(sa.select(sa.func.sum(votes.c.counted))) == 0
            log = list(read_events(connection))
        told = replay(log, desk.rules.gate, votes_per_pair=2, late_votes="keep")
        assert set(told.status.values()) == {"excluded"} and not any(told.counted.values())
        assert not any("0.4" in str(event.data) for event in log)
        take_up(desk.store, dataclasses.replace(hit, exclude=None), 0.0)  # without rules, nobody is out by one
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.sum(votes.c.counted))) == 8
