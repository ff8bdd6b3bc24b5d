"""A page under axe-core (WCAG 2.0, 2.1, 2.2, levels A and AA, and its good practices) on one screen after another."""

import pytest
from axe_playwright_python.base import AXE_SCRIPT

# Both colours, both ends of the width. Light and wide, dark and narrow is what other tests look at (test_axe and
# test_responses in tests/crowd/chromium), so here it is the other way round; the rest is for make test-slow.
LOOKS = pytest.mark.parametrize(
    "screens",
    [
        pytest.param([("dark", 1280), ("light", 320)], id="ends"),
        pytest.param([("light", 1280), ("dark", 320), ("dark", 390)], id="the rest", marks=pytest.mark.slow),
    ],
)

# Pages that share their styles are looked at on one of the screens each, by turns; on each of them in make test-slow.
SHARED = pytest.mark.parametrize(
    "by_turns", [pytest.param(True, id="by turns"), pytest.param(False, id="every screen", marks=pytest.mark.slow)]
)

# Only what is asked for goes from the browser to the test: the whole answer is a megabyte on a long page.
RUN = """() => "axe" in window && axe.run({resultTypes: ["violations"]}).then(({passes, violations}) => [
    passes.length, violations.map(({id, nodes}) => `${id}: ${nodes[0].html}`),
    document.documentElement.scrollWidth, innerWidth])"""


def barriers(page, scheme=None, width=None, height=844):
    """What is wrong with the page that is shown, in this colour scheme and window: `rule: element` for each rule.

    Nothing is loaded again for the next screen. What animates is still: a note that fades away has no contrast.
    """
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    if width:
        page.set_viewport_size({"width": width, "height": height})
    answer = page.evaluate(RUN)
    if not answer:
        page.evaluate(AXE_SCRIPT)
        answer = page.evaluate(RUN)
    looked, found, wide, window = answer
    assert looked, "axe looked at nothing"
    assert window == width or not width, "the window is not as wide as it was asked to be"
    return [f"{scheme} {width}: {one}" for one in [*found, *(["wider than the window"] if wide > window else [])]]


def barriers_of(chromium, addresses, screens, by_turns=False):
    """The same for each page of a dictionary, on each of these screens: `name scheme width: rule: element`.

    Every page brings axe along, which costs half of sending it there. Of two pages in turn the second is opened on
    the screen on which the first was left. By turns: the first page on the first screen, the second on the second.
    """
    page, found = chromium.new_page(), []
    page.add_init_script(AXE_SCRIPT)
    assert addresses and screens
    for name, address in addresses.items():
        page.goto(address)
        for screen in screens[:1] if by_turns else screens:
            found += [f"{name} {one}" for one in barriers(page, *screen)]
        screens = [*screens[1:], screens[0]] if by_turns else screens[::-1]
    page.close()
    return found
