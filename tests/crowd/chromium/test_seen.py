"""Seen before judged: both responses are on the screen before an answer is taken, whatever the screen."""

import dataclasses

import pytest

from seedvote.dialogue.files import read_records, write_records
from seedvote.dialogue.records import Pair, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser

SCREENS = {"desktop": (1280, 720), "phone": (390, 844), "200 %": (640, 360), "wide at 200 %": (960, 540)}
SCREENS |= {"320 pixels": (320, 568), "tablet": (820, 1180)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The preview of the sample, after a dialogue of 40 turns and two long responses."""
    folder = tmp_path_factory.mktemp("seen")
    pairs = [pair for pair in read_records("examples/pairs.jsonl", Pair) if pair.kind != "check"]
    turns = tuple(Utterance(("user", "system")[n % 2], f"Turn {n + 1}. " + "And more. " * (n % 9)) for n in range(40))
    first = dataclasses.replace(pairs[0], pair="turns", context=turns)
    a, b = (dataclasses.replace(one, text="A long answer. " * 150) for one in (pairs[1].a, pairs[1].b))
    long = dataclasses.replace(pairs[1], pair="long", a=a, b=b)
    write_records(folder / "pairs.jsonl", [first, long, *pairs], signature="test", kind=Pair)
    words = ["--pairs", str(folder / "pairs.jsonl"), "--number", "26", "--out", str(folder)]
    dispatch("crowd", "", {"preview": ""}, ["preview", *words])
    return folder


@pytest.fixture(scope="module")
def at(chromium, pages):
    """A page of the preview on a screen, as a first visitor sees it: one tab, and another one without a script."""
    tabs = {}

    def go(screen, name, script=True):
        width, height = SCREENS[screen]
        if script not in tabs:
            tabs[script] = chromium.new_page(java_script_enabled=script)
        elif script:
            tabs[script].evaluate("localStorage.clear()")  # what the test before has set holds for its own pages
        tabs[script].set_viewport_size({"width": width, "height": height})
        tabs[script].goto((pages / f"{name}.html").as_uri())
        return tabs[script]

    yield go
    for tab in tabs.values():
        tab.close()


def locked(page):
    return page.locator(".answers button[aria-disabled]").count()


def in_view(page, selector):
    """Whether all of it is on the screen, above the answers where they lie over the page."""
    return page.evaluate(
        """selector => {
            const top = document.querySelector(".answers").getBoundingClientRect().top;
            const boxes = [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
            return boxes.length > 0 && boxes.every((box) => box.top >= 0 && box.bottom <= top + 1);
        }""",
        selector,
    )


def test_phone_shows_both_responses_on_opening(at):
    page = at("phone", "pair-3")
    for number in range(3, 27):
        page.goto(page.url.rpartition("/")[0] + f"/pair-{number}.html")
        assert in_view(page, ".response"), f"pair {number}"


# A key typed by the page itself: from here it may come later than half a second, and then it would be an answer.
TYPE = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', code: 'Digit1', bubbles: true }))"
EARLY = f"""if (location.hash === "#early") document.addEventListener("DOMContentLoaded", () => {{
  {TYPE};
  window.early = [document.querySelectorAll(".answers button[aria-disabled]").length, busy];
}})"""


# The widest, the usual narrow one, and one on which both stand side by side and are cut off.
@pytest.mark.parametrize(
    "screen",
    [
        pytest.param(one, marks=[] if one in ("desktop", "phone", "wide at 200 %") else pytest.mark.slow)
        for one in SCREENS
    ],
)
def test_answers_unlock_once_both_responses_were_seen(at, screen):
    page = at(screen, "pair-2")
    page.add_init_script(EARLY)
    page.goto(f"{page.url}#early")
    page.reload()
    assert page.evaluate("early") == [3, False]
    while before := page.evaluate(f"unseen.size && ({TYPE}, unseen.size)"):  # leads to what was not seen, sends nothing
        wait_for(lambda n=before: page.wait_for_timeout(20) or page.evaluate("unseen.size") < n)
    assert locked(page) == 0 and not page.evaluate("busy")
    page.keyboard.press("2")
    assert page.evaluate("busy")


def test_answers_wait_for_the_turns_above_and_say_how_many_were_seen(at):
    """On a phone the conversation's beginning is above its box: nobody answers who has not been there."""
    page = at("phone", "pair-1")
    wait_for(lambda: page.evaluate("[...unseen.keys()].every((part) => part.closest('.chat'))"))
    device, turns, seconds = page.evaluate("view()").split(",")
    assert locked(page) == 3 and 3 <= int(turns) < 40 and float(seconds) > 0.4 and device == "desktop"
    page.keyboard.press("1")
    assert not page.evaluate("busy")
    page.locator("#note", has_text="Please read the whole conversation first").wait_for()
    assert page.locator(".chat li").first.bounding_box()["y"] > 0  # the way leads to the first turn
    bottom = "(chat => chat.scrollTop >= -1)(document.querySelector('.chat'))"
    while not page.evaluate(bottom):  # read on, a window of turns at a time
        page.evaluate("document.querySelector('.chat').scrollBy(0, 150)")
        page.wait_for_timeout(650)
    wait_for(lambda: page.evaluate(f"unseen.size === 0 || ({TYPE}, false)"))  # a busy machine looks late
    assert locked(page) == 0 and page.evaluate("view()").split(",")[1] == "40"


@pytest.mark.parametrize(("unlock", "waits"), [("responses", 0), ("open", 0), ("seen", 3)])
def test_unlock_says_what_answers_wait_for(at, unlock, waits):
    page = at("phone", "pair-1")
    page.evaluate(f"pair().dataset.unlock = '{unlock}'; lock()")
    assert locked(page) == (0 if unlock == "open" else 3)
    page.wait_for_timeout(900)
    assert locked(page) == waits


def test_desktop_unlocks_answers_within_half_a_second(at):
    page = at("desktop", "pair-5")
    page.locator(".answers button:not([aria-disabled])").first.wait_for()
    assert page.evaluate("performance.now() - shownAt") > 490 and page.evaluate("SEEN") == 500


def test_page_down_reads_both_responses_without_focus(at):
    page = at("desktop", "pair-2")
    tops = "[...document.querySelectorAll('.response')].map((box) => Math.round(box.scrollTop))"
    most = page.evaluate(
        "[...document.querySelectorAll('.response')].map((box) => Math.round(box.scrollHeight - box.clientHeight))"
    )
    seen, focus = [page.evaluate(tops)], page.evaluate("document.activeElement.tagName")
    while seen[-1] != most:
        assert len(seen) < 60
        page.keyboard.press("PageDown")
        seen.append(page.evaluate(tops))
        assert seen[-1] > seen[-2] and (seen[-1][1] == 0 or seen[-1][0] == most[0])  # A to its end, then B
    page.locator(".answers button:not([aria-disabled])").first.wait_for()  # all of it was on the screen
    for before in seen[-2::-1]:
        page.keyboard.press("PageUp")
        assert page.evaluate(tops) <= before or before == [0, 0]
    while page.evaluate(tops) != [0, 0]:
        page.keyboard.press("PageUp")
    assert page.evaluate("document.activeElement.tagName") == focus and page.evaluate("scrollY") == 0
    chat = at("desktop", "pair-1")
    top = chat.evaluate("document.querySelector('.chat').scrollTop")
    chat.keyboard.press("PageUp")  # nothing is left above in the responses
    assert chat.evaluate("document.querySelector('.chat').scrollTop") < top


TURNS_IN_VIEW = """[...document.querySelectorAll(".chat li")].filter((turn) => {
  const chat = document.querySelector(".chat").getBoundingClientRect(), box = turn.getBoundingClientRect();
  return box.top >= chat.top && box.bottom <= Math.min(chat.bottom, innerHeight);
}).length"""
ROOM = """document.querySelector(".answers").getBoundingClientRect().top
  - Math.max(...[...document.querySelectorAll(".response")].map((box) => box.getBoundingClientRect().bottom))"""


@pytest.mark.parametrize("screen", ["phone", "tablet", "desktop"])
def test_conversation_fills_the_room_that_the_responses_leave(at, screen):
    page = at(screen, "pair-1")
    assert page.evaluate(ROOM) < 20 and page.evaluate(TURNS_IN_VIEW) >= 4
    assert page.evaluate("document.querySelector('.chat').getBoundingClientRect().top") > 0
    page.goto(page.url.replace("pair-1", "pair-2").replace("#early", ""))  # a short conversation above long responses
    overflow = "(chat => [chat.scrollHeight - chat.clientHeight, chat.clientHeight])(document.querySelector('.chat'))"
    assert page.evaluate(overflow)[0] == 0 or page.evaluate(overflow)[1] > 150


def test_single_turn_has_no_empty_space_above(at):
    page = at("desktop", "pair-3")
    page.evaluate("document.querySelectorAll('.chat li:not(:last-child)').forEach((turn) => turn.remove())")
    chat = page.locator(".chat").bounding_box()
    assert page.locator(".chat li").bounding_box()["y"] - chat["y"] < 40 and chat["height"] < 120


def test_tie_is_as_large_as_the_responses_it_stands_between(at):
    for screen in ("desktop", "tablet", "phone"):
        boxes = [button.bounding_box() for button in at(screen, "pair-3").locator(".answers button").all()]
        areas = [box["width"] * box["height"] for box in boxes]
        assert max(areas) < 1.05 * min(areas) and len({box["y"] for box in boxes}) == 1, screen


@pytest.mark.parametrize("screen", [name for name in SCREENS if name not in ("desktop", "tablet")])
def test_long_conversation_shows_all_turns_on_request(at, screen):
    page = at(screen, "pair-1")
    height = "document.documentElement.scrollHeight"
    folded, turns = page.evaluate(height), page.locator(".chat li:visible")
    assert "Turn 40." in turns.last.inner_text()
    assert folded < 3 * SCREENS[screen][1]
    page.get_by_label("Show all 40 turns").check()
    assert turns.count() == 40 and page.evaluate(height) > folded + 1000
    box = page.locator(".answers").bounding_box()
    assert box["y"] + box["height"] <= SCREENS[screen][1]


def test_without_script_conversations_unfold_too(at):
    page = at("desktop", "pair-2", script=False)
    for screen, (width, height) in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        ends = [box["y"] + box["height"] for box in (one.bounding_box() for one in page.locator(".said").all())]
        assert page.locator("button[value=left]").bounding_box()["y"] >= max(ends), screen
    page = at("phone", "pair-1", script=False)
    page.get_by_label("Show all 40 turns").check()
    assert page.locator(".chat li:visible").count() == 40


def test_no_key_badge_covers_a_word_at_320_pixels(at):
    page = at("320 pixels", "pair-3")
    for button in page.locator(".answers button").all():
        badge = button.locator("kbd").bounding_box()
        word = button.evaluate(
            "button => { const range = document.createRange(); range.selectNode(button.firstChild);"
            " return range.getBoundingClientRect().right; }"
        )
        assert word <= badge["x"] + 5  # the space after the word is a part of its text
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
