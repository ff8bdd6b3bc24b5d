"""Replace a secret of a study that may have leaked. Running servers obey within seconds, without a restart.

A copy of a study has the secrets of the first one: `all` gives it new ones, `moved` says that the first one is gone.
links: every page that is open, every cookie and every invitation ends; invite again, and each person is still the same
rater. dashboard: the address of the researcher's page. reading: the read-only address for co-authors. No vote changes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.store.keys import Rotated

ROTATED: dict[Rotated, str] = {
    "links": "Every seat, cookie and invitation of before has ended. Send new links: the same name is the same rater.",
    "dashboard": "The researcher's page has a new address; the old one opens nothing.",
    "reading": "The read-only page has a new address; the old one opens nothing.",
}
MOVED = "The study lives here from now on, with the secrets that it had."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and which secret."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)
    parser.add_argument("what", choices=[*ROTATED, "all", "moved"], help="what is replaced")
    parser.add_argument("--yes", action="store_true", help="do it; without --yes, only say what would end")


def run(args: argparse.Namespace) -> None:
    """Replace it."""

    from seedvote.crowd.rating.moment import turn_revision
    from seedvote.crowd.store.keys import note_place, rotate
    from seedvote.crowd.store.store import append_event
    from seedvote.crowd.study_folder import opened

    chosen = list(ROTATED) if args.what == "all" else [what for what in ROTATED if what == args.what]
    if not args.yes:
        print(f"Would be replaced: {', '.join(chosen) or 'nothing'}. Add --yes to do it.")
        tell_next("python -m crowd rotate", args.study, args.what, *repeat_options(args, "database"), "--yes")
        return
    with opened(args.study, args.database) as store, store.write() as connection:
        for what in chosen:
            rotate(connection, what)
            append_event(connection, "study", store.now(), rotated=what)
        if args.what in ("all", "moved"):
            note_place(connection)
        turn_revision(connection)
    print("\n".join(ROTATED[what] for what in chosen) or MOVED)
    if "links" in chosen:
        tell_next("python -m crowd invite", args.study, "20", *repeat_options(args, "database"))
    else:
        tell_next("python -m crowd status", args.study, *repeat_options(args, "database"), "--token")
