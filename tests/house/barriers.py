"""A page under axe-core (WCAG 2.0, 2.1, 2.2, levels A and AA, and its good practices) on one screen after another."""

from axe_playwright_python.base import AXE_SCRIPT

# Only what is asked for goes from the browser to the test: the whole answer is a megabyte on a long page.
RUN = """axe.run({resultTypes: ["violations"]}).then(({passes, violations}) => [
    passes.length, violations.map(({id, nodes}) => `${id}: ${nodes[0].html}`)])"""


def barriers(page, scheme=None, width=None, height=844):
    """What is wrong with the page that is shown, in this colour scheme and window: `rule: element` for each rule.

    Nothing is loaded again for the next screen. What animates is still: a note that fades away has no contrast.
    """
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    if width:
        page.set_viewport_size({"width": width, "height": height})
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    looked, found = page.evaluate(RUN)
    assert looked, "axe looked at nothing"
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[1] == width or not width, "the window is not as wide as it was asked to be"
    return [f"{scheme} {width}: {one}" for one in [*found, *(["wider than the window"] if wide[0] > wide[1] else [])]]
