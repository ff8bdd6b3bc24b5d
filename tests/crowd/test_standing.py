"""The gate over HTTP: no door, no sitting and no undo leads round a hidden check, and nothing counts before the first.

Each test is a person at a real server, on SQLite and on PostgreSQL.
"""

import dataclasses

import pytest
import sqlalchemy as sa

from crowd.rating import standing
from crowd.rating.desk import Desk
from crowd.store.tables import leases, raters, votes
from tests.crowd.study import SHORT, Clock, database, desk_of, make_pairs, seated, vote
from tests.crowd.visitor import Visitor, always_tie, careful, live

GATED = dataclasses.replace(SHORT, pairs_per_sitting=15, first_checks=3, later_checks=5, max_failures=3)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def study(url, tmp_path):
    """A served study of 60 pairs and 8 checks: its address and its desk."""
    with desk_of(url, tmp_path, GATED, make_pairs(60, checks=8)) as desk, live(url, GATED) as (address, _):
        yield address, desk


def rows(desk, query):
    with desk.store.read() as connection:
        return connection.execute(query).all()


def test_looking_once_in_eight_sittings_uses_no_check_up_and_always_tie_counts_nowhere(study):
    address, desk = study
    visitor, shown = Visitor(address), []
    for n in range(8):
        visitor.arrive("walker", f"s{n}")
        shown.append(visitor.pair(visitor.look()))
    assert len(set(shown)) == 1 and shown[0].startswith("c")
    for n in range(8):
        visitor.arrive("walker", f"t{n}")
        _, place = visitor.work(always_tie)
    assert place["status"] == "no_more"
    answered = rows(desk, sa.select(votes.c.pair, votes.c.counted, votes.c.failed))
    assert [row.failed for row in answered] == [1, 1, 1]
    assert rows(desk, sa.select(raters.c.status)) == [("blocked",)]


@pytest.mark.parametrize("pairs_a_sitting", [1, 2, 7])
def test_a_new_sitting_after_every_few_pairs_meets_as_many_later_checks_as_one_long_one(study, pairs_a_sitting):
    address, _ = study
    hopper, stayer, met = Visitor(address), Visitor(address), {}
    met["hopper"] = []
    for n in range(40):
        hopper.arrive("hopper", f"s{n}")
        met["hopper"] += hopper.work(careful, most=pairs_a_sitting)[0]
    stayer.arrive("stayer", "s0")
    met["stayer"] = stayer.work(careful)[0]
    reals = [name for name in met["hopper"] if name.startswith("p")]
    checks = [name for name in met["hopper"] if name.startswith("c")]
    assert len(reals) == len(set(reals)) and checks == list(dict.fromkeys(checks))
    assert met["hopper"][:3] == checks[:3]
    upto = met["hopper"][: met["hopper"].index(reals[14]) + 2]
    assert sum(name.startswith("c") for name in upto) == 8
    assert sum(name.startswith("c") for name in met["stayer"]) == 8


def test_a_check_that_was_shown_comes_again_by_every_door(study):
    address, desk = study
    first, second = Visitor(address), Visitor(address)
    first.arrive("two doors", "one")
    shown = first.pair(first.look())
    second.arrive("two doors", "another browser")
    assert second.pair(second.look()) == shown
    with desk.store.read() as connection:
        clock = Clock()
        clock.now = connection.scalar(sa.select(sa.func.max(leases.c.expires))) + 1  # it ran out
    later = Desk(desk.store, GATED, clock)
    for source in ("mturk", "prolific", "local"):
        seat = later.arrive("two doors", source, source)
        assert later.next_step(seat).shown.pair.pair == shown


def test_no_vote_counts_before_the_first_checks_are_passed_and_those_given_before_count_then(url, tmp_path):
    ungated = dataclasses.replace(GATED, first_checks=0)
    with desk_of(url, tmp_path, ungated, make_pairs(20, checks=8)) as desk:
        seat = seated(desk, "early")
        for _ in range(2):
            while desk.next_step(seat).shown.pair.kind == "check":
                vote(desk, seat)
            vote(desk, seat)
        already = len(rows(desk, sa.select(votes).where(votes.c.failed.is_not(None))))
        gated = Desk(desk.store, dataclasses.replace(GATED, first_checks=already + 2), desk.clock)
        with desk.store.write() as connection:
            standing.settle(connection, gated.assignment, gated.gate, 0.0)
        counted = sa.select(votes.c.counted).where(votes.c.failed.is_(None))
        assert rows(desk, counted) == [(0,), (0,)]
        if gated.next_step(seat).shown.pair.kind == "real":  # it was in hand before the rule
            vote(gated, seat)
        given = len(rows(desk, counted))
        for _ in range(already, gated.gate.first_checks):
            assert gated.next_step(seat).shown.pair.kind == "check"
            assert rows(desk, counted) == [(0,)] * given
            vote(gated, seat)
        assert rows(desk, counted) == [(1,)] * given
        assert rows(desk, sa.select(raters.c.status)) == [("passed",)]
