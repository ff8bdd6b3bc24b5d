"""The rater's way through the pages: with the page's script (JSON), and without it (forms and redirects)."""

import dataclasses
import json
import urllib.parse

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.gate import GateRule
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import events, raters, votes
from seedvote.crowd.watching.progress import set_state
from seedvote.crowd.watching.signals import PageEvents, page_events
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.errors import InputError
from tests.crowd.study import database, desk_of, make_pairs

FETCH = {"X-Requested-With": "fetch"}
HIT = Hit(
    pairs_per_sitting=3,
    first_checks=1,
    later_checks=1,
    max_failures=1,
    completion_code="DONE-1",
    screened_out_code="OUT-2",
)


@pytest.fixture
def app(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, HIT, make_pairs(8, checks=6)):
        pass
    app = create_app(ServerConfig(url, HIT, rate=0))
    yield app
    app.extensions["desk"].store.close()


def rows(app, query):
    with app.extensions["desk"].store.read() as connection:
        return connection.execute(query).all()


def begin(app, rater="ann", **arguments):
    """A client that has consented and answered the four examples."""
    client = app.test_client()
    page = client.get("/", query_string={"rater": rater, **arguments})
    if page.status_code == 200:
        assert client.post("/consent", data=PageForm(page.text).fields).status_code == 303
        for number in range(1, 5):
            fields = PageForm(client.get(f"/instructions/{number}").text).fields
            assert client.post(f"/instructions/{number}", data=fields | {"choice": "left"}).status_code == 200
    return client


def pick(html, wanted):
    """The side to press for the response whose text ends with `wanted`, and the form's fields."""
    form = PageForm(html)
    _, left, _ = form.shown_texts()
    return form.fields | {"choice": "left" if left.endswith(wanted) else "right", "seconds": "2.5"}


def test_nothing_is_stored_before_consent(app):
    client = app.test_client()
    assert client.get("/?rater=ann").status_code == 200
    assert client.get("/task").status_code == 303
    assert rows(app, sa.select(raters)) == []


def test_consent_is_asked_again_when_its_text_changes(app):
    begin(app)
    assert rows(app, sa.select(raters.c.consent)) == [("2",)]
    desk = app.extensions["desk"]
    desk.rules = dataclasses.replace(desk.rules, hit=dataclasses.replace(desk.rules.hit, consent_version="3"))
    assert "I have read this" in app.test_client().get("/?rater=ann").text


def test_the_whole_way_without_a_script_ends_at_the_completion_code(app):
    client = begin(app)
    page, saved = client.get("/task"), 0
    while 'name="lease"' in page.text:
        reply = client.post("/answer", data=pick(page.text, "text a"))
        assert reply.status_code == 303 and reply.location.startswith("/task?seat=")
        saved += 1
        page = client.get(reply.location)
        assert "Saved" in page.text or "DONE-1" in page.text
    assert saved == 5 and "DONE-1" in page.text
    assert client.get("/done").text.count("DONE-1") == 1


@pytest.mark.parametrize("wanted", ["a", "b"])
@pytest.mark.parametrize("script", [True, False], ids=["with the script", "without it"])
def test_stored_choice_is_the_response_on_either_side(app, wanted, script):
    desk = app.extensions["desk"]
    desk.rules = dataclasses.replace(desk.rules, gate=GateRule(max_failures=99))
    for number in range(3):
        client = begin(app, f"r{number}")
        page = client.get("/task").text
        for _ in range(3):
            if script:
                reply = client.post("/answer", data=pick(page, f"text {wanted}"), headers=FETCH).json
                if not (page := reply["html"]):
                    break
            else:
                client.post("/answer", data=pick(page, f"text {wanted}"))
                if "lease" not in (page := client.get("/task").text):
                    break
    stored = rows(app, sa.select(votes.c.choice, votes.c.left))
    assert {row.choice for row in stored} == {wanted} and {row.left for row in stored} == {"a", "b"}


def test_the_script_gets_the_next_pair_in_the_reply_to_an_answer(app):
    client = begin(app)
    place = client.get("/task", headers=FETCH).json
    assert place["status"] == "task" and place["progress"] == {"done": 0, "of": 5}
    reply = client.post("/answer", data=pick(place["html"], "text a"), headers=FETCH).json
    assert reply["saved"] is True and reply["progress"]["done"] == 1
    assert PageForm(reply["html"]).fields["lease"] != PageForm(place["html"]).fields["lease"]


