"""`seedvote`: one command for every package, once installed. `seedvote crowd serve` is `python -m crowd serve`.

The questions of the analysis are commands of their own: `seedvote report votes.csv`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from dialogue.command_line import dispatch, exit_with
from dialogue.completion import TYPED
from dialogue.errors import InputError
from dialogue.signature import VERSION
from dialogue.wording import COMMAND

ABOUT = {
    "generation": "train one architecture under many seeds, sample responses, make pairs",
    "crowd": "show pairs to raters and keep their votes",
    "probes": "classifiers on frozen encoder states",
    "evaluators": "automatic evaluators: task success of predictions",
    "dialogue": "corpora, file formats, and the example files",
}


def main() -> None:
    """The console script."""
    exit_with(lambda: _run(sys.argv[1:]))


def _run(argv: Sequence[str]) -> int:
    questions = _commands("analysis")
    if TYPED in os.environ and not argv:
        return _offer(questions)
    if not argv or argv[0] in ("-h", "--help"):
        print(_help(questions))
        return 0 if argv else 2
    if argv[0] in ("-V", "--version"):
        print(f"{COMMAND} {VERSION}")
        return 0
    if argv[0] in questions:
        return dispatch("analysis", "", questions, argv)
    if argv[0] == "doctor":  # what an issue asks for is one word
        return _package("dialogue", argv)
    if argv[0] in (*ABOUT, "analysis"):
        return _package(argv[0], argv[1:])
    words = ", ".join([*questions, *ABOUT])
    raise InputError(f"{argv[0]} is no command of {COMMAND}. There are: {words}. Help: {COMMAND} --help.")


def _package(name: str, argv: Sequence[str]) -> int:
    about = ABOUT.get(name, "analyse votes and scores, with the uncertainty of every number")
    module = importlib.import_module(f"{name}.__main__")
    return dispatch(name, about[0].upper() + about[1:] + ".", module.COMMANDS, argv, first=module.FIRST)


def _commands(package: str) -> Mapping[str, str]:
    commands: Mapping[str, str] = importlib.import_module(f"{package}.__main__").COMMANDS
    return commands


def _offer(questions: Mapping[str, str]) -> int:
    words = {**questions, **ABOUT}
    print("\n".join(f"{name}\t{text}" for name, text in words.items() if name.startswith(os.environ[TYPED])))
    return 0


def _help(questions: Mapping[str, str]) -> str:
    return "\n".join(
        [
            f"usage: {COMMAND} COMMAND ...",
            "",
            "Ask people which of two responses is better, and report how certain the answer is.",
            "",
            "What votes and scores show:",
            *_rows(questions),
            "",
            f"Making a study (each has commands of its own: {COMMAND} crowd --help):",
            *_rows(ABOUT),
            "",
            f"Help on one command: {COMMAND} report --help    Version: {COMMAND} --version",
            f"What is missing on this machine, and how to get it: {COMMAND} doctor",
            f"Begin: {COMMAND} dialogue examples, then {COMMAND} report examples/votes.csv",
        ]
    )


def _rows(words: Mapping[str, str]) -> Iterator[str]:
    return (f"  {name:<11} {text}" for name, text in words.items())
