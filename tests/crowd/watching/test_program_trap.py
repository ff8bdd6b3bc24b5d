"""An honest trap: only programs meet it, raters are told, it is off unless asked for, and it excludes nobody."""

import dataclasses
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.change_control import refuse_changes, take_up
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.tables import events, votes
from seedvote.crowd.watching.signals import FOLLOWED, trapped_raters
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.page import TEMPLATES
from seedvote.dialogue.errors import InputError
from tests.crowd.study import desk_of, make_pairs

OPEN = Hit(first_checks=0, later_checks=0, examples=(), pairs_per_sitting=6, votes_per_pair=1)
SET = dataclasses.replace(OPEN, program_trap=True)


@pytest.fixture(params=[True, False], ids=["set", "not set"])
def app(request, tmp_path):
    url, hit = f"sqlite:///{tmp_path / 'crowd.sqlite'}", SET if request.param else OPEN
    with desk_of(url, tmp_path, hit, make_pairs(12)):
        pass
    app = create_app(ServerConfig(url, hit, rate=0))
    yield app
    app.extensions["desk"].store.close()


def begin(app, rater):
    client = app.test_client()
    page = client.get("/", query_string={"rater": rater})
    client.post("/consent", data=PageForm(page.text).fields)
    return client, page.text


def answer(client, **more):
    fields = PageForm(client.get("/task").text).fields
    return client.post("/answer", data=fields | {"choice": "left", **more}, headers=FETCH)


def trapped(app):
    desk = app.extensions["desk"]
    with desk.store.read() as connection:
        return dict(trapped_raters(connection))


def test_program_trap_is_off_and_told_before_consent(app):
    is_set = app.extensions["desk"].rules.hit.program_trap
    client, consent = begin(app, "ann")
    page = client.get("/task").text
    assert ("only programs read it" in consent) is ("for-programs" in page) is is_set
    answer(client, **{"for-programs": "program"})
    assert bool(trapped(app)) is is_set


def test_people_and_screen_readers_do_not_meet_it(app):
    """Neither shown nor read out, not to be reached by Tab, and no browser fills it by itself."""
    page = begin(app, "ann")[0].get("/task").text
    if not app.extensions["desk"].rules.hit.program_trap:
        assert "for-programs" not in page
        return
    (line,) = re.findall(r'<div hidden aria-hidden="true">(.*?)</div>', page, re.S)
    assert "leave it empty" in line and 'tabindex="-1"' in line and 'autocomplete="off"' in line
    assert page.count("for-programs") == 2 and line.count("for-programs") == 2


def test_who_follows_it_is_named_counted_and_not_excluded(app):
    (program, _), (person, _) = begin(app, "program"), begin(app, "person")
    for n in range(3):
        answer(program, **{"for-programs": "program" if n else " "})
        answer(person)
    desk = app.extensions["desk"]
    is_set = desk.rules.hit.program_trap
    assert trapped(app) == ({desk.rater_id("program"): 2} if is_set else {})
    with desk.store.read() as connection:
        found = export(connection, votes_per_pair=1)
        counted = connection.scalar(sa.select(sa.func.sum(votes.c.counted)))
    doubts = {rater.rater: rater.extra.get("doubts") for rater in found.raters}
    assert doubts == {desk.rater_id("program"): FOLLOWED if is_set else None, desk.rater_id("person"): None}
    assert counted == 6 and {rater.status for rater in found.raters} == {"passed"}
    told = program.get("/stored").text
    assert ("It was followed on 2 pages" in told) is is_set
    forget(desk.store, desk.rater_id("program"), votes_per_pair=1, now=1.0)
    assert trapped(app) == {}
    with desk.store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).where(events.c.kind == "trapped")) == 0


def test_an_answer_that_was_taken_back_or_sent_twice_is_one_pair(app):
    client, _ = begin(app, "program")
    fields = PageForm(client.get("/task").text).fields | {"choice": "left", "for-programs": "program"}
    for _ in range(3):
        client.post("/answer", data=fields, headers=FETCH)
    client.post("/undo", data=PageForm(client.get("/task").text).fields)
    answer(client, **{"for-programs": "program"})
    assert list(trapped(app).values()) == ([1] if app.extensions["desk"].rules.hit.program_trap else [])


def test_switching_it_on_in_mid_study_needs_a_new_consent(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, OPEN, make_pairs(4)) as desk:
        take_up(desk.store, OPEN, 1.0)
        with pytest.raises(InputError, match="program_trap was switched on: raise consent_version"):
            refuse_changes(desk.store, SET)
        refuse_changes(desk.store, dataclasses.replace(SET, consent_version="3"))


@pytest.mark.parametrize("form", ["choice", "conversations", "responses"])
def test_every_form_has_it(form):
    """They extend the page of a pair, and none of its blocks holds the line."""
    pair, own = ((TEMPLATES / "hit" / f"_{name}.html").read_text(encoding="utf-8") for name in ("pair", form))
    assert '{% extends "hit/_pair.html" %}' in own
    before = pair[: pair.index("hit.program_trap")]
    assert before.count("{% block") == before.count("{% endblock")
