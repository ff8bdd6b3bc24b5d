"""Whole conversations in a real Chromium: read to their ends on every screen, by keyboard alone, without a script."""

import dataclasses

import pytest

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.chromium.test_seen import SCREENS, at, locked
from tests.crowd.conversations import candidate
from tests.house.barriers import SHARED, barriers_of
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser
__all__ = ["at"]  # a fixture

QUESTIONS = """
[[questions]]
name = "better"
ask = "Which speaker?"
strength = ["slightly", "much"]
tie = "split"

[[questions]]
name = "sense"
ask = "How much sense?"
kind = "likert"
points = 5
labels = ["none", "full"]
"""


def talk(turns, words=9):
    return candidate(*(f"Turn {n + 1}. " + "And so on. " * (1 + n % words) for n in range(turns)))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Previews of long, unequal, short and right-to-left conversations and of some that just need to be scrolled."""
    folder = tmp_path_factory.mktemp("talks")
    arabic = candidate("مرحبا، أبحث عن فندق رخيص في الشمال.", "هناك فندقان، أيهما تفضل؟")
    pairs = [Pair("long", "i", (), talk(60), talk(60)), Pair("unequal", "i", (), talk(4), talk(61))]
    pairs += [Pair("one", "i", (), talk(2), talk(2)), Pair("rtl", "i", (), arabic, arabic)]
    pairs += [Pair("scrolled", "i", (), talk(14), talk(14))]
    write_records(folder / "pairs.jsonl", [dataclasses.replace(one, identical=False) for one in pairs],
                  signature="test", kind=Pair)  # fmt: skip
    for name, more in (("one", ""), ("many", "examples = []" + QUESTIONS)):
        (folder / f"{name}.toml").write_text(f'form = "conversations"\n{more}')
        words = ["--hit", str(folder / f"{name}.toml"), "--pairs", str(folder / "pairs.jsonl")]
        dispatch("crowd", "", {"preview": ""}, ["preview", *words, "--out", str(folder / name)])
    return folder


def to_the_end(page, number):
    """Scroll to the end of a conversation, in its column or with the page."""
    page.locator(".talk .said").nth(number).evaluate("said => said.lastElementChild.scrollIntoView({block: 'center'})")


def see_both_ends(page):
    """One end after the other, until the page has noticed both: on a busy machine it looks late."""

    def noticed():
        for number in (1, 0):
            to_the_end(page, number)
            page.wait_for_timeout(700)
            if locked(page) == 0:
                return True
        return False

    wait_for(noticed)


@pytest.mark.parametrize("screen", SCREENS)
def test_answers_unlock_when_the_ends_of_both_were_on_the_screen(at, screen):
    page = at(screen, "one/conversation-1")
    assert locked(page) == 3
    page.keyboard.press("1")
    wait_for(lambda: "conversation A to its end" in page.locator("#note").inner_text())
    assert page.evaluate("document.activeElement.getAttribute('aria-labelledby')") == "head-A"
    assert page.evaluate("document.documentElement.scrollWidth") == SCREENS[screen][0]
    to_the_end(page, 0)
    page.wait_for_timeout(700)  # longer than an end must be seen
    assert locked(page) == 3 or "200 %" in screen  # there both ends are in view at once
    see_both_ends(page)
    assert page.locator(".answers").bounding_box()["y"] < SCREENS[screen][1]


def test_short_conversation_waits_for_the_long_one(at):
    page = at("desktop", "one/conversation-3")
    wait_for(lambda: locked(page) == 0)
    page = at("desktop", "one/conversation-2")
    page.wait_for_timeout(700)
    page.keyboard.press("2")
    wait_for(lambda: "conversation B to its end" in page.locator("#note").inner_text())


def test_no_heading_lies_over_the_answers(at):
    """On a phone the heading of B comes in from below, where the answers stay."""
    page = at("phone", "one/conversation-1")
    over = """async (last) => {
      const bar = document.querySelector(".answers"), covered = [];
      for (let step = 0; step < last; step += 25) {
        window.scrollTo(0, step);
        await new Promise(requestAnimationFrame);
        const {top, bottom, left, width} = bar.getBoundingClientRect();
        if (![top + 4, (top + bottom) / 2, Math.min(bottom, innerHeight) - 4].every(
          y => bar.contains(document.elementFromPoint(left + width / 4, y)))) covered.push(step);
      }
      return covered;
    }"""
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height > 3000
    assert page.evaluate(over, height - 1000) == []


def test_by_keyboard_alone(at):
    page = at("desktop", "one/conversation-1")
    for letter in "AB":
        while page.evaluate("document.activeElement.getAttribute('aria-labelledby')") != f"head-{letter}":
            page.keyboard.press("Tab")
        column = page.locator(".talk").nth("AB".index(letter))
        before = column.evaluate("one => one.scrollTop")
        page.keyboard.press("PageDown")
        wait_for(lambda column=column, before=before: column.evaluate("one => one.scrollTop") > before + 100)
        assert page.evaluate("window.scrollY") == 0
        at_end = "one => one.scrollTop + one.clientHeight + 2 > one.scrollHeight"
        # Pressed until it is obeyed: a browser that still glides from the key before takes no other.
        wait_for(lambda column=column, at_end=at_end: page.keyboard.press("End") or column.evaluate(at_end))
        page.wait_for_timeout(700)
    wait_for(lambda: locked(page) == 0)
    page.evaluate("document.addEventListener('submit', (event) => { window.sent = event.submitter.value; }, true)")
    page.keyboard.press("2")
    wait_for(lambda: page.evaluate("window.sent") == "right")


def test_in_step_the_same_turn_stands_at_the_top_of_both(at):
    page = at("desktop", "one/conversation-1")
    first = """one => [...one.querySelectorAll("li")].findIndex((turn) =>
        turn.getBoundingClientRect().bottom > one.querySelector("h3").getBoundingClientRect().bottom + 2)"""
    one, two = page.locator(".talk").all()
    one.evaluate("one => { one.scrollTop = 900; }")
    page.wait_for_timeout(100)
    assert two.evaluate("two => two.scrollTop") == 0
    page.locator("#step").check()
    for place in (1500, 300):
        one.evaluate("(one, place) => { one.scrollTop = place; }", place)
        wait_for(lambda: abs(one.evaluate(first) - two.evaluate(first)) <= 1)
    # Before the page hears that the other conversation has followed, the rater goes to its end.
    page.evaluate("""() => {
        const [one, two] = document.querySelectorAll(".talk");
        one.addEventListener("scroll", () => { two.scrollTop = two.scrollHeight; }, {once: true});
        one.scrollTop = 1500;
    }""")
    wait_for(lambda: one.evaluate("one => one.scrollTop + one.clientHeight + 2 > one.scrollHeight"))


@pytest.mark.parametrize("screen", ["desktop", "phone", "320 pixels"])
def test_without_a_script_all_of_both_stands_above_the_answers(at, screen):
    page = at(screen, "one/conversation-1", script=False)
    ends = [page.locator(".talk li").nth(number).bounding_box() for number in (59, 119)]
    top = page.locator(".answers").bounding_box()["y"]
    assert all(box["y"] + box["height"] <= top for box in ends) and locked(page) == 0
    assert not page.locator("#step").is_visible()


@SHARED
def test_no_page_of_conversations_has_a_barrier(chromium, at, pages, by_turns):
    names = ["one/conversation-4", "one/example-1", "one/example-2-answered", "one/consent"]
    for name in ("one/conversation-5", "many/conversation-5"):
        scrolled = at("desktop", name).locator(".talk").first
        assert scrolled.evaluate("one => one.scrollHeight > 2 * one.clientHeight")
        names.append(name)
    addresses = {name: (pages / f"{name}.html").as_uri() for name in names}
    looks = [("dark", "desktop"), ("light", "phone"), *([] if by_turns else [("light", "desktop"), ("dark", "phone")])]
    screens = [(scheme, *SCREENS[screen]) for scheme, screen in looks]
    assert barriers_of(chromium, addresses, screens, by_turns) == []


def test_several_questions_wait_for_both_conversations_too(at):
    page = at("phone", "many/conversation-1")
    assert locked(page) == 1
    see_both_ends(page)
