"""Make a study's pairs.jsonl from a table of what two or more systems answered.

One row a context, with a column for each system; or one row an answer, with the columns system and text. The table may
be CSV, Excel, JSON or Parquet. A context is the user's words, or a conversation as JSON ([{"speaker": "user", "text":
"..."}]). Rows whose kind is check become hidden checks: their right answer stands in a column answer, or is always the
same system's (--good). Every two systems are compared; with --together, all systems of a row are judged at once, and
with --alone each answer is judged by itself (response_sets.jsonl).

  python -m crowd pairs-from answers.csv --out runs/mine/pairs.jsonl --good ours
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from seedvote.dialogue.shell.command_line import add_tool_calls, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The table, its columns, and where the pairs go."""
    parser.add_argument("table", type=Path, metavar="TABLE", help="the answers: CSV, Excel, JSON, Parquet")
    parser.add_argument("--out", type=Path, required=True, metavar="PAIRS", help="e.g. STUDY/pairs.jsonl; must be new")
    parser.add_argument("--systems", default="", metavar="S1,S2,...", help="the columns of the systems to compare")
    parser.add_argument(
        "--columns", default="", metavar="OURS=THEIRS,...", help="id, context, kind, answer, dialogue, system, text"
    )
    add_tool_calls(parser)
    form_options = parser.add_mutually_exclusive_group()
    form_options.add_argument(
        "--together", action="store_true", help="one set a row, of all its systems, instead of pairs"
    )
    form_options.add_argument("--alone", action="store_true", help="one set an answer, instead of pairs")
    parser.add_argument("--good", default="", metavar="SYSTEM", help="whose answer is right in every check")


def run(args: argparse.Namespace) -> None:
    """Read everything, then write once."""
    from seedvote.crowd.exchange.answer_tables import answer_table, pairs_of_answers, sets_from_answers
    from seedvote.crowd.exchange.made_checks import fitted_rules
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import atomic, write_records
    from seedvote.dialogue.importing.reading import meanings, parse_names
    from seedvote.dialogue.media import bring_files
    from seedvote.dialogue.records import Pair, ResponseSet
    from seedvote.dialogue.signature import signature
    from seedvote.dialogue.tables.reading import read_table

    if args.out.exists():
        raise InputError(f"{args.out} already exists. Name another file (--out), or move this one first.")
    systems = [name.strip() for name in args.systems.split(",") if name.strip()]
    stated = meanings(parse_names(args.columns, "--columns"), "--columns")
    answers = answer_table(read_table(args.table), stated, systems, args.tool_calls)
    sets = args.together or args.alone
    made = sets_from_answers(answers, args.good, alone=args.alone) if sets else pairs_of_answers(answers, args.good)
    pairs: list[Any] = [bring_files(pair, args.out.parent) for pair in made]
    things = "sets" if sets else "pairs"
    recipe = signature(**{things: len(pairs)}, source=args.table.name)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_records(args.out, pairs, signature=recipe, kind=ResponseSet if sets else Pair)
    rules, hit = fitted_rules(pairs, form="responses" if sets else ""), args.out.parent / "hit.toml"
    if rules and not hit.exists():
        with atomic(hit) as file:
            file.write(rules)
        print(f"{hit}: rules that so few pairs or checks can keep. Look at them before people rate.")
    columns = ", ".join(f"{ours}={theirs}" for ours, theirs in answers.columns.items())
    print(f"Read as: answers of {', '.join(answers.systems)} ({columns}).")
    if answers.unused:
        print(f"Not used: the columns {', '.join(answers.unused)}.")
    kinds = Counter(pair.kind for pair in pairs)
    identical = sum(pair.identical for pair in pairs)
    kind_counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    print(
        f"{args.out}: {len(pairs):,} {things} from {len(answers.rows):,} contexts ({kind_counts}; {identical} with "
        "the same text)."
    )
    options_next = [] if args.out.name == ("response_sets.jsonl" if sets else "pairs.jsonl") else ["--pairs", args.out]
    tell_next("python -m crowd serve", args.out.parent, *options_next)
