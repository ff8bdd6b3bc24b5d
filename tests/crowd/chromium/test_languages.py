"""The pages in other languages: no barrier, nothing wider than the window, and right to left where it is read so."""

import pytest

from seedvote.dialogue.shell.command_line import dispatch
from tests.house.barriers import barriers_of

pytestmark = pytest.mark.browser
PAGES = ("consent", "example-1", "pair-2", "message-done", "stored")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The preview in the longest words, from right to left, and in signs."""
    folder = tmp_path_factory.mktemp("languages")
    (folder / "hit.toml").write_text('languages = ["de", "ar", "ja"]\npay_per_sitting = 2.5\n', encoding="utf-8")
    words = ["--hit", str(folder / "hit.toml"), "--number", "2", "--out", str(folder)]
    dispatch("crowd", "", {"preview": ""}, ["preview", *words])
    return folder


@pytest.mark.slow
def test_no_language_brings_a_barrier_or_a_page_wider_than_the_window(chromium, pages):
    names = [f"{language}-{name}" for language in ("de", "ar", "ja") for name in PAGES]
    addresses = {name: (pages / f"{name}.html").as_uri() for name in names}
    assert barriers_of(chromium, addresses, (("light", 1280, 720), ("dark", 320, 720))) == []


# Every page in one of both languages, by turns; in the other one too in make test-slow.
@pytest.mark.parametrize("languages", ["by turns", pytest.param("both", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["choice", "conversations", "responses"])
def test_no_form_brings_one_in_another_language_on_a_small_phone(chromium, tmp_path, form, languages):
    (tmp_path / "hit.toml").write_text(f'form = "{form}"\nlanguages = ["de", "ar"]\n', encoding="utf-8")
    words = ["--hit", str(tmp_path / "hit.toml"), "--number", "2", "--out", str(tmp_path)]
    dispatch("crowd", "", {"preview": ""}, ["preview", *words])
    shown = [path for path in tmp_path.glob("*.html") if path.stem.endswith(("consent", "-2", "about"))]
    paths = sorted(shown, key=lambda path: (path.stem[2:], path.stem))  # each page in Arabic, then in German
    assert len(paths) >= 4 and {path.stem[:2] for path in paths[::2]} == {"ar"}
    if languages == "by turns":
        paths = [path for number, path in enumerate(paths) if number % 4 in (0, 3)]
    addresses = {path.stem: path.as_uri() for path in paths}
    assert barriers_of(chromium, addresses, [("dark", 320, 720)]) == []


def test_first_response_stands_on_the_left_in_arabic_too(chromium, pages):
    """So that "left" is true in the votes, and key 1 lies on the side of its box."""
    page = chromium.new_page()
    places = {}
    for language in ("de", "ar"):
        page.goto((pages / f"{language}-pair-2.html").as_uri())
        for what in (".response", ".answers button"):
            first, second = (page.locator(what).nth(n).bounding_box()["x"] for n in (0, 1))
            places[language, what] = first < second
        style = "element => getComputedStyle(element).direction"
        assert page.locator("#question").evaluate(style) == ("rtl" if language == "ar" else "ltr")
    assert all(places.values())
    page.close()
