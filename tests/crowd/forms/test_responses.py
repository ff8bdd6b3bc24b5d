"""One response alone, or several at once: places balanced, answers by response, the promises of pairs."""

import dataclasses
import json
import re

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.exchange import exporting
from seedvote.crowd.forms.responses import ResponseForm, draw_squares
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.rating.answer_sheet import read_sheet
from seedvote.crowd.rating.deciding import mend
from seedvote.crowd.rating.moment import Refused, rules_in_force
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.simulation.raters import draw_habits
from seedvote.crowd.simulation.readers import SetReader
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import events, raters, votes
from seedvote.crowd.watching.checks import check_lines
from seedvote.crowd.watching.overview import overview
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Candidate, ResponseRating, ResponseSet
from seedvote.dialogue.validity import option_order
from tests.crowd.sets import ALONE, ASKED, RULES, SETS, desk_of_sets, fields, judge, make_sets, spread, stood
from tests.crowd.study import check_books, database, seated

FETCH = {"X-Requested-With": "fetch"}
HIDDEN = re.compile("secret|best:|answer[\"'].{0,3}[0-4]", re.IGNORECASE)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


@given(st.integers(1, 10), st.integers(0, 2**62))
def test_response_orders_form_a_balanced_latin_square(size, seed):
    both = draw_squares(size, seed=seed)
    for square in both:
        for place in range(size):
            assert sorted(int(row[place]) for row in square) == list(range(size))
    rows = both[0] if size % 2 == 0 else [*both[0], *both[1]]
    follows = [row[place : place + 2] for row in rows for place in range(size - 1)]
    each = [follows.count(f"{one}{other}") for one in range(size) for other in range(size) if one != other]
    assert not each or (min(each) == max(each) == (1 if size % 2 == 0 else 2))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_places_are_balanced_in_each_set_and_overall(url, tmp_path, size):
    asked = dataclasses.replace(SETS, votes_per_pair=3)
    with desk_of_sets(url, tmp_path, asked, make_sets(6, size=size)) as desk:
        for n in range(5):
            seat = seated(desk, f"r{n}")
            while desk.next_step(seat).stage == "task":
                judge(desk, seat, range(1, size + 1), range(1, size + 1))
        assert set(check_books(desk).values()) == {3}
        found = stood(desk)
    assert all(spread(found, f"s{n}", size) <= 1 for n in range(6))
    assert spread(found, None, size) <= 4  # of 18 answers; a coin for every set would give more than 6 now and then


def test_expired_leases_keep_places_balanced(tmp_path):
    with desk_of_sets(f"sqlite:///{tmp_path}/s", tmp_path, made=make_sets(1)) as desk:
        gone = seated(desk, "gone")
        left = desk.next_step(gone).shown.token
        desk.clock.now += 3600
        for n in range(3):
            judge(desk, seated(desk, f"r{n}"))
        assert spread(stood(desk), "s0", 4) <= 1
        hit = desk.rules.hit
        sent = read_sheet(hit.questions, fields(hit, "0123", (1, 2, 3, 4), (1, 2, 3, 4)), of_sets=True)
        assert desk.answer(gone, left, sent, 1.0)[0] == "late"
        assert check_books(desk) == {"s0": 3}


def test_undo_gives_all_answers_back_filled_in_and_leaves_no_word_of_them(url, tmp_path):
    with desk_of_sets(url, tmp_path) as desk:
        seat = seated(desk, "r")
        before = desk.next_step(seat).shown
        judge(desk, seat, ranks=(2, 1, 3, 4), why="My name is Ann.")
        undone, step = desk.undo(seat, before.token)
        assert undone and step.shown.layout == before.layout
        assert step.filled == fields(desk.rules.hit, before.layout, (2, 1, 3, 4), (5, 4, 3, 2), "My name is Ann.")
        assert not desk.next_step(seat).filled
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 0
            assert not [row for row in connection.scalars(sa.select(events.c.data)) if "Ann" in row]
        check_books(desk)


def test_the_gate_goes_by_what_checks_ask_and_so_does_a_replay_of_the_log(url, tmp_path):
    hit = dataclasses.replace(SETS, first_checks=2, max_failures=2)
    with desk_of_sets(url, tmp_path, hit, make_sets(2, checks=2)) as desk:
        fails, passes = seated(desk, "fails"), seated(desk, "passes")
        for _ in range(2):
            judge(desk, passes, ranks=(1, 3, 3, 2))
            judge(desk, fails, ranks=(1, 1, 2, 2))  # as good as another one is not above all others
        assert desk.next_step(fails).stage == "no_more" and desk.next_step(passes).stage == "task"
        agree(desk, {fails.rater: "blocked", passes.rater: "passed"})
        with desk.store.read() as connection:
            assert {line.answer for line in check_lines(connection)} == {"best:0"}
        with pytest.raises(InputError, match="no answer best:7"):
            mend(desk.store, "c0", "best:7", 1e6)
        mend(desk.store, "c0", "0>2", 1e6)
        agree(desk, {fails.rater: "passed", passes.rater: "passed"})


