"""The arguments that the analysis commands share, and how they hand over what they found: light, so --help is quick."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.wording import as_typed

if TYPE_CHECKING:
    from seedvote.analysis.showing.result import Result
    from seedvote.analysis.votes.votes import Votes

READING = ("columns", "values", "from", "wide", "explode", "question", "uncounted", "unverified", "with_judges")
SAID_OF_VOTES = ("with_judges", "unverified", "question")  # also of those of a study folder
TYPED = {
    "tool": "from",
    "wide": "wide",
    "explode": "explode",
    "question": "question",
}
CLUSTERINGS = ("auto", "dialogue+rater", "item+rater", "pair+rater", "dialogue", "item", "pair", "rater", "vote")


def add_vote_arguments(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """The votes, and how they are named."""
    number = None if needed else "?"
    parser.add_argument(
        "votes", type=Path, nargs=number, metavar="VOTES", help="a table (CSV, JSON, Excel, Parquet, ...), or a STUDY"
    )
    add_naming_arguments(parser)


def add_naming_arguments(parser: argparse.ArgumentParser) -> None:
    """How another tool's columns and values are named."""
    parser.add_argument(
        "--columns", default="", metavar="OURS=THEIRS,...", help="names of columns, e.g. pair=item,rater=worker,left=-"
    )
    parser.add_argument(
        "--values", default="", metavar="OURS=THEIRS,...|FILE", help="names of choices, e.g. a=left,b=right,tie=same"
    )
    parser.add_argument("--from", metavar="TOOL", help="the tool that wrote the table (default: what its columns say)")
    parser.add_argument("--wide", metavar="KEY", help="one row a person: KEY says what each column compares")
    parser.add_argument("--explode", metavar="COLUMN", help="a column of lists: one row for each element")
    add_question_argument(parser)
    parser.add_argument("--uncounted", action="store_true", help="use late votes and those of blocked raters too")
    add_unverified_argument(parser)
    add_judges_argument(parser)


def add_question_argument(parser: argparse.ArgumentParser) -> None:
    """Which of several questions."""
    parser.add_argument("--question", metavar="NAME", help="which of several questions, which are never pooled")


def add_unverified_argument(parser: argparse.ArgumentParser) -> None:
    """Whether votes count whose visit no marketplace has confirmed."""
    parser.add_argument(
        "--unverified",
        choices=("out", "only", "with"),
        help="votes of visits that no marketplace has confirmed: without them, them alone, or both together (default: "
        "without, and refused where that would not be said)",
    )


def add_judges_argument(parser: argparse.ArgumentParser) -> None:
    """Whether votes of programs that judge may be among those of people."""
    parser.add_argument(
        "--with-judges",
        action="store_true",
        help="treat votes of judges as raters' (default: refuse them), and say so in every table",
    )


def votes_from(args: argparse.Namespace, **options: Any) -> Votes:
    """Read the votes that `add_vote_arguments` described; `options` go to `read_votes`."""
    from seedvote.analysis.votes.inputs import votes_of

    return votes_of(args.votes, **reading(args), **options)


def reading(args: argparse.Namespace) -> dict[str, Any]:
    """How the votes are to be read, as the functions of `analysis.notebook` take it."""
    from seedvote.dialogue.importing.naming import parse_names

    return {
        "columns": parse_names(args.columns, "--columns"),
        "values": parse_names(args.values, "--values"),
        "uncounted": args.uncounted,
        **({"unverified": args.unverified} if args.unverified else {}),
        **{ours: value for ours, typed in TYPED.items() if (value := getattr(args, typed, None))},
        "with_judges": args.with_judges,
    }


def study_beside(votes: Path) -> Path | None:
    """The study folder that votes belong to, if they lie in one under their own name."""
    folder = votes if votes.is_dir() else votes.parent
    return folder if (folder / "pairs.jsonl").exists() and (votes.is_dir() or votes.name == "votes.jsonl") else None


def add_clusters_argument(parser: argparse.ArgumentParser) -> None:
    """Which votes hang together."""
    parser.add_argument(
        "--clusters",
        choices=CLUSTERINGS,
        default="auto",
        metavar="WAYS",
        help="which votes hang together, for every interval and p: auto (default: votes on one dialogue and votes of "
        "one rater; by pair where each dialogue has one pair), dialogue+rater, item+rater, pair+rater, dialogue, item, "
        "pair, rater, or vote (none do)",
    )


def add_people_arguments(parser: argparse.ArgumentParser) -> None:
    """Groups of raters, from any table of people."""
    parser.add_argument(
        "--raters", metavar="TABLE", help="a table of people, joined by their ids, e.g. Prolific's demographic export"
    )
    parser.add_argument(
        "--by", default="", metavar="COLUMN", help="its column that makes the groups; under 5 people are hidden"
    )


def clusters_given(args: argparse.Namespace) -> list[str]:
    """`--clusters` as it would be typed again, so that the next command draws the same anew; the default needs none."""
    return [] if args.clusters == "auto" else ["--clusters", args.clusters]


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """`--json FILE` writes the document beside the table; `--json -` prints the document alone."""
    parser.add_argument("--json", metavar="FILE", help="write the numbers as JSON too (- for standard output, alone)")


def deliver(args: argparse.Namespace, result: Result, *, more: str = "", then: str = "") -> None:
    """Print the text for people with the command to type next; where `--json` asks, write the document too.

    Where standard output is for programs, how the table was read and what was left out of it goes to standard error.
    """
    from seedvote.dialogue.files import write_json

    if getattr(args, "figure", None):
        result.plot().save(args.figure)
    if args.json == "-":
        json.dump(result.document, sys.stdout, ensure_ascii=False, indent=1, allow_nan=False)
        sys.stdout.write("\n")
        sys.stderr.writelines(f"{line}\n" for line in result.read)
        return
    if args.json:
        write_json(args.json, result.document)
    sys.stdout.write(as_typed(f"{result}{more}".rstrip("\n")) + "\n")
    if then:
        sys.stdout.write(f"Next: {as_typed(then)}\n")
