"""An answer that lacks something comes back as it was sent, in every form: what somebody wrote is nowhere else."""

import html
import json
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.tables import votes
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import write_questions
from seedvote.dialogue.records import Pair, ResponseSet
from tests.crowd.conversations import make_talks
from tests.crowd.questions import make_questions
from tests.crowd.sets import make_sets
from tests.crowd.study import make_pairs

BETTER = {"name": "better", "ask": "Which?", "tie": "split", "strength": ["slightly", "much"]}
FLUENT = {"name": "fluent", "ask": "How fluent?", "kind": "likert"}
ORDER = {"name": "order", "ask": "Which order?", "kind": "ranking", "tie": "none"}
WHY = {"name": "why", "ask": "Why?", "kind": "comment"}
MUST = {"name": "must", "ask": "What else?", "kind": "comment", "required": True}
SAID = 'Both "fit" </textarea><b>& so on</b>\r\nSecond line.'
SIDES = {"q-better": "right-2", "q-fluent-left": "4", "q-fluent-right": "2"}
RANKS = {f"q-order-{place}": str(place + 1) for place in range(4)}
RATED = {f"q-fluent-{place}": str(5 - place) for place in range(4)}
FORMS = {
    "pairs": ([BETTER, FLUENT, WHY, MUST], SIDES),
    "conversations": ([BETTER, FLUENT, WHY, MUST], SIDES),
    "responses": ([ORDER, FLUENT, WHY, MUST], RANKS | RATED),
    "choice": ([WHY, MUST], {"first": "3", "second": "0"}),
}


@pytest.fixture(params=FORMS)
def page(request, tmp_path):
    """A client on its first page, the fields that identify it, and what its radio buttons may send."""
    form = request.param
    asked, radios = FORMS[form]
    beside = {"examples": []} if form in ("pairs", "conversations") else {}
    rules = {"form": form, "questions": asked, "first_checks": 0, "later_checks": 0, **beside}
    hit = hit_from(rules, "test")
    if form == "choice":
        write_questions(tmp_path / "questions.jsonl", make_questions(4))
    elif form == "responses":
        write_records(tmp_path / "response_sets.jsonl", make_sets(4), signature="test", kind=ResponseSet)
    else:
        made = make_pairs(4) if form == "pairs" else make_talks(4)
        write_records(tmp_path / "pairs.jsonl", made, signature="test", kind=Pair)
    app = create_app(ServerConfig(prepare_study(tmp_path, None, hit, None, seed=0, simulated=False), hit, rate=0))
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=ann").text).fields)
    if form == "choice":
        client.post("/about", data=PageForm(client.get("/about").text).fields | {"about-knowledge": "nothing"})
        for number in range(1, len(hit.examples) + 1):
            fields = PageForm(client.get(f"/instructions/{number}").text).fields
            client.post(f"/instructions/{number}", data=fields | {"first": "0", "second": "1"})
    yield client, PageForm(client.get("/task").text).fields, radios
    app.extensions["desk"].store.close()


def stood(text):
    """What the fields of a page hold: texts, and the buttons that are pressed."""
    wrote = re.findall(r'<textarea name="([^"]+)"[^>]*>(.*?)</textarea>', text, re.DOTALL)
    pressed = [one for one in re.findall(r"<input type=\"radio\"[^>]*>", text) if " checked" in one]
    values = [[re.search(rf'{key}="([^"]*)"', one)[1] for key in ("name", "value")] for one in pressed]
    return {name: html.unescape(value) for name, value in wrote} | dict(values)


def stored(client):
    desk = client.application.extensions["desk"]
    with desk.store.read() as connection:
        return connection.execute(sa.select(votes.c.answers)).all()


def test_a_page_without_script_comes_back_as_it_was_sent(page):
    client, fields, radios = page
    for name in radios:  # each answer may be the one that was forgotten
        sent = {one: value for one, value in radios.items() if one != name} | {"q-why": SAID, "q-must": "More."}
        reply = client.post("/answer", data=fields | sent)
        assert reply.status_code == 200 and 'id="note" class="incomplete"' in reply.text
        assert stood(reply.text) == sent | {"q-why": SAID} and "<b>&" not in reply.text
        assert PageForm(reply.text).fields == fields
    assert not stored(client)
    assert client.post("/answer", data=fields | sent | radios).status_code == 303
    assert len(stored(client)) == 1 and stood(client.get("/task").text).get("q-why", "") == ""


