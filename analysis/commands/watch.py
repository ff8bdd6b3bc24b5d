"""Keep ties.json, ties.png and ties.pdf of a study up to date while votes come in.

Looks at STUDY/votes.jsonl every few seconds and redraws the figures when it has changed; `--once` draws them once.
Until each HumanExp has more votes than a set, sets are sampled with replacement.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from analysis.arguments import READING, add_clusters_argument, add_vote_arguments, clusters_given
from dialogue.command_line import given, tell_next

LASTING = True  # runs until it is stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and how often to look."""
    add_vote_arguments(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside the votes)")
    parser.add_argument("--size", type=int, default=200, help="votes in a set (default 200)")
    add_clusters_argument(parser)
    parser.add_argument(
        "--every", type=float, default=5.0, metavar="SECONDS", help="time between two checks (default 5)"
    )
    parser.add_argument("--once", action="store_true", help="draw once and stop")


def run(args: argparse.Namespace) -> int | None:
    """Draw whenever the votes changed since the last drawing; stop with Ctrl-C."""
    from dialogue.errors import InputError

    path = args.votes if args.votes.suffix else args.votes / "votes.jsonl"
    drawn: object = "nothing yet"
    while True:
        seen = _stamp(path)
        if seen != drawn or args.once:
            try:
                print(draw(args, path), flush=True)
            except InputError as error:
                if args.once:
                    raise
                print(f"waiting: {error}", flush=True)
            drawn = seen
        if args.once:
            tell_next("python -m analysis agreement", args.votes, *given(args, *READING), *clusters_given(args))
            return 0
        time.sleep(args.every)


def draw(args: argparse.Namespace, path: Path) -> str:
    """Write the three files; the sentence tells what they show."""
    from analysis.arguments import votes_from
    from analysis.reading.cautions import reading_of
    from analysis.reading.voters import not_people
    from analysis.showing.plots import save
    from analysis.showing.words import percent
    from analysis.ties.answer import answer, smallest_experiment
    from analysis.ties.figures import laws_figure
    from analysis.ties.text import document
    from dialogue.files import write_json

    votes = votes_from(args)
    replace = smallest_experiment(votes) <= args.size
    found = answer(votes, size=args.size, replace=replace, clusters=args.clusters)
    out = args.out or path.parent
    write_json(out / "ties.json", {**document(found), "reading": reading_of(votes)})
    save(laws_figure(found), out / "ties")
    drawn = f"{len(votes):,} votes, {percent(found.pooled.share)} ties: {out / 'ties'}.json, .png, .pdf"
    return " ".join([drawn, *not_people(found.voters)])


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
