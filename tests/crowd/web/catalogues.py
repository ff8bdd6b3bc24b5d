"""What the pages of raters say, found in templates and code; and the catalogues brought up to it.

`python -m tests.crowd.web.catalogues` adds what is new to every catalogue, empty, and drops what is no longer said;
with a language (`... catalogues pt`) it begins that one.
"""

import ast
import re
import sys

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit import defaults
from seedvote.crowd.hit.hit import usual_hit
from seedvote.crowd.hit.languages import CATALOGUES, LANGUAGES, WORDED, texts_asked
from seedvote.crowd.web import page

RULES = (defaults.COMPARE_ALL, defaults.RANK_WITH_TIES, defaults.RANK_ALL)  # where questions ask for ranks

HEADER = """\
# What the pages of raters say in this language; docs/languages.md. The key is the English.
msgid ""
msgstr ""
"Language: {language}\\n"
"Plural-Forms: {plurals}\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""
CROWD = page.TEMPLATES.parent / "crowd"


def messages():
    """Every message, once: its English, or the English of one and of several."""
    found = dict.fromkeys([*in_templates(), *in_code(), *in_defaults()])
    return [one for one in found if one]


def in_templates():
    """What stands in _( ) and ngettext( ); one that is chosen while a page is made stands in code."""
    for path in sorted((page.TEMPLATES / "hit").glob("*.html")):
        with path.open("rb") as file:
            for _line, _function, text, _comments in babel_extract(file, ("_", "gettext", "ngettext"), [], {}):
                parts = [part for part in ([*text] if isinstance(text, tuple) else [text]) if part]
                yield tuple(parts) if parts[1:] else "".join(parts)


def in_code():
    """Notes of the page, and how people leave for a marketplace."""
    yield from page.NOTES.values()
    yield from (
        page.ANSWER_ALL,
        page.NOT_ALL,
        *(form.undone for form in FORMS.values()),
        page.RANK_APART,
        page.CHOOSE_TWO,
        page.CHOOSE_ONE,
    )
    for path in sorted(CROWD.glob("marketplaces/*/entrance.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
            if isinstance(text, str) and re.fullmatch(r"[A-Z].* .*", text):
                yield text


def in_defaults():
    """What each form of the HIT says where hit.toml says nothing, paragraph by paragraph."""
    for form in FORMS:
        usual, found = usual_hit(form), [*RULES] if form == "responses" else []
        for name in WORDED[:-1]:
            found += getattr(usual, name).split("\n\n")
        for example in usual.examples:
            FORMS[form].example_said(example, lambda text, found=found: found.append(text) or text)
        yield from [*found, *texts_asked(usual)]


def read(language):
    """A catalogue as it is written."""
    with (CATALOGUES / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def updated(language, known=None):
    """The catalogue with every message that there is, in that order; what was said of it is kept."""
    known = known or Catalog(locale=language)
    catalogue = Catalog(locale=language)
    for text in messages():
        before = known.get(text[0] if isinstance(text, tuple) else text)
        catalogue.add(text, string=before.string if before else "")
    return catalogue


def write(language):
    known = read(language) if (CATALOGUES / f"{language}.po").exists() else None
    catalogue = updated(language, known)
    with (CATALOGUES / f"{language}.po").open("wb") as file:
        file.write(HEADER.format(language=language, plurals=catalogue.plural_forms).encode())
        write_po(file, catalogue, width=116, omit_header=True)
    return sum(1 for one in catalogue if one.id and not all(one.string if one.pluralizable else [one.string]))


if __name__ == "__main__":
    for name in sys.argv[1:] or LANGUAGES[1:]:
        print(f"{CATALOGUES / name}.po: {write(name)} messages are not translated yet.")