def test_a_double_click_is_one_vote_and_shows_the_same_next_pair(app):
    client = begin(app)
    fields = pick(client.get("/task").text, "text a")
    one, two = (client.post("/answer", data=fields, headers=FETCH).json for _ in range(2))
    assert one["html"] == two["html"] or PageForm(one["html"]).fields["lease"] == PageForm(two["html"]).fields["lease"]
    assert len(rows(app, sa.select(votes))) == 1


def test_undo_brings_the_pair_back_and_a_second_undo_does_nothing(app):
    client = begin(app)
    html = client.get("/task").text
    before = PageForm(html).shown_texts()
    after = client.post("/answer", data=pick(html, "text a"), headers=FETCH).json["html"]
    undone = client.post("/undo", data=PageForm(after).fields, headers=FETCH).json
    assert PageForm(undone["html"]).shown_texts() == before and rows(app, sa.select(votes)) == []
    assert client.post("/undo", data=PageForm(undone["html"]).fields).status_code == 303


def test_a_rater_who_fails_meets_a_friendly_end_with_the_code_for_it(app):
    client = begin(app)
    client.post("/answer", data=pick(client.get("/task").text, "text b"))
    page = client.get("/task").text
    assert "no more tasks" in page and "OUT-2" in page and "DONE-1" not in page and "check" not in page.lower()
    again = begin(app, sitting="2")
    assert "no more tasks" in again.get("/task").text


def test_a_restarted_server_lets_a_rater_go_on_without_logging_in(app):
    client = begin(app)
    before = PageForm(client.get("/task").text).shown_texts()
    config = app.extensions["config"]
    restarted = create_app(config)
    try:
        other = restarted.test_client()
        cookie = client.get_cookie("seedvote")
        other.set_cookie("seedvote", cookie.value)
        assert PageForm(other.get("/task").text).shown_texts() == before
    finally:
        restarted.extensions["desk"].store.close()


def test_who_was_forgotten_meanwhile_begins_anew(app):
    client, desk = begin(app), app.extensions["desk"]
    forget(desk.store, desk.rater_id("ann"), votes_per_pair=3, now=desk.clock())
    assert client.get("/task").location == "/"
    assert "I have read this" in client.get("/").text


def test_a_paused_study_says_so_and_saves_the_answer_in_hand(app):
    client = begin(app)
    fields = pick(client.get("/task").text, "text a")
    set_state(app.extensions["desk"].store, "paused")
    assert client.post("/answer", data=fields, headers=FETCH).json["status"] == "paused"
    assert "paused" in client.get("/task").text and len(rows(app, sa.select(votes))) == 1


def test_worked_examples_are_answered_in_order_and_recorded(app):
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=ann").text).fields)
    fields = PageForm(client.get("/instructions/1").text).fields
    assert client.post("/instructions/3", data=fields | {"choice": "left"}).status_code == 400
    assert client.get("/instructions/9").status_code == 400
    assert client.post("/instructions/1", data=fields | {"choice": "tie"}).status_code == 200
    assert client.get("/task").location.startswith("/instructions/2?seat=")
    told = rows(app, sa.select(events.c.data).where(events.c.kind == "instructed"))
    assert [json.loads(row.data) for row in told] == [{"number": 1, "chosen": "tie"}]


def test_nonsense_seconds_become_the_servers_measure(app):
    client = begin(app)
    for said in ("2.5", "nan", "-3", "1e300", "", "a" * 50):
        html = client.get("/task").text
        if "lease" not in html:
            break
        client.post("/answer", data=pick(html, "text a") | {"seconds": said})
    found = [row.seconds for row in rows(app, sa.select(votes).order_by(votes.c.vote))]
    assert found[0] == 2.5 and all(0 <= seconds < 60 for seconds in found)


def test_a_visitor_without_an_id_gets_one_in_the_cookie_and_keeps_it(app):
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/").text).fields)
    assert client.get("/").location.startswith("/task?seat=")
    assert len(rows(app, sa.select(raters))) == 1


def test_address_claims_are_not_believed(app):
    assert app.test_client().get("/", query_string={"rater": "robot", "source": "simulated"}).status_code == 403
    begin(app, "liar", source="mturk")
    assert [row.source for row in rows(app, sa.select(raters))] == ["local"]


@pytest.fixture
def counting(tmp_path):
    """The same study, which counts what happens to the page."""
    url, hit = f"sqlite:///{tmp_path / 'counting.sqlite'}", dataclasses.replace(HIT, page_events=True, first_checks=0)
    with desk_of(url, tmp_path, hit, make_pairs(8, checks=6)):
        pass
    app = create_app(ServerConfig(url, hit, rate=0))
    yield app
    app.extensions["desk"].store.close()


