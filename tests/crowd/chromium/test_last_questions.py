"""The last questions in a real Chromium: nothing filled in is lost by a reload, by Back or by leaving."""

import json

import pytest
import sqlalchemy as sa

from seedvote.crowd.store.launches import open_door
from seedvote.crowd.store.tables import raters
from tests.crowd.marketplaces.study import Person, make_study, served
from tests.crowd.marketplaces.test_panel import PANEL
from tests.house.barriers import barriers
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser

HARD = {"name": "hard", "ask": "Was it hard?", "answers": ["easy", "hard"], "when": "after"}
SAY = {"name": "remarks", "ask": "Anything else?", "when": "after", "kind": "comment"}
SENT_TOO = "What you have filled in here is sent too"


@pytest.fixture
def last_page(tmp_path, chromium):
    """The page that ends a sitting from a panel, and what is stored of the last questions."""
    app = make_study(
        tmp_path, pairs_per_sitting=1, first_checks=0, later_checks=0, panel=PANEL, about=[HARD, SAY], sites=()
    )
    desk = app.extensions["desk"]

    def stored():
        with desk.store.read() as connection:
            return [json.loads(one) for one in connection.scalars(sa.select(raters.c.told)) if one]

    with served(app) as url:
        with desk.store.write() as connection:
            open_door(connection, "panel", [])
        for name in ("ann", "bert"):
            Person(app, "panel", name).work()
        page = chromium.new_context().new_page()
        page.route("https://school.example/**", lambda route: route.fulfill(body="credit granted"))
        page.goto(f"{url}/?id=ann&visit=s1")
        yield page, stored
        page.context.close()
    desk.store.close()


def test_reload_and_back_keep_the_last_answers(last_page):
    page, stored = last_page
    note, remark = page.get_by_text(SENT_TOO), page.get_by_label("Anything else?")
    assert page.get_by_role("heading", name="Thank you").count() and note.is_hidden()
    remark.fill("Pair 1 was odd.")
    assert note.is_visible()
    page.reload()
    assert remark.input_value() == "Pair 1 was odd." and note.is_visible()
    page.get_by_label("hard", exact=True).check()
    page.get_by_role("link", name="What is stored about me").click()
    page.go_back()
    assert remark.input_value() == "Pair 1 was odd." and page.get_by_label("hard", exact=True).is_checked()
    assert barriers(page) == [] and stored() == []
    page.get_by_role("link", name="Back to the pool").click()
    page.get_by_text("credit granted").wait_for()
    wait_for(stored)
    assert stored() == [{"answers": {"hard": "hard"}, "comments": {"remarks": "Pair 1 was odd."}}]


def test_by_keyboard_alone_they_are_sent_and_the_way_out_is_the_next_thing(last_page):
    page, stored = last_page
    for _ in range(3):  # the link that leaves them out, the choice, the text
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type === 'radio'"):
            page.keyboard.press("Space")
    page.keyboard.type("All well.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Thank you for your answers to the last questions").wait_for()
    assert stored() == [{"answers": {"hard": "easy"}, "comments": {"remarks": "All well."}}]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Back to the pool"
    wait_for(lambda: page.evaluate("sessionStorage.length") == 0)  # by the script of the page, which may still load


def test_what_somebody_else_filled_in_at_this_machine_is_not_shown(last_page):
    page, _ = last_page
    remark = page.get_by_label("Anything else?")
    remark.fill("Mine alone.")
    root = page.url.partition("/task")[0]
    page.goto(f"{root}/?id=bert&visit=s1")
    assert remark.input_value() == ""
    page.goto(f"{root}/?id=ann&visit=s1")  # a visit of its own: what is kept is of one page's seat
    assert remark.input_value() == ""
