"""How the texts of a pair become HTML: `rendering` in hit.toml. Whatever a text holds stays text, inside its own box.

Markdown makes marks of some characters; nothing else that was written may vanish. Where it would (a cell that a table
has no column for, quotes in quotes beyond twenty), or where nothing would be left to see, the text stays literal.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import MutableMapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from seedvote.crowd.hit.hit import Rendering
from seedvote.crowd.rating.differing import find_differences

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 50_000  # characters that are read as Markdown: a page must not wait for a text
LARGEST = 200_000  # characters that may come of it: a table of empty cells grows thirtyfold
MOST_CELLS = 5_000  # of all tables: each row of one grows to the width of its head, so short texts make many
MOST_BRACKETS = 2_000  # each may begin a link, for which the parser looks through what follows at every depth
DEEPEST = 20  # lists and quotes in each other; what lies deeper the parser drops
MARKS = "p br hr strong em s small ul ol li blockquote pre code table thead tbody tr th td"
TAGS = set(MARKS.split())
NUMBER = {"li": {"value"}}  # the only attribute: a list counts as it was written
DASHES = "-:| \t"  # what the line below the head of a table is made of
DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def show_literally(text: str) -> str:
    """Text as it was written: control characters become visible signs, so that no browser drops or obeys them.

    >>> show_literally("a\\r\\nb\\0")
    'a\\nb␀'
    """
    text = text.replace("\r\n", "\n").encode("utf-8", "backslashreplace").decode("utf-8")
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda match: chr(0x2400 + min(ord(match[0]), 0x21)), text)


def render_text(text: str, rendering: Rendering) -> Markup:
    """A text as the study shows it; empty where it is shown literally.

    >>> render_text("**yes**, [here](https://x.org)", "markdown")
    Markup('<p><strong>yes</strong>, here <small>(https://x.org)</small></p>')
    >>> render_text("if a < b:", "code")
    Markup('if a &lt; b:')
    """
    if rendering == "literal" or not text.strip():
        return Markup()
    return _render_markdown(text) if rendering == "markdown" else render_code(text)


@lru_cache(4096)  # the raters of a pair see the same texts, and those of an item the same context
def box_text(text: str, rendering: Rendering, empty: str, box_class: str = "") -> Markup:
    """A text in a box of its own, as the study shows it; `empty` is what stands there for a text without a letter.

    >>> box_text("a < b", "literal", "(empty)", "said")
    Markup('<p class="said" dir="auto">a &lt; b</p>')
    """
    made = Markup() if rendering == "literal" else render_text(show_literally(text), rendering)
    if made:
        classes, direction = f"rendered {rendering} {box_class}".rstrip(), "ltr" if rendering == "code" else "auto"
        scrolls = rendering == "code" or "<pre" in made or "<table" in made
        focus = Markup(' tabindex="0"') if scrolls else ""
        return Markup('<div class="{}" dir="{}"{}>{}</div>').format(classes, direction, focus, made)
    words = escape(show_literally(text)) if text.strip() else Markup("<em>{}</em>").format(empty)
    classes = f' class="{escape(box_class)}"' if box_class else ""
    return Markup(f'<p{classes} dir="auto">{words}</p>')  # format() takes ten times as long, and most texts come here


@lru_cache(4096)
def box_differing(text: str, other: str, box_class: str) -> Markup:
    """A literal text in its box, the words that the other one lacks underlined: nothing is said of it word by word.

    >>> box_differing("open at nine <today>", "open at ten <today>", "said")
    Markup('<p class="said" dir="auto">open at <span class="differs">nine</span> &lt;today&gt;</p>')
    """
    differences, words, place = find_differences(text, other), Markup(), 0
    for start, end in differences[0] if differences else ():
        words += escape(show_literally(text[place:start]))
        words += Markup('<span class="differs">{}</span>').format(show_literally(text[start:end]))
        place = end
    return Markup('<p class="{}" dir="auto">{}</p>').format(box_class, words + escape(show_literally(text[place:])))


def render_code(text: str) -> Markup:
    """Signs that turn the direction of what follows are named: in code they would show another program."""
    return Markup(DIRECTIONS.sub(lambda match: f'<span class="sign">U+{ord(match[0]):04X}</span>', str(escape(text))))


@lru_cache(1024)  # every rater of a pair sees the same texts
def _render_markdown(text: str) -> Markup:
    import nh3

    parser = _make_parser()
    if len(text) > LONGEST or text.count("[") > MOST_BRACKETS or _count_cells(text) > MOST_CELLS:
        return Markup()
    tokens = parser.parse(text)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return Markup()
    written = str(parser.renderer.render(tokens, parser.options, {}))
    if len(written) > LARGEST:
        return Markup()
    safe = nh3.clean(written, tags=TAGS, attributes=NUMBER, link_rel=None, url_schemes=set()).strip()
    visible_text = html.unescape(nh3.clean(safe, tags=set()))
    lost = _count_letters(html.unescape(text)) - _count_letters(
        visible_text + "".join(re.findall(r'<li value="(\d{1,3})"', safe))
    )
    return Markup() if lost or not visible_text.strip() else Markup(safe)  # nh3 has left TAGS alone


def _count_cells(text: str) -> int:
    """A bound of the cells in its tables: every line as wide as the widest line of dashes until the next empty one.

    >>> _count_cells("a | b\\n--|--\\n1\\n2\\n\\nno table")
    8
    """
    cells = 0
    for is_filled, block in groupby(text.split("\n"), key=lambda line: bool(line.strip())):
        lines = list(block)
        ends = [line[len(line.rstrip(DASHES)) :] for line in lines]  # without the marks of quotes and lists before it
        if is_filled and any("|" in line for line in lines):
            cells += max(end.count("|") + 1 if "-" in end else 0 for end in ends) * len(lines)
    return cells


def _count_letters(text: str) -> Counter[str]:
    """All but white space and the characters of which Markdown makes its marks."""
    return Counter(sign for sign in text if sign.isalnum() or (sign > "~" and not sign.isspace()))


@cache
def _make_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML

    class InertRenderer(RendererHTML):
        """Nothing leads anywhere, nothing is fetched, and no heading joins those of the page."""

        def link_open(self, *_: object) -> str:
            return ""

        def link_close(self, tokens: Sequence[Token], at: int, *_: object) -> str:
            start = next(place for place in range(at, -1, -1) if tokens[place].type == "link_open")
            written = "".join(token.content for token in tokens[start:at])
            return _show_address(tokens[start], "href", written)

        def image(self, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]) -> str:
            """The text that stands for it, and where it would have come from."""
            alt = self.renderInlineAsText(tokens[at].children, options, env)
            return str(escape(alt)) + _show_address(tokens[at], "src", alt)

        def heading_open(self, *_: object) -> str:
            return "<p><strong>"

        def heading_close(self, *_: object) -> str:
            return "</strong></p>\n"

        def list_item_open(self, tokens: Sequence[Token], at: int, *_: object) -> str:
            number = tokens[at].info
            return f'<li value="{int(number)}">' if number else "<li>"

        def fence(self, tokens: Sequence[Token], at: int, *_: object) -> str:
            """The word after the fence too: it is a part of what was written."""
            info = tokens[at].info.strip()
            label = f"<small>{escape(info)}</small>\n" if info else ""
            return f"<pre>{label}<code>{escape(tokens[at].content)}</code></pre>\n"

    options = {"html": False, "breaks": True, "maxNesting": DEEPEST}
    parser = MarkdownIt("commonmark", options, renderer_cls=InertRenderer)
    parser.enable(["table", "strikethrough"]).disable("reference")  # a definition would vanish from the page
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _show_address(token: Token, name: str, written: str) -> str:
    """Where a link leads, for the eye alone; nothing where the link's text is the address."""
    address, title = token.attrGet(name), token.attrGet("title")
    words = " ".join(str(part) for part in (address, title) if part)
    return f" <small>({escape(words)})</small>" if words not in ("", written) else ""
