"""What is leased in a study of questions: places that balance, versions, and sittings that end by the clock."""

import dataclasses
import random

import pytest
import sqlalchemy as sa

from seedvote.crowd.rating.moment import Refused
from seedvote.crowd.store.tables import events, leases, raters, votes
from tests.crowd.questions import PLAIN, check_places, choose, desk_of_questions, make_questions, placed
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.study import seated


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'crowd.sqlite'}"


def rows(desk, query):
    with desk.store.read() as connection:
        return connection.execute(query).all()


@pytest.mark.parametrize("k", [3, 6])
def test_abandoned_questions_get_k_balanced_answers(tmp_path, url, k):
    hit = dataclasses.replace(PLAIN, votes_per_pair=k, first_checks=1, later_checks=2, max_failures=1)
    draw = random.Random(k)
    with desk_of_questions(url, tmp_path, hit, make_questions(6, checks=6)) as desk:
        people = [seated(desk, f"r{n}") for n in range(14)]
        for _ in range(260):
            desk.clock.now += draw.choice([1, 1, 30, 400])
            seat = draw.choice(people)
            place = desk.next_step(seat)
            if place.stage == "task" and draw.random() < 0.85:
                check = place.shown.pair.kind == "check"
                choose(desk, seat, right=draw.random() < (0.8 if check else 0.6), place=place)
                if draw.random() < 0.15:
                    desk.undo(seat, place.shown.token)
        numbers = iter(range(100))
        while desk.over_for_all() is None:  # those who left are waited for no longer
            desk.clock.now += 601
            seat = seated(desk, f"late{next(numbers)}")
            while desk.next_step(seat).stage == "task":
                choose(desk, seat)
        check_places(desk)
        check_books(desk)
        assert {pair: sum(stood.values()) for pair, stood in placed(desk).items()} == {f"q{n}": 5 * k for n in range(6)}
        assert {row.status for row in rows(desk, sa.select(raters.c.status))} >= {"passed", "blocked"}


def test_late_return_gets_a_new_layout(tmp_path):
    hit, anew = dataclasses.replace(PLAIN, votes_per_pair=5), []
    for seed in range(6):
        (folder := tmp_path / str(seed)).mkdir()
        with desk_of_questions(f"sqlite:///{folder}/s", folder, hit, make_questions(1, options=2), seed) as desk:
            one = seated(desk, "one")
            before = desk.next_step(one).shown
            desk.clock.now += 601
            for number in range(3):
                choose_of_two(desk, seated(desk, f"r{number}"))
            again = desk.next_step(one).shown
            anew.append(again.layout != before.layout)
            assert (again.token != before.token) == anew[-1]
            if anew[-1]:
                with pytest.raises(Refused):
                    desk.answer(one, before.token, "0", 1.0)
            choose_of_two(desk, one)
            check_places(desk, options=2)
    assert len(set(anew)) == 2


def choose_of_two(desk, seat):
    desk.answer(seat, desk.next_step(seat).shown.token, "0", 1.0)


def test_rater_sees_one_version_in_all_sittings(tmp_path, url):
    hit = dataclasses.replace(PLAIN, first_checks=1, later_checks=1, pairs_per_sitting=2)
    with desk_of_questions(url, tmp_path, hit, make_questions(12, checks=8, versions=4)) as desk:
        assert desk.first_sitting == 4 and desk.rules.fewest_checks == 2
        seen = {}
        for number in range(8):
            for sitting in "12":
                seat = seated(desk, f"r{number}", sitting)
                while desk.next_step(seat).stage == "task":
                    seen.setdefault(number, []).append(desk.next_step(seat).shown.pair)
                    choose(desk, seat)
        assert [{question.version for question in found} for found in seen.values()] == [{n % 4 + 1} for n in range(8)]
        assert all({question.kind for question in found} == {"real", "check"} for found in seen.values())
        assert all(len(found) == 5 for found in seen.values())  # three questions and two checks, each once


def test_a_version_that_has_its_answers_gets_no_newcomer(tmp_path, url):
    hit = dataclasses.replace(PLAIN, votes_per_pair=1)
    with desk_of_questions(url, tmp_path, hit, make_questions(4, versions=2)) as desk:
        for number in range(2):
            seat = seated(desk, f"r{number}")
            while number == 0 and desk.next_step(seat).stage == "task":
                choose(desk, seat)
        third = seated(desk, "r2")
        assert desk.next_step(third).shown.pair.version == 2


def test_a_sitting_ends_by_the_clock_with_the_question_in_hand_and_says_so(tmp_path, url):
    hit = dataclasses.replace(PLAIN, sitting_minutes=40, lease_minutes=60)
    with desk_of_questions(url, tmp_path, hit) as desk:
        late = seated(desk, "late")
        desk.clock.now += 2400
        assert desk.next_step(late).stage == "task"  # who has answered nothing is not sent away
        seat = seated(desk, "r")
        choose(desk, seat)
        desk.clock.now += 2399
        assert desk.next_step(seat).stage == "task"
        desk.clock.now += 2
        kept, place = choose(desk, seat)
        assert (kept, place.stage, place.done) == ("saved", "time", 2)
        assert place.more and desk.next_step(seat).stage == "time"
        desk.clock.now += 10_000
        assert desk.next_step(seat).stage == "time"
        assert desk.next_step(seated(desk, "r", "2")).stage == "task"


def test_about_answers_are_kept_once_apart_from_the_log(tmp_path, url):
    from seedvote.crowd.hit.defaults import KNOWLEDGE

    hit = dataclasses.replace(PLAIN, about=(KNOWLEDGE,))
    with desk_of_questions(url, tmp_path, hit) as desk:
        seat = seated(desk, "r")
        assert desk.next_step(seat).stage == "about"
        assert rows(desk, sa.select(leases.c.state)) == [("reserved",)]  # it is certain that there will be a pair
        assert desk.tell_about(seat, {"knowledge": "a little"}).stage == "task"
        assert desk.tell_about(seat, {"knowledge": "nothing"}).stage == "task"
        assert rows(desk, sa.select(raters.c.about)) == [('{"knowledge": "a little"}',)]
        assert "a little" not in str(rows(desk, sa.select(events)))
        assert rows(desk, sa.select(votes)) == []


@pytest.mark.parametrize("answered", range(5))
def test_later_sitting_says_its_number_of_questions(tmp_path, url, answered):
    """Three checks come first, so what is in hand is a check or the first real question after them."""
    hit = dataclasses.replace(PLAIN, first_checks=3, later_checks=0, pairs_per_sitting=12)
    with desk_of_questions(url, tmp_path, hit, make_questions(4, checks=8)) as desk:
        first = seated(desk, "r")
        for _ in range(answered):
            choose(desk, first)
        assert desk.next_step(first).stage == "task"
        desk.clock.now += 601
        place, seat = desk.next_step(seated(desk, "r", "2")), seated(desk, "r", "2")
        told, shown = place.of, 0
        while desk.next_step(seat).stage == "task":
            choose(desk, seat)
            shown += 1
        assert shown == told == 7 - answered
