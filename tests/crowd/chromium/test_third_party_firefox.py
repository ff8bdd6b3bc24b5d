"""The same in Debian's Firefox, which keeps cookies of frames apart, refuses those of other sites, or takes none."""

import pytest

from tests.crowd.chromium.marionette import firefox, firefox_here
from tests.crowd.chromium.test_third_party import SKIP, certificate, market

pytestmark = [pytest.mark.browser, pytest.mark.slow]
__all__ = ["certificate", "market"]  # fixtures
BEHAVIOUR = {"its default": 5, "taken": 0, "refused in frames": 1, "refused": 2}
CONSENT = "document.querySelector('button[name=agree]')"
UNLOCKED = """(() => {
  const parts = document.querySelectorAll(".chat li, .response");
  parts[Math.floor(Date.now() / 1500) % parts.length]?.scrollIntoView({ block: "center" });
  return !!document.querySelector(".said > span") && !document.querySelector("[aria-disabled]");
})()"""
PAIR, SUBMIT = "document.querySelector('section.response')", "document.querySelector('form[action*=externalSubmit]')"


def begin(browser, tab):
    browser.into(tab)
    browser.until(f"!!({CONSENT} || {PAIR})")
    if browser.script(f"return !!{CONSENT}"):
        browser.click("button[name=agree]")
        browser.until("!!document.querySelector('button[value=tie]')")
        browser.until(UNLOCKED)
        browser.click("button[value=tie]")
        browser.until("!!document.querySelector('#next')")
        browser.script(f"return ({SKIP})(document.querySelector('#next'))")
    browser.until(f"!!{PAIR}")


def judge(browser, tab):
    """One pair, or what follows the last one; whether there was one."""
    browser.into(tab)
    browser.until(f"!!({PAIR} || {SUBMIT})")
    if browser.script(f"return !!{SUBMIT}"):
        return False
    number = browser.script("return document.querySelector('h1').textContent")
    left = " says a" in browser.script(f"return {PAIR}.textContent")
    browser.until(UNLOCKED)
    browser.click(f"button[name=choice][value={'left' if left else 'right'}]")
    browser.until(f"document.querySelector('h1')?.textContent !== {number!r} && !!({PAIR} || {SUBMIT})")
    return True


# Taken and refused are Chromium's too; only Firefox takes them and keeps those of each site's frames apart.
@pytest.mark.parametrize("cookies", BEHAVIOUR)
def test_two_tabs_in_frames_are_handed_in_each_on_its_own_assignment(cookies, market, tmp_path):
    if firefox_here() is None:
        pytest.skip("Firefox is not installed (Debian: apt-get install firefox-esr)")
    with firefox(tmp_path / "profile", **{"network.cookie.cookieBehavior": BEHAVIOUR[cookies]}) as browser:
        tabs = []
        for name in ("A1", "A2"):
            tabs.append(browser.tab(f"{market.url}/hit?assignment={name}"))
            begin(browser, tabs[-1])
        while sum(judge(browser, tab) for tab in tabs):
            pass
        for tab in tabs:
            browser.into(tab)
            browser.click("form[action*=externalSubmit] button")
            browser.until("document.body.textContent.includes('Thank you!')")
    with market.desk.store.read() as connection:
        votes = connection.exec_driver_sql("SELECT COUNT(*) FROM votes").scalar()
    assert set(market.handed_in) == {"A1", "A2"} and all(market.handed_in.values())
    assert sum(market.handed_in.values()) == votes
