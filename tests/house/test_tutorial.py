"""The tutorial's commands work as written, from the first to the last."""

import re

import pytest

from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Pair, Vote
from tests.house.doc_blocks import run

BLOCK = re.compile(r"```sh\n(.*?)```", re.S)
PARTS = ("analyze_ties.py", "analysis", "crowd", "dialogue", "generation")


@pytest.mark.slow
def test_the_tutorial_leads_from_a_table_of_answers_to_a_report(pytestconfig, tmp_path):
    text = (pytestconfig.rootpath / "docs" / "tutorial.md").read_text(encoding="utf-8")
    for name in PARTS:
        (tmp_path / name).symlink_to(pytestconfig.rootpath / name)
    lines = [line for block in BLOCK.findall(text) for line in block.splitlines() if "crowd serve" not in line]
    run("\n".join(lines), tmp_path)
    rehearsal, elsewhere = tmp_path / "runs" / "rehearsal", tmp_path / "runs" / "elsewhere"
    pairs = read_records(rehearsal / "pairs.jsonl", Pair)
    assert [sum(pair.kind == kind for pair in pairs) for kind in ("real", "check")] == [12, 3]
    votes = read_records(rehearsal / "votes.jsonl", Vote)
    assert sum(vote.counted for vote in votes) == 36
    assert {vote.source for vote in votes} == {"simulated"}
    assert "Ours against theirs" in (rehearsal / "report.html").read_text(encoding="utf-8")
    imported = read_records(elsewhere / "votes.jsonl", Vote)
    assert [(vote.pair, vote.round, vote.choice) for vote in imported] == [
        ("q01", 1, "a"),
        ("q01", 2, "a"),
        ("q01", 3, "tie"),
        ("q02", 1, "b"),
    ]
