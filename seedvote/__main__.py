"""One command for the whole house: `seedvote` once installed, `python -m seedvote` in a checkout.

Three verbs stand in front. Behind them is every command: `seedvote crowd serve` is `python -m crowd serve`, and the
questions of the analysis are commands of their own: `seedvote report votes.csv`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import TYPED, CommandModule, dispatch, exit_with, run_command
from seedvote.dialogue.shell.wording import COMMAND, as_typed
from seedvote.dialogue.signature import VERSION

VERBS = {
    "rate": ("RESPONSES...", "pairs, hidden checks, the rating page and links for the people who rate"),
    "analyze": ("VOTES", "find out what a file of votes is, answer what it can, write the report"),
    "study": ("[STUDY]", "the whole line: corpus, seeds, responses, raters, probes, report"),
}
MORE = {"papers": "every table and figure of the five papers, with its command and what ran here"}
WHERE = {
    "rate": "seedvote.crowd.commands.rate",
    "analyze": "seedvote.commands.analyze",
    "study": "seedvote.commands.study",
    "papers": "seedvote.commands.papers",
}
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
        print(_help())
        return 0 if argv else 2
    name, arguments = argv[0], argv[1:]
    if name == "--all":
        print(_everything(questions))
        return 0
    if name in ("-V", "--version"):
        print(f"{COMMAND} {VERSION}")
        return 0
    if name in WHERE:
        return run_command(
            cast(CommandModule, importlib.import_module(WHERE[name])), f"python -m {COMMAND} {name}", arguments
        )
    if name in questions:
        return dispatch("analysis", "", questions, argv)
    if name == "doctor":  # what an issue asks for is one word
        return _package("dialogue", argv)
    if name in (*ABOUT, "analysis"):
        return _package(name, arguments)
    words = ", ".join([*VERBS, *questions, *MORE, *ABOUT])
    raise InputError(f"{name} is no command of {COMMAND}. There are: {words}. Help: python -m {COMMAND} --help.")


def _package(name: str, argv: Sequence[str]) -> int:
    about = ABOUT.get(name, "analyse votes and scores, with the uncertainty of every number")
    module = importlib.import_module(f"seedvote.{name}.__main__")
    return dispatch(name, about[0].upper() + about[1:] + ".", module.COMMANDS, argv, first=module.FIRST)


def _commands(package: str) -> Mapping[str, str | CommandModule]:
    commands: Mapping[str, str | CommandModule] = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
    return commands


def _offer(questions: Mapping[str, str | CommandModule]) -> int:
    words = {**{name: text for name, (_, text) in VERBS.items()}, **questions, **MORE, **ABOUT}
    print("\n".join(f"{name}\t{text}" for name, text in words.items() if name.startswith(os.environ[TYPED])))
    return 0


def _help() -> str:
    verbs = [f"  {f'{name} {what}':<21} {text}" for name, (what, text) in VERBS.items()]
    return as_typed(
        "\n".join(
            [
                f"usage: python -m {COMMAND} COMMAND ...",
                "",
                "Ask people which of two responses is better, and report how certain the answer is.",
                "",
                *verbs,
                "",
                f"Help on one of them: python -m {COMMAND} rate --help",
                f"Every other command: python -m {COMMAND} --all",
                f"What is missing here: python -m {COMMAND} doctor    Version: python -m {COMMAND} --version",
                f"Begin: python -m {COMMAND} dialogue examples, then python -m {COMMAND} analyze examples/votes.csv",
            ]
        )
    )


def _everything(questions: Mapping[str, str | CommandModule]) -> str:
    return as_typed(
        "\n".join(
            [
                _help(),
                "",
                "What votes and scores show:",
                *_rows(questions),
                "",
                "What the papers show:",
                *_rows(MORE),
                "",
                f"Making a study (each has commands of its own: python -m {COMMAND} crowd --help):",
                *_rows(ABOUT),
            ]
        )
    )


def _rows(words: Mapping[str, object]) -> Iterator[str]:
    return (f"  {name:<13} {text}" for name, text in words.items())


if __name__ == "__main__":
    main()
