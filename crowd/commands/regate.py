"""Apply another gate to the answers already given: who would be blocked, and how many votes would count.

The answers are replayed from the event log; the store is not changed. With --out, the votes and raters under this gate
are written to a folder of their own, so that both can be analysed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study and rule."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--max-failures", type=int, metavar="N", help="block at N failed checks (default: hit.toml)")
    parser.add_argument(
        "--count", choices=("total", "row"), help="count failures in total or in a row (default: hit.toml)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write votes.jsonl and raters.jsonl there")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Replay the log under the rule and say what it changes."""
    from dataclasses import replace

    from seedvote.crowd.exchange import exporting
    from seedvote.crowd.rating.moment import make_rules
    from seedvote.crowd.rating.replaying import replay
    from seedvote.crowd.store.store import read_events
    from seedvote.crowd.study_folder import hit_in_force, opened
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.records import Rater

    if (args.max_failures is not None and args.max_failures < 1) or (
        args.out and args.out.resolve() == args.study.resolve()
    ):
        raise InputError("--max-failures must be 1 or more, and --out another folder than the study's own.")
    with opened(args.study, args.database) as store, store.read() as connection:
        hit = hit_in_force(store, args.study)
        own = make_rules(connection, hit).gate
        rule = replace(own, max_failures=args.max_failures or own.max_failures, count=args.count or own.count)
        before = exporting.export(connection, votes_per_pair=hit.votes_per_pair)
        log = read_events(connection)
        replayed = replay(log, rule, votes_per_pair=hit.votes_per_pair, late_votes=hit.late_votes)
        after = exporting.export(connection, votes_per_pair=hit.votes_per_pair, replayed=replayed)
    print(f"Blocked at {rule.max_failures} failures ({rule.count}), replayed from the event log:")
    for name, outcome in (("the study's own gate", before), ("this gate", after)):
        blocked = sum(rater.status == "blocked" for rater in outcome.raters)
        print(
            f"  {name + ':':<22}{blocked} raters blocked, {sum(vote.counted for vote in outcome.votes)} votes counted"
        )
    if args.out:
        answers = args.out / f"{after.name}.jsonl"
        exporting.write(answers, after.votes, after.kind, after.recipe)
        exporting.write(args.out / "raters.jsonl", after.raters, Rater, after.recipe)
        print(f"Written to {args.out}")
        tell_next(*exporting.analysis_of(answers, after.votes))
    else:
        tell_next("python -m crowd export", args.study, *repeat_options(args, "database"))
