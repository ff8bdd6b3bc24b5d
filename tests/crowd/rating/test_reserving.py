"""Nobody new reads an example or answers a check unless a pair is theirs, and every pair still gets its k votes."""

import dataclasses
import random

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.tables import leases, raters, sittings, votes
from seedvote.crowd.watching.progress import set_state
from tests.crowd.conversations import WHOLE, make_talks
from tests.crowd.questions import PLAIN, choose, desk_of_questions, make_questions
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.sets import SETS, desk_of_sets, judge, make_sets
from tests.crowd.study import SHORT, database, desk_of, make_pairs, press, seated, vote, work

CHECKED = {"votes_per_pair": 2, "first_checks": 2, "later_checks": 1, "max_failures": 2}
GATED = dataclasses.replace(SHORT, **CHECKED)
LEASE = 601


def pairs_desk(url, folder, real, **rules):
    return desk_of(url, folder, dataclasses.replace(GATED, **rules), make_pairs(real, checks=9))


def talks_desk(url, folder, real, **rules):
    return desk_of(url, folder, dataclasses.replace(WHOLE, **CHECKED, **rules), make_talks(real, checks=9))


def questions_desk(url, folder, real, **rules):
    return desk_of_questions(
        url, folder, dataclasses.replace(PLAIN, **CHECKED, **rules), make_questions(real, checks=9)
    )


def sets_desk(url, folder, real, **rules):
    return desk_of_sets(url, folder, dataclasses.replace(SETS, **CHECKED, **rules), make_sets(real, checks=9))


FORMS = {
    "pairs": (pairs_desk, vote),
    "conversations": (talks_desk, vote),
    "choice": (questions_desk, choose),
    "responses": (sets_desk, judge),
}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def sqlite(tmp_path):
    with database("sqlite", tmp_path) as found:
        yield found


def rows(desk, query):
    with desk.store.read() as connection:
        return connection.execute(query).all()


@pytest.mark.parametrize("form", list(FORMS))
def test_newcomer_waits_when_last_places_are_taken(sqlite, tmp_path, form):
    desk_of_form, answer = FORMS[form]
    with desk_of_form(sqlite, tmp_path, 1) as desk:
        inside = [seated(desk, f"r{n}") for n in range(2)]
        assert [desk.next_step(seat).shown.pair.kind for seat in inside] == ["check"] * 2
        assert desk.closed_to_newcomers() == "wait"
        newcomers = [seated(desk, f"n{n}") for n in range(3)]
        assert {(desk.next_step(seat).stage, desk.next_step(seat).done) for seat in newcomers} == {("wait", 0)}
        for seat in inside:
            kinds = []
            while (place := desk.next_step(seat)).stage == "task":
                kinds.append(place.shown.pair.kind)
                answer(desk, seat)
            assert kinds[:3] == ["check", "check", "real"]
        assert {desk.next_step(seat).stage for seat in newcomers} == {"complete"}
        assert not rows(desk, sa.select(leases).where(leases.c.rater.in_([seat.rater for seat in newcomers])))
        check_books(desk)


def test_examples_are_shown_only_with_a_pair_reserved(url, tmp_path):
    examples = Hit().examples[:2]
    with pairs_desk(url, tmp_path, 1, examples=examples, votes_per_pair=1) as desk:
        first, second = seated(desk, "first"), seated(desk, "second")
        assert (desk.next_step(first).stage, desk.next_step(second).stage) == ("instructions", "wait")
        desk.clock.now += LEASE - 2
        assert desk.instructed(first, 1, "left").number == 2  # who reads on keeps the pair
        desk.clock.now += LEASE - 2
        assert desk.next_step(second).stage == "wait"
        desk.clock.now += 3  # and who has left does not
        assert desk.next_step(second).stage == "instructions"
        assert desk.next_step(first).stage == "wait"


def test_of_ten_newcomers_as_many_are_let_in_as_there_are_places(url, tmp_path):
    with pairs_desk(url, tmp_path, 2) as desk:
        seats = [seated(desk, f"r{n}") for n in range(10)]
        assert sorted(desk.next_step(seat).stage for seat in seats) == ["task"] * 4 + ["wait"] * 6
        check_books(desk)


