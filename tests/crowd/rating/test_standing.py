"""The gate over HTTP: no door, no sitting and no undo leads round a hidden check, and nothing counts before the first.

Each test is a person at the application, on SQLite and on PostgreSQL.
"""

import dataclasses

import pytest
import sqlalchemy as sa

from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import mend
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import leases, raters, votes
from seedvote.crowd.study_folder import prepare_study
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.study import SHORT, Clock, database, desk_of, make_pairs, seated, vote
from tests.crowd.visitor import Visitor, always_tie, careful, live

GATED = dataclasses.replace(SHORT, pairs_per_sitting=15, first_checks=3, later_checks=5, max_failures=3)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def study(url, tmp_path):
    """A served study of 60 pairs and 8 checks: its application and its desk."""
    with desk_of(url, tmp_path, GATED, make_pairs(60, checks=8)) as desk, live(url, GATED) as app:
        yield app, desk


def rows(desk, query):
    with desk.store.read() as connection:
        return connection.execute(query).all()


def test_rare_looks_and_always_tie_votes_count_nowhere(study):
    app, desk = study
    visitor, shown = Visitor(app), []
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


@pytest.mark.parametrize(
    ("url", "pairs_a_sitting"),
    [
        ("sqlite", 2),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in (("sqlite", 1), ("sqlite", 7), ("postgresql", 2))),
    ],
    indirect=["url"],
)
def test_short_sittings_meet_as_many_later_checks(study, pairs_a_sitting):
    app, _ = study
    hopper, stayer, met = Visitor(app), Visitor(app), {}
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


def test_a_check_that_was_shown_comes_again_in_every_browser_and_sitting(study):
    app, desk = study
    first, second = Visitor(app), Visitor(app)
    first.arrive("two doors", "one")
    shown = first.pair(first.look())
    second.arrive("two doors", "another browser")
    assert second.pair(second.look()) == shown
    with desk.store.read() as connection:
        clock = Clock()
        clock.now = connection.scalar(sa.select(sa.func.max(leases.c.expires))) + 1  # it ran out
    later = Desk(desk.store, GATED, clock)
    seat = later.arrive("two doors", "later", "local")
    assert later.next_step(seat).shown.pair.pair == shown


@pytest.mark.parametrize("source", ["mturk", "prolific"])
def test_left_check_comes_in_the_next_visit(url, tmp_path, source):
    """Each visit at a marketplace has a pair of its own in hand, but no visit is a place to hide a check in."""
    with desk_of(url, tmp_path, dataclasses.replace(GATED, pairs_per_sitting=60), make_pairs(60, checks=8)) as desk:
        visits = [desk.arrive("dodger", f"v{n}", source) for n in range(12)]
        for seat in visits:
            desk.consent(seat)
        now, left, answered, reals = visits.pop(), {}, [], 0
        while (place := desk.next_step(now)).stage == "task":
            name = place.shown.pair.pair
            if name.startswith("c") and len(answered) >= 3 and name not in left:
                left[name] = reals  # not answered where it was dealt
                now = visits.pop()
                continue
            if name.startswith("c"):
                answered.append(name)
                assert reals - left.get(name, reals) <= 3
            else:
                reals += 1
            vote(desk, now)
        assert sorted(answered) == sorted(set(answered)) == [f"c{n}" for n in range(8)]


def test_a_real_pair_left_standing_comes_again_likewise(url, tmp_path):
    ungated = dataclasses.replace(GATED, first_checks=0, later_checks=0)
    with desk_of(url, tmp_path, ungated, make_pairs(20)) as desk:
        one, two = (desk.arrive("both", name, "prolific") for name in ("one", "two"))
        for seat in (one, two):
            desk.consent(seat)
        standing = desk.next_step(one).shown.pair.pair
        met = []
        for _ in range(4):
            met.append(desk.next_step(two).shown.pair.pair)
            vote(desk, two)
        assert met.index(standing) == 3


