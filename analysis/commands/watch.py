"""Keep ties.json, ties.png, ties.pdf and so_far.json of a study up to date while votes come in.

Looks at STUDY/votes.jsonl every few seconds and redraws the figures when it has changed; `--once` draws them once.
Until each HumanExp has more votes than a set, sets are sampled with replacement. Beside them so_far.json tells the
researcher's page preference, agreement and whether the study may stop. State your rule for stopping before votes come:
--difference, --margin.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from seedvote.analysis.arguments import CLUSTERS, READING, STATED, VOTES, add_options, repeat_clusters
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

LASTING = True  # runs until it is stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and how often to look."""
    add_options(parser, VOTES, *READING)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside the votes)")
    parser.add_argument("--size", type=int, default=200, help="votes in a set (default 200)")
    add_options(parser, CLUSTERS)
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="time between two checks (default 5)"
    )
    parser.add_argument(
        "--difference", type=float, metavar="D", help="rule for stopping: net preference to be shown (default .16)"
    )
    parser.add_argument(
        "--margin", type=float, metavar="M", help="rule for stopping: net preference below which two count as alike"
    )
    parser.add_argument("--once", action="store_true", help="draw once and stop")


def run(args: argparse.Namespace) -> int | None:
    """Draw whenever the votes changed since the last drawing; stop with Ctrl-C."""
    from seedvote.dialogue.errors import InputError

    path = args.votes if args.votes.suffix else args.votes / "votes.jsonl"
    _state_rule(args, path)
    last_stamp: object = "nothing yet"
    while True:
        stamp = _read_stamp(path)
        if stamp != last_stamp or args.once:
            try:
                print(draw_results(args, path), flush=True)
            except InputError as error:
                if args.once:
                    raise
                print(f"waiting: {error}", flush=True)
            last_stamp = stamp
        if args.once:
            options = [*repeat_options(args, *STATED), *repeat_clusters(args)]
            tell_next("python -m analysis agreement", args.votes, *options)
            return 0
        time.sleep(args.every)


def draw_results(args: argparse.Namespace, path: Path) -> str:
    """Write the files; the sentence tells what they show."""
    from seedvote.analysis.arguments import read_votes_of, reading
    from seedvote.analysis.questions.ties.answer import answer, smallest_experiment
    from seedvote.analysis.questions.ties.picture import laws_figure
    from seedvote.analysis.questions.ties.showing import document
    from seedvote.analysis.showing.plots import save_figure
    from seedvote.analysis.showing.words import percent
    from seedvote.analysis.so_far import stated_rule, write_so_far
    from seedvote.analysis.votes.cautions import not_people, with_reading
    from seedvote.dialogue.files import write_json

    votes = read_votes_of(args)
    replace = smallest_experiment(votes) <= args.size
    answer_found = answer(votes, size=args.size, replace=replace, clusters=args.clusters)
    out = args.out or path.parent
    write_json(out / "ties.json", with_reading(document(answer_found), votes))
    save_figure(laws_figure(answer_found), out / "ties")
    rule = stated_rule(out, args.difference, args.margin, len(votes))
    write_so_far(out, args.votes, len(votes), rule, clusters=args.clusters, **reading(args))
    line = f"{len(votes):,} votes, {percent(answer_found.pooled.share)} ties: {out / 'ties'}.json, .png, .pdf"
    return " ".join([line, *not_people(answer_found.voters)])


def _state_rule(args: argparse.Namespace, path: Path) -> None:
    """Keep a rule that is stated before there are votes."""
    from seedvote.analysis.so_far import stated_rule, write_rule

    if path.exists() or (args.difference is None and args.margin is None):
        return
    rule = stated_rule(args.out or path.parent, args.difference, args.margin, 0)
    write_rule(args.out or path.parent, rule)
    margin = "none" if rule.margin is None else f"{rule.margin:g}"
    print(f"Stated before any vote: stop by a difference of {rule.difference:g}, margin {margin}.", flush=True)


def _read_stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
