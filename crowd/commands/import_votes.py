"""Turn the export of another tool into votes.jsonl.

An answer such as "A" or "left" is translated to the response shown there, raters become keyed hashes, and the k-th vote
on a pair becomes round k. If the file lacks information for this, nothing is written and one sentence says what is
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, their tool, and what the user states about them."""
    from crowd.exchange.other_tools import TOOLS

    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="the export; several files are read as one")
    parser.add_argument("--from", dest="tool", choices=tuple(TOOLS), required=True, help="the tool that wrote it")
    parser.add_argument("--out", type=Path, required=True, metavar="VOTES", help="e.g. STUDY/votes.jsonl; must be new")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="the pairs that were shown")
    parser.add_argument("--columns", default="", metavar="OURS=THEIRS,...", help="e.g. pair=id,left=shown_first")
    parser.add_argument(
        "--values", default="", metavar="OURS=THEIRS,...", help="e.g. a=Response 1,b=Response 2,tie=Same"
    )
    parser.add_argument("--fixed-order", action="store_true", help="response a was always shown first, or on the left")
    parser.add_argument(
        "--file-order", action="store_true", help="the file has no times: rounds follow the order of the file"
    )


def run(args: argparse.Namespace) -> None:
    """Read everything, decide everything, then write once."""
    from crowd.exchange.importing import ImportRules, as_votes, values_of
    from crowd.exchange.other_tools import judgements
    from crowd.store.identity import rater_hash
    from dialogue.errors import InputError
    from dialogue.files import read_records, write_records
    from dialogue.records import Pair, Vote
    from dialogue.signature import signature

    if args.out.exists():
        raise InputError(f"{args.out} already exists. Name another file (--out), or move this one first.")
    columns = dict(part.partition("=")[::2] for part in args.columns.split(",") if part)
    pairs = read_records(args.pairs, Pair) if args.pairs else None
    rules = ImportRules(args.tool, values_of(args.tool, args.values), args.fixed_order, args.file_order)
    found = judgements(args.files, args.tool, columns)
    path = args.out.parent / "rater.key"
    key = path.read_text(encoding="ascii").strip() if path.exists() else secrets.token_hex(32)
    result = as_votes(found, rules, pairs, lambda worker: rater_hash(key, worker))
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
    _print_import(args.out, args.tool, result, recipe)


def _keep(path: Path, key: str) -> None:
    """The key of the rater ids, for the next import into this folder; for the owner's eyes only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(key + "\n")


def _print_import(out: Path, tool: str, result: Imported, recipe: str) -> None:
    from crowd.exchange.exporting import analysis_of

    print(f"{result.read} judgements read from {tool}.")
    for reason, number in result.dropped.items():
        print(f"Dropped: {number} ({reason}).")
    raters, pairs = {vote.rater for vote in result.votes}, {vote.pair for vote in result.votes}
    print(f"{out}: {len(result.votes)} votes of {len(raters)} raters on {len(pairs)} pairs")
    for note in result.notes:
        print(f"Note: {note}")
    print(recipe)
    tell_next(*analysis_of(out, result.votes))
