"""A request looks up once whose page it is: one signature read, one made, one rate limit, one look at the keys."""

from collections import Counter

import pytest
from flask import Blueprint

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store import identity
from seedvote.crowd.web import study_request, views
from seedvote.crowd.web.study_request import PageVisit, StudyRequest
from tests.crowd.study import SHORT, database, desk_of
from tests.crowd.visitor import live


@pytest.fixture
def app(tmp_path):
    with database("sqlite", tmp_path) as url:
        with desk_of(url, tmp_path):
            pass
        with live(url, SHORT) as app:
            yield app


@pytest.fixture
def calls(monkeypatch):
    """How often each of these was called."""
    counts = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*args, **named):
            counts[name] += 1
            return original(*args, **named)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in (
        (study_request, "visit_of"),
        (PageVisit, "token"),
        (Desk, "refresh_keys"),
        (Desk, "names_of"),
        (identity, "keyed"),
    ):
        count(owner, name)
    return counts


def test_an_answer_reads_one_token_and_signs_one_page_and_one_lease(app, calls):
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=r").text).fields)
    fields = PageForm(client.get("/task").text).fields | {"choice": "left", "seconds": "2.5"}
    calls.clear()
    assert client.post("/answer", data=fields, headers=FETCH).json["saved"]
    assert calls == {"visit_of": 1, "token": 1, "refresh_keys": 1, "keyed": 1}  # `keyed`: the next lease


def test_a_page_is_the_tab_s_own_although_the_cookie_names_another_visit(app, calls):
    client = app.test_client()
    first = client.post("/consent", data=PageForm(client.get("/?rater=r").text).fields, follow_redirects=True)
    client.post("/consent", data=PageForm(client.get("/?rater=other").text).fields)
    calls.clear()
    fields = PageForm(first.text).fields | {"choice": "left", "seconds": "2.5"}
    assert client.post("/answer", data=fields, headers=FETCH).json["saved"]
    assert calls["visit_of"] == 2 and calls["token"] == 1


def test_a_view_gets_the_request_itself(app, monkeypatch):
    """Flask's stand-in looks it up anew for each of some fifty questions that a view asks."""
    got, pages = [], Blueprint("pages", __name__)
    monkeypatch.setattr(views, "rater_pages", pages)
    views.route("/seen", endpoint="seen")(got.append)
    app.register_blueprint(pages)
    with app.test_request_context("/seen"):
        app.view_functions["pages.seen"]()
    assert [type(incoming) for incoming in got] == [StudyRequest]
