"""Images, recordings and calls of tools in a real Chromium: played by key, seen before judged, without a barrier."""

import pytest

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Part, Utterance
from tests.crowd.chromium.test_hit import WIDE, arrive, serve
from tests.crowd.media import make_media_study, picture
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
    page.locator(".spoken", has_text="Hello").wait_for()
    assert page.locator(".spoken").first.inner_text().strip() in ("Hello there.", "")  # it comes and goes as it plays
    second.evaluate("media => { media.loop = true; return media.play(); }")
    wait_for(lambda: first.evaluate("media => media.paused"))
    assert page.evaluate("playedShare(document.querySelector('audio')) > 0")


RECORD = """async () => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 160, height: 100 });
  const brush = canvas.getContext("2d"), recorder = new MediaRecorder(canvas.captureStream(20)), parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const drawing = setInterval(() => {
    brush.fillStyle = `hsl(${performance.now()} 80% 50%)`;
    brush.fillRect(0, 0, 160, 100);
  }, 40);
  recorder.start();
  await new Promise((done) => setTimeout(done, 500));
  await new Promise((done) => { recorder.onstop = done; recorder.stop(); });
  clearInterval(drawing);
  return [...new Uint8Array(await new Blob(parts).arrayBuffer())];
}"""


@pytest.fixture(scope="module")
def videos(chromium, tmp_path_factory):
    """A pair of two videos, which this browser has recorded, and a pair with a picture that breaks off."""
    folder, page = tmp_path_factory.mktemp("videos"), chromium.new_page()
    for name in ("1.webm", "2.webm"):
        (folder / name).write_bytes(bytes(page.evaluate(RECORD)))
    page.close()
    (folder / "whole.png").write_bytes(picture("red"))
    (folder / "cut.png").write_bytes(picture("red")[:40])
    (folder / "said.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:00.600\nHello.\n", encoding="utf-8")

    asked = Utterance("user", "Show me.", (Part("text", "Show me."),))

    def pair(name, *parts):
        a, b = (Candidate("", "m", k, parts=(part,)) for k, part in enumerate(parts))
        return Pair(name, f"{name}:1", (asked,), a, b, dialogue=name)

    clips = (Part("video", file="1.webm", captions="said.vtt", alt="A clip"), Part("video", file="2.webm"))
    pictures = (Part("image", file="whole.png"), Part("image", file="cut.png"))
    write_records(folder / "given.jsonl", [pair("v", *clips), pair("p", *pictures)], signature="test", kind=Pair)
    yield from serve(folder, folder / "given.jsonl", RULES.replace("sitting = 3", "sitting = 2"))


@pytest.mark.parametrize("size", [WIDE, pytest.param(PHONE, marks=pytest.mark.slow)], ids=["desktop", "phone"])
def test_videos_are_played_and_a_broken_picture_is_told(arrive, videos, size):
    page = arrive(videos, f"rater-{size['width']}", viewport=size)
    page.locator("button.go").click()
    for number in (1, 2):
        page.get_by_role("heading", name=f"Pair {number} of 2").wait_for()
        if page.locator("video").count():
            assert page.locator("video[autoplay]").count() == 0
            wait_for(lambda: read_all(page) == ["VIDEO", "VIDEO"])
            assert barriers(page, "dark", **size) == []
            for video in page.locator("video").all():
                assert page.evaluate(LOCKED) == 1
                play(page, video)
            wait_for(lambda: page.evaluate(LOCKED) == 0)
        else:
            page.locator("#note", has_text="Something on this page could not be loaded").wait_for()
            page.locator("img.failed").wait_for()
            wait_for(lambda: read_all(page) == ["IMG"])
            page.locator("#note").evaluate("note => { note.textContent = ''; }")
            page.evaluate("document.querySelector('.failed').classList.remove('failed'); lock()")
            page.locator("img.failed").wait_for()  # also where it broke before the script was there
            wait_for(lambda: read_all(page) == ["IMG"] and page.evaluate("[...unseen.values()].join()") == "")
            page.keyboard.press("1")
            page.locator("#note", has_text="Something on this page could not be loaded").wait_for()
            assert page.evaluate(LOCKED) == 1
            page.evaluate("unseen.clear(); unlock()")
        page.locator(".option").first.click()
    page.locator("body.message").wait_for()


def test_recording_that_names_no_length_or_a_wrong_one_counts_as_played_at_its_end(arrive, videos):
    page = arrive(videos, "length")
    page.locator("button.go").click()
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    played = "{ length: 1, start: () => 0, end: () => 5 }"
    for duration, ended, share in (
        ("Infinity", "true", 1),
        ("9", "true", 1),
        ("Infinity", "false", 0),
        ("10", "false", 0.5),
    ):
        media = f"{{ played: {played}, duration: {duration}, ended: {ended}, currentTime: 5 }}"
        assert page.evaluate(f"playedShare({media})") == share
