"""A worker on Mechanical Turk in a real browser: our page in the marketplace's frame, another site round it."""

import json

import boto3
import pytest
import sqlalchemy as sa

from seedvote.crowd.__main__ import COMMANDS
from seedvote.crowd.store.launches import read_record
from seedvote.crowd.store.tables import raters
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.marketplaces.mturk_endpoint import serve
from tests.crowd.marketplaces.study import Person, make_study, served
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser


FEW = {"pairs_per_sitting": 2, "first_checks": 1, "later_checks": 1, "max_failures": 1}
REMARKS = {"name": "remarks", "ask": "Anything else?", "when": "after", "kind": "comment"}


@pytest.fixture
def hit(request, tmp_path, monkeypatch, capsys):
    """A launched HIT: the endpoint, and the HIT's id. The marketplace is `localhost`, the page `127.0.0.1`."""
    server = serve()
    site = server.url.replace("127.0.0.1", "localhost")
    monkeypatch.setenv("AWS_ENDPOINT_URL_MTURK", site)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "example")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    app = make_study(
        tmp_path, sites=(site,), launched=False, invited=True, pay_per_sitting=0.5, **getattr(request, "param", {})
    )
    with served(app) as url:
        dispatch("crowd", "", COMMANDS, ["launch", str(tmp_path), "--mturk", "--sandbox", "--public-url", url, "--yes"])
        server.site, server.app = site, app
        with opened(tmp_path, None) as store, store.read() as connection:
            server.hit = read_record(connection, "mturk")["hits"][0]["hit"]
        yield server
    app.extensions["desk"].store.close()
    server.shutdown()
    server.server_close()


def test_a_preview_in_the_frame_gives_no_work(hit, chromium):
    page = chromium.new_page()
    page.goto(f"{hit.site}/preview?hit={hit.hit}")
    frame = page.frame_locator("iframe")
    frame.get_by_text("This is a preview").wait_for()
    assert frame.locator("form").count() == 0 and not hit.turk.assignments
    page.close()


@pytest.mark.parametrize("hit", [FEW], indirect=True)
def test_a_worker_accepts_works_in_the_frame_and_hands_in(hit, chromium):
    page = chromium.new_page()
    page.goto(f"{hit.site}/worker?hit={hit.hit}&worker=AWORKER")
    frame = page.frame_locator("iframe")
    frame.locator("form button").first.click()
    for _ in range(4):
        frame.get_by_role("button", name="Tie").click()
        frame.locator("a.go, button.go, form button:not([name=choice])").first.click()
    submit = frame.get_by_role("button", name="Submit the HIT")
    for _ in range(6):
        best = frame.locator("section.response", has_text=" says a")
        best.or_(submit).first.wait_for()
        if submit.count():
            break
        number = frame.locator("h1").inner_text()
        left = " says a" in frame.locator("section.response").first.inner_text()
        frame.locator(f"button[name=choice][value={'left' if left else 'right'}]").click()
        frame.locator("h1", has_text=number).wait_for(state="detached")
    submit.click()
    frame.get_by_text("Thank you!").wait_for()
    (row,) = hit.turk.assignments.values()
    assert row["AssignmentStatus"] == "Submitted" and row["WorkerId"] == "AWORKER"
    page.close()


@pytest.mark.parametrize("hit", [{**FEW, "about": [REMARKS], "pairs_per_sitting": 1}], indirect=True)
def test_mturk_stores_the_last_answers_on_handing_in(hit, chromium):
    """In the frame of another site: the page's script tells us, the form tells the marketplace nothing of it."""
    page = chromium.new_page()
    page.goto(f"{hit.site}/worker?hit={hit.hit}&worker=AWORKER")
    (assignment,) = hit.turk.assignments
    person = Person(hit.app, "mturk", "AWORKER", sitting=assignment, task=hit.hit, site=hit.site)
    assert person.work()["status"] == "done"
    page.frames[1].goto(page.locator("iframe").get_attribute("src"))  # the worker opens the HIT again
    frame = page.frame_locator("iframe")
    frame.get_by_label("Anything else?").fill("The third pair was odd.")
    frame.get_by_role("button", name="Submit the HIT").click()
    frame.get_by_text("Thank you!").wait_for()

    def stored():
        with hit.app.extensions["desk"].store.read() as connection:
            return [json.loads(one)["comments"] for one in connection.scalars(sa.select(raters.c.told)) if one]

    wait_for(stored)
    assert stored() == [{"remarks": "The third pair was odd."}]
    (row,) = hit.turk.assignments.values()
    assert row["AssignmentStatus"] == "Submitted" and "odd" not in str(row)
    page.close()