def test_blank_text_is_no_answer(page):
    client, fields, radios = page
    sent = radios | {"q-why": SAID, "q-must": "   "}
    reply = client.post("/answer", data=fields | sent, headers=FETCH).json
    assert not reply["saved"] and reply["note"] == "incomplete" and stood(reply["html"]) == sent
    assert client.post("/answer", data=fields | sent | {"q-must": "So."}, headers=FETCH).json["saved"]


def test_an_answer_that_could_not_be_stored_is_on_the_page_that_says_so(page, monkeypatch):
    client, fields, radios = page
    sent = fields | radios | {"q-why": SAID, "q-must": "More."}
    desk = client.application.extensions["desk"]

    def away(*_, **_options):
        raise sa.exc.OperationalError("", {}, Exception())

    with monkeypatch.context() as broken:
        broken.setattr(desk, "answer", away)
        reply = client.post("/answer", data=sent)
    assert reply.status_code == 503 and "was not saved" in reply.text and "<b>&" not in reply.text
    kept = {name: html.unescape(value) for name, value in PageForm(reply.text).fields.items()}
    assert kept == sent and not stored(client)
    assert client.post("/answer", data=kept).status_code == 303 and len(stored(client)) == 1
    assert client.post("/answer", data=kept).status_code == 303 and len(stored(client)) == 1


def test_what_was_sent_of_one_page_does_not_fill_another(page):
    client, fields, radios = page
    client.post("/answer", data=fields | radios | {"q-must": "So."})
    name = next(iter(radios))
    stale = {one: value for one, value in radios.items() if one != name} | {"q-must": "Of the first page."}
    now = PageForm(client.get("/task").text).fields
    reply = client.post("/answer", data=now | stale | {"lease": fields["lease"]})
    assert "Of the first page." not in client.get("/task").text
    assert "Of the first page." not in reply.text
    assert client.get("/answer").status_code == 303  # loaded again by its address


def test_a_half_made_choice_in_a_worked_example_stays(tmp_path):
    hit = hit_from({"form": "choice", "about": [], "first_checks": 0, "later_checks": 0}, "test")
    write_questions(tmp_path / "questions.jsonl", make_questions(4))
    app = create_app(ServerConfig(prepare_study(tmp_path, None, hit, None, seed=0, simulated=False), hit, rate=0))
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=ann").text).fields)
    fields = PageForm(client.get("/instructions/1").text).fields
    reply = client.post("/instructions/1", data=fields | {"second": "1"})
    assert "Choose the best option" in reply.text and stood(reply.text) == {"second": "1"}
    app.extensions["desk"].store.close()


SCRIPTS = {"Latin": "é", "Chinese": "你", "emoji": "😀", "combining": "e\u0301\u0323", "Arabic": "م", "lines": "a\n"}


def filled_to_the_limit(sign):
    """As much of it as a box of 2,000 characters takes: browsers count units of UTF-16."""
    units = len(sign.encode("utf-16-le")) // 2
    return (sign * (2000 // units)).strip()


@pytest.mark.parametrize("sign", SCRIPTS.values(), ids=SCRIPTS)
def test_what_the_page_allows_the_server_takes_in_every_script(page, sign):
    client, fields, radios = page
    text = filled_to_the_limit(sign)
    sent = {"q-why": text.replace("\n", "\r\n"), "q-must": text.replace("\n", "\r\n"), **radios}
    assert client.post("/answer", data=fields | sent).status_code == 303
    ((answers,),) = stored(client)
    kept = json.loads(answers)
    assert kept["why"]["text"] == kept["must"]["text"] == text


@pytest.mark.parametrize("how", [{}, FETCH], ids=["plain", "script"])
def test_a_text_that_is_too_long_is_refused_whole_comes_back_and_says_why(page, how):
    client, fields, radios = page
    sent = {"q-why": "你" * 2001, "q-must": "yes", **radios}
    reply = client.post("/answer", data=fields | sent, headers=how)
    assert stored(client) == []
    text = reply.json["html"] if how else reply.text
    assert stood(text)["q-why"] == sent["q-why"] and stood(text)["q-must"] == "yes"
    assert "longer than 2,000 characters" in (reply.json["said"] if how else reply.text)
    assert not how or not reply.json["saved"]


def test_a_form_beyond_any_page_says_that_it_is_too_long(page):
    client, fields, radios = page
    for how in ({}, FETCH):
        reply = client.post("/answer", data=fields | radios | {"q-why": "x" * 300_000}, headers=how)
        assert reply.status_code == 413
        assert "longer than" in (reply.json["said"] if how else reply.text)
    assert stored(client) == []
