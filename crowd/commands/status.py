"""Show the progress of a study: votes counted and still needed, the share of ties, and raters by gate status."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import next_command, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.forms.form import HitForm
    from seedvote.crowd.watching.checks import CheckLine
    from seedvote.crowd.watching.overview import Overview
    from seedvote.crowd.watching.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--token", action="store_true", help="also print the addresses of the researcher's page")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Print it."""

    from seedvote.crowd.forms.known import FORMS
    from seedvote.crowd.rating.desk import Desk
    from seedvote.crowd.rating.talk_books import describe_money
    from seedvote.crowd.store.keys import caution, where_it_was
    from seedvote.crowd.study_folder import hit_in_force, not_yet_in_force, opened
    from seedvote.crowd.watching.overview import overview

    with opened(args.study, args.database) as store, store.read() as connection:
        hit, notes = hit_in_force(store, args.study), not_yet_in_force(store, args.study)
        state = overview(connection, hit, store.now())
        if before := where_it_was(connection):
            notes.append(caution(args.study, before))
        desk = Desk(store, hit)
        money = desk.look(describe_money) if hit.live else []
    now = state.progress
    print(f"Study:   {now.condition}")
    print(f"Votes:   {now.counted} of {now.wanted} counted; {now.uncounted} more kept but not counted")
    if now.waiting:
        print(f"Waiting: {now.waiting} votes have their places and count once the marketplace confirms: crowd verify")
    if hit.is_adaptive:
        print(f"Choice:  {state.assignment}")
    form = FORMS[hit.form]
    if form.marked:
        print(f"{form.marked + ':':<8} {share_text(state, form)}")
    unused = (
        f"; the votes do not reach {now.pairs - now.came_up} others" if hit.is_adaptive and now.has_all_votes else ""
    )
    of = now.came_up if unused else now.pairs
    print(f"{form.things + ':':<8} {now.complete} of {of} complete, {now.held} being answered{unused}")
    print(f"Raters:  {', '.join(f'{n} {status}' for status, n in sorted(now.raters.items())) or 'none yet'}")
    for line in money:
        print(line)
    if excluded := [line for line in state.raters if line.status == "excluded"]:
        print(f"Out:     {state.excluded_votes} votes do not count, of raters excluded: {len(excluded)}")
    print(f"Sources: {', '.join(f'{n} {source}' for source, n in sorted(now.sources.items())) or 'no votes yet'}")
    notes += [*(link.says() for link in state.shared), *state.warnings]
    if notes := [*notes, *(_mend_commands(line, args) for line in state.checks if line.looks_wrong)]:
        print("\n".join(notes))
    if args.token:
        print(f"Watch:   /study?token={desk.study_token()} on the server; whoever has this address can pause the study")
        print(f"Read:    /study?token={desk.reading_token()} for co-authors: the same page without switch and export")
    tell_next(_next_command(now), args.study, *repeat_options(args, "database"))


def _mend_commands(line: CheckLine, args: argparse.Namespace) -> str:
    """What looks wrong, and the two commands of which one mends it."""
    options = repeat_options(args, "database")
    void = next_command("python -m crowd check void", args.study, line.check, *options)
    fix = next_command("python -m crowd check fix", args.study, line.check, "--answer", line.usual, *options)
    return f"{line.says()}\n  Take it out:    {void}\n  Or correct it:  {fix}"


def share_text(state: Overview, form: HitForm) -> str:
    """Of ties, as the dashboard and `python -m analysis ties` show it; of questions, of right first choices."""
    if not state.real:
        return "no counted vote yet"
    chance = f"; chance {state.chance:.1%}" if form.chance is None else ""
    share = f"{state.ties / state.real:.1%} of {state.real} votes"
    if state.automatic:
        share += f" ({state.automatic} of them recorded for identical responses)"
    if state.interval is None:
        return f"{share}; one vote has no interval"
    return f"{share}, 95% interval {state.interval.low:.1%} to {state.interval.high:.1%}{chance}"


def _next_command(now: Progress) -> str:
    if now.counted >= now.wanted or now.state == "stopped":
        return "python -m crowd export"
    return "python -m crowd resume" if now.state == "paused" else "python -m crowd serve"
