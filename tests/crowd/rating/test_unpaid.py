"""Nobody is paid for hidden checks alone, and whoever works without a pause judges a pair that is paid."""

import dataclasses
import random

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.tables import leases, sittings, votes
from seedvote.crowd.watching.overview import overview
from seedvote.crowd.watching.progress import set_state
from seedvote.crowd.web.page import ENDINGS
from tests.crowd.marketplaces.study import Person, make_study
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.study import SHORT, Clock, database, desk_of, make_pairs, press, seated, vote, work

GATED = dataclasses.replace(SHORT, votes_per_pair=1, first_checks=2, later_checks=1, max_failures=2)
LEASE = 601


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as address:
        yield address


def study_of(url, folder, real, **rules):
    return desk_of(url, folder, dataclasses.replace(GATED, **rules), make_pairs(real, checks=9))


def counts(desk):
    with desk.store.read() as connection:
        return [row.counted for row in connection.execute(sa.select(votes).where(votes.c.failed.is_(None)))]


def finished(desk):
    with desk.store.read() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(sittings.c.finished.is_not(None)))


def answer_late(desk, seat):
    """Let what this rater holds run out, have somebody release it, and answer it then."""
    place = desk.next_step(seat)
    desk.clock.now += LEASE
    yield
    desk.answer(seat, place.shown.token, press(place, "a"), 1.0)


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_checks_alone_cannot_be_handed_in(url, tmp_path, state):
    with study_of(url, tmp_path, 2) as desk:
        begun, further = seated(desk, "begun"), seated(desk, "further")
        vote(desk, begun)
        for _ in range(2):
            vote(desk, further)
        assert desk.next_step(further).shown.pair.kind == "real"  # in hand, and not judged
        set_state(desk.store, state)
        for seat, done in ((begun, 1), (further, 2)):
            step = desk.hand_in(seat)
            assert (step.stage, step.done, step.may_hand_in, step.is_paid) == (state, done, False, False)
        assert not finished(desk)
        set_state(desk.store, "running")
        vote(desk, further)
        set_state(desk.store, state)
        assert desk.next_step(further).is_paid
        assert desk.hand_in(further).stage == ("handed_in" if state == "paused" else "stopped")
        check_books(desk)


def test_the_time_of_a_sitting_ends_after_the_first_pair_and_not_before(url, tmp_path):
    with study_of(url, tmp_path, 3, sitting_minutes=5) as desk:
        seat = seated(desk, "slow")
        for kind in ("check", "check", "real"):
            assert desk.next_step(seat).shown.pair.kind == kind
            desk.clock.now += 400
            vote(desk, seat)
        step = desk.next_step(seat)
        assert (step.stage, step.done, step.is_paid) == ("time", 3, True)
        check_books(desk)


def test_pair_completed_late_is_judged_by_who_had_checks(url, tmp_path):
    with study_of(url, tmp_path, 1, late_votes="count") as desk:
        early, second = seated(desk, "early"), seated(desk, "second")
        for _ in range(2):
            vote(desk, early)
        late = answer_late(desk, early)
        next(late)
        vote(desk, second)  # what had run out is theirs now
        next(late, None)
        assert desk.over_for_all() == "complete"
        vote(desk, second)
        step = desk.next_step(second)
        assert step.shown.pair.kind == "real" and desk.next_step(seated(desk, "third")).stage == "complete"
        vote(desk, second)
        step = desk.next_step(second)
        assert (step.stage, step.done, step.is_paid) == ("complete", 3, True)
        assert sorted(counts(desk)) == [0, 1]
        check_books(desk)


def test_completed_pair_is_exchanged_for_one_that_counts(url, tmp_path):
    with study_of(url, tmp_path, 2, late_votes="count") as desk:
        early = seated(desk, "early")
        for _ in range(2):
            vote(desk, early)
        late = answer_late(desk, early)
        next(late)
        seats = [seated(desk, f"r{n}") for n in range(2)]
        next(late, None)  # completes what one of them has been reserved
        for _ in range(3):
            vote(desk, seats[0])
        assert desk.next_step(seats[0]).is_paid
        assert work(desk, seats[1]) in ("complete", "none_left") and desk.next_step(seats[1]).is_paid
        check_books(desk)


def test_new_rules_leave_a_pair_to_who_had_checks(url, tmp_path):
    with study_of(url, tmp_path, 1, votes_per_pair=2) as desk:
        seats = [seated(desk, f"r{n}") for n in range(2)]
        for _ in range(3):
            vote(desk, seats[0])
        vote(desk, seats[1])
        with desk.store.read() as connection:
            hit = rules_in_force(connection).hit
        take_up(desk.store, dataclasses.replace(hit, votes_per_pair=1), desk.clock())
        assert desk.over_for_all() == "complete"
        assert work(desk, seats[1]) == "complete" and desk.next_step(seats[1]).is_paid
        assert sorted(counts(desk)) == [0, 1]
        check_books(desk)


def test_lapsed_pair_is_unpaid_when_others_complete_it(url, tmp_path):
    with study_of(url, tmp_path, 1) as desk:
        leaver, other = seated(desk, "leaver"), seated(desk, "other")
        vote(desk, leaver)
        desk.clock.now += LEASE
        assert work(desk, other) == "complete"
        step = desk.next_step(leaver)
        assert (step.stage, step.done, step.is_paid) == ("complete", 1, False)
        assert finished(desk) == 1
        with desk.store.read() as connection:
            told = overview(connection, desk.rules.hit, desk.clock()).warnings
        assert told == (
            "1 sitting holds answers to hidden checks alone. They are not paid by themselves: pay for the time.",
        )
        rule_on(desk.store, other.rater, "block", "drawn", desk.clock())
        assert work(desk, leaver) == "complete" and desk.next_step(leaver).is_paid
        with desk.store.read() as connection:
            assert overview(connection, desk.rules.hit, desk.clock()).warnings == ()
        check_books(desk)


