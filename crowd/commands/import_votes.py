"""Turn the export of another tool into votes.jsonl.

An answer such as "A" or "left" is translated to the response shown there, raters become keyed hashes, and the k-th vote
on a pair becomes round k. If the file lacks information for this, nothing is written and one sentence says what is
missing. Votes from Mephisto: import-mephisto.

  python -m crowd import-votes Batch_1.csv --pairs pairs.jsonl --out runs/mine/votes.jsonl
"""

from __future__ import annotations

import argparse
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import next_command, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.importing.votes import Imported
    from seedvote.dialogue.tables.table import RawTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, their tool, and what the user states about them."""
    from seedvote.dialogue.importing.tools import TOOLS

    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="the export; several files are read as one")
    parser.add_argument(
        "--from", dest="tool", choices=tuple(TOOLS), help="the tool that wrote it (default: what its columns say)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="VOTES", help="e.g. STUDY/votes.jsonl; must be new")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="the pairs that were shown")
    parser.add_argument("--columns", default="", metavar="OURS=THEIRS,...", help="e.g. pair=id,left=shown_first")
    parser.add_argument(
        "--values", default="", metavar="OURS=THEIRS,...", help="e.g. a=Response 1,b=Response 2,tie=Same"
    )
    parser.add_argument("--wide", type=Path, metavar="KEY", help="one row a person: KEY says what each column compares")
    parser.add_argument("--explode", default="", metavar="COLUMN", help="a column of lists: one row for each element")
    parser.add_argument("--question", default="", metavar="NAME", help="which of several questions")
    parser.add_argument("--fixed-order", action="store_true", help="response a was always shown first, or on the left")
    parser.add_argument(
        "--file-order", action="store_true", help="the file has no times: rounds follow the order of the file"
    )
    parser.add_argument(
        "--with-judges", action="store_true", help="keep the answers of judges, marked as theirs (default: refuse them)"
    )


def run(args: argparse.Namespace) -> None:
    """Read everything, decide everything, then write once."""
    from seedvote.crowd.store.identity import rater_hash
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import read_records, write_records
    from seedvote.dialogue.importing.columns import FIELDS
    from seedvote.dialogue.importing.reading import Stated, meanings, parse_names
    from seedvote.dialogue.importing.votes import ImportRules, as_votes, read_judgements
    from seedvote.dialogue.judges import find_judges
    from seedvote.dialogue.records import Pair, Vote
    from seedvote.dialogue.signature import signature

    if args.out.exists():
        raise InputError(f"{args.out} already exists. Name another file (--out), or move this one first.")
    columns = meanings(parse_names(args.columns, "--columns"), "--columns")
    if unknown := [name for name in columns if name not in FIELDS]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(FIELDS)}.")
    values = meanings(parse_names(args.values, "--values"), "--values", theirs_first=True)
    pairs = read_records(args.pairs, Pair) if args.pairs else None
    table = _open_files(args.files, args.tool or "", columns)
    texts = {pair.pair: (pair.a.text, pair.b.text) for pair in pairs or ()}
    stated = Stated(columns, values, args.tool or "", args.wide, args.question, args.explode, args.fixed_order, texts)
    judges = find_judges([*args.files, args.out, *([args.pairs] if args.pairs else [])])
    judgements = read_judgements(table, stated)
    path = args.out.parent / "rater.key"
    key = path.read_text(encoding="ascii").strip() if path.exists() else secrets.token_hex(32)
    rules = ImportRules(args.file_order, judges, args.with_judges)
    result = as_votes(judgements, rules, pairs, lambda worker: rater_hash(key, worker))
    recipe = signature(
        votes=len(result.votes),
        read=result.read,
        source=judgements.tool,
        order="fixed" if args.fixed_order else "recorded",
        rounds="file" if args.file_order else "time",
    )
    args.out.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _keep_key(path, key)
    write_records(args.out, result.votes, signature=recipe, kind=Vote)
    _print_import(args.out, judgements.tool, result, recipe)


def _open_files(files: Sequence[Path], tool: str, columns: Mapping[str, str]) -> RawTable:
    """The files as one table, so that rounds and repeated raters are right across all of them."""
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.importing.exports import read_folder
    from seedvote.dialogue.importing.tools import find_tools
    from seedvote.dialogue.importing.votes import OWN
    from seedvote.dialogue.judges import refuse_verdicts
    from seedvote.dialogue.tables.reading import read_table
    from seedvote.dialogue.tables.table import join_tables

    tables, tools = [], {}
    for path in files:
        refuse_verdicts(path)
        if path.is_dir() and tool != "potato":
            raise InputError(f"{path} is a folder, which only Potato writes. If it is Potato's, add --from potato.")
        tables.append(read_folder(path, columns) if path.is_dir() else read_table(path))
        if {*tables[-1].names} >= OWN:
            ties = next_command("python -m analysis ties", path)
            raise InputError(f"{path} holds votes of Seedvote, which the analysis reads as they are: {ties}")
        tools[tool or ", ".join(find_tools(tables[-1].names)) or "plain"] = path
    if len(tools) > 1:
        tool_list = ", ".join(f"{path} ({name})" for name, path in tools.items())
        raise InputError(f"These files are of several tools: {tool_list}. Import them one by one.")
    return join_tables(tables)


def _keep_key(path: Path, key: str) -> None:
    """The key of the rater ids, for the next import into this folder; for the owner's eyes only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(key + "\n")


def _print_import(out: Path, tool: str, result: Imported, recipe: str) -> None:
    from seedvote.crowd.exchange.exporting import analysis_of

    form = "a plain table" if tool == "plain" else tool
    print(f"{result.read:,} judgement{'' if result.read == 1 else 's'} read from {form}.")
    for reason, number in result.dropped.items():
        print(f"Dropped: {number} ({reason}).")
    raters, pairs = {vote.rater for vote in result.votes}, {vote.pair for vote in result.votes}
    print(f"{out}: {len(result.votes)} votes of {len(raters)} raters on {len(pairs)} pairs")
    for note in result.notes:
        print(f"Note: {note}")
    print(recipe)
    judged = any(vote.source == "judge" for vote in result.votes)
    tell_next(*analysis_of(out, result.votes), *(["--with-judges"] if judged else []))
