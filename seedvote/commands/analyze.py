"""Find out what a file holds, answer what it can, and write the report.

VOTES is a study folder or any table: votes, ratings on a scale, ranks, training runs. Votes that are still in a study's
store are exported first. Two or more logs of inspect_ai, lm-eval, lighteval or HELM are compared, and so are the models
of a table with one row a training run. The report is one page, and next to it are its Markdown, LaTeX and JSON.

  python -m seedvote analyze votes.csv
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import dispatch, repeat_options

STORE = "crowd.sqlite"
HELD = (STORE, "votes.jsonl", "ratings.jsonl", "choices.jsonl", "pairs.jsonl", "scores.parquet", "metrics.parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and all options of the report."""
    arguments = importlib.import_module("seedvote.analysis.arguments")
    parser.add_argument("votes", nargs="+", metavar="VOTES", type=Path, help="a study folder, a table, or several logs")
    parser.add_argument("--out", type=Path, help="the page (default: report.html in the folder or next to the table)")
    parser.add_argument("--title", help="heading of the page (default: the question that the votes answer)")
    parser.add_argument("--margin", metavar="M", help="net preference, 0 to 1, below which systems count as equivalent")
    parser.add_argument("--systems", metavar="S1,S2,...", help="ratings, one column a system: their names")
    arguments.add_options(parser, arguments.CLUSTERS, *arguments.READING)


def run(args: argparse.Namespace) -> int:
    """Export what is not exported yet, then ask the command that reads this kind of file."""
    if missing := [path for path in args.votes if not path.exists()]:
        raise InputError(f"{missing[0]} does not exist.")
    first = args.votes[0]
    if len(args.votes) > 1 or (not _is_study(first) and _is_log(first)):
        return _ask("compare-runs", *args.votes)
    if (first / STORE).exists():
        with contextlib.redirect_stdout(io.StringIO()):
            dispatch("crowd", "", {"export": ""}, ["export", str(first)])
        print(f"Exported the votes of {first}.")
    if not _is_study(first) and _holds_whole_runs(first):
        return _ask("compare-runs", first)
    if (first / "choices.jsonl").exists() and not (first / "votes.jsonl").exists():
        return _ask("choose", first)
    reading = importlib.import_module("seedvote.analysis.arguments").STATED
    names = [name for name in ("out", "title", "margin", "systems", "clusters", *reading) if getattr(args, name)]
    return _ask("report", first, *repeat_options(args, *names))


def _ask(command: str, *words: object) -> int:
    commands = importlib.import_module("seedvote.analysis.__main__").COMMANDS
    return dispatch("analysis", "", commands, [command, *map(str, words)])


def _is_study(path: Path) -> bool:
    return path.is_dir() and any((path / name).exists() for name in HELD)


def _is_log(path: Path) -> bool:
    """Whether it is a log of an evaluation, or holds some."""
    return bool(importlib.import_module("seedvote.dialogue.importing.run_logs").is_run_log(path))


def _holds_whole_runs(path: Path) -> bool:
    """Whether it is a table with one row a training run."""
    return bool(importlib.import_module("seedvote.dialogue.importing.run_logs").holds_whole_runs(path))
