"""Commands end with the next one to type, and its parser takes it."""

import importlib
import re
import shutil
import sys

import pytest

from seedvote.analysis.report.paper import kit
from seedvote.dialogue.shell.command_line import dispatch
from tests.house.doc_blocks import ROOT, checkout, parse
from tests.house.warm import SERVING, warm_python

TOY = "dialogue toy corpus --dialogues 12"
SIMULATE = "crowd simulate study --raters 10 --seed 0"
QUICK = [  # in an order in which each finds what it reads
    "dialogue describe corpus",
    "dialogue format",
    "probes list --corpus corpus",
    "crowd plan-checks",
    "crowd preview --pairs study/pairs.jsonl",
    "crowd status study",
    "crowd status study --token",
    "crowd pause study",
    "crowd resume study",
    "crowd stop study",
    "crowd export study",
    "crowd export study --format csv",
    "crowd regate study --max-failures 1 --out strict",
    "crowd import-votes batch.csv --from mturk --fixed-order --out imported.jsonl",
    "analysis ties study --size 12",
    "analysis agreement study",
    "analysis agreement study --labels any",
    "analysis preference study",
    "analysis preference votes.csv --margin 0.2",
    "analysis plan",
    "analysis plan study",
    "analysis ties study --size 12 --clusters rater",
    "analysis agreement votes.csv --clusters pair",
    "analysis preference votes.csv --clusters pair",
    "analysis plan study --clusters pair",
    "analysis variance study --score net",
    "analysis compare study",
    "analysis watch study --once --size 12",
    "analysis report study",
    "analysis browse study",
    "crowd forget study RATER",
]


def typed(line):
    """Run a command in this process as if it had been typed."""
    package, *words = line.split()
    return dispatch(package, "", importlib.import_module(f"seedvote.{package}.__main__").COMMANDS, words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A study with the votes of simulated raters, a corpus, a table of votes and one of another tool."""
    found = checkout(tmp_path_factory.mktemp("next"))
    (found / "study").mkdir()
    for name in ("pairs.jsonl", "hit.toml"):
        shutil.copy(ROOT / "examples" / name, found / "study")
    shutil.copy(ROOT / "examples" / "votes.csv", found)
    rows = "AssignmentId,WorkerId,SubmitTime,Input.pair,Answer.better\nS1,W1,2020-11-11,q01,A\nS2,W2,2020-11-12,q01,B\n"
    (found / "batch.csv").write_text(rows, encoding="utf-8")
    return found


def last_line(line, capsys):
    capsys.readouterr()
    assert not typed(line)
    printed, aside = capsys.readouterr()
    return (aside if line == "dialogue format" else printed).rstrip().rpartition("\n")[2]


@pytest.mark.slow
@pytest.mark.usefixtures("sketched")
def test_a_command_ends_with_one_that_its_parser_takes(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "executable", warm_python(SERVING))  # the server that simulated raters start
    monkeypatch.setattr(kit, "_draw_figures", lambda figures: iter(()))  # pictures for the paper take longest
    ends = {line: last_line(line, capsys) for line in (TOY, SIMULATE)}
    for line in QUICK:
        rater = re.search(r'"rater": *"([0-9a-f]{20})"', _raters(folder))
        ends[line] = last_line(line.replace("RATER", rater[1] if rater else "?"), capsys)
    assert {line: end for line, end in ends.items() if not end.startswith("Next: python ")} == {}
    asked = [line for line in QUICK if "--clusters" in line]
    assert all(re.search(r"--clusters (pair|rater)$", ends[line]) for line in asked)  # what was asked for goes on
    for command in (end.removeprefix("Next: ") for end in ends.values()):
        if not re.fullmatch(r"python -m webbrowser file:\S+/(report|browse)\.html", command):
            parse(command)


def _raters(folder):
    path = folder / "study" / "raters.jsonl"
    return path.read_text(encoding="utf-8") if path.exists() else ""
