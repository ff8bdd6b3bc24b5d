"""Marked passages: what a page may send, what is stored of it, and what a forged form gets."""

import dataclasses
import json
import random
import re
import time

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.forms.form import Content, NoAnswer
from seedvote.crowd.hit.hit import hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.hit.tables import MarksRule
from seedvote.crowd.rating.marking import MOST, _place_in_file, marks_as_sent, read_marks
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import votes
from seedvote.crowd.web.page import STATIC
from seedvote.dialogue.errors import InputError
from tests.crowd.study import SHORT, database, desk_of, make_pairs, press, seated
from tests.crowd.visitor import FETCH, Visitor, live

RULE = MarksRule(("fact", "language"))
HIT = dataclasses.replace(SHORT, marks=RULE)
SHOWN = [("b", Content("No way.")), ("a", Content("line\r\nend 😀!"))]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def test_ranges_are_those_of_the_text_in_the_file():
    (mark,) = read_marks("[[1, 5, 10, 1]]", RULE, SHOWN)
    assert mark == {"response": "a", "start": 6, "end": 11, "category": "language"}
    assert SHOWN[1][1].text[6:11] == "end 😀"  # one character, whatever JavaScript counts
    for sent in ("[]", "[[0, 0, 7, 0]]", "[[0, 0, 2, 0], [0, 0, 2, 1], [1, 0, 1, 0]]"):
        assert json.loads(marks_as_sent(read_marks(sent, RULE, SHOWN), RULE, SHOWN)) == sorted(
            json.loads(sent), key=lambda mark: (SHOWN[mark[0]][0], str(mark[1]), str(mark[2]), RULE.categories[mark[3]])
        )
    assert read_marks("", RULE, SHOWN) is None and read_marks("[]", RULE, SHOWN) == []


def slow_place(text, shown):
    place = 0
    for _ in range(shown):
        place += 2 if text.startswith("\r\n", place) else 1
    return place


def test_places_are_those_of_a_slow_twin_and_cost_little_in_a_long_text():
    draw = random.Random(0)
    for _ in range(300):
        text = "".join(draw.choice(["a", "😀", "\r\n", "\r", "\n"]) for _ in range(draw.randrange(12)))
        for shown in range(len(text.replace("\r\n", "\n")) + 1):
            assert _place_in_file(text, shown) == slow_place(text, shown)
    long, begun = Content("word " * 200_000), time.process_time()
    sent = json.dumps([[0, len(long.text) - 99 + k, len(long.text) - 98 + k, 0] for k in range(MOST)])
    assert len(read_marks(sent, RULE, [("a", long)])) == MOST
    assert time.process_time() - begun < 5  # it is read while the store is locked: a minute, character by character


FORGED = [
    "x",
    "[" * 5000,
    "{}",
    "[1]",
    "[[0, 0, 2]]",
    "[[0, 0, 2, 0, 0]]",
    "[[2, 0, 1, 0]]",
    "[[-1, 0, 1, 0]]",
    "[[0, 0, 8, 0]]",
]
FORGED += [
    "[[0, 3, 3, 0]]",
    "[[0, 4, 3, 0]]",
    "[[0, -1, 3, 0]]",
    "[[0, 0, 2, 2]]",
    "[[0, 0, 2, -1]]",
    "[[0, 0, true, 0]]",
]
FORGED += ["[[0, 0, 2.0, 0]]", '[["0", 0, 2, 0]]', "[[0, 0, 2, 0], [0, 0, 2, 0]]", "null", "NaN", "[[0, 0, 1e9, 0]]"]
FORGED += [json.dumps([[0, 0, n % 7 + 1, n % 2] for n in range(MOST + 1)])]


@pytest.mark.parametrize("sent", FORGED)
def test_forged_marks_are_refused(sent):
    with pytest.raises(NoAnswer):
        read_marks(sent, RULE, SHOWN)
    if sent == "x":
        with pytest.raises(NoAnswer):
            read_marks("[[0, 0, 1, 0]]", RULE, [("a", Content("[image]", parts=(1,)))])


def test_page_takes_no_more_marks_than_its_server():
    (most,) = re.findall(r"MOST = (\d+);", (STATIC / "marks.js").read_text(encoding="utf-8"))
    assert int(most) == MOST


def test_hit_toml_says_what_may_be_marked():
    hit = hit_from({"marks": {"categories": ["fact", "language"], "ask": "What is false?"}}, "x")
    assert hit.marks == MarksRule(("fact", "language"), "What is false?")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))).marks == hit.marks
    for values, says in (
        ({"marks": {"categories": []}}, "a list of 1 to 12 different texts"),
        ({"marks": {"categories": ["a", "a"]}}, "different texts"),
        ({"marks": {"ask": "?"}}, "marks is .* which is not a table of categories, ask"),
        ({"marks": {"categories": ["a"]}, "rendering": "markdown"}, 'needs rendering = "literal"'),
        ({"marks": {"categories": ["a"]}, "form": "choice"}, "shows no single response"),
        ({"marks": {"categories": ["a"]}, "languages": ["en", "de"]}, r"'a' of \[\[about\]\], .* or \[marks\]"),
    ):
        with pytest.raises(InputError, match=says):
            hit_from(values, "x")


def test_marks_are_stored_undone_and_exported(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(2)) as desk:
        seat = seated(desk, "ann")
        place = desk.next_step(seat)
        side = 0 if place.shown.layout == "a" else 1
        desk.answer(seat, place.shown.token, press(place, "b"), 1.0, marks=f"[[{side}, 0, 2, 0]]")
        undone, again = desk.undo(seat, place.shown.token)
        assert undone and again.filled == {"marks": f"[[{side}, 0, 2, 0]]"}
        desk.answer(seat, again.shown.token, press(again, "b"), 1.0, marks=f"[[{side}, 3, 7, 1], [{side}, 0, 2, 0]]")
        for name, sent in (("bob", "[]"), ("eve", "")):  # who marked nothing, and who was not asked
            other = seated(desk, name)
            for _ in range(2):
                shown = desk.next_step(other).shown
                desk.answer(other, shown.token, "left", 1.0, marks=sent)
        with desk.store.read() as connection:
            found = export(connection, votes_per_pair=3)
        rater = seat.rater
        assert [(mark.response, mark.start, mark.end, mark.category, mark.text) for mark in found.passages] == [
            ("a", 0, 2, "fact", "p" + place.shown.pair.pair[1]),
            ("a", 3, 7, "language", "text"),
        ]
        assert {vote.marks for vote in found.votes if vote.rater == rater} == {2}
        assert sorted(str(vote.marks) for vote in found.votes if vote.rater != rater) == ["0", "0", "None", "None"]
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count(votes.c.marks))) == 3


def test_page_and_forged_posts(url, tmp_path):
    with desk_of(url, tmp_path, HIT, make_pairs(2)):
        pass
    with live(url, HIT) as app:
        visitor = Visitor(app)
        visitor.arrive("ann")
        place = visitor.look()
        assert 'name="marks" value=""' in place["html"] and 'class="marking" role="group"' in place["html"]
        form = PageForm(place["html"])
        for sent in ("[[0, 0, 99999, 0]]", "[[5, 0, 1, 0]]", "<script>"):
            reply = visitor.client.post("/answer", data=form.fields | {"choice": "left", "marks": sent}, headers=FETCH)
            assert reply.status_code == 400 and not reply.json()["saved"]
        reply = visitor.client.post(
            "/answer", data=form.fields | {"choice": "left", "marks": "[[0, 0, 2, 0]]"}, headers=FETCH
        )
        assert reply.json()["saved"]
