"""The line that says what a command is doing: on a terminal, after two quiet seconds, and nowhere else."""

import io
import sys

import pytest

from seedvote.dialogue.shell import progress
from seedvote.dialogue.shell.progress import ERASE, QUIET, ProgressLine, step, watched


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def line():
    step("")
    return ProgressLine("agreement", Terminal())


def test_it_appears_after_two_quiet_seconds_and_says_what_is_done(line):
    line.draw(line.spoken + QUIET - 0.1)
    assert line.terminal.getvalue() == ""
    step("MACE: who spams")
    line.draw(line.begun + 7)
    assert line.terminal.getvalue() == f"{ERASE}agreement: MACE: who spams, 7 s (Ctrl-C stops)"


def test_whatever_is_written_takes_its_place(line):
    told = progress._YieldingStream(Terminal(), line)
    line.draw(line.begun + 7)
    told.write("a table")
    assert line.terminal.getvalue().endswith(ERASE) and told.getvalue() == "a table"
    line.draw(line.spoken + 1)
    assert line.terminal.getvalue().endswith(ERASE)  # quiet again for two seconds


def test_it_is_gone_for_good_at_the_end(line):
    line.draw(line.begun + 7)
    line.end()
    line.draw(line.begun + 70)
    assert line.terminal.getvalue().endswith(ERASE)


def test_bars_of_tqdm_go_before_it(line):
    from tqdm import tqdm

    with tqdm(total=3, file=io.StringIO()):
        line.draw(line.begun + 70)
    assert line.terminal.getvalue() == ""


def test_a_pipe_a_file_and_a_log_never_see_it(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    out = sys.stdout
    with watched("agreement"):
        assert sys.stdout is out and isinstance(sys.stderr, io.StringIO)


def test_on_a_terminal_the_streams_are_as_before_afterwards(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watched("agreement"):
        assert sys.stderr is not terminal and sys.stderr.isatty()
        print("a word", file=sys.stderr)
    assert sys.stderr is terminal and terminal.getvalue() == "a word\n"
