"""Every page under axe-core, in light and dark, wide and narrow; and what a screen reader hears."""

import json
import re
from pathlib import Path

import matplotlib as mpl
import pytest

from seedvote.crowd.commands import preview
from seedvote.crowd.hit.hit import read_hit
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app, study_token
from seedvote.crowd.web.page import MESSAGE_KINDS
from seedvote.dialogue.shell.command_line import dispatch
from tests.crowd.study import SO_FAR
from tests.house.barriers import SHARED, barriers, barriers_of

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
SCREENS = (("light", 1280, 720), ("dark", 320, 720))
PAGES = [
    "glance",
    "consent",
    "example-1",
    "example-1-answered",
    "example-3",
    "pair-1",
    "pair-5",
    "stored",
    "stored-elsewhere",
    "study",
    "study-empty",
]
PAGES += [f"message-{kind.replace('_', '-')}" for kind in MESSAGE_KINDS]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The preview of every page, and the researcher's page of a study that somebody has begun."""
    folder = tmp_path_factory.mktemp("preview")
    dispatch("crowd", "", {"preview": ""}, ["preview", "--hit", "examples/hit.toml", "--out", str(folder)])
    hit = read_hit(preview.SAMPLE.with_name("hit.toml"))
    url = prepare_study(folder, preview.SAMPLE, hit, None, seed=0, simulated=True)
    app = create_app(ServerConfig(database=url, hit=hit))
    client = app.test_client()
    client.get(f"/study?token={study_token(app)}")
    _write(folder / "study-empty.html", client)
    desk = app.extensions["desk"]
    seat = desk.arrive("somebody", "1", "simulated")
    desk.consent(seat)
    for number in range(1, 5):
        place = desk.instructed(seat, number, "tie")
    while place.stage == "task":
        _, place = desk.answer(seat, place.shown.token, "left", 9.0)
    (folder / "so_far.json").write_text(json.dumps(SO_FAR), encoding="utf-8")
    client = create_app(ServerConfig(database=url, hit=hit, folder=folder)).test_client()
    client.get(f"/study?token={study_token(app)}")
    _write(folder / "study.html", client)
    desk.store.close()
    return folder


