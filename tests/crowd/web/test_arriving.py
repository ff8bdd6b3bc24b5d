"""Who comes when the last pairs are in other hands waits before consenting, loses nothing, and is let in by itself."""

import pytest
import sqlalchemy as sa

from seedvote.crowd.marketplaces.prolific.entrance import code_for
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.tables import leases, payments, raters
from tests.crowd.marketplaces.study import make_study
from tests.crowd.study import Clock

SENT = {
    "local": {"rater": "W"},
    "mturk": {"workerId": "W", "assignmentId": "A1", "hitId": "H1", "turkSubmitTo": "https://www.mturk.com"},
    "prolific": {"PROLIFIC_PID": "W", "SESSION_ID": "S1", "STUDY_ID": "T1"},
}


@pytest.fixture
def app(tmp_path):
    app = make_study(tmp_path, reals=1, votes_per_pair=1, pay_per_sitting=2.0, currency="EUR")
    app.extensions["desk"].clock = Clock()
    yield app
    app.extensions["desk"].store.close()


def opened(app, door):
    client = app.test_client()
    return client, client.get("/", query_string=SENT[door], base_url="https://localhost").text


def look_again(client, page):
    """What the page's own link, and its script every ten seconds, would show."""
    address = page.split('id="again" href="')[1].split('"')[0].replace("&amp;", "&")
    return client.get(address, base_url="https://localhost", follow_redirects=True).text


@pytest.mark.parametrize("door", list(SENT))
def test_newcomer_waits_before_consenting(app, door):
    desk = app.extensions["desk"]
    holder = desk.arrive("holder", "1", "local")
    desk.consent(holder)
    client, page = opened(app, door)
    assert "One moment, please" in page and "/consent" not in page and "/hand-in" not in page
    assert "CDONE" not in page and 'http-equiv="refresh"' in page
    assert ("you lose nothing if you leave" in page) == (door != "local")
    if door == "prolific":  # the code that asks for the place back and pays nobody
        assert code_for("full", "CDONE") in page
    if door == "mturk":
        assert "please return it" in page and "externalSubmit" not in page
    again = look_again(client, page)
    assert "One moment, please" in again
    desk.clock.now += 601
    assert "I have read this" in look_again(client, again)
    with desk.store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(raters)) == 1  # the holder
        assert connection.scalar(sa.select(sa.func.count()).select_from(payments)) == 1


@pytest.mark.parametrize("door", ["mturk", "prolific"])
def test_consenting_too_late_waits_or_leaves(app, door):
    desk = app.extensions["desk"]
    client, page = opened(app, door)
    holder = desk.arrive("holder", "1", "local")
    desk.consent(holder)
    page = client.post("/consent", data=PageForm(page).fields, base_url="https://localhost", follow_redirects=True).text
    assert "One moment, please" in page and "you lose nothing if you leave" in page
    assert "CDONE" not in page and "/hand-in" not in page and "externalSubmit" not in page
    with desk.store.read() as connection:
        mine = sa.select(leases).where(leases.c.rater == desk.rater_id("W"))
        assert connection.execute(mine).all() == []
    desk.clock.now += 601
    assert "Example 1" in look_again(client, page)


def test_the_page_s_script_and_programs_are_told_the_same(app):
    desk = app.extensions["desk"]
    desk.consent(desk.arrive("holder", "1", "local"))
    reply = app.test_client().get("/", query_string=SENT["local"], headers=FETCH, base_url="https://localhost")
    assert reply.json["status"] == "wait" and reply.json["html"] == ""