def answer_saying(client, noticed):
    """Answer the pair that is due; the page's script has counted this."""
    fields = pick(client.get("/task").text, "a")
    assert client.post("/answer", data=fields | {"noticed": noticed}, headers=FETCH).get_json()["status"] == "task"


def test_page_events_need_the_study_and_consent(app, counting):
    told = {one: one.test_client().get("/?rater=ann").text for one in (app, counting)}
    assert [("how often you leave this page" in told[one]) for one in (app, counting)] == [False, True]
    client = begin(app)
    assert 'name="noticed"' not in client.get("/task").text
    fields = pick(client.get("/task").text, "a")
    client.post("/answer", data=fields | {"noticed": "3,2,1"})
    assert rows(app, sa.select(events).where(events.c.kind == "noticed")) == []
    with app.extensions["desk"].store.read() as connection:
        assert page_events(connection) is None
        assert all("page_events" not in rater.extra for rater in export(connection, votes_per_pair=3).raters)


def test_counts_are_kept_by_pair_and_nonsense_is_nothing(counting):
    client = begin(counting)
    assert PageForm(client.get("/task").text).fields["noticed"] == ""
    answer_saying(client, "2,1,0")
    for nonsense in ("", "1,2", "-1,0,0", "9999,0,0", "\u0663,0,0", "<b>,0,0", "0,0,0"):
        if PageForm(client.get("/task").text).fields.get("lease"):
            client.post("/answer", data=pick(client.get("/task").text, "a") | {"noticed": nonsense})
    found = [json.loads(row.data) for row in rows(counting, sa.select(events).where(events.c.kind == "noticed"))]
    assert found == [{"left": 2, "copied": 1, "pasted": 0}]
    with counting.extensions["desk"].store.read() as connection:
        (rater,) = export(connection, votes_per_pair=3).raters
        assert page_events(connection) == {rater.rater: PageEvents(1, 1, 0)}
    assert rater.extra["page_events"] == {"left": 1, "copied": 1, "pasted": 0} and rater.status == "passed"


def test_forgotten_rater_leaves_no_page_event(counting):
    client = begin(counting)
    answer_saying(client, "1,1,1")
    desk = counting.extensions["desk"]
    store = desk.store
    assert len(rows(counting, sa.select(events).where(events.c.kind == "noticed"))) == 1
    forget(store, desk.rater_id("ann"), votes_per_pair=3, now=1.0)
    assert rows(counting, sa.select(events).where(events.c.kind == "noticed")) == []
    hit = desk.rules.hit
    take_up(store, dataclasses.replace(hit, page_events=False), 2.0)
    with pytest.raises(InputError, match="page_events was switched on: raise consent_version"):
        take_up(store, hit, 3.0)
    assert take_up(store, dataclasses.replace(hit, consent_version="3"), 4.0)


def test_what_was_on_the_screen_is_stored_with_the_vote_and_named(app):
    asked = app.test_client().get("/?rater=ann").text
    assert "whether you use a phone, a tablet or a computer" in asked
    client = begin(app)
    for view in ("phone,1,3.25", "tablet,99,0.5", "toaster,1,1", "phone,-1,1", "phone,1,1e9", ""):
        if PageForm(client.get("/task").text).fields.get("lease"):
            client.post("/answer", data=pick(client.get("/task").text, "a") | {"view": view, "seconds": "5"})
    with app.extensions["desk"].store.read() as connection:
        found = export(connection, votes_per_pair=3).votes
        kept = connection.execute(sa.select(votes.c.device, votes.c.turns_seen).order_by(votes.c.vote)).all()
    assert [tuple(row) for row in kept] == [("phone", 1), ("tablet", 99), *[(None, None)] * (len(kept) - 2)]
    shown = [(vote.device, vote.turns_seen, vote.turns, vote.context_seconds) for vote in found]
    assert ("tablet", 2, 2, 0.5) in shown and (None, None, None, None) in shown  # no more than there are
    assert "a phone, a tablet" in client.get("/stored").text
    forget(app.extensions["desk"].store, found[0].rater, votes_per_pair=3, now=1.0)
    assert {
        tuple(row) for row in rows(app, sa.select(votes.c.device, votes.c.turns_seen, votes.c.context_seconds))
    } == {(None, None, None)}