def test_person_at_their_cap_is_unpaid_for_other_checks(url, tmp_path):
    with study_of(url, tmp_path, 4, max_votes_per_rater=1, first_checks=3) as desk:
        one, two = (desk.arrive("worker", name, "mturk") for name in "12")
        desk.consent(one)
        vote(desk, one)
        vote(desk, two)
        for _ in range(2):
            vote(desk, one)
        assert [work(desk, seat) for seat in (one, two)] == ["cap", "cap"]
        steps = [desk.next_step(seat) for seat in (one, two)]
        assert [(step.stage, step.is_paid) for step in steps] == [("cap", True), ("cap", False)]
        check_books(desk)


def test_sitting_of_left_checks_goes_on_to_a_pair(url, tmp_path):
    with study_of(url, tmp_path, 8, pairs_per_sitting=1, later_checks=0) as desk:
        visits = [desk.arrive("worker", str(n), "mturk") for n in range(4)]
        desk.consent(visits[0])
        assert {desk.next_step(seat).shown.pair.kind for seat in visits} == {"check"}
        desk.clock.now += LEASE
        seated(desk, "other")  # releases what has run out
        kinds = []
        while (place := desk.next_step(visits[0])).stage == "task":
            kinds.append(place.shown.pair.kind)
            assert place.done < place.of
            vote(desk, visits[0])
        assert kinds[:-1] == ["check"] * 4 and kinds[-1] == "real"
        assert (place.stage, place.is_paid) == ("done", True)
        check_books(desk)


def test_page_of_checks_alone_shows_no_code(tmp_path):
    rules = {"completion_code": "C0DE", "screened_out_code": "0UT", "pay_per_sitting": 2.0}
    app = make_study(tmp_path, reals=1, votes_per_pair=1, **rules)
    desk = app.extensions["desk"]
    desk.clock = clock = Clock()
    leaver, other = Person(app, "local", "leaver"), Person(app, "local", "other")
    leaver.judge(leaver.begin())
    clock.now += 60 * Hit().lease_minutes + 1
    other.begin()
    waiting = leaver.end()
    assert "One moment, please" in waiting and "is not paid in full" in waiting and "Hand in now" not in waiting
    set_state(desk.store, "paused")
    assert "Hand in now" not in leaver.end() and "is not paid in full" in leaver.end()
    set_state(desk.store, "running")
    assert other.work()["status"] == "complete" and "<output>C0DE</output>" in other.end()
    ended = leaver.end()
    assert "ended too early to be paid in full" in ended and "can pay you for the time" in ended
    assert "C0DE" not in ended and "0UT" not in ended and "paid in full:" not in ended
    desk.store.close()


class Worker:
    """Somebody who works on, or who rests at times for longer than a lease lasts."""

    def __init__(self, desk, name, draw):
        self.desk, self.seat, self.draw = desk, seated(desk, name), draw
        self.restless = draw.random() < 0.6
        self.over, self.begun = False, False

    def act(self):
        step = self.desk.next_step(self.seat)
        if step.stage == "task":
            self.begun = True
            self.desk.answer(self.seat, step.shown.token, press(step, self.draw.choice("aaaaaab")), 1.0)
        elif step.may_hand_in and self.draw.random() < 0.3:
            self.desk.hand_in(self.seat)
        self.over = step.stage in ENDINGS


@pytest.mark.parametrize("seed", range(8))
def test_code_stands_for_a_judged_pair_or_failed_checks(tmp_path, seed):
    """Pauses, new numbers of votes, blocks, long rests and late answers, drawn."""
    draw, everybody = random.Random(seed), []
    late = draw.choice(["count", "drop"])
    with database("sqlite", tmp_path) as url, study_of(url, tmp_path, 4, votes_per_pair=2, late_votes=late) as desk:
        for turn in range(260):
            if turn % 12 == 0:
                everybody.append(Worker(desk, f"r{turn}", draw))
            awake = [one for one in everybody if not one.over and (one.restless or draw.random() < 0.02)]
            if awake:
                draw.choice(awake).act()
            desk.clock.now += draw.choice([1, 5, 20])
            if (act := draw.random()) < 0.02:
                set_state(desk.store, draw.choice(["paused", "running"]))
            elif act < 0.03:
                hit = dataclasses.replace(desk.rules.hit, votes_per_pair=draw.randint(1, 3))
                take_up(desk.store, hit, desk.clock())
            elif act < 0.04:
                rule_on(desk.store, draw.choice(everybody).seat.rater, draw.choice(["block", None]), "drawn", 0.0)
        set_state(desk.store, "running")
        paid = 0
        with desk.store.read() as connection:
            rows = connection.execute(sa.select(leases.c.rater, leases.c.kind).where(leases.c.state == "answered"))
            judged = {row.rater for row in rows if row.kind != "check"}
        for one in everybody:
            step = desk.next_step(one.seat)
            assert step.is_paid == (one.seat.rater in judged or (step.stage == "no_more" and step.done > 0))
            paid += step.is_paid
        assert paid > 0
        check_books(desk)


def test_older_desk_lets_a_rater_of_checks_go_on(tmp_path):
    with database("sqlite", tmp_path) as url, study_of(url, tmp_path, 2) as desk:
        seat = seated(desk, "r")
        vote(desk, seat)
        with desk.store.write() as connection:
            connection.execute(sa.update(sittings).values(finished=desk.clock()))
        assert Desk(desk.store, desk.rules.hit, desk.clock).next_step(seat).stage == "task"
