"""Look at the hidden checks of a study, and mend one whose answer is wrong.

`list` prints how often each was failed, and which looks wrong. `void` takes a check out: nobody is shown it any more
and no failure of it counts. `fix` gives it the answer that it should have had. Both judge all raters again from their
answers, in one transaction: whoever is cleared is let in and counted. What was paid stays as it is.

  python -m crowd check fix STUDY c17 --answer b
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, study, check and answer."""
    parser.add_argument(
        "action", choices=("list", "void", "fix"), help="print all checks, take one out, or correct one"
    )
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("check", nargs="?", metavar="ID", help="the check, as in pairs.jsonl")
    parser.add_argument("--answer", help="the right answer (fix): a, b or tie; of a question, the index of its option")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Print or mend."""

    from seedvote.crowd.rating.deciding import mend
    from seedvote.crowd.study_folder import opened
    from seedvote.crowd.watching.checks import check_lines, table_of
    from seedvote.dialogue.errors import InputError

    if (args.action == "list") == (args.check is not None) or (args.action == "fix") != (args.answer is not None):
        raise InputError("It is: check list STUDY, check void STUDY ID, or check fix STUDY ID --answer ANSWER.")
    with opened(args.study, args.database) as store:
        if args.action == "list":
            with store.read() as connection:
                print("\n".join(table_of(check_lines(connection))))
        else:
            done = mend(store, args.check, args.answer or "void", store.now())
            print(f"Check {args.check} was {done.before}, is {done.now}. {done.checks} checks are left.")
            print(done.effect.says())
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