def test_lapsed_place_goes_to_who_waits(url, tmp_path):
    with pairs_desk(url, tmp_path, 1, votes_per_pair=1) as desk:
        leaver, waiting = seated(desk, "leaver"), seated(desk, "waiting")
        vote(desk, leaver)
        assert desk.next_step(leaver).shown.pair.kind == "check"
        desk.clock.now += LEASE - 2
        assert desk.next_step(waiting).stage == "wait"
        desk.clock.now += 2
        assert desk.closed_to_newcomers() is None
        assert desk.next_step(waiting).stage == "task"
        assert (desk.next_step(leaver).stage, desk.next_step(leaver).done) == ("wait", 1)
        assert work(desk, waiting) == "none_left" or desk.over_for_all()
        assert desk.next_step(leaver).stage == "complete"
        check_books(desk)


def test_lapsed_rater_cannot_hand_in_checks_alone(url, tmp_path):
    with pairs_desk(url, tmp_path, 2, votes_per_pair=1) as desk:
        leaver, second, third = (seated(desk, name) for name in ("leaver", "second", "third"))
        vote(desk, leaver)
        desk.clock.now += LEASE
        assert {desk.next_step(seat).shown.pair.kind for seat in (second, third)} == {"check"}
        step = desk.next_step(leaver)
        assert (step.stage, step.done, step.may_hand_in) == ("wait", 1, False)
        assert desk.hand_in(leaver).stage == "wait"
        assert not rows(desk, sa.select(sittings).where(sittings.c.finished.is_not(None)))
        for _ in range(3):
            vote(desk, second)
        step = desk.next_step(second)  # a real pair is judged, and the last one is in the hands of the third
        assert (step.stage, step.may_hand_in) == ("wait", True)
        desk.clock.now += LEASE
        assert desk.next_step(leaver).shown.pair.kind == "check"
        assert work(desk, leaver) == "complete"
        assert desk.next_step(second).stage == "complete"
        check_books(desk)


def test_rater_back_in_time_gets_the_reserved_pair(url, tmp_path):
    with pairs_desk(url, tmp_path, 3, votes_per_pair=1) as desk:
        seat = seated(desk, "r")
        (reserved,) = rows(desk, sa.select(leases.c.pair, leases.c.left).where(leases.c.state == "reserved"))
        desk.clock.now += LEASE
        assert desk.next_step(seat).shown.pair.kind == "check"  # nobody wanted it meanwhile
        for _ in range(2):
            vote(desk, seat)
        place = desk.next_step(seat)
        assert (place.shown.pair.pair, place.shown.layout) == reserved
        check_books(desk)


def test_blocked_rater_gives_the_place_back(url, tmp_path):
    with pairs_desk(url, tmp_path, 1, votes_per_pair=1, max_failures=1) as desk:
        failing, waiting = seated(desk, "failing"), seated(desk, "waiting")
        vote(desk, failing, "b")
        assert desk.next_step(failing).stage == "no_more"
        assert desk.next_step(waiting).stage == "task"
        vote(desk, waiting)
        rule_on(desk.store, waiting.rater, "block", "drawn", desk.clock())
        third = seated(desk, "third")
        assert desk.next_step(third).stage == "task"
        rule_on(desk.store, third.rater, "block", "drawn", desk.clock())
        assert desk.next_step(seated(desk, "fourth")).stage == "task"
        check_books(desk)


def test_next_sitting_of_a_person_takes_the_place(url, tmp_path):
    with pairs_desk(url, tmp_path, 1, votes_per_pair=1) as desk:
        for door, stages in (("local", ["none_left", "task"]), ("prolific", ["task", "none_left"])):
            seats = []
            for visit in "12":
                seat = desk.arrive(f"by {door}", visit, door)
                desk.consent(seat)
                seats.append(seat)
            assert [desk.next_step(seat).stage for seat in seats] == stages
            desk.clock.now += LEASE
        check_books(desk)


