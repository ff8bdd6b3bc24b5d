"""Watching a study: the figures follow the votes."""

import json
import time

import pytest

from seedvote.analysis.commands import watch
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch

pytestmark = pytest.mark.usefixtures("hasty_throughout")

COMMANDS = {"watch": ""}


def write(study, pairs):
    rows = [
        {"pair": f"p{p}", "rater": f"r{(p + k) % 7}", "choice": "abt"[(p * k) % 3].replace("t", "tie"), "round": k}
        for p in range(pairs)
        for k in (1, 2, 3)
    ]
    (study / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_once_draws_a_study_with_few_votes_and_says_how(tmp_path, capsys):
    write(tmp_path, 30)
    assert dispatch("analysis", "", COMMANDS, ["watch", str(tmp_path), "--once"]) == 0
    found = json.loads((tmp_path / "ties.json").read_text())
    assert found["recipe"]["replace"] is True and found["pooled"]["votes"] == 90
    assert (tmp_path / "ties.png").exists() and (tmp_path / "ties.pdf").exists()
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("90 votes, ") and last == f"Next: python -m analysis agreement {tmp_path}"


def test_it_draws_by_the_clusters_that_are_asked_for(tmp_path, capsys):
    rows = [{"pair": f"p{n // 3}", "rater": f"r{n % 7}", "choice": "tie" if n % 7 < 3 else "a"} for n in range(90)]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {}
    for clusters in ("auto", "vote"):
        assert dispatch("analysis", "", COMMANDS, ["watch", str(tmp_path), "--once", "--clusters", clusters]) == 0
        found[clusters] = json.loads((tmp_path / "ties.json").read_text())
    chance = {name: one["pooled"]["chance"] for name, one in found.items()}
    assert {name: one["unit"] for name, one in chance.items()} == {"auto": "pair+rater", "vote": "vote"}
    assert chance["auto"]["p"] > 0.5 > 0.1 > chance["vote"]["p"]
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"{tmp_path} --clusters vote")


def test_it_waits_for_votes_and_draws_again_only_when_they_change(tmp_path, capsys, monkeypatch):
    steps = iter([lambda: write(tmp_path, 10), lambda: None, lambda: write(tmp_path, 20)])

    def sleep(seconds):
        assert seconds == 5.0
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        dispatch("analysis", "", COMMANDS, ["watch", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("waiting: ") and "votes.jsonl cannot be read" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["30", "60"]


def test_once_without_votes_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"votes.jsonl cannot be read"):
        dispatch("analysis", "", COMMANDS, ["watch", str(tmp_path), "--once"])


def test_help_comes_without_heavy_imports():
    assert not {"numpy", "seedvote.analysis.questions.ties.answer"} & set(vars(watch))