SCALES = """
[[questions]]
name = "helpful"
ask = "How helpful?"
kind = "likert"
points = 5
labels = ["useless", "poor", "fair", "good", "excellent"]

[[questions]]
name = "natural"
ask = "How natural?"
kind = "likert"
points = 10
labels = ["not at all", "very"]
"""
COMMENT = """
[[questions]]
name = "why"
ask = "What decided it?"
kind = "comment"
"""
ABOUT = """
[[about]]
name = "age"
ask = "How old?"
answers = ["18 to 29", "30 or more"]

[[about]]
name = "remarks"
ask = "Anything else?"
when = "after"
kind = "comment"
"""
STUDIES = {
    "scales": "examples = []" + ABOUT + SCALES + COMMENT,
    "alone": 'form = "responses"' + SCALES + COMMENT,
    "choice": 'form = "choice"' + COMMENT,
    "live": 'form = "live"',
}
OWN = re.compile(r'"[^"]+"')
# What stands in a button, or beside one, and is wider than it: words that would lie over what is next to them.
SPILLS = """() => [...document.querySelectorAll(".pick, .face, .lane, button, legend")]
  .filter((one) => one.offsetParent && !one.matches(".hidden") && one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.className} ${one.textContent.trim()}`)"""


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Previews in a long language and one from right to left: scales, one response, options."""
    folder = tmp_path_factory.mktemp("forms")
    for name, rules in STUDIES.items():
        asked = {
            found
            for line in rules.splitlines()
            if line.startswith(("ask", "lab", "ans"))
            for found in OWN.findall(line)
        }
        words = "\n".join(f"{one} = {one}" for one in sorted(asked))
        texts = "".join(f"\n[texts.{language}.words]\n{words}\n" for language in ("fr", "ar"))
        (folder / f"{name}.toml").write_text(f'languages = ["en", "fr", "ar"]\n{rules}{texts}')
        sets = []
        if name == "alone":
            head, line, *_ = (ROOT / "examples/response_sets.jsonl").read_text().splitlines()
            one = json.loads(line)
            one["responses"] = one["responses"][:1]
            (folder / "alone.jsonl").write_text(f"{head}\n{json.dumps(one)}\n")
            sets = ["--pairs", str(folder / "alone.jsonl")]
        words = ["--hit", str(folder / f"{name}.toml"), *sets, "--number", "1", "--out", str(folder / name)]
        dispatch("crowd", "", {"preview": ""}, ["preview", *words])
    return folder


def of_forms(language):
    """The pages of the fixture that have something to press or to fill in."""
    yield from (f"scales/{language}-{name}" for name in ("pair-1", "about", "message-done"))
    yield from (f"alone/{language}-response-1", f"choice/{language}-choice-1", f"choice/{language}-example-1-answered")
    yield from (f"live/{language}-live-{stage}" for stage in ("begin", "failed", "choose"))


@pytest.mark.slow
def test_no_form_has_a_barrier_from_right_to_left(chromium, forms):
    addresses = {name: (forms / f"{name}.html").as_uri() for name in of_forms("ar")}
    assert barriers_of(chromium, addresses, SCREENS) == []


def wide_font():
    """Styles that set every word in DejaVu Sans, as wide as Verdana: a device may have no narrower font."""
    folder = Path(mpl.get_data_path(), "fonts/ttf")
    for name, weight in (("DejaVuSans", "1 599"), ("DejaVuSans-Bold", "600 1000")):
        url = (folder / f"{name}.ttf").as_uri()
        yield f"@font-face {{ font-family: wide; font-weight: {weight}; src: url({url}) }}"
    yield "* { font-family: wide !important }"


# How many faces were loaded for either weight.
WIDE = """Promise.all(["1rem wide", "bold 1rem wide"].map((font) => document.fonts.load(font)))
  .then((all) => all.map((faces) => faces.length))"""


@pytest.mark.parametrize("fonts", [pytest.param("of this machine", marks=pytest.mark.slow), "wide"])
def test_words_stay_within_their_buttons_in_every_form(chromium, forms, fonts):
    page = chromium.new_page()
    styles = "\n".join(wide_font())
    for name in (one for language in ("en", "fr", "ar") for one in of_forms(language)):
        page.goto((forms / f"{name}.html").as_uri())
        if fonts == "wide":
            page.add_style_tag(content=styles)
            assert page.evaluate(WIDE) == [1, 1]
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 720})
            assert page.evaluate(SPILLS) == [], f"{name} {width}"
            assert page.evaluate("[document.documentElement.scrollWidth <= innerWidth, innerWidth]") == [True, width]
            if name != "scales/en-pair-1":
                continue
            heights = page.locator(".row small").evaluate_all("all => all.map(one => one.clientHeight)")
            assert len(heights) == 10 and max(heights) < 30  # "excellent" on one line
            tops = page.locator(".scale:has(input[name=q-natural-left]) .face").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect().top)"
            )
            assert [tops.count(top) for top in sorted(set(tops))] == [5, 5]  # not nine and one
    page.close()


def _write(path, client):
    html = client.get("/study").get_data(as_text=True).replace('"/static/', '"static/')
    path.write_text(html, encoding="utf-8")


@SHARED
def test_no_page_has_a_barrier(chromium, pages, by_turns):
    addresses = {name: (pages / f"{name}.html").as_uri() for name in PAGES}
    assert barriers_of(chromium, addresses, SCREENS, by_turns) == []


def test_no_page_is_wider_than_a_phone_in_a_wide_font(chromium, pages):
    page = chromium.new_page(viewport={"width": 320, "height": 720})
    styles = "\n".join(wide_font())
    for name in PAGES:
        page.goto((pages / f"{name}.html").as_uri())
        page.add_style_tag(content=styles)
        assert page.evaluate(WIDE) == [1, 1]
        assert page.evaluate(SPILLS) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name
    page.close()


def test_a_screen_reader_hears_the_pair_in_the_order_in_which_it_is_judged(chromium, pages):
    page = chromium.new_page()
    page.goto((pages / "pair-2.html").as_uri())
    heard = [line.replace(" [disabled]", "").strip(" -:") for line in page.locator("main").aria_snapshot().splitlines()]
    order = [
        'heading "Pair 2 of 8" [level=1]',
        'region "Conversation"',
        "paragraph: From Cambridge, after 14:00.",
        'heading "Which response is more relevant to the conversation?" [level=2]',
        'region "Response A"',
        'region "Response B"',
        'group "Which response is more relevant to the conversation?"',
        'button "A 1"',
        'button "B 2"',
        'button "Tie equally good or equally poor 3"',
        "status: Saved",
    ]
    assert [line for line in heard if line in order] == order
    page.close()


def test_right_to_left_text_and_reduced_motion(chromium, pages):
    page = chromium.new_context(reduced_motion="reduce").new_page()
    page.goto((pages / "pair-2.html").as_uri())
    style = "(element, name) => getComputedStyle(element)[name]"
    said, note = page.locator(".said").first, page.locator("#note")
    assert said.evaluate(style, "direction") == "ltr"
    said.evaluate("element => { element.textContent = 'שלום, 12 world' }")
    assert said.evaluate(style, "direction") == "rtl"
    assert note.evaluate(style, "animationName") == "none"
    page.context.close()


def test_axe_finds_a_barrier_where_there_is_one_of_several_pages(chromium, tmp_path):
    for name, words in (("fine", 'lang="en"'), ("foul", "")):
        body = "<title>Title</title><main><h1>Heading</h1></main>"
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><html {words}>{body}", encoding="utf-8")
    addresses = {name: (tmp_path / f"{name}.html").as_uri() for name in ("fine", "foul")}
    found = [one.partition(": <")[0] for one in barriers_of(chromium, addresses, SCREENS)]
    assert found == ["foul dark 320: html-has-lang", "foul light 1280: html-has-lang"]


def test_axe_finds_a_barrier_where_there_is_one(chromium, pages):
    page = chromium.new_page()
    page.goto((pages / "pair-1.html").as_uri())
    assert barriers(page, "light", 1280) == barriers(page, "dark", 320) == []
    dark = "@media (prefers-color-scheme: dark) { .of { color: #333 } }"
    page.add_style_tag(content=dark + "@media (width < 400px) { body { min-width: 900px } }")
    page.evaluate("document.documentElement.removeAttribute('lang')")
    found = [one.partition(": <")[0] for one in (*barriers(page, "light", 1280), *barriers(page, "dark", 320))]
    assert found == [
        "light 1280: html-has-lang",
        *("dark 320: color-contrast", "dark 320: html-has-lang", "dark 320: wider than the window"),
    ]
    page.close()