FORGED_VIEWS = (
    *("phone,1,99999.99", "phone,9999,3", "phone,0,40"),  # longer than the pair was out, more than there is, neither
    *(
        "phone,1,3\0",
        "phone,1,3\n",
        "phone,1,3,4",
        "phone,1",
        "PHONE,1,3",
        "phone,\u0661,3",
        "phone,1,nan",
        "phone,1,-0",
    ),
    *("phone,1,1e5", "phone,99999,1", "phone,1,999999", "phone,1,3.123", "x" * 9_000, "phone," * 1_000),
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_no_forged_view_of_the_page_costs_a_vote_or_is_believed(tmp_path, kind):
    hit = dataclasses.replace(HIT, pairs_per_sitting=40, first_checks=0, later_checks=0)
    with database(kind, tmp_path) as url:
        with desk_of(url, tmp_path, hit, make_pairs(30)):
            pass
        app = create_app(ServerConfig(url, hit, rate=0))
        client = begin(app)
        for view in FORGED_VIEWS:
            sent = pick(client.get("/task").text, "text a") | {"view": view, "seconds": "2"}
            assert client.post("/answer", data=sent, headers=FETCH).get_json()["saved"]
        sent = pick(client.get("/task").text, "text a")
        twice = [*((name, text) for name, text in sent.items() if name != "view"), ("view", "phone,1,1"), ("view", "x")]
        body = urllib.parse.urlencode(twice)
        form = "application/x-www-form-urlencoded"
        assert client.post("/answer", data=body, content_type=form, headers=FETCH).get_json()["saved"]
        again = client.post("/answer", data=sent | {"view": "desktop,2,9"}, headers=FETCH).get_json()
        assert again["note"] == "again"  # the first view stands, like the first answer
        sent = pick(client.get("/task").text, "text a")
        del sent["view"]  # a page from before there was one
        assert client.post("/answer", data=sent, headers=FETCH).get_json()["saved"]
        with app.extensions["desk"].store.read() as connection:
            found = export(connection, votes_per_pair=3).votes
        app.extensions["desk"].store.close()
    assert len(found) == len(FORGED_VIEWS) + 2
    stored = [(vote.device, vote.turns_seen, vote.context_seconds) for vote in found if vote.device]
    assert len(stored) == 4 and {device for device, *_ in stored} == {"phone"}
    assert all(0 <= seen <= vote.turns for vote, (_, seen, _) in zip(found, stored, strict=False) if vote.device)
    assert max(seconds for *_, seconds in stored) < 60  # no longer than the pair was out


def test_minutes_are_those_that_raters_took_or_what_hit_toml_says(app):
    desk = app.extensions["desk"]
    assert "minute" not in app.test_client().get("/?rater=new").text and desk.minutes_of_sitting() is None
    for rater in ("ann", "bob", "eve"):
        client = begin(app, rater)
        assert "min to go" not in client.get("/task").text
        for seconds in (60, 60, 60, 60, 60):
            client.post("/answer", data=pick(client.get("/task").text, "text a") | {"seconds": str(seconds)})
    desk._pace_until = 0.0
    assert desk.typical_pace() == 60 and desk.minutes_of_sitting() == 5 + 4  # pairs and worked examples
    assert "It takes about 9 minutes." in app.test_client().get("/?rater=new").text
    client = begin(app, "zoe")
    assert "about 5 min to go" in client.get("/task").text  # before the first answer, at the pace of the others
    for _ in range(3):
        client.post("/answer", data=pick(client.get("/task").text, "text a") | {"seconds": "150"})
    assert "about 5 min to go" in client.get("/task").text  # two more at their own
    desk.rules = dataclasses.replace(desk.rules, hit=dataclasses.replace(desk.rules.hit, minutes_per_sitting=20))
    assert "It takes about 20 minutes." in app.test_client().get("/?rater=new").text


def test_study_that_stores_no_screen_asks_for_none(app):
    desk = app.extensions["desk"]
    take_up(desk.store, dataclasses.replace(HIT, page_view=False), 2.0)
    client = begin(app)
    assert 'name="view"' not in client.get("/task").text
    assert "whether you use a phone" not in app.test_client().get("/?rater=bob").text
    client.post("/answer", data=pick(client.get("/task").text, "a") | {"view": "phone,1,3.25"})
    assert rows(app, sa.select(votes.c.device)) == [(None,)]
    with pytest.raises(InputError, match="page_view was switched on: raise consent_version"):
        take_up(desk.store, HIT, 3.0)
