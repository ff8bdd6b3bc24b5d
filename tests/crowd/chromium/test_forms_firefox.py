"""Every form in Debian's Firefox, on each device and in both themes: nothing spills, and each answer can be pressed."""

from pathlib import Path

import pytest

from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.chromium.marionette import firefox, firefox_here

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FORMS = {
    "pairs": ('form = "pairs"', "pair-1"),
    "choice": ('form = "choice"', "choice-1"),
    "conversations": ('form = "conversations"', "conversation-1"),
    "responses": ('form = "responses"', "response-1"),
    "ranking": ((EXAMPLES / "ranking.toml").read_text(), "response-1"),
    "german": ((EXAMPLES / "german/hit.toml").read_text(), "pair-1"),
    "arabic": ('form = "pairs"\nlanguages = ["ar"]', "pair-1"),
    "live": ((EXAMPLES / "live/hit.toml").read_text(), "live-choose"),
}
SPILLS = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("main *")].filter(one => {
  const box = one.getBoundingClientRect();
  return box.width && (box.right > wide + 1 || box.left < -1) && getComputedStyle(one).position !== "absolute"
    && !one.closest("[class*=hidden], .visually-hidden, dialog");
}).map(one => one.outerHTML.slice(0, 80)).slice(0, 5)
"""
PRESSED = "return [...document.querySelectorAll('main form button, main form input:not([type=hidden])')].length"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Form -> the folder of its pages."""
    if firefox_here() is None:
        pytest.skip("Firefox is not installed (Debian: apt-get install firefox-esr)")
    folder = tmp_path_factory.mktemp("forms")
    for name, (rules, _) in FORMS.items():
        hit = folder / f"{name}.toml"
        hit.write_text(rules)
        dispatch(
            "crowd", "", {"preview": ""}, ["preview", "--hit", str(hit), "--number", "1", "--out", str(folder / name)]
        )
    return folder


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 820, 1280])
def test_each_form_fits_its_page(width, theme, pages, tmp_path):
    scheme = {"layout.css.prefers-color-scheme.content-override": ["dark", "light"].index(theme)}
    with firefox(tmp_path / "profile", **scheme) as browser:
        browser.send("SetWindowRect", width=width, height=900)
        for name, (_, first) in FORMS.items():
            for page in ("consent", first):
                if not (pages / name / f"{page}.html").exists():
                    assert page == "consent", name
                    continue
                browser.send("Navigate", url=(pages / name / f"{page}.html").as_uri())
                browser.until("document.readyState === 'complete'")
                assert browser.script(SPILLS) == [], (name, page)
                assert browser.script(PRESSED) >= 1, (name, page)
                back = browser.script("return getComputedStyle(document.body).backgroundColor")
                shade = sum(int(part) for part in back.strip("rgb()").split(",")[:3])
                assert (shade < 384) == (theme == "dark"), (name, page, back)
