"""Markdown and code in a real Chromium: no barrier, nothing runs or loads, and no text leaves its own box."""

import pytest

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.barriers import SHARED, barriers

pytestmark = pytest.mark.browser

WILD = (
    "<script>document.title = 'taken over'</script> ![x](https://x.invalid/a.png)\n\n# Huge\n\n"
    + "|" + "column|" * 60 + "\n|" + "-|" * 60 + "\n|" + "value|" * 60
    + "\n\n999999. a long number\n" + "x" * 900 + "\n\n```\n" + "y = 1; " * 200 + "\n<iframe src=//x.invalid>"
)  # fmt: skip
LISTED = "Which?\n\n1. one\n2. two\n3. three\n4. four"
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
KINDS = {
    "markdown": "",
    "code": "",
    "choice": 'form = "choice"\n',
    "many": 'examples = []\n[[questions]]\nname = "better"\nask = "Which?"\n',
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page with a wild text beside a tame one, in every form."""
    folder = tmp_path_factory.mktemp("rendered")
    said = (Utterance("system", "Hello."), Utterance("user", "Hi."), Utterance("system", LISTED))
    pair = Pair("p", "d", said, Candidate(WILD, "m", 0), Candidate("tame", "m", 1), dialogue="d")
    write_records(folder / "pairs.jsonl", [pair], signature="test", kind=Pair)
    for kind, more in KINDS.items():
        rendering = "code" if kind == "code" else "markdown"
        (folder / f"{kind}.toml").write_text(f'rendering = "{rendering}"\n{more}', encoding="utf-8")
        data = [] if kind == "choice" else ["--pairs", str(folder / "pairs.jsonl")]
        given = ["--hit", str(folder / f"{kind}.toml"), *data, "--number", "1", "--out", str(folder / kind)]
        dispatch("crowd", "", {"preview": ""}, ["preview", *given])
    return folder


@pytest.fixture
def visit(chromium, pages):
    """Opens a kind of page in a window; at the end nothing may have been asked of another host."""
    contexts, asked = [], []

    def go(kind, size, **options):
        contexts.append(chromium.new_context(viewport=size, **options))
        page = contexts[-1].new_page()
        page.on("request", lambda sent: None if sent.url.startswith("file:") else asked.append(sent.url))
        page.on("dialog", lambda dialog: pytest.fail("a response ran as a script"))
        page.goto((pages / kind / ("choice-1.html" if kind == "choice" else "pair-1.html")).as_uri())
        return page

    yield go
    for context in contexts:
        context.close()
    assert asked == []


@SHARED
@pytest.mark.parametrize("kind", KINDS)
def test_no_barrier_and_no_text_beyond_its_box(visit, kind, by_turns):
    page = visit(kind, WIDE)
    assert "taken over" not in page.title()
    assert page.locator("form script, form img, form iframe, form a").count() == 0
    for turn, (size, scheme) in enumerate(((WIDE, "light"), (PHONE, "dark"))):
        if by_turns and turn != [*KINDS].index(kind) % 2:
            page.set_viewport_size(size)
        else:
            assert barriers(page, scheme, **size) == []
        cards = [one.bounding_box() for one in page.locator(".response").all()]
        for card, box in zip(cards, [one.bounding_box() for one in page.locator(".said").all()], strict=True):
            assert card["x"] <= box["x"] and box["x"] + box["width"] <= card["x"] + card["width"]


def test_phone_hides_neither_turns_nor_the_lines_of_their_lists(visit):
    page = visit("markdown", PHONE)
    for lines in (".chat > ol > li", ".chat .markdown li"):
        assert page.locator(f"{lines}:visible").count() == page.locator(lines).count() > 2
