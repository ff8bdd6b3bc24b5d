"""Say where a study stands: votes in and to go, raters by what the gate says of them, pairs short of votes."""

from __future__ import annotations

import argparse
from pathlib import Path

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--token", action="store_true", help="also print the address of the researcher's page")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Print it."""
    from crowd.rating.desk import Desk
    from crowd.study_folder import hit_of, opened
    from crowd.watching.progress import progress

    hit = hit_of(args.study, None)
    with opened(args.study, args.database) as store, store.read() as connection:
        now = progress(connection, hit.votes_per_pair)
        token = Desk(store, hit).study_token()
    raters = ", ".join(f"{number} {status}" for status, number in sorted(now.raters.items())) or "none yet"
    print(f"Study:   {now.state}")
    print(f"Votes:   {now.counted} of {now.wanted} counted; {now.uncounted} more kept but not counted")
    print(f"Pairs:   {now.complete} of {now.pairs} complete, {now.held} shown and waiting for an answer")
    print(f"Raters:  {raters}")
    print(f"Doors:   {', '.join(f'{n} {source}' for source, n in sorted(now.sources.items())) or 'no votes yet'}")
    if args.token:
        print(f"Watch:   /study?token={token} on the server; whoever has this address can pause the study")
    if now.counted:
        tell_next("python -m crowd export", args.study, *given(args, "database"))
