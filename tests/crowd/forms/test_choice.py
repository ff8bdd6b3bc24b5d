"""Several options at once: squares that balance the places, and answers that do not depend on them."""

import dataclasses
import json
import random
import re
from collections import Counter

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.exchange import exporting
from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.forms.choice import ChoiceForm, square_rows
from seedvote.crowd.forms.form import Incomplete, NoAnswer
from seedvote.crowd.hit.defaults import CHOICE_EXAMPLES, KNOWLEDGE
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.hit.questions import questions_from
from seedvote.crowd.rating import pool
from seedvote.crowd.rating.change_control import changed_keys, refuse_changes
from seedvote.crowd.rating.deciding import mend
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import raters, votes
from seedvote.crowd.study_folder import hit_of
from seedvote.crowd.watching.checks import check_lines
from seedvote.crowd.watching.overview import overview
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import read_choices, read_questions, write_questions
from seedvote.dialogue.records import Option, Question, Utterance
from seedvote.dialogue.validity import complaint, option_order
from tests.crowd.questions import PLAIN, choose, desk_of_questions, make_questions
from tests.crowd.study import seated


def question(options=5, name="q1"):
    made = [Option(f"option {number}", f"d{number}:1") for number in range(options)]
    return Question(name, "d:1", [Utterance("user", "Hello.")], made, 2, extra={"speaker": "system", "draw": 0})


@given(st.integers(2, 12), st.integers(0, 2**62))
def test_the_rows_of_a_square_put_each_option_in_each_place_once(options, seed):
    rows = [option_order(row) for row in square_rows("q", options, seed=seed)]
    for place in range(options):
        assert sorted(int(row[place]) for row in rows) == list(range(options))
    for row in rows:
        assert sorted(map(int, row)) == list(range(options))


@given(st.integers(2, 6), st.integers(1, 13), st.integers(0, 1000))
def test_options_are_balanced_over_places_despite_dropouts(options, raters, seed):
    asked, draw, placed = question(options), random.Random(seed), Counter()
    for number in range(6):
        while sum(placed.values()) < raters:
            placed[FORM.choose_layout(asked, placed, {}, seed=seed, name=(number, sum(placed.values())))] += 1
        for row in draw.sample(sorted(placed.elements()), draw.randint(0, raters)) if number < 5 else []:
            placed[row] -= 1
    stood = Counter((place, index) for row in placed.elements() for place, index in enumerate(option_order(row)))
    each = [stood[place, str(index)] for place in range(options) for index in range(options)]
    assert max(each) - min(each) <= 1


def test_what_comes_again_keeps_its_layout_while_it_is_among_the_rarest():
    asked = question()
    one, two, *_ = square_rows("q1", 5, seed=0)
    assert FORM.choose_layout(asked, {}, {}, seed=0, name=("r",), before=one) == one
    assert FORM.choose_layout(asked, {one: 1}, {}, seed=0, name=("r",), before=one) != one
    assert FORM.choose_layout(asked, {one: 1}, {}, seed=0, name=("r",), before=two) == two


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_the_answer_names_options_whatever_their_places(order, places):
    layout = "".join(map(str, order))
    shown = FORM.on_page("t", question(), layout, 1)
    first, second = places[:2]
    answer = FORM.answer_of(FORM.read_pressed({"first": str(first), "second": str(second)}), layout)
    assert [f"option {index}" for index in answer.split(",")] == [shown.options[place].text for place in places[:2]]


@pytest.mark.parametrize(
    "sent", [{}, {"first": "1"}, {"second": "1"}, {"first": "1", "second": "1"}, {"first": "", "second": "2"}]
)
def test_who_forgot_a_choice_is_asked_again(sent):
    with pytest.raises(Incomplete):
        FORM.answer_of(FORM.read_pressed(sent), "20413")


@pytest.mark.parametrize("first", ["9", "-1", "a", "1,2", "٣", "00001", "1 "])
def test_what_no_page_sends_is_refused(first):
    with pytest.raises(NoAnswer) as found:
        FORM.answer_of(FORM.read_pressed({"first": first, "second": "0"}), "20413")
    assert not isinstance(found.value, Incomplete)


