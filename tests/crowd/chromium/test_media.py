"""Images, recordings and calls of tools in a real Chromium: played by key, seen before judged, without a barrier."""

import pytest

from tests.crowd.chromium.test_hit import WIDE, arrive, serve
from tests.crowd.media import make_media_study
from tests.house.barriers import barriers
from tests.house.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.browser
assert arrive  # a fixture

RULES = """
pairs_per_sitting = 3
first_checks = 0
later_checks = 0
votes_per_pair = 90
rendering = "markdown"
examples = []

[[questions]]
name = "better"
ask = "Which is better?"
"""
PHONE = {"width": 390, "height": 844}
LOADED = "[...document.images].every((one) => one.complete && one.naturalWidth > 0)"
LOCKED = "document.querySelectorAll('.answers [aria-disabled]').length"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("media")
    make_media_study(folder)
    yield from serve(folder, folder / "pairs.jsonl", RULES)


def begin(page):
    page.locator("button.go").click()
    page.get_by_role("heading", name="Pair 1 of 3").wait_for()


def read_all(page):
    """Bring every part of the page onto the screen, and wait for what is left."""
    for box in page.locator(".chat li, .response").all():
        for spot in (box.locator("h3, .who").first, box.locator(".parts > *").last):
            spot.scroll_into_view_if_needed()
            page.wait_for_timeout(600)
    return page.evaluate("[...unseen.keys()].map((part) => part.tagName)")


def play(page, recording):
    """By the keyboard alone, to its end."""
    recording.focus()
    page.keyboard.press("Space")
    wait_for(lambda: recording.evaluate("media => media.ended"))


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["desktop", "phone"])
def test_media_are_seen_and_played_before_an_answer_is_taken(arrive, server, size):
    page = arrive(server, f"rater-{size['width']}", viewport=size)
    begin(page)
    kinds = set()
    for _ in range(3):
        wait_for(lambda: page.evaluate(LOADED))
        kind = "AUDIO" if page.locator("audio").count() else "IMG" if page.locator(".response img").count() else "PRE"
        kinds.add(kind)
        scheme = "dark" if kind == "IMG" else "light"
        assert barriers(page, scheme, **size) == []
        if kind == "AUDIO":
            assert page.locator("[autoplay]").count() == 0
            wait_for(lambda: read_all(page) == ["AUDIO", "AUDIO"])
            page.locator("h1").focus()
            page.keyboard.press("1")  # too early: it leads to the first recording
            page.locator("#note", has_text="Please play this to its end first").wait_for()
            assert page.evaluate("document.activeElement.tagName") == "AUDIO"
            first, second = page.locator("audio").all()
            play(page, first)
            assert page.evaluate(LOCKED) == 1
            assert page.locator(".spoken").first.evaluate("line => line.parentElement.querySelector('track') !== null")
            play(page, second)
        else:
            wait_for(lambda: read_all(page) == [])
        wait_for(lambda: page.evaluate(LOCKED) == 0)
        heading = page.locator("h1").inner_text()
        page.locator(".option").first.click()
        wait_for(lambda before=heading: page.locator("h1").inner_text() != before)
    assert kinds == {"AUDIO", "IMG", "PRE"}
    page.locator("body.message").wait_for()


def test_without_script_everything_is_there_and_nothing_waits(arrive, server):
    page = arrive(server, "plain", java_script_enabled=False)
    begin(page)
    for _ in range(3):
        assert page.locator("audio[controls], .response img[alt], .tool pre").count() >= 2
        page.locator(".option", has_text="A").first.click()
        page.locator(".save").click(timeout=PATIENCE * 1000)
    page.locator("body.message").wait_for()


def test_captions_are_shown_and_one_recording_plays_at_a_time(arrive, server):
    page = arrive(server, "captions")
    begin(page)
    for _ in range(3):
        if page.locator("audio").count():
            break
        page.evaluate("document.querySelectorAll('input[type=radio]')[0].checked = true; unseen.clear(); unlock()")
        heading = page.locator("h1").inner_text()
        page.locator(".save").click()
        wait_for(lambda before=heading: page.locator("h1").inner_text() != before)
    first, second = page.locator("audio").all()
    first.evaluate("media => { media.loop = true; return media.play(); }")
    page.locator(".spoken", has_text="Hello there.").wait_for()
    second.evaluate("media => { media.loop = true; return media.play(); }")
    wait_for(lambda: first.evaluate("media => media.paused"))
    assert page.evaluate("playedShare(document.querySelector('audio')) > 0")
