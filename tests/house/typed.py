"""A command as it is typed, without the start of an interpreter: that takes seconds where scipy or torch is loaded."""

import contextlib
import importlib
import io
import subprocess
import sys
import unittest.mock
from pathlib import Path

from seedvote.dialogue.shell.command_line import dispatch, exit_with, run_command
from tests.house.warm import SERVING, warm_python

ROOT = Path(__file__).resolve().parents[2]


def typed(package, *words):
    """What `python -m package words` prints in the checkout, and the code it ends with."""
    commands = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
    python = warm_python(SERVING) if words[:1] == ("simulate",) else sys.executable  # of the server that it starts
    with unittest.mock.patch("sys.executable", python):
        return _done(lambda: dispatch(package, "", commands, [*map(str, words)]))


def typed_program(module, name, *words):
    """The same of a program in a file of its own, as `python analyze_ties.py words`."""
    return _done(lambda: run_command(module, f"python {name}", [*map(str, words)]))


def _done(main):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(ROOT):
        try:
            exit_with(main)
        except SystemExit as end:
            return subprocess.CompletedProcess([], end.code or 0, out.getvalue(), err.getvalue())