def test_votes_count_after_the_first_checks_are_passed(url, tmp_path):
    ungated = dataclasses.replace(GATED, first_checks=0)
    with desk_of(url, tmp_path, ungated, make_pairs(20, checks=8)) as desk:
        seat = seated(desk, "early")
        assert desk.next_step(seat).shown.pair.kind == "real"  # in hand before there are first checks
        take_up(desk.store, dataclasses.replace(GATED, first_checks=2), 0.0)
        vote(desk, seat)
        counted = sa.select(votes.c.counted).where(votes.c.failed.is_(None))
        for _ in range(2):
            assert desk.next_step(seat).shown.pair.kind == "check"
            assert rows(desk, counted) == [(0,)]
            vote(desk, seat)
        assert rows(desk, counted) == [(1,)]
        assert rows(desk, sa.select(raters.c.status)) == [("passed",)]


def passed_with_the_first_check_void(desk):
    """A rater who was let in by the two first checks that were left, and has judged; one in the middle of them."""
    mend(desk.store, "c0", "void", 1.0)
    inside, begun = seated(desk, "inside"), seated(desk, "begun")
    for _ in range(4):
        vote(desk, inside)
    vote(desk, begun)
    return inside, begun


def statuses(desk):
    return {row.rater: row.status for row in rows(desk, sa.select(raters))}


def counted(desk):
    return sum(row.counted for row in rows(desk, sa.select(votes.c.counted)))


def test_who_passed_stays_in_when_a_first_check_is_no_longer_void(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(9, checks=3)) as desk:
        inside, begun = passed_with_the_first_check_void(desk)
        assert counted(desk) == 2
        mend(desk.store, "c0", "a", 2.0)
        assert statuses(desk) == {inside.rater: "passed", begun.rater: "incomplete"} and counted(desk) == 2
        assert desk.next_step(inside).stage == "task"  # as ever, and the check comes among the pairs
        for _ in range(2):
            assert statuses(desk)[begun.rater] == "incomplete"
            vote(desk, begun)
        assert statuses(desk)[begun.rater] == "passed"


def test_rater_from_before_the_checks_stays_in(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(9, checks=3)) as desk:
        for name in ("c0", "c1", "c2"):
            mend(desk.store, name, "void", 1.0)
        early = seated(desk, "early")
        for _ in range(2):
            vote(desk, early)
        assert counted(desk) == 2
        mend(desk.store, "c0", "a", 2.0)
        assert statuses(desk) == {early.rater: "passed"} and counted(desk) == 2
        with desk.store.read() as connection:
            gate = rules_in_force(connection).gate
            told = replay(read_events(connection), gate, votes_per_pair=3, late_votes="keep")
        assert gate.first_checks == 1 and told.status == statuses(desk) and list(told.counted.values()) == [True, True]


def test_who_passed_stays_in_when_the_pairs_file_gets_more_first_checks(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(9, checks=3)) as desk:
        inside, begun = passed_with_the_first_check_void(desk)
        write_records(tmp_path / "pairs.jsonl", make_pairs(9, checks=5), signature="test", kind=Pair)
        prepare_study(tmp_path, None, GATED, url, seed=0, simulated=False)
        assert statuses(desk) == {inside.rater: "passed", begun.rater: "incomplete"} and counted(desk) == 2


def test_new_key_takes_votes_of_failed_raters_out(url, tmp_path):
    hit = dataclasses.replace(GATED, max_failures=1)
    with desk_of(url, tmp_path, hit, make_pairs(9, checks=3)) as desk:
        seat = seated(desk, "r")
        for _ in range(5):
            vote(desk, seat)
        assert counted(desk) == 2
        mend(desk.store, "c1", "b", 2.0)
        assert statuses(desk) == {seat.rater: "blocked"} and counted(desk) == 0


def test_undone_first_check_means_not_passed(url, tmp_path):
    with desk_of(url, tmp_path, GATED, make_pairs(9, checks=3)) as desk:
        seat = seated(desk, "r")
        for _ in range(2):
            vote(desk, seat)
        token = desk.next_step(seat).shown.token
        vote(desk, seat)
        assert statuses(desk) == {seat.rater: "passed"}
        assert desk.undo(seat, token)[0] and statuses(desk) == {seat.rater: "incomplete"}
        vote(desk, seat)
        assert statuses(desk) == {seat.rater: "passed"}
