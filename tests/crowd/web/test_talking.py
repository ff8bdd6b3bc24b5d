"""Live conversations over HTTP, with endpoints that are slow, cut, busy, empty or lie: nobody is stuck or named."""

import contextlib
import dataclasses
import threading

import httpx
import pytest

from seedvote.crowd.rating.talk_money import read_money
from seedvote.crowd.simulation.browser import PageForm, SimulatedVisit
from seedvote.crowd.simulation.raters import TalkReader, draw_habits
from seedvote.crowd.store.tables import leases, messages, replies, votes
from seedvote.crowd.web import endpoints as asking
from seedvote.crowd.web.app import study_token
from seedvote.crowd.web.endpoints import Endpoints
from seedvote.dialogue.engines.chat import Call, Endpoint, ask_once
from seedvote.dialogue.errors import InputError
from tests.crowd.arena import NAMES, hit_of, make_topics, rows_of
from tests.crowd.study import check_books, database, desk_of
from tests.crowd.visitor import FETCH, Visitor, live
from tests.dialogue.engines.chat_server import ChatServer
from tests.house.waiting import wait_for

KEY = "sk-secret-of-sixteen-or-more"
WHOLE = "A whole reply of some words."


class Talker(Visitor):
    """A person who talks."""

    def form(self):
        """The fields of the page as it is now; `stage` says what comes next."""
        return PageForm(self.look()["html"]).fields

    def say(self, text="Hello.", **more):
        return self.client.post("/say", data=self.form() | {"text": text} | more, headers=FETCH)

    def press(self, path):
        return self.client.post(path, data=self.form(), headers=FETCH).json()

    def settled(self):
        """The page once nothing is awaited any more."""
        return wait_for(lambda: html if 'name="stage" value="wait"' not in (html := self.look()["html"]) else None)

    def stage(self):
        return PageForm(self.settled()).fields["stage"]


@contextlib.contextmanager
def arena(tmp_path, *, topics=None, key="", source="local", **rules):
    """The application with two endpoints, both as strict as can be."""
    with ChatServer(key=key or None) as ours, ChatServer() as theirs:
        hit = hit_of(ours.url, theirs.url, **rules)
        url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
        with desk_of(url, tmp_path, hit, topics or make_topics(3)):
            pass
        with live(url, hit, source=source) as app:
            yield app, ours, theirs
            app.extensions["endpoints"].finish(5)


def visit(app, name="ann"):
    talker = Talker(app)
    talker.arrive(name)
    return talker


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.01)


def test_two_endpoints_answer_and_the_vote_is_stored(tmp_path):
    with arena(tmp_path) as (app, ours, theirs):
        ann = visit(app)
        ann.say("where can I swim?")
        html = ann.settled()
        assert html.count("WHERE CAN I SWIM?") == 2
        reply = ann.client.post("/answer", data=PageForm(html).fields | {"choice": "left"}, headers=FETCH).json()
        assert reply["note"] == "saved"
        assert len(ours.asked) == len(theirs.asked) == 1
        assert ours.asked[0][1] == {
            "model": "secretours-1",
            "messages": [{"role": "user", "content": "where can I swim?"}],
            "max_tokens": 10,
        }
        assert ours.names[0] != theirs.names[0]
        check_books(app.extensions["desk"])


