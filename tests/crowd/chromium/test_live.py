"""Live conversations in a real Chromium: talk, wait and choose on a phone and a desktop, without a page load."""

import threading

import pytest

from seedvote.crowd.web import endpoints as asking
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.serving import in_background
from tests.crowd.arena import hit_of, make_topics, rows_of
from tests.crowd.real_server import free_port
from tests.crowd.study import desk_of
from tests.dialogue.engines.chat_server import ChatServer
from tests.house.barriers import barriers
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser
LONG = "And so on, and so on. " * 60
SCREENS = {
    "desktop": {"viewport": {"width": 1280, "height": 720}},
    "phone": {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True},
}


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """A server and its two endpoints."""
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.01)
    with ChatServer() as ours, ChatServer() as theirs:
        hit = hit_of(ours.url, theirs.url, live={"turns": [2, 3], "characters": 200})
        url, port = f"sqlite:///{tmp_path / 'crowd.sqlite'}", free_port()
        with desk_of(url, tmp_path, hit, make_topics(3)):
            pass
        app = create_app(ServerConfig(url, hit, rate=0))
        with in_background(app, "127.0.0.1", port):
            yield f"http://127.0.0.1:{port}", ours, theirs, app.extensions["desk"]
        app.extensions["endpoints"].finish(5)
        app.extensions["desk"].store.close()


def said(page, side):
    return page.locator(".talk").nth(side).locator("li p").all_inner_texts()


def see_both(page):
    """Head and end of both conversations, one after the other; whether the answers are unlocked."""
    for side in (0, 1):
        for part in ("h3", ".said > :last-child"):
            place = page.locator(".talk").nth(side).locator(part)
            place.evaluate("it => it.scrollIntoView({block: 'center'})")
            page.wait_for_timeout(600)
    return page.locator(".answers button[aria-disabled]").count() == 0


def stands(page, stage, turn):
    page.wait_for_selector(f'input[name=stage][value="{stage}"]', state="attached")
    page.wait_for_selector(f'input[name=turn][value="{turn}"]', state="attached")


@pytest.mark.parametrize("screen", SCREENS)
def test_a_rater_talks_waits_chooses_and_goes_on_without_loading_the_page(chromium, arena, screen):
    address, ours, theirs, _desk = arena
    gate = threading.Event()
    ours.script = [{"hold": gate, "content": "Here."}, {"content": LONG}]
    context = chromium.new_context(**SCREENS[screen])
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"{address}/?rater={screen}")
    assert "What you write is stored" in page.inner_text("main")
    page.get_by_role("button").first.click()
    box = page.get_by_label("Your first message")
    assert barriers(page) == []
    page.evaluate("window.loaded = true")
    box.fill("half a thou")
    page.reload()
    assert page.get_by_label("Your first message").input_value() == "half a thou"  # what was being written is there
    page.evaluate("window.loaded = true")
    page.get_by_label("Your first message").fill("Where is it?")
    page.get_by_role("button", name="Send").dblclick()
    page.wait_for_selector(".awaits")
    assert barriers(page) == []
    wait_for(lambda: theirs.asked)
    assert said(page, 0) == said(page, 1) == ["Where is it?"]  # the quick one waits for the slow one
    gate.set()
    stands(page, "say", 2)
    assert {said(page, 0)[1], said(page, 1)[1]} == {"Here.", "WHERE IS IT?"}
    if screen == "desktop":
        assert page.evaluate("document.activeElement.id") == "text"
        page.keyboard.type("1 more")  # no key of the vote
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("line")
        page.keyboard.press("Enter")
    else:
        assert page.evaluate("document.activeElement.id") != "text"  # a keyboard would cover the answers
        page.get_by_label("Your next message").fill("1 more")
        page.get_by_role("button", name="Send").click()
    stands(page, "choose", 3)
    assert barriers(page) == []
    assert [len(said(page, side)) for side in (0, 1)] == [4, 4]
    assert page.locator(".talk [role=log]").count() == 2
    assert page.locator(".answers button[aria-disabled]").count() == 3  # the long answer was not read to its end
    wait_for(lambda: see_both(page))
    page.locator("h1").focus()
    page.get_by_role("button", name="Tie").click()
    page.wait_for_selector("text=Conversation 2")
    assert page.evaluate("window.loaded") is True
    assert page.locator(".talk li").count() == 0
    assert len(ours.asked) == len(theirs.asked) == 2
    assert complaints == []
    context.close()


def test_a_rater_is_never_stuck_by_an_endpoint_that_fails(chromium, arena):
    address, ours, _theirs, desk = arena
    ours.script = [{"status": 401, "raw": b"no"}] * 2
    page = chromium.new_page()
    page.goto(f"{address}/?rater=unlucky")
    page.get_by_role("button").first.click()
    page.get_by_label("Your first message").fill("Hello?")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Try again").click()
    button = page.get_by_role("button", name="End this conversation")
    button.wait_for()
    assert barriers(page, "dark", 390) == []
    button.click()
    page.wait_for_selector("text=Conversation 2")
    assert rows_of(desk)[0].text != ""
    page.close()


def has_replies(page):
    """Whether a page that is loaded once more waits no longer; it also loads itself, every few seconds."""
    from playwright.sync_api import Error

    try:
        page.reload()
    except Error:  # it was just doing so
        return False
    return page.locator("input[name=stage]").get_attribute("value") != "wait"


def test_without_a_script_a_rater_talks_and_votes(chromium, arena):
    address, _ours, _theirs, _desk = arena
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/?rater=plain")
    page.get_by_role("button").first.click()
    for text in ("one", "two"):
        page.locator("textarea").fill(text)
        page.get_by_role("button", name="Send").click()
        wait_for(lambda: has_replies(page))
    page.get_by_role("button", name="Tie").click()
    page.wait_for_selector("text=Conversation 2")
    context.close()
