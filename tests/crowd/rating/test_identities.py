"""Answers forged under a known id use up nothing of its owner's: not their pairs, not their checks, not their gate."""

import dataclasses
import itertools
import random

import pytest
import sqlalchemy as sa

from seedvote.crowd.rating import identities
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.identities import siblings
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.store.tables import leases, payments, raters, votes
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.study import SHORT, database, desk_of, make_pairs, vote

GATED = dataclasses.replace(
    SHORT, votes_per_pair=2, pairs_per_sitting=4, first_checks=2, later_checks=1, max_failures=2
)
PAIRS = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request, tmp_path):
    hit = dataclasses.replace(GATED, votes_per_pair=9)
    with database(request.param, tmp_path) as url, desk_of(url, tmp_path, hit, make_pairs(PAIRS, checks=9)) as desk:
        yield desk


class Browser:
    """Somebody who comes under a worker's id; a browser with cookies proves later that it is the same one."""

    def __init__(self, desk, worker="p1", source="prolific", *, cookies=True):
        self.desk, self.worker, self.source, self.cookies, self.known = desk, worker, source, cookies, set()

    def come(self, session):
        self.desk.clock.now += 1
        self.desk.has_consented(self.worker, session, self.source, self.known)
        seat = self.desk.arrive(self.worker, session, self.source, self.known, proves=self.cookies)
        if self.cookies:
            self.known.add(seat.rater)
        self.desk.consent(seat)
        return seat

    def work(self, session, choice="a"):
        seat = self.come(session)
        seen = []
        while (place := self.desk.next_step(seat)).stage == "task":
            seen.append(place.shown.pair)
            vote(self.desk, seat, choice)
        return seat, [pair.pair for pair in seen if pair.kind == "real"], place


def confirm(desk, *seats):
    with desk.store.write() as connection:
        rules = rules_in_force(connection)
        for seat in seats:
            identities.confirm_visit(connection, rules, seat.rater, seat.sitting, desk.clock())


def overdue(desk, seat):
    with desk.store.write() as connection:
        rules = rules_in_force(connection)
        identities.withdraw_visit(connection, rules, seat.rater, seat.sitting, "not listed", desk.clock())


def counted(desk):
    with desk.store.read() as connection:
        rows = connection.execute(sa.select(votes.c.rater, votes.c.pair).where(votes.c.counted == 1)).all()
    return sorted((row.rater, row.pair) for row in rows)


FORGED = list(itertools.product(("prolific", "panel", "mturk"), ("a", "b"), (True, False)))
USUAL = (("prolific", "a", False), ("panel", "b", True), ("mturk", "b", False))  # each value of each of the three


@pytest.mark.parametrize(
    ("source", "choice", "cookies"),
    [pytest.param(*case, marks=[] if case in USUAL else pytest.mark.slow) for case in FORGED],
)
def test_program_under_a_known_id_takes_no_pair(desk, source, choice, cookies):
    forged = [Browser(desk, source=source, cookies=cookies).work(f"forged-{n}", choice)[0] for n in range(5)]
    worker = Browser(desk, source=source)
    seat, seen, place = worker.work("own")
    if source == "mturk" and choice == "b":  # a blocked worker of MTurk would come again with another browser
        assert place.stage == "no_more" and place.done == 0
        for other in forged:
            overdue(desk, other)
        seat, seen, place = worker.work("own again")
    assert len(seen) == len(set(seen)) == GATED.pairs_per_sitting and place.stage == "done"
    confirm(desk, seat)
    assert counted(desk) == sorted((seat.rater, pair) for pair in seen)
    for other in {seat.rater: seat for seat in forged}.values():
        overdue(desk, other)
    assert counted(desk) == sorted((seat.rater, pair) for pair in seen)
    check_books(desk)


def test_forged_answers_leave_the_sitting_as_long(desk):
    worker, forger = Browser(desk), Browser(desk)
    own, seen = worker.come("own"), []
    forged = [forger.come(f"forged-{n}") for n in range(3)]
    while (place := desk.next_step(own)).stage == "task":
        seen.append(place.shown.pair.kind)
        for seat in forged:
            if desk.next_step(seat).stage == "task":
                vote(desk, seat, "b")
        vote(desk, own)
    assert (place.stage, place.done) == ("done", 7) and seen.count("real") == 4
    check_books(desk)


