"""A study with three questions, Likert and comments, in German: from simulated raters to a report of each question."""

import json
import shutil
import tomllib

import pytest

from seedvote.crowd.__main__ import COMMANDS
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Comment, Rater, Vote
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.doc_blocks import ROOT

GERMAN = ROOT / "examples" / "german"


@pytest.mark.slow
def test_three_questions_go_from_raters_to_reports(tmp_path, monkeypatch, capsys):
    from seedvote.analysis.__main__ import COMMANDS as ANALYSIS

    monkeypatch.chdir(ROOT)
    for name in ("pairs.jsonl", "hit.toml"):
        shutil.copy(GERMAN / name, tmp_path / name)
    dispatch("crowd", "", COMMANDS, ["simulate", str(tmp_path), "--raters", "15", "--seed", "0"])
    dispatch("crowd", "", COMMANDS, ["export", str(tmp_path)])
    votes = read_records(tmp_path / "votes.jsonl", Vote)
    counted = [vote for vote in votes if vote.counted]
    assert len(counted) == 12 * 3 * 2 and {vote.question for vote in votes} == {"besser", "verstaendlich"}
    assert all((vote.score_a is None) == (vote.question == "besser") for vote in votes)
    assert {c.question for c in read_records(tmp_path / "comments.jsonl", Comment)} == {"warum"}
    assert sum(rater.checks_seen for rater in read_records(tmp_path / "raters.jsonl", Rater)) > 12
    asked = {one["name"]: one["ask"] for one in tomllib.loads((GERMAN / "hit.toml").read_text("utf-8"))["questions"]}
    for question in ("besser", "verstaendlich"):
        dispatch("analysis", "", ANALYSIS, ["report", str(tmp_path), "--question", question])
        assert json.loads((tmp_path / f"report-{question}.json").read_text("utf-8"))
        kit = (tmp_path / f"report-{question}-paper").rglob("*")
        texts = [path.read_text("utf-8") for path in kit if path.suffix == ".md"]
        assert any(asked[question] in text for text in texts)
        assert not any("fits what was just said" in text for text in texts), "a comment is in the paper kit"
