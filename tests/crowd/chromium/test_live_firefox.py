"""Live conversations in Debian's Firefox: what is sent, awaited and chosen goes and comes without a page load."""

import threading

import pytest

from seedvote.crowd.store.tables import votes
from tests.crowd.arena import rows_of
from tests.crowd.chromium.marionette import firefox, firefox_here
from tests.crowd.chromium.test_live import arena

pytestmark = [pytest.mark.browser, pytest.mark.slow]
__all__ = ["arena"]  # a fixture
READ = """(() => {
  const parts = document.querySelectorAll(".talk h3, .talk .said > :last-child");
  parts[Math.floor(Date.now() / 1000) % parts.length].scrollIntoView({ block: "center" });
  return !document.querySelector(".answers [aria-disabled]");
})()"""


def fill(browser, text):
    """Write into the box of the message and send it."""
    browser.until("!!document.querySelector('textarea[name=text]')")
    browser.script(f"document.querySelector('textarea[name=text]').value = {text!r}")
    browser.click("button[data-talk]")


def test_rater_talks_waits_and_votes(arena, tmp_path):
    if firefox_here() is None:
        pytest.skip("Firefox is not installed (Debian: apt-get install firefox-esr)")
    address, ours, theirs, desk = arena
    gate = threading.Event()
    ours.script = [{"hold": gate, "content": "Here."}]
    with firefox(tmp_path / "profile") as browser:
        browser.here = browser.tab(f"{address}/?rater=fox")
        browser.click("main form button")
        browser.until("!!document.querySelector('textarea[name=text]')")
        browser.script("window.loaded = true")
        fill(browser, "Where is it?")
        browser.until("!!document.querySelector('.awaits')")
        gate.set()
        browser.until("document.querySelector('input[name=turn]').value === '2'")
        fill(browser, "One more.")
        browser.until("document.querySelector('input[name=stage]').value === 'choose'")
        assert browser.script("return document.querySelectorAll('.talk li').length") == 8
        browser.until(READ)
        browser.click("button[name=choice][value=left]")
        browser.until("document.querySelector('input[name=turn]')?.value === '1'")
        assert browser.script("return window.loaded") is True
    assert len(rows_of(desk, votes)) == 1
    assert len(ours.asked) == len(theirs.asked) == 2
