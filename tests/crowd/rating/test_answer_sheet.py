"""The answers to several questions about one pair: whole or refused, by response and never by side, in one vote."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.about import TooLong
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rating.answer_sheet import Incomplete, buttons_of, is_failed, read_sheet, right_answers, turned_back
from seedvote.crowd.rating.deciding import mend
from seedvote.crowd.rating.moment import Refused, rules_in_force
from seedvote.crowd.rating.personal_data import forget, known_of
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import events, raters, votes
from seedvote.dialogue.errors import InputError
from tests.crowd.study import SHORT, check_books, database, desk_of, make_pairs, seated

ROOT = Path(__file__).resolve().parents[3]
ASKED = [
    {"name": "better", "ask": "Which one?", "strength": ["slightly", "clearly"], "tie": "split"},
    {"name": "fluency", "ask": "How fluent?", "kind": "likert", "points": 5},
    {"name": "why", "ask": "Why?", "kind": "comment"},
]
QUESTIONS = hit_from({"questions": ASKED}, "x").questions
HIT = dataclasses.replace(SHORT, questions=QUESTIONS)
FORM = {"q-better": "left-2", "q-fluency-left": "4", "q-fluency-right": "2", "q-why": " It fits. "}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def sheet(place, better="a", fluency=(4, 2), why="A repeats nothing."):
    """What a page sends of these answers by response."""
    turn = (lambda side: side) if place.shown.layout == "a" else {"left": "right", "right": "left"}.get
    pressed = better if better in ("good", "poor") else f"{turn('left' if better == 'a' else 'right')}-1"
    scores = {f"q-fluency-{turn('left')}": str(fluency[0]), f"q-fluency-{turn('right')}": str(fluency[1])}
    return read_sheet(QUESTIONS, {"q-better": pressed, **scores, "q-why": why})


def answer(desk, seat, **answers):
    place = desk.next_step(seat)
    return desk.answer(seat, place.shown.token, sheet(place, **answers), 2.0)


def test_a_form_becomes_a_sheet_by_side_and_then_by_response():
    found = read_sheet(QUESTIONS, FORM)
    assert found["better"] == {"choice": "left", "strength": 2} and found["why"] == {"text": "It fits."}
    assert turned_back(found, "b")["better"] == {"choice": "b", "strength": 2}
    assert turned_back(found, "b")["fluency"] == {"choice": "b", "score_a": 2, "score_b": 4}
    assert turned_back(found, "a")["fluency"] == {"choice": "a", "score_a": 4, "score_b": 2}


@pytest.mark.parametrize(
    "change",
    [{"q-better": ""}, {"q-better": "left"}, {"q-better": "tie"}, {"q-fluency-left": "6"}, {"q-fluency-right": "x"}],
)
def test_half_a_sheet_or_a_forged_answer_is_refused_whole(change):
    with pytest.raises(Incomplete):
        read_sheet(QUESTIONS, {**FORM, **change})


def test_optional_comment_is_kept_whole_or_not_at_all():
    assert "why" not in read_sheet(QUESTIONS, {**FORM, "q-why": " \n"})
    must = hit_from({"questions": [ASKED[0], {**ASKED[2], "required": True}]}, "x").questions
    with pytest.raises(Incomplete, match="why needs a text"):
        read_sheet(must, {**FORM, "q-why": ""})
    assert len(read_sheet(QUESTIONS, {**FORM, "q-why": "x\0" * 2000})["why"]["text"]) == 2000
    with pytest.raises(TooLong):
        read_sheet(QUESTIONS, {**FORM, "q-why": "x" * 2001})


def test_ties_are_offered_as_the_question_has_them():
    for tie, offered in (("one", ["tie"]), ("none", []), ("split", ["good", "poor"])):
        (question,) = hit_from({"questions": [{"name": "q", "ask": "?", "tie": tie}]}, "x").questions
        assert buttons_of(question) == ["left", "right", *offered]


def test_the_files_have_one_row_a_question_and_the_comments_apart(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(2)) as desk:
        seats = [seated(desk, f"r{n}") for n in range(3)]
        for seat, better in zip(seats, ("a", "b", "good"), strict=True):
            for _ in range(2):
                answer(desk, seat, better=better)
        with desk.store.read() as connection:
            found = exporting.export(connection, votes_per_pair=3)
    assert len(found.votes) == 12 and [r.votes for r in found.raters] == [2, 2, 2]
    first = [v for v in found.votes if v.pair == "p0"]
    assert [(v.question, v.choice, v.round) for v in first] == [
        *(("better", "a", 1), ("fluency", "a", 1)),
        *(("better", "b", 2), ("fluency", "a", 2)),
        *(("better", "tie", 3), ("fluency", "a", 3)),
    ]
    assert {v.tie_kind for v in first if v.choice == "tie"} == {"good"}
    assert {(v.score_a, v.score_b) for v in first if v.question == "fluency"} == {(4, 2)}
    assert {v.strength for v in first if v.choice != "tie" and v.question == "better"} == {1}
    assert [(c.pair, c.question, c.text) for c in found.comments[:1]] == [
        (found.votes[0].pair, "why", "A repeats nothing.")
    ]
    assert "questions:better,fluency" in found.recipe and len(found.comments) == 6


def test_a_page_of_another_hit_stores_nothing(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(1)) as desk:
        seat = seated(desk, "r")
        token = desk.next_step(seat).shown.token
        with pytest.raises(Refused):
            desk.answer(seat, token, "left", 1.0)
        assert desk.next_step(seat).shown.token == token


def test_undo_takes_all_answers_back_and_leaves_no_word_of_them(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(2)) as desk:
        seat = seated(desk, "r")
        token = desk.next_step(seat).shown.token
        answer(desk, seat, why="My name is Ann.")
        assert desk.undo(seat, token)[0]
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 0
            assert not [row for row in connection.scalars(sa.select(events.c.data)) if "Ann" in row]
        check_books(desk)


def test_who_is_forgotten_leaves_answers_and_no_comment(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(1)) as desk:
        seat = seated(desk, "r")
        answer(desk, seat, why="My name is Ann.")
        with desk.store.read() as connection:
            known = known_of(connection, seat.rater)  # what this rater is told to be stored
        assert (known.comments, known.answered) == (1, 1)
        forget(desk.store, seat.rater, votes_per_pair=3, now=2e6)
        with desk.store.read() as connection:
            (kept,) = connection.scalars(sa.select(votes.c.answers))
            found = exporting.export(connection, votes_per_pair=3)
    assert set(json.loads(kept)) == {"better", "fluency"} and found.comments == [] and len(found.votes) == 2


def test_a_check_asks_any_of_the_questions(url, tmp_path):
    hit = dataclasses.replace(HIT, first_checks=2, max_failures=2, pairs_per_sitting=2)
    made = [dataclasses.replace(p, answer=None, answers={"fluency": "b"}) if p.kind == "check" else p
            for p in make_pairs(2, checks=2)]  # fmt: skip
    with desk_of(url, tmp_path, hit, made) as desk:
        fails, passes = seated(desk, "fails"), seated(desk, "passes")
        for _ in range(2):
            answer(desk, passes, better="a", fluency=(1, 5))
            answer(desk, fails, better="a", fluency=(5, 1))
        status = {seat.rater: name for seat, name in ((fails, "blocked"), (passes, "passed"))}
        agree(desk, status)
        mend(desk.store, "c0", "void", 1e6)
        agree(desk, {**status, fails.rater: "passed"})


def agree(desk, status):
    """The store says so, and so does a replay of its log."""
    with desk.store.read() as connection:
        rules = rules_in_force(connection)
        assert dict(connection.execute(sa.select(raters.c.rater, raters.c.status)).all()) == status
        again = replay(read_events(connection), rules.gate, votes_per_pair=3, late_votes="keep")
        counted = dict(
            connection.execute(sa.select(votes.c.lease, votes.c.counted).where(votes.c.failed.is_(None))).all()
        )
    assert again.status == status and {k: int(v) for k, v in again.counted.items()} == counted


def test_answer_sheet_check_wants_both_answers():
    pair = dataclasses.replace(make_pairs(0, checks=1)[0], answers={"fluency": "b"})
    given = {"better": {"choice": "a"}, "fluency": {"choice": "b"}}
    assert not is_failed(given, right_answers(pair, "better"))
    assert is_failed({**given, "fluency": {"choice": "tie"}}, right_answers(pair, "better"))
    assert is_failed(given, right_answers(pair, "better", "tie"))
    assert not is_failed(given, right_answers(pair, "better", "void"))


@pytest.mark.parametrize(
    ("answers", "hit", "sentence"),
    [
        ({"colour": "a"}, HIT, "asks 'colour', which is no question of hit.toml that makes votes"),
        ({"why": "a"}, HIT, "asks 'why'"),
        ({"fluency": "a"}, SHORT, "hit.toml has no [[questions]]"),
    ],
)
def test_a_check_that_asks_what_nobody_asks_is_refused_at_the_start(tmp_path, answers, hit, sentence):
    made = [dataclasses.replace(p, answers=answers) if p.kind == "check" else p for p in make_pairs(1, checks=1)]
    with pytest.raises(InputError) as error, desk_of(f"sqlite:///{tmp_path / 'x.sqlite'}", tmp_path, hit, made):
        pass
    assert sentence in str(error.value)


def test_sides_are_balanced_and_each_pair_gets_exactly_its_votes(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(4)) as desk:
        for n in range(6):
            seat = seated(desk, f"r{n}")
            while desk.next_step(seat).stage == "task":
                answer(desk, seat, better="ab"[n % 2])
        assert set(check_books(desk).values()) == {3}
        with desk.store.read() as connection:
            lefts = connection.execute(sa.select(votes.c.pair, votes.c.left)).all()
    assert all(1 <= sum(left == "a" for pair, left in lefts if pair == name) <= 2 for name in ("p0", "p1", "p2", "p3"))


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from seedvote.crowd.rating import answering
from tests.crowd.rating.test_answer_sheet import HIT, answer
from tests.crowd.study import desk_of, make_pairs, seated
after = answering.recount_pair
answering.recount_pair = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL) if k.get("votes") else after(*a, **k)
with desk_of({url!r}, Path({folder!r}), HIT, make_pairs(1)) as desk:
    answer(desk, seated(desk, "r"))
"""


@pytest.mark.slow
def test_kill_while_saving_leaves_all_answers_or_none(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    code = KILLED.format(root=str(ROOT), url=url, folder=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ).returncode == -signal.SIGKILL
    with desk_of(url, tmp_path, HIT, make_pairs(1)) as desk:
        check_books(desk)
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 0
        answer(desk, seated(desk, "r"))
        assert check_books(desk) == {"p0": 1}
