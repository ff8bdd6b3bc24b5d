"""Write a page of every pair (STUDY/browse.html): its conversation, both responses, and the votes that count.

Filter it by system, length, turn, agreement and any further field of pairs.jsonl (e.g. domain), search it, and read
what raters commented. The page is one file that needs no network; without script it is a list. No rater appears in it.
Prints what the votes say in each slice, with the intervals of the analysis. A table of votes alone has no texts: give
--pairs. A study of the form choice gives a page of its questions, with the picks of each option and the comments; one
of the form responses a page of its sets, with every rank and rating (--pairs names the file of sets, where it lies
elsewhere).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_clusters_argument, add_json_argument, add_vote_arguments, deliver
from dialogue.command_line import next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, their pairs, where the page goes."""
    add_vote_arguments(parser)
    parser.add_argument(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="pairs.jsonl, or response_sets.jsonl, with the texts (default: beside VOTES)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the page (default: browse.html beside the votes, browse-NAME.html with --question)",
    )
    parser.add_argument("--title", help="heading of the page (default: the name of the study)")
    add_clusters_argument(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, write the page, print the slices."""
    from analysis.arguments import votes_from
    from analysis.browse.answer import answer
    from analysis.browse.page import PAGE, browse_page
    from analysis.browse.questions import is_of_questions
    from analysis.browse.sets import is_of_sets
    from analysis.browse.text import document, parts
    from analysis.showing.result import Result
    from analysis.votes.cautions import reading_of, told_of_reading
    from analysis.votes.inputs import pairs_known
    from dialogue.errors import InputError
    from dialogue.files import atomic

    if is_of_sets(args.votes) or is_of_questions(args.votes):
        (_browse_sets if is_of_sets(args.votes) else _browse_questions)(args)
        return
    votes = votes_from(args, also=("comment",))
    try:
        controls = votes_from(args, also=("comment",), kinds=("control",))
    except InputError:  # no control pairs
        controls = None
    pairs = pairs_known(args.votes, args.pairs)[1]
    found = answer(votes, tuple(pairs.values()), controls, clusters=args.clusters)
    folder, name = (args.votes, args.votes.name) if args.votes.is_dir() else (args.votes.parent, args.votes.stem)
    out = args.out or folder / (f"browse-{args.question}.html" if args.question else PAGE)
    with atomic(out) as handle:
        handle.write(browse_page(found, args.title or name))
    result = Result({**document(found), "reading": reading_of(votes)}, parts(found), dict, told_of_reading(votes))
    then = next_command("python -m webbrowser", out.resolve().as_uri())
    deliver(args, result, more=f"\n\nWritten: {out}", then=then)


def _browse_questions(args: argparse.Namespace) -> None:
    """The page of a study whose raters picked options."""
    from analysis.browse.page import PAGE, questions_page
    from analysis.browse.questions import questions_to_browse
    from analysis.browse.text import questions_document, questions_parts
    from analysis.showing.result import Result
    from dialogue.files import atomic

    found = questions_to_browse(args.votes, uncounted=args.uncounted)
    out = args.out or args.votes / PAGE
    with atomic(out) as handle:
        handle.write(questions_page(found, args.title or args.votes.resolve().name))
    then = next_command("python -m analysis choose", args.votes)
    result = Result(questions_document(found), questions_parts(found), dict)
    deliver(args, result, more=f"\n\nWritten: {out}", then=then)


def _browse_sets(args: argparse.Namespace) -> None:
    """The page of a study whose raters ranked and rated sets of responses."""
    from analysis.browse.page import PAGE, sets_page
    from analysis.browse.sets import sets_to_browse
    from analysis.browse.text import sets_document, sets_parts
    from analysis.showing.result import Result
    from dialogue.files import atomic

    found = sets_to_browse(args.votes, sets=args.pairs, question=args.question or "", uncounted=args.uncounted)
    out = args.out or args.votes / PAGE
    with atomic(out) as handle:
        handle.write(sets_page(found, args.title or args.votes.resolve().name))
    then = next_command("python -m webbrowser", out.resolve().as_uri())
    deliver(args, Result(sets_document(found), sets_parts(found), dict), more=f"\n\nWritten: {out}", then=then)
