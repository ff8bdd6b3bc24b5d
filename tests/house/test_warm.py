"""The Python that forks for each command does what a fresh one does."""

import subprocess
import sys

import pytest

from tests.house.doc_blocks import ROOT
from tests.house.warm import warm

SCRIPT = "import os, sys\nprint(sys.argv, os.getcwd(), os.environ['WORD'], __name__)\nprint('aside', file=sys.stderr)\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-m", "crowd", "status", "nowhere"], ""),
        (["-m", "crowd", "status", "--no-such-option"], ""),
        (["analyze_ties.py", "examples/votes.csv", "--size", "100000"], ""),
        (["-c", SCRIPT, "one", "two"], ""),
        (["-"], SCRIPT),
        (["-"], SCRIPT + "sys.exit('the end')\n"),
        (["-"], "raise SystemExit(3)"),
        (["-"], "1 / 0"),
    ],
)
def test_it_prints_and_ends_as_a_fresh_one_does(words, text, monkeypatch):
    monkeypatch.setenv("WORD", "here")
    one, other = (
        subprocess.run([*python, *words], input=text, cwd=ROOT, capture_output=True, text=True)
        for python in ([sys.executable], warm())
    )
    assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
    assert one.stderr.splitlines()[-1:] == other.stderr.splitlines()[-1:]
