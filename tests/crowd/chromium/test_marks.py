"""Marks in a real Chromium: by drag, tap and key, the same ranges; without a script nothing is asked."""

import json

import pytest
import sqlalchemy as sa

from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from tests.crowd.chromium.test_hit import WIDE, arrive, begin, look, serve
from tests.house.barriers import barriers
from tests.house.waiting import wait_for

pytestmark = pytest.mark.browser
assert arrive  # a fixture

RULES = """
pairs_per_sitting = 2
first_checks = 0
later_checks = 0
votes_per_pair = 90

[marks]
categories = ["wrong fact", "language"]
"""
TEXTS = ("One two 😀 four five.", "火车三点开。")  # a sign of two halves, and words without spaces
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marks")
    side, other = (Candidate(text, "m", k) for k, text in enumerate(TEXTS))
    pairs = [Pair(f"p{k}", f"d{k}:1", (Utterance("user", "Hi."),), side, other, dialogue=f"d{k}") for k in range(2)]
    write_records(folder / "given.jsonl", pairs, signature="test", kind=Pair)
    yield from serve(folder, folder / "given.jsonl", RULES)


def words(page):
    """Those of the response that begins with One, wherever it stands."""
    return page.locator(".response", has_text="One two").locator(".word")


def mark(page, way):
    """Mark `two 😀`."""
    page.get_by_role("button", name="language").click()
    if way == "keyboard":
        words(page).first.focus()
        for key in ("ArrowRight", "Enter", "ArrowRight", "Enter"):
            page.keyboard.press(key)
    elif way == "phone":
        words(page).nth(1).tap()
        words(page).nth(2).tap()
    else:
        start, end = (words(page).nth(k).bounding_box() for k in (1, 2))
        page.mouse.move(start["x"] + 2, start["y"] + start["height"] / 2)
        page.mouse.down()
        page.mouse.move(end["x"] + end["width"] - 3, end["y"] + end["height"] / 2, steps=5)
        page.mouse.up()


def stored(server):
    store = open_store(sqlite_url(server.folder))
    with store.read() as connection:
        rows = connection.execute(sa.select(votes.c.marks).order_by(votes.c.vote)).scalars().all()
    store.close()
    return rows


@pytest.mark.parametrize("way", ["mouse", "keyboard", "phone"])
def test_every_way_marks_the_same_characters(arrive, server, way):
    options = PHONE if way == "phone" else {"viewport": WIDE}
    page = arrive(server, way, **options)
    begin(page)
    mark(page, way)
    assert page.locator(".passages li").inner_text().split("\n")[0].endswith("language")
    tints = [words(page).nth(k).evaluate("word => getComputedStyle(word).backgroundColor") for k in (1, 2)]
    assert tints[0] == tints[1]  # also of the word on which the pointer rests
    assert barriers(page, "dark" if way == "phone" else "light") == []
    page.reload()  # what is not sent yet stands there again
    assert page.locator(".passages li").count() == 1 and words(page).nth(1).evaluate("word => word.matches('.wrong')")
    before = len(stored(server))
    look(page)
    page.locator("button[value=tie]").click()
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    (marked,) = json.loads(stored(server)[before])
    side = {"response": marked["response"], "text": TEXTS["ab".index(marked["response"])]}
    assert side["text"][marked["start"] : marked["end"]] == "two 😀" and marked["category"] == "language"
    page.locator(".undo").click()  # what was taken back is there again
    page.get_by_role("heading", name="Pair 1 of 2").wait_for()
    wait_for(lambda: page.locator(".passages li").count() == 1)
    page.get_by_role("button", name="Remove").click()
    page.reload()
    assert page.evaluate("document.querySelector('#pair').elements.marks.value") == "[]"
    assert page.evaluate("Object.keys(sessionStorage).length") == 1  # nothing of pairs that were answered


def test_words_without_spaces_can_be_chosen_one_by_one(arrive, server):
    page = arrive(server, "words")
    begin(page)
    chinese = page.locator(".response", has_text="火车").locator(".word")
    assert chinese.count() > 2 and words(page).count() == 5
    page.get_by_role("button", name="wrong fact").click()
    for _ in range(2):
        chinese.first.click()
    assert page.locator(".passages q").inner_text() == "火车"
    chinese.first.click()  # a word that is marked is freed
    assert page.locator(".passages li").count() == 0
    page.keyboard.press("Escape")
    assert page.locator("#pair.pen-on").count() == 0 and page.locator(".word[role]").count() == 0


def test_a_page_that_is_full_takes_no_further_mark_and_can_still_be_saved(arrive, server):
    page = arrive(server, "full")
    begin(page)
    full = [[0, k % 5, k % 5 + 1, k % 2] for k in range(60)]
    page.evaluate(f"document.querySelector('#pair').elements.marks.value = JSON.stringify({full})")
    page.evaluate("document.querySelector('main').append(document.createElement('i'))")  # it begins anew
    wait_for(lambda: page.locator(".passages li").count() == 60)
    assert page.locator(".pen:disabled").count() == 2 and barriers(page, "light") == []
    page.get_by_role("button", name="Remove").first.click()
    assert page.locator(".pen:disabled").count() == 0


def test_without_script_nothing_is_asked(arrive, server):
    page = arrive(server, "plain", java_script_enabled=False)
    begin(page)
    before = len(stored(server))
    assert page.locator(".marking:visible").count() == 0
    page.locator("button[value=left]").click()
    assert stored(server)[before] is None
