"""Underlined differences in a real Chromium: with and without a script, light and dark, wide and on a phone."""

import pytest

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from tests.crowd.chromium.test_hit import WIDE, arrive, begin, look, serve
from tests.house.barriers import barriers

pytestmark = pytest.mark.browser
assert arrive  # a fixture

RULES = """
pairs_per_sitting = 2
first_checks = 0
later_checks = 0
votes_per_pair = 90
differences = "on"
"""
TRAIN = "The next train to York leaves at {}, from platform two."
TEXTS = (TRAIN.format("nine"), TRAIN.format("ten"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differences")
    side, other = (Candidate(text, "m", k) for k, text in enumerate(TEXTS))
    context = (Utterance("user", "When does the next train leave?"),)
    pairs = [Pair(f"p{k}", f"d{k}:1", context, side, other, dialogue=f"d{k}") for k in range(2)]
    write_records(folder / "given.jsonl", pairs, signature="test", kind=Pair)
    yield from serve(folder, folder / "given.jsonl", RULES)


@pytest.mark.parametrize("scripted", [True, False])
def test_words_that_differ_are_underlined_and_read_as_they_are(arrive, server, scripted):
    page = arrive(server, f"r{scripted}", viewport=WIDE, java_script_enabled=scripted)
    begin(page)
    assert sorted(page.locator(".differs").all_inner_texts()) == ["nine", "ten"]
    assert sorted(page.locator(".said").all_inner_texts()) == sorted(TEXTS)
    style = "node => getComputedStyle(node).textDecorationLine"
    assert page.locator(".differs").first.evaluate(style) == "underline"
    assert "mark" not in page.locator(".responses").aria_snapshot()
    if scripted:
        assert barriers(page, "light") == barriers(page, "dark", 390) == []
        page.set_viewport_size(WIDE)
        look(page)
    page.locator("button[value=left]").click()
    page.get_by_role("heading", name="Pair 2 of 2").wait_for()
    assert page.locator(".differs").count() == 2
    (_, _, vote), *_ = server.votes()[0]
    assert vote.differences is True