def test_of_two_options_only_the_best_is_asked_for():
    assert not FORM.on_page("t", question(2), "10", 1).ranked
    assert FORM.answer_of(FORM.read_pressed({"first": "0"}), "10") == "1"


def test_more_than_ten_options_have_commas():
    rows = square_rows("q", 12, seed=0)
    assert FORM.answer_of("3,0", rows[0]) == ",".join(rows[0].split(",")[place] for place in (3, 0))


HIT = dataclasses.replace(
    PLAIN, first_checks=1, later_checks=1, max_failures=2, examples=CHOICE_EXAMPLES, about=(KNOWLEDGE,)
)
FETCH = {"X-Requested-With": "fetch"}
FORM = ChoiceForm()
HIDDEN = re.compile("secret|987654|[\"']version|answer[\"'].{0,3}[0-4]", re.IGNORECASE)


@pytest.fixture
def app(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of_questions(url, tmp_path, HIT, make_questions(12, checks=8, versions=2)):
        pass
    app = create_app(ServerConfig(url, HIT, rate=0))
    yield app
    app.extensions["desk"].store.close()


def arrive(app, rater):
    """A client that has consented, told about itself and answered the examples."""
    client, seen = app.test_client(), []
    seen.append(client.get("/", query_string={"rater": rater}))
    client.post("/consent", data=PageForm(seen[-1].text).fields)
    seen.append(client.get("/about"))
    client.post("/about", data=PageForm(seen[-1].text).fields | {"about-knowledge": "a little"})
    for number in (1, 2):
        seen.append(client.get(f"/instructions/{number}"))
        fields = PageForm(seen[-1].text).fields | {"first": "0", "second": "1"}
        seen.append(client.post(f"/instructions/{number}", data=fields))
    return client, seen


def test_choice_page_hides_which_option_is_true(app):
    shapes = set()
    for number in range(4):
        client, seen = arrive(app, f"r{number}")
        place = client.get("/task", headers=FETCH).json
        while place["status"] == "task":
            form = PageForm(place["html"])
            seen += [client.get("/task"), client.get("/done")]
            reply = client.post("/answer", data=form.fields | {"first": "1", "second": "3"}, headers=FETCH)
            seen.append(reply)
            if reply.json["html"]:
                seen.append(client.post("/undo", data=PageForm(reply.json["html"]).fields, headers=FETCH))
                again = PageForm(seen[-1].json["html"])
                assert again.shown_texts() == form.shown_texts()
                reply = client.post("/answer", data=again.fields | {"first": "2", "second": "4"}, headers=FETCH)
            shapes.add((tuple(form.fields), tuple(form.radios), tuple(reply.json) if reply.json["html"] else ()))
            place = reply.json
        seen += [client.get("/task"), client.get("/study")]
        for page in seen:
            assert not HIDDEN.search(page.text + str(page.headers)), page.text
    assert len(shapes) == 2  # one for every question but the last of a sitting, and that one


def test_without_script_picks_must_differ_and_save_once(app):
    client, _ = arrive(app, "ann")
    fields = PageForm(client.get("/task").text).fields
    for sent in ({}, {"first": "2"}, {"second": "2"}, {"first": "2", "second": "2"}):
        again = client.post("/answer", data=fields | sent)
        assert "Choose the best option, and another one as second best" in again.text
        assert PageForm(again.text).fields["lease"] == fields["lease"]
    assert client.post("/answer", data=fields | {"first": "9", "second": "2"}).status_code == 400
    for _ in range(2):
        client.post("/answer", data=fields | {"first": "2", "second": "0"})
    with app.extensions["desk"].store.read() as connection:
        ((answer, layout),) = connection.execute(sa.select(votes.c.choice, votes.c.left)).all()
    assert answer == f"{layout[2]},{layout[0]}"


def test_comment_is_exported_to_a_file_of_its_own(tmp_path):
    why = {"name": "why", "ask": "Why?", "kind": "comment"}
    hit = dataclasses.replace(HIT, about=(), examples=(), questions=questions_from([why], "x"))
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of_questions(url, tmp_path, hit, make_questions(4, checks=4)) as desk:
        app = create_app(ServerConfig(url, hit, rate=0))
        client = app.test_client()
        client.post("/consent", data=PageForm(client.get("/", query_string={"rater": "ann"}).text).fields)
        form = PageForm(client.get("/task", headers=FETCH).json["html"])
        assert form.texts == {"q-why": False}
        picks = {"first": "3", "second": "1"}
        for sent in (picks | {"q-why": "Name: Ann."}, picks):  # with and without a word
            reply = client.post("/answer", data=form.fields | sent, headers=FETCH).json
            back = {"data": PageForm(reply["html"]).fields}
            undone = client.post("/undo", **back, headers=FETCH).json["html"]
            assert re.findall(r'name="(\w+)" value="(\d)" checked', undone) == [("second", "1"), ("first", "3")]
            assert (">Name: Ann.</textarea>" in undone) is ("q-why" in sent)
            form = PageForm(undone)
        place = client.post("/answer", data=form.fields | picks | {"q-why": "It fits."}).location
        again = client.post("/answer", data=form.fields | {"q-why": "No pick."})
        assert again.status_code == 200 and "Choose the best option" in again.text
        plain = client.post("/undo", data=PageForm(client.get(place).text).fields)  # without a script
        assert plain.status_code == 200 and ">It fits.</textarea>" in plain.text and 'value="3" checked' in plain.text
        client.post("/answer", data=PageForm(plain.text).fields | picks | {"q-why": "It fits."})
        place = client.get("/task", headers=FETCH).json
        while place["status"] == "task":
            sent = PageForm(place["html"]).fields | picks
            place = client.post("/answer", data=sent, headers=FETCH).json
        with desk.store.read() as connection:
            found, stored = export(connection, votes_per_pair=3), connection.execute(sa.select(votes)).all()
        app.extensions["desk"].store.close()
        forget(desk.store, desk.rater_id("ann"), votes_per_pair=3, now=2e9)
        with desk.store.read() as connection:
            assert export(connection, votes_per_pair=3).comments == []
    assert {row.answers for row in stored[1:]} == {"{}"} and "Ann" not in str(stored)
    judged = {row.pair for row in stored if row.failed is None}
    assert {vote.question for vote in found.votes} == judged and all(vote.first is not None for vote in found.votes)
    assert [(one.pair, one.question, one.text) for one in found.comments] == [
        (row.pair, "why", "It fits.") for row in stored[:1] if row.failed is None
    ]


def test_beside_several_options_only_comments_are_asked():
    for kind in ("likert", "pairwise"):
        with pytest.raises(InputError, match=f"x is of kind {kind}, which the form choice does not show. .* comment;"):
            hit_from({"form": "choice", "questions": [{"name": "x", "ask": "?", "kind": kind}]}, "hit.toml")


def test_about_page_must_be_answered_or_withheld(app):
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=bob").text).fields)
    fields = PageForm(client.get("/about").text).fields
    for sent in ({}, {"about-knowledge": "everything"}, {"knowledge": "a little"}):
        assert "Please choose an answer" in client.post("/about", data=fields | sent).text
    assert client.get("/task").location.startswith("/about")
    assert client.post("/about", data=fields | {"about-knowledge": ""}).location.startswith("/task")
    with app.extensions["desk"].store.read() as connection:
        assert connection.scalars(sa.select(raters.c.about)).all() == ["{}"]


def test_exported_choices_are_analysed_and_forgotten(app, tmp_path):
    desk = app.extensions["desk"]
    for number in range(8):
        arrive(app, f"r{number}")
        seat = desk.arrive(f"r{number}", "1", "local")
        while desk.next_step(seat).stage == "task":
            choose(desk, seat, right=number != 3)
    with desk.store.read() as connection:
        found = exporting.export(connection, votes_per_pair=3)
    exporting.write(tmp_path / "choices.jsonl", found.votes, found.kind, found.recipe)
    questions = read_questions(tmp_path / "questions.jsonl")
    read = read_choices(tmp_path / "choices.jsonl", questions)
    assert len(read) == len(found.votes) > 12 and not complaint(read[0])
    truth = {one.question: one.answer for one in questions}
    blocked = {one.rater for one in found.raters if one.status == "blocked"}
    assert len(blocked) == 1
    for one in read:
        assert (one.first == truth[one.question]) == (one.rater not in blocked)
        assert one.counted == (one.round > 0) and not (one.counted and one.rater in blocked)
    assert {one.profile["knowledge"] for one in found.raters} == {"a little"}
    with desk.store.read() as connection:
        assert overview(connection, HIT, 0.0).ties == sum(one.counted for one in read)
    write_questions(tmp_path / "questions.jsonl", make_questions(12, options=4))
    with pytest.raises(InputError, match="belongs to other questions"):
        read_choices(tmp_path / "choices.jsonl", read_questions(tmp_path / "questions.jsonl"))
    for number in range(8):
        forget(desk.store, desk.rater_id(f"r{number}"), votes_per_pair=3, now=0.0)
    assert b'"knowledge": "a little"' not in (tmp_path / "crowd.sqlite").read_bytes()


def test_a_check_is_mended_by_the_index_of_an_option(tmp_path):
    hit = dataclasses.replace(PLAIN, first_checks=1, later_checks=1, max_failures=1)
    with desk_of_questions(f"sqlite:///{tmp_path}/s", tmp_path, hit, make_questions(4, checks=1)) as desk:
        seat = seated(desk, "r")
        choose(desk, seat, right=False)
        assert desk.next_step(seat).stage == "no_more"
        with desk.store.read() as connection:
            (line,) = check_lines(connection)
        assert line.answer == "0" and line.usual != "0" and line.failed == 1
        with pytest.raises(InputError, match="no answer 7"):
            mend(desk.store, "c0", "7", 0.0)
        mend(desk.store, "c0", line.usual, 0.0)
        desk.read_rules()
        assert desk.next_step(seat).stage == "task"


def test_study_keeps_form_and_texts_of_shown_questions(tmp_path):
    with desk_of_questions(f"sqlite:///{tmp_path}/s", tmp_path) as desk:
        assert desk.next_step(seated(desk, "r")).stage == "task"
        with pytest.raises(InputError, match="form was changed"):
            refuse_changes(desk.store, Hit())
        write_questions(tmp_path / "questions.jsonl", make_questions(options=4))
        with pytest.raises(InputError, match="changed after launch"):
            pool.load(desk.store, tmp_path / "questions.jsonl", PLAIN, 0.0)


def test_served_questions_make_the_hit_of_the_study(tmp_path):
    questions = tmp_path / "questions.jsonl"
    assert hit_of(tmp_path, None, questions) == hit_from({"form": "choice"}, "")
    assert hit_of(tmp_path, None).form == "choice"
    (tmp_path / "hit.toml").write_text("votes_per_pair = 2\n")
    with pytest.raises(InputError, match='Add form = "choice"'):
        hit_of(tmp_path, None, questions)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"exclude": {"ties": 0.01}}, "are for pairs"),
        ({"examples": [{"context": [], "options": ["a"], "best": 1, "why": ""}]}, "two texts or more"),
        ({"examples": [{"context": [], "options": ["a", "b"], "best": 3, "why": ""}]}, "not 1 to 2"),
        ({"examples": [{"context": [], "options": ["a", "b"], "best": 1, "second": 1, "why": ""}]}, "not the best"),
        ({"about": [{"name": "Age", "ask": "?", "answers": ["a", "b"]}]}, "small letters"),
        ({"about": [{"name": "age", "ask": "?", "answers": ["a", "a"]}]}, "different texts"),
        ({"about": [{"name": "age", "ask": "?", "answers": ["a", "b"]}] * 2}, "twice"),
        ({"about": [{"name": "age", "ask": "?"}]}, "name, ask and answers"),
    ],
)
def test_mistakes_in_hit_toml_are_told_in_a_sentence(values, says):
    with pytest.raises(InputError, match=says):
        hit_from({"form": "choice", **values}, "hit.toml")


def test_the_hit_of_questions_is_kept_as_it_is():
    hit = hit_from({"form": "choice", "exclude": {"same": 9}}, "hit.toml")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    assert changed_keys(hit, hit_from_kept(json.loads(json.dumps(hit_as_kept(hit))))) == []