def test_a_browser_that_keeps_cookies_is_one_rater_and_sees_no_pair_twice(desk):
    worker = Browser(desk)
    first, second = worker.work("1"), worker.work("2")
    assert first[0].rater == second[0].rater and not set(first[1]) & set(second[1])
    confirm(desk, first[0], second[0])
    assert len(counted(desk)) == PAIRS
    check_books(desk)


def test_worker_without_cookies_is_one_rater(desk):
    worker = Browser(desk, source="mturk", cookies=False)
    (first, seen, _), (second, further, _) = worker.work("1"), worker.work("2")
    assert first.rater == second.rater and len(set(seen + further)) == PAIRS
    third, again, place = worker.work("3")
    assert third.rater != first.rater and len(again) == 4 and place.stage == "done"
    confirm(desk, first, second, third)
    assert counted(desk) == sorted((first.rater, pair) for pair in seen + further)  # one vote of a person on a pair
    check_books(desk)


def test_confirmed_pair_is_shown_to_no_twin_rater(desk):
    first, seen, _ = Browser(desk).work("1")
    confirm(desk, first)
    forger = Browser(desk, cookies=False)
    forger.work("forged")
    second, further, place = Browser(desk).work("2")
    assert second.rater != first.rater and not set(seen) & set(further)
    assert place.stage == "done" and len(further) == 4
    confirm(desk, second)
    assert len(counted(desk)) == PAIRS
    check_books(desk)


def test_who_is_blocked_by_confirmed_checks_is_blocked_in_every_browser(desk):
    good, _, _ = Browser(desk).work("1")
    bad, _, place = Browser(desk).work("2", "b")
    assert place.stage == "no_more" and good.rater != bad.rater
    confirm(desk, good)
    assert counted(desk)
    confirm(desk, bad)
    assert not counted(desk)
    assert desk.next_step(Browser(desk).come("3")).stage == "no_more"
    check_books(desk)


def test_ruling_holds_for_every_rater_of_a_person(desk):
    seats = [Browser(desk).work(str(n))[0] for n in range(3)]
    with desk.store.read() as connection:
        everybody = siblings(connection, seats[1].rater)
    assert set(everybody) == {seat.rater for seat in seats} and everybody[0] == desk.rater_id("p1")
    for ruling, status in (("block", {"blocked"}), (None, {"passed"})):
        rule_on(desk.store, seats[0].rater, ruling, "drawn", desk.clock())
        with desk.store.read() as connection:
            assert set(connection.scalars(sa.select(raters.c.status))) == status
    assert forget(desk.store, seats[0].rater, votes_per_pair=9, now=desk.clock()) == 21
    with desk.store.read() as connection:
        for table in (raters, leases, votes):
            assert not set(connection.scalars(sa.select(table.c.rater))) & set(everybody)
        assert not connection.execute(sa.select(payments)).all()
        assert not any(connection.scalars(sa.select(raters.c.person)))
    check_books(desk)


@pytest.mark.parametrize("seed", range(6))
def test_person_has_one_counted_vote_a_pair(tmp_path, seed):
    draw = random.Random(seed)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, GATED, make_pairs(PAIRS, checks=9)) as desk:
        browsers = [
            Browser(desk, f"p{n % 3}", draw.choice(["prolific", "mturk"]), cookies=draw.random() < 0.6)
            for n in range(9)
        ]
        seats = []
        for turn in range(40):
            seats.append(draw.choice(browsers).work(f"s{turn}", draw.choice("aaaaaab"))[0])
            if draw.random() < 0.6:
                confirm(desk, draw.choice(seats))
            if draw.random() < 0.2:
                overdue(desk, draw.choice(seats))
        with desk.store.read() as connection:
            person = {row.rater: row.person or row.rater for row in connection.execute(sa.select(raters))}
        pairs_of = [(person[rater], pair) for rater, pair in counted(desk)]
        assert pairs_of and len(set(pairs_of)) == len(pairs_of)
        check_books(desk)


def test_checks_of_a_returned_visit_are_asked_again(desk):
    worker = Browser(desk, source="mturk")
    first, _, _ = worker.work("1")
    overdue(desk, first)
    second = worker.come("2")
    assert desk.next_step(second).of == 7  # as long as a first sitting
    kinds = []
    while (place := desk.next_step(second)).stage == "task":
        kinds.append(place.shown.pair.kind)
        vote(desk, second)
    assert kinds[:2] == ["check", "check"] and kinds.count("real") == 4
    confirm(desk, second)
    assert len(counted(desk)) == 4
    check_books(desk)
