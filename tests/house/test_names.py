"""Every name that a user may type stands in the page where they would look for it, so a new one brings its docs."""

import importlib

import pytest

from seedvote.crowd.marketplaces.market import MARKETPLACES
from seedvote.dialogue.importing.tools import TOOLS
from seedvote.generation.metrics.overlap import overlap_scores
from seedvote.generation.models.architectures import ARCHITECTURES
from seedvote.probes.tasks.catalogue import TASKS
from tests.house.doc_blocks import PACKAGES, ROOT


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("generation.md", [f"`{name}`" for name in ARCHITECTURES]),
        ("generation.md", [f"`{name}`" for name in overlap_scores(("word",), ("word",))]),
        ("probes.md", [task.name for task in TASKS]),
        ("import.md", [f"`{name}`" for name in TOOLS]),
    ],
    ids=["architectures", "token metrics", "probe tasks", "tools"],
)
def test_the_page_of_a_table_names_every_row(document, names):
    assert [name for name in names if name not in page(document)] == []


def test_every_marketplace_and_every_command_stands_in_some_document():
    text = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    commands = [f"{p} {name}" for p in PACKAGES for name in importlib.import_module(f"seedvote.{p}.__main__").COMMANDS]
    assert [row.source for row in MARKETPLACES if f"--{row.source}" not in text] == []
    assert [command for command in commands if command not in text] == []
