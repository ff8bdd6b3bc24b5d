"""A command whose jobs never end: what its workers do when somebody stops it is asked without loading a library."""

import argparse
import os
from pathlib import Path

from seedvote.dialogue.engines import running
from seedvote.dialogue.jobs import Job, Work
from seedvote.dialogue.shell.command_line import exit_with, run_command


def compute(folder, piece):
    """A job: it says who it is, and goes on until it is ended."""
    (folder / f"begun-{piece}").write_text(str(os.getpid()))
    while True:
        sum(range(10_000))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path)
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    work = Work(compute, args.folder, args.folder / "logs")
    list(running.run_jobs(work, [Job(f"job-{piece}", "key", piece) for piece in range(2)], running.place_of(args)))


def main(*words):
    """The whole life of the command: `python -c "from tests.dialogue import endless; endless.main(...)"`."""
    import sys

    exit_with(lambda: run_command(sys.modules[__name__], "endless", words))
