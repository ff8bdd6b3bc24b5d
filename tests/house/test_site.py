"""The site is whole without being built: every page stands in its menu once, and every link meets its heading."""

import re
import subprocess

import pytest

import seedvote
from seedvote.analysis.questions.table import NAMES
from tests.house import reference
from tests.house.doc_blocks import ROOT

SITE = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
OUTSIDE = {"start.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
PAGES = [*(ROOT / name for name in OUTSIDE.values()), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")


def headings_of(page):
    """The anchors of a page, as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_the_menu_names_every_page_once():
    named = re.findall(r"^ +- ([\w/.-]+\.md)$", SITE.split("\nnav:\n")[1], re.M)
    there = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(named) == sorted([*there, *OUTSIDE])


def test_the_menu_begins_with_start_and_ends_with_why():
    titles = re.findall(r"^  - (\w+):$", SITE.split("\nnav:\n")[1], re.M)
    assert titles == ["Start", "Concepts", "Recipes", "Reference", "Why"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_meets_a_file_and_its_heading(page):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    for target, anchor in links:
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        assert not anchor or anchor in headings_of(path), f"{target}#{anchor}"


def test_the_site_asks_no_other_host():
    assert re.search(r"^  font: false$", SITE, re.M) and "analytics" not in SITE
    assert re.findall(r"https?://", SITE) == []


def test_the_built_site_is_no_part_of_the_checkout():
    place = re.search(r"^site_dir: (\S+)$", SITE, re.M)[1]
    assert subprocess.run(["git", "check-ignore", "-q", place], cwd=ROOT).returncode == 0


def test_the_page_of_commands_is_what_the_parsers_say():
    written = reference.PAGE.read_text(encoding="utf-8")
    assert written == "\n".join(reference.write_page()), "run: python -m tests.house.reference"


def test_the_page_of_the_api_names_what_users_import():
    named = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M)
    assert named == [f"seedvote.analysis.questions.{NAMES[name].home}.{name}" for name in seedvote.__all__]
