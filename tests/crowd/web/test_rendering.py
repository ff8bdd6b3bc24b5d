"""Texts as Markdown and as code: nothing runs, loads, leads away, vanishes or leaves its box, whatever they hold."""

import dataclasses
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup, escape

from seedvote.crowd.forms.choice import OptionsOnPage
from seedvote.crowd.forms.form import Content
from seedvote.crowd.forms.pairs import PairOnPage
from seedvote.crowd.hit.hit import Hit, hit_from
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.web import page, rendering
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.rendering import TAGS, box_text, render_text, show_literally
from seedvote.dialogue.records import Utterance
from tests.crowd.study import SHORT, database, desk_of

FRAME = page.Frame(base="", seat="seat", nonce="nonce")
HOSTILE = {
    "script": "<script>alert(1)</script>\n\n<ScRiPt src=//x.org>",
    "address that runs": "[x](javascript:alert(1)) <javascript:alert(1)> [y](JaVaScRiPt&colon;x) [z](data:text/html,x)",
    "picture": '![a *cat*](https://x.org/a.png "seen") ![b](data:image/png;base64,AAAA) <img src=x onerror=alert(1)>',
    "link": '[text](https://x.org/?q="><script>) <https://x.org> https://y.org [t](/study "title")',
    "html": "<b onclick=x>hi</b>\n\n<div>\n<style>*{}</style>\n<iframe src=x></iframe>\n<form action=/consent>",
    "closing": "</div></section></form></html>\n\n`</p>` </code></pre>\n\n> </blockquote></div>",
    "entities": "&lt;script&gt; &#60;img&#62; &#x202e; &#0; &amp;lt; &quot;",
    "directions": "a \u202e b \u2067 c\n\n`\u202e code`",
    "zero width": "a\u200bb \u200d \ufeff c",
    "quotes": "> " * 200 + "deep",
    "table": "|" + "a|" * 90 + "\n|" + "-|" * 90 + "\n" + ("|" + "wide |" * 90 + "\n") * 40,
    "fence": "```<b> onclick\nnever closed\n</code></pre><script>\n",
    "comment": "<!-- hidden --> <!-- open\n\nend",
    "definition": '[gone]: https://x.org "a note"\n\n[gone]',
    "heading": "# One\n\nTwo\n===\n\n###### six",
    "control": "\0 \x1b \r\n \x7f",
    "marks": "*" * 3000 + "a" + "*" * 3000,
}