def agree(desk, status):
    with desk.store.read() as connection:
        rules = rules_in_force(connection)
        assert dict(connection.execute(sa.select(raters.c.rater, raters.c.status)).all()) == status
        again = replay(read_events(connection), rules.gate, votes_per_pair=3, late_votes="keep")
    assert again.status == status


def test_responses_file_has_a_row_a_response(url, tmp_path):
    with desk_of_sets(url, tmp_path, made=make_sets(2)) as desk:
        for n in range(3):
            seat = seated(desk, f"r{n}")
            for _ in range(2):
                judge(desk, seat, ranks=(2, 2, 1, 4))
        judged = stood(desk)
        with desk.store.read() as connection:
            found = exporting.export(connection, votes_per_pair=3)
            seen = overview(connection, desk.rules.hit, 0.0)
    assert (found.name, len(found.votes), len(found.comments)) == ("ratings", 2 * 3 * 2 * 4, 6)
    assert "questions:order,fluency" in found.recipe and seen.real == 6 and seen.progress.counted == 6
    assert [r.votes for r in found.raters] == [2, 2, 2]
    exporting.write(tmp_path / "ratings.jsonl", found.votes, found.kind, found.recipe)
    read = read_records(tmp_path / "ratings.jsonl", ResponseRating)
    assert read == list(found.votes)
    for one in read:
        assert one.system == f"secretmodel{one.response}-{one.response}" and one.counted == (one.round > 0)
        if one.question == "order":
            assert (one.rank, one.score) == ((2.5, 2.5, 1.0, 4.0)[one.response], None)
        else:
            assert (one.score, one.rank) == (5 - one.response, None)
    places = [(one.set, one.place - 1, one.response) for one in read if one.question == "order"]
    assert all(judged[where] == places.count(where) for where in places)


def test_who_is_forgotten_leaves_answers_and_no_comment(tmp_path):
    with desk_of_sets(f"sqlite:///{tmp_path}/s", tmp_path) as desk:
        seat = seated(desk, "r")
        judge(desk, seat, why="My name is Ann.")
        forget(desk.store, seat.rater, votes_per_pair=3, now=2e6)
        with desk.store.read() as connection:
            found = exporting.export(connection, votes_per_pair=3)
    assert found.comments == [] and len(found.votes) == 8


