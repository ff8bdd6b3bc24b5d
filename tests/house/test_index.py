"""docs/README.md leads to every page once, and every page says what it is for and where to go next."""

import re
from collections import Counter

import pytest

from tests.house.doc_blocks import ROOT

INDEX = ROOT / "docs" / "README.md"
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page != INDEX)


def test_the_index_lists_every_page_once():
    listed = Counter(re.findall(r"\(([\w-]+\.md)\)", INDEX.read_text(encoding="utf-8")))
    assert set(listed) == {page.name for page in PAGES}
    assert set(listed.values()) == {1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_begins_with_what_it_is_for(page):
    """A sentence under the title, before any block, table or list."""
    _, title, text = re.split(r"^# (.*)\n\n", page.read_text(encoding="utf-8"), maxsplit=1, flags=re.M)
    assert title and re.match(r"[A-Z`*\[][^|]", text), f"{page.name} begins with: {text[:60]!r}"
    assert not text.startswith("```"), f"{page.name} begins with a block"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_ends_with_where_to_go_next(page):
    last = page.read_text(encoding="utf-8").rstrip().split("\n\n")[-1]
    assert last.startswith("**Next:** ") and re.search(r"\]\([\w./-]+\.md", last), f"{page.name} ends with: {last!r}"