class Parts(HTMLParser):
    """Every tag and attribute; complains of a tag that is closed out of turn."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.open = set(), set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def text_of(html):
    found = []
    reader = HTMLParser()
    reader.handle_data = found.append
    reader.feed(html)
    return "".join(found)


def hit(rendering, **more):
    return dataclasses.replace(Hit(), rendering=rendering, **more)


def fragment(rendering, left, right="right", context="hello"):
    shown = PairOnPage("lease", (Utterance("user", context),), Content(left), Content(right), 4)
    return page.pair_fragment(hit(rendering), FRAME, shown, page.SittingProgress(3, 28, 9, "last"))


def assert_inert(html):
    parts = Parts(html)
    assert parts.open == [] and parts.tags <= TAGS | {"span"}
    assert parts.attributes <= {("li", "value"), ("span", "class")}


@pytest.mark.parametrize("rendering", ["markdown", "code"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_inert_and_stays_in_its_box(name, rendering):
    text = HOSTILE[name]
    assert_inert(render_text(show_literally(text), rendering))
    alone = PageForm(fragment(rendering, "left")).shown_texts()
    assert PageForm(fragment(rendering, text)).shown_texts()[2] == alone[2] == "right"
    assert PageForm(fragment(rendering, "left", text)).shown_texts()[1] == alone[1] == "left"
    assert PageForm(fragment(rendering, "left", context=text)).shown_texts()[1:] == alone[1:]


PIECES = [*"*_`[]()|<>#a7é \n\\\u202e", "](", "![", "<b>", "> ", "- ", "7. ", "```", "|-|-|\n", "~~"]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1).map("".join))
def test_no_letter_vanishes_and_every_tag_is_closed_whatever_the_marks(text):
    made = render_text(text, "markdown")
    assert_inert(made)
    left = text_of(made) + "".join(re.findall(r'value="(\d+)"', made))
    assert not made or all(left.count(sign) >= text.count(sign) for sign in "a7é\u202e")


def test_marks_become_what_they_mean():
    made = render_text(
        "**b** *e* ~~s~~ `c`\nnext\n\n3. x\n7. y\n   - z\n\n> q\n\n|h|\n|-|\n|d|\n\n```py\n a\n```\n***", "markdown"
    )
    for part in (
        "<strong>b</strong> <em>e</em> <s>s</s> <code>c</code><br>",
        '<li value="3">x</li>\n<li value="7">y\n<ul>\n<li>z</li>',
        "<blockquote>\n<p>q</p>",
        "<th>h</th>",
        "<td>d</td>",
        "<pre><small>py</small>\n<code> a\n</code></pre>",
        "<hr>",
    ):
        assert part in made


def test_links_and_pictures_say_where_they_lead_and_lead_nowhere():
    assert render_text("[t](https://x.org 'n') <https://y.org>", "markdown") == (
        "<p>t <small>(https://x.org n)</small> https://y.org</p>"
    )
    assert render_text("![a *cat*](https://x.org/a.png)", "markdown") == (
        "<p>a cat <small>(https://x.org/a.png)</small></p>"
    )
    assert "h1" not in render_text("# large", "markdown") and "<strong>large</strong>" in render_text(
        "# large", "markdown"
    )


@pytest.mark.parametrize(
    "text",
    ["> " * 200 + "deep", "|a|b|\n|-|-|\n|1|2|more|", "***", "#", "```\n```", "007. seven", "x" * 50_001, " "],
)
def test_what_would_vanish_is_shown_literally(text):
    assert render_text(text, "markdown") == ""
    if text.strip():
        assert PageForm(fragment("markdown", text)).shown_texts()[1] == text


def test_code_keeps_every_space_and_names_what_turns_the_direction():
    text = "\n\tif a:\n\t\t<b> *x*\u202e\u2066 # end\n"
    assert render_text(text, "code") == (
        '\n\tif a:\n\t\t&lt;b&gt; *x*<span class="sign">U+202E</span><span class="sign">U+2066</span> # end\n'
    )
    assert PageForm(fragment("code", text)).shown_texts()[1] == text.replace("\u202e", "U+202E").replace(
        "\u2066", "U+2066"
    )


def test_the_default_loads_and_shows_nothing_of_it():
    one = fragment("literal", "**a** <b>")
    assert '<p class="said" dir="auto">**a** &lt;b&gt;</p>' in one and "rendered" not in one
    shown = PairOnPage("lease", (Utterance("user", "c"),), Content("l"), Content("r"), 1)
    pages = {
        kind: page.task_page(hit(kind), FRAME, shown, page.SittingProgress(0, 3, None), "")
        for kind in ("literal", "markdown", "code")
    }
    assert ["rendered.css" in text for text in pages.values()] == [False, True, True]


def test_every_form_and_the_worked_examples_show_it():
    options = OptionsOnPage(
        "lease", (Utterance("user", "**c**"),), [Content(text) for text in ("**one**", "two", "`three`")], 1
    )
    made = hit_from({"form": "choice", "rendering": "markdown"}, "x")
    choice = page.pair_fragment(made, FRAME, options, page.SittingProgress(0, 3, None))
    assert choice.count('<div class="rendered markdown') == 4
    assert PageForm(choice).shown_texts() == ([Utterance("user", "c")], "one", "two", "three")
    asked = {"rendering": "markdown", "questions": [{"name": "better", "ask": "Which?"}]}
    shown = PairOnPage("lease", (Utterance("user", "c"),), Content("**l**"), Content("r"), 1)
    several = page.pair_fragment(hit_from(asked, "x"), FRAME, shown, page.SittingProgress(0, 3, None))
    assert "<strong>l</strong>" in several and 'name="q-better"' in several
    example = dataclasses.replace(Hit().examples[0], left="**bold**")
    assert "<strong>bold</strong>" in page.example_page(hit("markdown", examples=(example,)), FRAME, 1, None)


def test_what_scrolls_can_take_the_focus():
    wide = '<div class="rendered markdown said" dir="auto" tabindex="0">'
    assert wide in fragment("markdown", "```\na\n```") and wide in fragment("markdown", "|a|\n|-|")
    assert wide not in fragment("markdown", "plain") and 'dir="ltr" tabindex="0"' in fragment("code", "a")


def test_the_policy_of_the_page_is_the_same(tmp_path):
    said = {}
    for kind in ("literal", "markdown"):
        (folder := tmp_path / kind).mkdir()
        made = dataclasses.replace(SHORT, rendering=kind)
        with database("sqlite", folder) as url, desk_of(url, folder, made):
            app = create_app(ServerConfig(url, made))
            policy = app.test_client().get("/?rater=ann&source=simulated").headers["Content-Security-Policy"]
            said[kind] = re.sub(r"nonce-[\w-]+", "", policy)
            app.extensions["desk"].store.close()
    assert said["literal"] == said["markdown"]


@pytest.mark.parametrize(
    "text",
    [
        "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|a\n" * 3000,
        ("> " + "|a" * 50 + "\n> " + "|-" * 50 + "\n" + "> a\n" * 95 + "\n") * 2,
        "![" * 2001,
    ],
    ids=["table", "tables in quotes", "images that do not end"],
)
def test_texts_that_would_take_seconds_are_literal_without_being_parsed(text, monkeypatch):
    monkeypatch.setattr(rendering._make_parser(), "parse", lambda _text: pytest.fail("it was parsed"))
    assert rendering.render_text(text, "markdown") == ""


@pytest.mark.parametrize("text", [*HOSTILE.values(), "", " \n", "{0} {} %s {words}", 'it\'s "so" & <b>'])
def test_a_literal_box_is_what_markup_s_own_format_makes(text):
    words = escape(show_literally(text)) if text.strip() else Markup("<em>{}</em>").format("<none>")
    for box_class in ("", "said", '"><b>'):
        classes = Markup(' class="{}"').format(box_class) if box_class else ""
        assert box_text(text, "literal", "<none>", box_class) == Markup('<p{} dir="auto">{}</p>').format(classes, words)