TROUBLES = {
    "busy": [{"status": 429, "headers": {"Retry-After": "0"}}, {"content": WHOLE}],
    "in trouble": [{"status": 500, "raw": b"oops"}, {"status": 503, "raw": b""}, {"content": WHOLE}],
    "cut": [{"cut": True}, {"content": WHOLE}],
    "no JSON": [{"raw": b"<html>"}, {"content": WHOLE}],
    "empty": [{"content": ""}, {"content": WHOLE}],
    "null with thoughts alone": [
        {"content": None, "message": {"reasoning_content": "Pondering."}},
        {"content": WHOLE, "message": {"reasoning_content": "Pondering."}},
    ],
    "thoughts first": [{"content": f"<think>Pondering.</think>{WHOLE}"}],
    "thoughts that do not end": [{"content": "<think>Pondering", "finish": "length"}, {"content": WHOLE}],
    "a stream": [{"content": WHOLE, "stream": True}],
    "a stream that breaks": [{"content": WHOLE, "stream": False}, {"content": WHOLE}],
    "another name of an option": [{"status": 400, "raw": b"use max_completion_tokens"}, {"content": WHOLE}],
    "no usage": [{"content": WHOLE, "usage": None}],
    "a usage of nothing": [{"content": WHOLE, "usage": {"prompt_tokens": 0, "completion_tokens": 0}}],
    "a usage of nonsense": [{"content": WHOLE, "usage": {"prompt_tokens": -4, "completion_tokens": "many"}}],
}
LOST = {"cut", "no JSON", "a stream that breaks"}
DOUBTED = {"no usage", "a usage of nothing", "a usage of nonsense"}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_passes_and_money_is_counted_truly(tmp_path, trouble):
    with arena(tmp_path) as (app, ours, _theirs):
        ours.script = [*TROUBLES[trouble]]
        ann = visit(app)
        ann.say()
        html = ann.settled()
        assert WHOLE in html
        assert "Pondering" not in html
        assert ann.stage() == "choose"
        (row,) = [row for row in rows_of(app.extensions["desk"]) if row.text == WHOLE]
        bound = (4 + 16 + 6 + 16) * 1e-3 + 10 * 2e-3
        said = (10 * 1000 + 2 * 2000) / 1e6  # by the double's usage
        heard = [how for how in TROUBLES[trouble] if "content" in how and how.get("stream") is not False]
        expected = said * len(heard) + bound * row.lost
        assert row.lost == (trouble in LOST)
        assert row.doubted == (trouble in DOUBTED)
        assert row.spent == pytest.approx(bound if trouble in DOUBTED else expected)
        assert row.bound == 0
        if row.lost:  # whoever knows such names does not charge twice
            assert len(set(ours.names)) == 1
        if trouble == "another name of an option":  # another body under a known name would be refused
            assert len(set(ours.names)) == 2


EVENTS = {"Content-Type": "text/event-stream"}
UNKIND = {
    "half a character": ({"content": f"{WHOLE} \ud800"}, 1),
    "a NUL alone": ({"content": "\0"}, 2),
    "a NUL in a name": ({"content": WHOLE, "model": "a\0b", "finish": "\ud800"}, 1),
    "a usage that no store can hold": (
        {"content": WHOLE, "usage": {"prompt_tokens": 10**30, "completion_tokens": 2}},
        1,
    ),
    "an encoding of no text": ({"content": WHOLE, "headers": {"Content-Type": "application/json; charset=hex"}}, 1),
    "events with a table of choices": ({"raw": b'data: {"choices": {"a": 1}}\n\n', "headers": EVENTS}, 2),
    "events with words for choices": ({"raw": b'data: {"choices": ["x"]}\n\n', "headers": EVENTS}, 2),
    "events with a number for words": (
        {"raw": b'data: {"choices": [{"delta": {"content": 5}, "finish_reason": "stop"}]}\n\n', "headers": EVENTS},
        2,
    ),
    "a prompt of fewer tokens than it can have": (
        {"content": WHOLE, "usage": {"prompt_tokens": 1, "completion_tokens": 9}},
        1,
    ),
}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_unkind_answers_leave_nobody_waiting_and_are_counted(tmp_path, kind):
    with database(kind, tmp_path) as url, ChatServer() as ours, ChatServer() as theirs:
        hit = hit_of(ours.url, theirs.url, live={"turns": [1, 50]})
        with desk_of(url, tmp_path, hit, make_topics(1)):
            pass
        with live(url, hit) as app:
            desk, ann = app.extensions["desk"], visit(app)
            for number, (trouble, (how, calls)) in enumerate(UNKIND.items(), 1):
                ours.script = [how]
                ann.say()
                assert ann.stage() == "choose", trouble
                (row,) = [row for row in rows_of(desk) if (row.number, row.side) == (number, "a")]
                assert (row.calls, row.bound) == (calls, 0), trouble
                assert row.spent > calls * 0.0139, trouble  # each call is counted, if at no more than its usage
                assert row.doubted == ("tokens" in trouble or "usage" in trouble), trouble
            app.extensions["endpoints"].finish(5)


def test_endpoint_that_speaks_no_tls_was_sent_nothing():
    with ChatServer() as server, httpx.Client() as client:
        endpoint = Endpoint(server.url.replace("http:", "https:"), "m", timeout=30)
        call = Call([{"role": "user", "content": "Hello."}], {})
        outcome = ask_once(client, endpoint, call, {}, lambda _body: "name")
        assert (outcome.reply, outcome.is_lost, outcome.wait) == (None, False, 0.0)
        assert "SSL" in outcome.trouble
        assert server.asked == []


