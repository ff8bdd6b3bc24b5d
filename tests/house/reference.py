"""Write what follows from the tables of commands and questions: python -m tests.house.reference

docs/reference/commands.md follows from the parsers, the names in analysis/notebook.py from the table of questions.
Tests hold both to them, so an option that is new or worded anew brings its page along.
"""

import argparse
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from seedvote.__main__ import ABOUT, MORE, VERBS, WHERE
from seedvote.analysis.questions.table import NAMES
from seedvote.dialogue.shell.command_line import find_command, parser_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "commands.md"
NOTEBOOK = ROOT / "analysis" / "notebook.py"
PACKAGES = {"analysis": "votes and scores, with the uncertainty of every number", **ABOUT}
INTRODUCTION = """# Every command and option

`python -m tests.house.reference` writes this page from the parsers, and a test holds the two together. Each command
prints the same by `--help`. In an installation `seedvote PACKAGE NAME` is `python -m PACKAGE NAME`.
"""


def write_page() -> Iterator[str]:
    yield INTRODUCTION
    yield "## The three verbs\n"
    for name in VERBS:
        yield from write_command(importlib.import_module(WHERE[name]), f"python -m seedvote {name}")
    yield "## The papers\n"
    for name in MORE:
        yield from write_command(importlib.import_module(WHERE[name]), f"python -m seedvote {name}")
    for package, about in PACKAGES.items():
        yield f"## {package}\n\nThe package `{package}`: {about}.\n"
        commands = importlib.import_module(f"seedvote.{package}.__main__").COMMANDS
        for name in commands:
            yield from write_command(find_command(package, name, commands), f"python -m {package} {name}")
    yield "**Next:** [all pages](../README.md).\n"


def write_command(module, prog: str) -> Iterator[str]:
    parser = parser_of(module, prog)
    yield f"### {prog.removeprefix('python -m ')}\n"
    yield from describe(parser.description or "")
    rows = list(option_rows(parser))
    if rows:
        yield "| argument | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


def describe(text: str) -> Iterator[str]:
    """The help of a command, whose indented lines are examples."""
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text).strip()):
        for is_example, lines in by_kind(paragraph.splitlines()):
            yield f"```text\n{textwrap.dedent(lines)}\n```\n" if is_example else f"{escape(lines)}\n"


def by_kind(lines: list[str]) -> Iterator[tuple[bool, str]]:
    kind, part = lines[0].startswith(" "), [lines[0]]
    for line in lines[1:]:
        if line.startswith(" ") != kind:
            yield kind, "\n".join(part)
            kind, part = not kind, []
        part.append(line)
    yield kind, "\n".join(part)


def option_rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        value = formatter._format_args(action, action.metavar or action.dest.upper()) if action.nargs != 0 else ""
        names = ", ".join(action.option_strings) or value
        typed = f"{names} {value}" if action.option_strings and value else names
        meaning = escape(" ".join(formatter._expand_help(action).split())) if action.help else ""
        yield f"| `{typed.replace('|', chr(92) + '|')}` | {meaning.replace('|', chr(92) + '|')} |"


def escape(text: str) -> str:
    """What Markdown would read as marks, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if k % 2 else re.sub(r"([*_<\[\]])", r"\\\1", part) for k, part in enumerate(parts))


def name_questions() -> str:
    """analysis/notebook.py with a line for every function of the table: type checkers do not run `__getattr__`."""
    before, head, rest = NOTEBOOK.read_text(encoding="utf-8").partition("if TYPE_CHECKING:\n")
    lines = sorted(
        f"    from seedvote.analysis.questions.{question.home} import {name} as {name}\n"
        for name, question in NAMES.items()
    )
    return f"{before}{head}{''.join(lines)}{rest[rest.index(chr(10) * 2) + 1 :]}"


if __name__ == "__main__":
    NOTEBOOK.write_text(name_questions(), encoding="utf-8")
    PAGE.write_text("\n".join(write_page()), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written.")