@pytest.fixture
def app(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    hit = dataclasses.replace(SETS, first_checks=1, later_checks=1)
    with desk_of_sets(url, tmp_path, hit, make_sets(4, checks=2)):
        pass
    app = create_app(ServerConfig(url, hit, rate=0))
    yield app
    app.extensions["desk"].store.close()


def arrive(app, rater):
    client = app.test_client()
    seen = [client.get("/", query_string={"rater": rater})]
    seen.append(client.post("/consent", data=PageForm(seen[0].text).fields))
    return client, seen


def sent_by(form, start=0):
    return {name: values[(start + place) % len(values)] for place, (name, values) in enumerate(form.radios.items())}


def test_responses_page_hides_systems_and_checks(app):
    shapes = set()
    for number in range(3):
        client, seen = arrive(app, f"r{number}")
        place = client.get("/task", headers=FETCH).json
        while place["status"] == "task":
            form = PageForm(place["html"])
            seen += [client.get("/task"), client.get("/done")]
            reply = client.post("/answer", data=form.fields | sent_by(form), headers=FETCH)
            seen.append(reply)
            if reply.json["html"]:
                seen.append(client.post("/undo", data=PageForm(reply.json["html"]).fields, headers=FETCH))
                again = PageForm(seen[-1].json["html"])
                assert again.shown_texts() == form.shown_texts() and "Undone: answer again" in seen[-1].json["said"]
                pressed = re.findall('name="(q-[^"]+)" value="(.)" required checked', seen[-1].json["html"])
                assert dict(pressed) == sent_by(form)
                reply = client.post("/answer", data=again.fields | sent_by(again, 1), headers=FETCH)
            shapes.add((tuple(form.fields), tuple(form.radios), tuple(reply.json) if reply.json["html"] else ()))
            place = reply.json
        seen += [client.get("/task"), client.get("/study")]
        for page in seen:
            assert not HIDDEN.search(page.text + str(page.headers)), page.text
    assert len(shapes) == 2  # one for every set but the last of a sitting, and that one


def test_a_simulated_rater_ranks_by_what_the_page_says(app):
    """Told from ratings by the page alone: of a rating the highest number is the best, of a rank the lowest."""
    people = [draw_habits(number, seed=0) for number in range(9)]
    for person in (person for person in people if not person.lapse > 0.2):
        client, _ = arrive(app, f"simulated {person.number}")
        form = PageForm(client.get("/task").text)  # the first one is a check, whose first response is the best
        context, *texts = form.shown_texts()
        assert form.rankings == {"q-order": False}
        reader = SetReader(make_sets(4, checks=2), seed=0)
        given = reader.answer_all(person, context, texts, form.radios, form.texts, form.rankings)
        best = next(place for place, text in enumerate(texts) if text.endswith("text 0"))
        assert given[f"q-order-{best}"] == "1"


def test_without_script_half_an_answer_is_refused(app):
    client, _ = arrive(app, "ann")
    form = PageForm(client.get("/task").text)
    whole = sent_by(form)
    for lack in ("q-order-0", "q-order-3", "q-fluency-2"):
        sent = {name: value for name, value in whole.items() if name != lack}
        again = client.post("/answer", data=form.fields | sent)
        assert "Answer every question" in again.text
        assert PageForm(again.text).fields["lease"] == form.fields["lease"]
    assert client.post("/answer", data=form.fields | whole | {"q-order-4": "1"}).status_code == 400
    assert "Answer every question" in client.post("/answer", data=form.fields | {"choice": "left"}).text
    for _ in range(2):
        client.post("/answer", data=form.fields | whole)
    with app.extensions["desk"].store.read() as connection:
        ((kept, layout),) = connection.execute(sa.select(votes.c.answers, votes.c.left)).all()
    order = option_order(layout)
    scores = json.loads(kept)["fluency"]["scores"]
    assert [str(scores[int(order[place])]) for place in range(4)] == [whole[f"q-fluency-{place}"] for place in range(4)]


def test_a_page_of_another_hit_stores_nothing(tmp_path):
    with desk_of_sets(f"sqlite:///{tmp_path}/s", tmp_path) as desk:
        seat = seated(desk, "r")
        token = desk.next_step(seat).shown.token
        with pytest.raises(Refused):
            desk.answer(seat, token, "left", 1.0)
        assert desk.next_step(seat).shown.token == token


def test_a_response_alone_is_rated_on_the_scale_that_the_form_brings(tmp_path):
    with desk_of_sets(f"sqlite:///{tmp_path}/s", tmp_path, ALONE, make_sets(2, size=1)) as desk:
        seat = seated(desk, "r")
        judge(desk, seat, scores=(4,))
        with desk.store.read() as connection:
            found = exporting.export(connection, votes_per_pair=3)
            assert overview(connection, desk.rules.hit, 0.0).real == 1
    (one,) = found.votes
    assert (one.question, one.score, one.rank, one.place, one.of) == ("quality", 4, None, 1, 1)


def test_sets_with_one_text_alone_are_left_out_where_the_study_skips_them(tmp_path):
    same = dataclasses.replace(make_sets(1)[0], responses=(Candidate("same", "m", 0),) * 4, identical=True, set="same")
    for identical, served in (("show", 3), ("skip", 2)):
        hit = dataclasses.replace(SETS, identical=identical)
        with desk_of_sets(f"sqlite:///{tmp_path}/{identical}", tmp_path, hit, [*make_sets(2), same]) as desk:
            seat, number = seated(desk, "r"), 0
            while desk.next_step(seat).stage == "task":
                judge(desk, seat)
                number += 1
            assert number == served


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"answer": "best:9"}, "answer is 'best:9'; of 4 it may be like best:0"),
        ({"kind": "real"}, "answer is given, and the set is no check"),
        ({"answer": None}, "a check needs answer"),
        ({"responses": []}, "responses is empty"),
        ({"identical": True}, "identical is true, and the texts are not all the same"),
        ({"set": " "}, "set is empty"),
    ],
)
def test_a_wrong_line_of_the_file_is_refused_with_its_number(tmp_path, line, says):
    path = tmp_path / "response_sets.jsonl"
    write_records(path, make_sets(1, 1), signature="t", kind=ResponseSet)
    *before, last = path.read_text().splitlines()
    path.write_text("\n".join([*before, json.dumps(json.loads(last) | line)]) + "\n")
    with pytest.raises(InputError, match=re.escape(f"{path}:3")) as error:
        ResponseForm().read_rows(path)
    assert says in str(error.value)


def test_more_responses_than_there_are_digits_are_refused(tmp_path):
    path = tmp_path / "response_sets.jsonl"
    write_records(path, make_sets(1, size=11), signature="t", kind=ResponseSet)
    with pytest.raises(InputError, match="at most 10 at once"):
        ResponseForm().read_rows(path)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"form": "responses", "questions": [{"name": "q", "ask": "?"}]}, "is of kind pairwise"),
        ({"questions": [ASKED[0]]}, "is of kind ranking, which the form pairs does not show"),
        ({**RULES, "questions": [{**ASKED[0], "tie": "split"}]}, "equal ranks \\(one\\) or none"),
        ({**RULES, "questions": [{**ASKED[0], "points": 5}]}, "points is for kind likert"),
        ({**RULES, "questions": [{**ASKED[1], "tie": "one"}]}, "tie is for kind pairwise or ranking"),
        ({**RULES, "examples": [{"context": []}]}, "no worked examples"),
        ({**RULES, "identical": "tie"}, "nobody can say"),
    ],
)
def test_mistakes_in_hit_toml_are_told_in_a_sentence(values, says):
    with pytest.raises(InputError, match=says):
        hit_from(values, "hit.toml")


def test_hit_of_sets_stays_as_it_is():
    for hit in (SETS, ALONE):
        assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    assert [one.kind for one in ALONE.questions] == ["likert"] and Hit().questions == ()