def test_failure_of_our_own_leaves_nobody_waiting(tmp_path, monkeypatch):
    with arena(tmp_path) as (app, _ours, _theirs):
        monkeypatch.setattr(asking, "ask_once", lambda *args: 1 / 0)
        ann = visit(app)
        ann.say()
        assert ann.stage() == "failed"
        assert {row.lost for row in rows_of(app.extensions["desk"])} == {2}


def test_refused_key_is_told_to_nobody_and_the_pair_goes_back(tmp_path, monkeypatch):
    monkeypatch.setenv("OURS_KEY", "wrong-key-of-sixteen-or-more")
    with arena(tmp_path, key=KEY, prices={"price_in": 1.0, "price_out": 1.0, "key": "OURS_KEY"}) as (app, ours, theirs):
        theirs.key = None
        ann = visit(app)
        ann.say()
        html = ann.settled()
        assert "did not arrive" in html
        assert "hand-back" not in html
        assert ann.client.post("/hand-back", data=ann.form(), headers=FETCH).status_code == 400
        ann.press("/ask-again")
        html = ann.settled()
        assert "hand-back" in html
        place = ann.press("/hand-back")
        assert place["progress"]["done"] == 1
        assert len(theirs.asked) == 1
        assert len(ours.asked) == 2
        desk = app.extensions["desk"]
        assert [row.state for row in rows_of(desk, leases)] == ["returned", "held"]
        assert rows_of(desk, votes) == []
        check_books(desk)


def test_server_does_not_start_without_the_key_that_is_named(tmp_path):
    with (
        pytest.raises(InputError, match="set the environment variable NO_SUCH_KEY"),
        arena(tmp_path, prices={"key": "NO_SUCH_KEY"}),
    ):
        pass


def test_server_does_not_start_with_a_key_that_no_header_takes(tmp_path, monkeypatch):
    monkeypatch.setenv("ODD_KEY", "Schl\u00fcssel")
    with pytest.raises(InputError, match="ODD_KEY"), arena(tmp_path, prices={"key": "ODD_KEY"}):
        pass


def test_slow_endpoint_holds_up_nobody_and_no_lock(tmp_path):
    gate = threading.Event()
    with arena(tmp_path) as (app, ours, theirs):
        ours.script = [{"hold": gate}, {}]
        ann, bob = visit(app), visit(app, "bob")
        ann.say()
        wait_for(lambda: ours.asked and theirs.asked)
        assert ann.form()["stage"] == "wait"
        bob.say("quick one")
        assert bob.stage() == "choose"
        assert bob.client.post("/answer", data=bob.form() | {"choice": "tie"}, headers=FETCH).json()["note"] == "saved"
        assert ann.form()["stage"] == "wait"
        assert ann.say("impatient", turn="2").status_code == 400
        gate.set()
        assert ann.stage() == "choose"


def test_reply_that_drips_is_given_up_and_counted(tmp_path):
    with arena(tmp_path, live={"timeout": 1}) as (app, ours, _theirs):
        ours.script = [{"drip": 0.05}]
        ann = visit(app)
        ann.say()
        assert ann.stage() == "failed"
        (row,) = [row for row in rows_of(app.extensions["desk"]) if row.state == "failed"]
        assert (row.lost, row.bound) == (1, 0)
        assert row.spent > 0


def test_more_raters_than_an_endpoint_takes_wait_in_its_queue(tmp_path):
    gate, prices = threading.Event(), {"price_in": 1.0, "price_out": 1.0, "concurrency": 1}
    with arena(tmp_path, prices=prices, topics=make_topics(4)) as (app, ours, _theirs):
        ours.script = [{"hold": gate}]
        raters = [visit(app, f"r{n}") for n in range(4)]
        for rater in raters:
            rater.say()
        wait_for(lambda: ours.asked)
        assert [rater.form()["stage"] for rater in raters] == ["wait"] * 4
        assert len(ours.asked) == 1
        gate.set()
        assert {rater.stage() for rater in raters} == {"choose"}
        assert len(ours.asked) == 4