def test_a_place_that_new_rules_have_taken_away_is_exchanged_or_waited_for(url, tmp_path):
    with pairs_desk(url, tmp_path, 2, votes_per_pair=2) as desk:
        for n in range(2):
            seat = seated(desk, f"early{n}")
            for _ in range(3 + n):
                vote(desk, seat)
        seat = seated(desk, "r")
        with desk.store.read() as connection:
            hit = rules_in_force(connection).hit
        take_up(desk.store, dataclasses.replace(hit, votes_per_pair=1), desk.clock())
        stage = desk.next_step(seat).stage
        still = rows(desk, sa.select(leases.c.pair).where(leases.c.state == "reserved"))
        assert (stage == "task") == bool(still)
        check_books(desk)


@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_who_comes_while_the_study_rests_is_told_before_any_example(sqlite, tmp_path, state):
    with pairs_desk(sqlite, tmp_path, 2, examples=Hit().examples) as desk:
        set_state(desk.store, state)
        assert desk.closed_to_newcomers() == state == desk.next_step(seated(desk, "r")).stage


def test_a_version_with_a_free_place_gets_the_newcomer(sqlite, tmp_path):
    hit = dataclasses.replace(PLAIN, votes_per_pair=1, first_checks=1, later_checks=0)
    with desk_of_questions(sqlite, tmp_path, hit, make_questions(4, checks=4, versions=2)) as desk:
        stages = [desk.next_step(seated(desk, f"r{n}")).stage for n in range(5)]
        assert stages == ["task"] * 4 + ["wait"]


class Person:
    """Somebody who works without a pause, or who walks away at some point."""

    def __init__(self, desk, answer, name, draw):
        self.desk, self.answer, self.kinds = desk, answer, []
        self.seat, self.over = seated(desk, name), False
        self.patience = draw.choice([2, 4, 99, 99, 99])

    def act(self):
        place = self.desk.next_step(self.seat)
        if place.stage != "task":
            self.over = place.stage != "wait"
        elif len(self.kinds) == self.patience:
            self.over = True  # walks away with a pair in hand
        else:
            self.kinds.append(place.shown.pair.kind)
            self.answer(self.desk, self.seat)


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_nobody_works_for_nothing_and_pairs_get_k(sqlite, tmp_path, form, seed):
    """Until the last pair has its votes: whoever works without a pause after a check meets a real pair."""
    desk_of_form, answer = FORMS[form]
    draw, people, everybody = random.Random(seed), [], []
    with desk_of_form(sqlite, tmp_path, 5) as desk:
        while desk.over_for_all() is None:
            if len(people) < 6:
                people.append(Person(desk, answer, f"r{len(everybody)}", draw))
                everybody.append(people[-1])
            draw.choice(people).act()
            people = [person for person in people if not person.over]
            desk.clock.now += draw.choice([0, 5, 40])
        for person in everybody:
            if person.patience == 99 and person.kinds:
                while not person.over:
                    person.act()
                assert len(person.kinds) > 2 and person.kinds[2] == "real"
        assert all(row.votes == 2 for row in rows(desk, counted_votes()))
        check_books(desk)


def counted_votes():
    query = sa.select(votes.c.pair, sa.func.sum(votes.c.counted).label("votes")).where(votes.c.failed.is_(None))
    return query.group_by(votes.c.pair)


def test_sitting_at_the_tail_is_as_long_as_it_says(url, tmp_path):
    with pairs_desk(url, tmp_path, 2, votes_per_pair=1) as desk:
        seats = [seated(desk, f"r{n}") for n in range(4)]
        for seat in seats[:2]:
            while desk.next_step(seat).stage == "task":
                place = desk.next_step(seat)
                desk.answer(seat, place.shown.token, press(place, "a"), 1.0)
        assert [desk.next_step(seat).stage for seat in seats[2:]] == ["complete"] * 2
        done = rows(desk, sa.select(votes.c.rater).where(votes.c.rater.in_([seat.rater for seat in seats[2:]])))
        assert done == [] and len(rows(desk, sa.select(sittings))) == 4 and len(rows(desk, sa.select(raters))) == 4
