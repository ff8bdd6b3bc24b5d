"""Turn the export of another tool into votes.jsonl: Potato, Label Studio, MTurk batch results or ChatEval's table.

A letter or side is turned back into the response that stood there, raters become keyed hashes, and the k-th vote on a
pair becomes round k. Where the file does not hold what that takes, nothing is written and one sentence says what is
missing. Votes from Mephisto: import-mephisto.

  python -m crowd import-votes Batch_1.csv --from mturk --pairs pairs.jsonl --out runs/mine/votes.jsonl
"""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import tell_next

if TYPE_CHECKING:
    from crowd.exchange.importing import Imported

TOOLS = ("potato", "label-studio", "mturk", "chateval")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, their tool, and what the user states about them."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="export; several files are read as one")
    parser.add_argument("--from", dest="tool", choices=TOOLS, required=True, help="the tool that wrote it")
    parser.add_argument("--out", type=Path, required=True, metavar="VOTES", help="e.g. STUDY/votes.jsonl; must be new")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="the pairs that were shown")
    parser.add_argument("--columns", default="", metavar="OURS=THEIRS,...", help="e.g. pair=id,left=shown_first")
    parser.add_argument(
        "--values", default="", metavar="OURS=THEIRS,...", help="e.g. a=Response 1,b=Response 2,tie=Same"
    )
    parser.add_argument("--fixed-order", action="store_true", help="response a was always shown first (or left)")
    parser.add_argument("--file-order", action="store_true", help="no times: rounds are places in the file")


def run(args: argparse.Namespace) -> None:
    """Read everything, decide everything, then write once."""
    from crowd.exchange.importing import Rules, settle, values_of
    from crowd.exchange.other_tools import judgements
    from crowd.rating.desk import keyed
    from dialogue.errors import InputError
    from dialogue.files import read_records, write_records
    from dialogue.records import Pair, Vote
    from dialogue.signature import signature

    if args.out.exists():
        raise InputError(f"{args.out} is there already. Name another file: --out, or move it away first.")
    columns = dict(part.partition("=")[::2] for part in args.columns.split(",") if part)
    pairs = read_records(args.pairs, Pair) if args.pairs else None
    rules = Rules(args.tool, values_of(args.tool, args.values), args.fixed_order, args.file_order)
    found = judgements(args.files, args.tool, columns)
    path = args.out.parent / "rater.key"
    key = path.read_text(encoding="ascii").strip() if path.exists() else secrets.token_hex(32)
    result = settle(found, rules, pairs, lambda worker: keyed(key, "rater", worker)[:20])
    recipe = signature(
        votes=len(result.votes),
        read=result.read,
        source=args.tool,
        order="fixed" if args.fixed_order else "recorded",
        rounds="file" if args.file_order else "time",
    )
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _keep(path, key)
    write_records(args.out, result.votes, signature=recipe, kind=Vote)
    _tell(args, result, recipe)


def _keep(path: Path, key: str) -> None:
    """The key of the rater ids, for the next import into this folder; for the owner's eyes only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(key + "\n")


def _tell(args: argparse.Namespace, result: Imported, recipe: str) -> None:
    from crowd.exchange.exporting import analysis_of

    print(f"{result.read} judgements read from {args.tool}.")
    for reason, number in result.dropped.items():
        print(f"Dropped: {number} ({reason}).")
    raters, pairs = ({getattr(vote, name) for vote in result.votes} for name in ("rater", "pair"))
    print(f"{args.out}: {len(result.votes)} votes of {len(raters)} raters on {len(pairs)} pairs")
    for note in result.notes:
        print(f"Note: {note}")
    print(recipe)
    tell_next(*analysis_of(args.out, result.votes))