def test_queue_of_a_server_that_died_is_taken_over_by_another(tmp_path):
    with arena(tmp_path) as (app, ours, theirs):
        desk, dead = app.extensions["desk"], app.extensions["endpoints"]
        dead.finish(0)  # it takes nothing more
        ann = visit(app)
        ann.say()
        assert ann.form()["stage"] == "wait"
        assert ours.asked == theirs.asked == []
        app.extensions["endpoints"] = Endpoints(desk)
        assert ann.stage() == "choose"
        assert len(ours.asked) == len(theirs.asked) == 1


def test_server_that_runs_while_another_one_makes_the_study_live_asks_too(tmp_path, monkeypatch, caplog):
    with ChatServer() as ours, ChatServer() as theirs:
        hit = hit_of(ours.url, theirs.url, prices={"price_in": 1.0, "price_out": 1.0, "key": "OURS_KEY"})
        url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
        monkeypatch.delenv("OURS_KEY", raising=False)
        before = dataclasses.replace(hit, form="pairs", live=None)
        with desk_of(url, tmp_path, before, make_topics(3)), live(url, before) as app:
            assert app.test_client().get("/health").status_code == 200
            with desk_of(url, tmp_path, hit, make_topics(3)):
                pass
            ann = visit(app)
            assert ann.client.get("/task").status_code == 503
            told = [record.facts["told"] for record in caplog.records if record.msg == "endpoint"]
            assert len(told) == 1 and "set the environment variable OURS_KEY" in told[0]
            assert app.test_client().get("/health").status_code == 503
            monkeypatch.setenv("OURS_KEY", KEY)
            ann.say()
            assert ann.stage() == "choose"
            assert app.test_client().get("/health").status_code == 200
            app.extensions["endpoints"].finish(5)


def test_opening_is_answered_before_anything_is_said(tmp_path):
    topics = make_topics(1, opening=(("user", "open this"),))
    with arena(tmp_path, topics=topics) as (app, ours, _theirs):
        ann = visit(app)
        html = ann.settled()
        assert html.count("OPEN THIS") == 2
        assert PageForm(html).fields["stage"] == "say"
        assert len(ours.asked) == 1


def test_without_a_script_the_same_forms_work(tmp_path):
    with arena(tmp_path) as (app, _ours, _theirs):
        ann = visit(app)
        page = ann.client.get("/task")
        fields = PageForm(page.text).fields
        sent = ann.client.post("/say", data=fields | {"text": "plain\r\npost"})
        assert sent.status_code == 303
        assert [row.text for row in rows_of(app.extensions["desk"], messages)] == ["plain\npost"]
        for path in ("/say", "/ask-again", "/hand-back"):
            assert ann.client.get(path).status_code == 303  # by the back button
        page = ann.client.get(sent.headers["Location"])
        if 'value="wait"' in page.text:
            assert '<meta http-equiv="refresh"' in page.text
        ann.settled()
        fields = PageForm(ann.client.get("/task").text).fields
        assert ann.client.post("/answer", data=fields | {"choice": "left"}).status_code == 303
        assert len(rows_of(app.extensions["desk"], votes)) == 1


def test_forged_posts_change_nothing_and_name_nothing(tmp_path):
    with arena(tmp_path) as (app, ours, theirs):
        ann, bob = visit(app), visit(app, "bob")
        own, foreign = ann.form(), bob.form()["lease"]
        forged = [
            {"lease": foreign},
            {"lease": "'; --"},
            {"turn": "2"},
            {"turn": "-1"},
            {"turn": "0" * 4000},
            {"turn": "\u0661"},
            {"turn": ""},
            {"text": "x" * 41},
            {"seat": own["seat"][:-2] + "xx"},
        ]
        for wrong in forged:
            reply = ann.client.post("/say", data=own | {"text": "Hello."} | wrong, headers=FETCH)
            assert reply.status_code in (400, 200), wrong
            assert rows_of(app.extensions["desk"], messages) == [], wrong
        assert ann.client.post("/answer", data=own | {"choice": "left"}, headers=FETCH).status_code == 400
        for empty in ("", " \r\n ", "\0"):
            assert ann.say(empty).json()["status"] == "task"
        assert rows_of(app.extensions["desk"], messages) == rows_of(app.extensions["desk"], replies) == []
        assert ours.asked == theirs.asked == []
        ann.say("\0Zoë\u202e ok")
        assert rows_of(app.extensions["desk"], messages)[0].text == "Zoë\u202e ok"
        ann.settled()


