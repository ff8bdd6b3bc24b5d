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
from typing import TYPE_CHECKING

from seedvote.analysis.arguments import add_clusters_argument, add_json_argument, add_vote_arguments, deliver
from seedvote.dialogue.command_line import next_command

if TYPE_CHECKING:
    from seedvote.analysis.showing.result import Result


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
    from seedvote.analysis.questions.browse.options import has_choices
    from seedvote.analysis.questions.browse.sets import has_ratings

    if has_ratings(args.votes):
        _browse_sets(args)
    elif has_choices(args.votes):
        _browse_questions(args)
    else:
        _browse_pairs(args)


def _browse_pairs(args: argparse.Namespace) -> None:
    """The page of a study whose raters compared two responses."""
    from seedvote.analysis.arguments import votes_from
    from seedvote.analysis.questions.browse.answer import answer
    from seedvote.analysis.questions.browse.page import PAGE, browse_page
    from seedvote.analysis.questions.browse.showing import document, parts
    from seedvote.analysis.showing.result import Result
    from seedvote.analysis.votes.cautions import reading_of, told_of_reading
    from seedvote.analysis.votes.inputs import pairs_known
    from seedvote.dialogue.errors import InputError

    votes = votes_from(args, also=("comment",))
    try:
        controls = votes_from(args, also=("comment",), kinds=("control",))
    except InputError:  # no control pairs
        controls = None
    pairs = pairs_known(args.votes, args.pairs)[1]
    browsed = answer(votes, tuple(pairs.values()), controls, clusters=args.clusters)
    folder, name = (args.votes, args.votes.name) if args.votes.is_dir() else (args.votes.parent, args.votes.stem)
    out = args.out or folder / (f"browse-{args.question}.html" if args.question else PAGE)
    result = Result({**document(browsed), "reading": reading_of(votes)}, parts(browsed), dict, told_of_reading(votes))
    _deliver_page(args, result, browse_page(browsed, args.title or name), out)


def _browse_questions(args: argparse.Namespace) -> None:
    """The page of a study whose raters picked options."""
    from seedvote.analysis.questions.browse.options import answer_questions
    from seedvote.analysis.questions.browse.page import PAGE, questions_page
    from seedvote.analysis.questions.browse.showing import questions_document, questions_parts
    from seedvote.analysis.showing.result import Result

    browsed = answer_questions(args.votes, uncounted=args.uncounted)
    page = questions_page(browsed, args.title or args.votes.resolve().name)
    then = next_command("python -m analysis choose", args.votes)
    result = Result(questions_document(browsed), questions_parts(browsed), dict)
    _deliver_page(args, result, page, args.out or args.votes / PAGE, then)


def _browse_sets(args: argparse.Namespace) -> None:
    """The page of a study whose raters ranked and rated sets of responses."""
    from seedvote.analysis.questions.browse.page import PAGE, sets_page
    from seedvote.analysis.questions.browse.sets import answer_sets
    from seedvote.analysis.questions.browse.showing import sets_document, sets_parts
    from seedvote.analysis.showing.result import Result

    browsed = answer_sets(args.votes, sets=args.pairs, question=args.question or "", uncounted=args.uncounted)
    page = sets_page(browsed, args.title or args.votes.resolve().name)
    result = Result(sets_document(browsed), sets_parts(browsed), dict)
    _deliver_page(args, result, page, args.out or args.votes / PAGE)


def _deliver_page(args: argparse.Namespace, result: Result, page: str, out: Path, then: str = "") -> None:
    from seedvote.dialogue.files import atomic

    with atomic(out) as handle:
        handle.write(page)
    then = then or next_command("python -m webbrowser", out.resolve().as_uri())
    deliver(args, result, more=f"\n\nWritten: {out}", then=then)