def test_no_page_names_a_system_an_address_a_key_or_a_check(tmp_path, monkeypatch):
    monkeypatch.setenv("OURS_KEY", KEY)
    prices = {"price_in": 1.0, "price_out": 1.0, "key": "OURS_KEY"}
    topics = make_topics(2, checks=2)
    with arena(tmp_path, topics=topics, key=KEY, prices=prices, first_checks=1, later_checks=1) as (app, ours, theirs):
        theirs.key = KEY
        ann, seen = visit(app), []
        seen.append(Talker(app).client.get("/?rater=zoe").text)
        while (place := ann.look())["status"] == "task":
            seen.append(repr(place))
            stage = PageForm(place["html"]).fields["stage"]
            if stage == "say":
                seen.append(ann.say().text)
                seen.append(ann.settled())
                seen.append(ann.client.get("/task").text)
                seen.append(ann.client.get("/stored").text)
            else:
                left = PageForm(place["html"]).shown_texts()[1]
                side = "right" if "wrong" in left else "left"
                seen.append(ann.client.post("/answer", data=ann.form() | {"choice": side}, headers=FETCH).text)
        seen.append(ann.client.get("/task").text)
        assert len(theirs.asked) == 2  # real pairs: in a check the other side is played
        assert len(ours.asked) > 2
        secrets = [*NAMES, ours.url, str(ours.http.server_port), str(theirs.http.server_port), "OURS_KEY", KEY]
        for text in seen:
            assert [secret for secret in (*secrets, "off-topic") if secret in text] == []
        assert {header for header, _ in ours.asked} == {f"Bearer {KEY}"}
        assert KEY not in (tmp_path / "crowd.sqlite").read_bytes().decode("latin-1")


def test_money_is_spent_once_by_two_servers_of_one_study(tmp_path):
    with arena(tmp_path) as (app, ours, theirs):
        url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
        with live(url, app.extensions["config"].hit) as other:
            ann, same = visit(app), visit(other)
            form = ann.form()
            for talker in (ann, same, ann):
                talker.client.post("/say", data=form | {"text": "Hello."}, headers=FETCH)
            assert ann.stage() == same.stage() == "choose"
            assert len(ours.asked) == len(theirs.asked) == 1
            desk = app.extensions["desk"]
            money = desk.look(lambda moment: read_money(moment, moment.rules.hit.live))
            assert money.spent == pytest.approx(2 * (10 * 1000 + 2 * 2000) / 1e6)


def test_simulated_raters_finish_a_study_with_exactly_its_votes(tmp_path):
    topics = make_topics(3, checks=2)
    with arena(tmp_path, topics=topics, first_checks=1, source="simulated") as (app, _ours, _theirs):
        reader = TalkReader(topics, seed=0)
        for number in range(3):
            client = httpx.Client(base_url="http://127.0.0.1", transport=httpx.WSGITransport(app), trust_env=False)
            rater = dataclasses.replace(draw_habits(number, seed=0, clickers=0.0), lapse=0.0, leave=0.0)
            SimulatedVisit(client, reader, rater, 1, lambda: None, pause=0.01).make_visit()
        desk = app.extensions["desk"]
        assert {name: n for name, n in check_books(desk).items() if n} == {"p0": 2, "p1": 2, "p2": 2}
        assert {row.failed for row in rows_of(desk, votes) if row.pair.startswith("c")} == {0}


def test_two_questions_are_answered_after_the_talk(tmp_path):
    asked = [{"name": name, "ask": f"{name}?"} for name in ("better", "kinder")]
    with arena(tmp_path, questions=asked) as (app, _ours, _theirs):
        ann = visit(app)
        ann.say()
        html = ann.settled()
        assert "better?" in html
        answers = {"q-better": "left", "q-kinder": "tie"}
        assert ann.client.post("/answer", data=ann.form() | answers, headers=FETCH).json()["note"] == "saved"


def test_researcher_reads_what_the_talks_cost(tmp_path):
    with arena(tmp_path) as (app, _ours, _theirs):
        ann = visit(app)
        ann.say()
        ann.settled()
        told = app.test_client().get(f"/study?token={study_token(app)}", follow_redirects=True).text
        assert "0.0280 of 1,000,000.00 spent on calls" in told
        assert "1 with an answer, 2 replies of systems" in told
