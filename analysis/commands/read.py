"""Show what the program makes of a file of judgements, and why, without analysing it.

Every column with what it was taken for and the evidence, every word of the answers with its meaning, the first rows as
votes, what was left out, and who won how often. Where the file can be read in several ways, it says so as every other
command does, with the result of each.

  python -m analysis read votes.csv
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.arguments import add_json_argument, add_naming_arguments, deliver, reading
from dialogue.command_line import next_command

if TYPE_CHECKING:
    from dialogue.importing.votes import Judgements

SHOWN = 5  # rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what is stated of it."""
    parser.add_argument("file", type=Path, metavar="FILE", help="judgements: CSV, JSON, Excel, Parquet, ...")
    add_naming_arguments(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, and say how."""
    from analysis.showing.result import Result
    from analysis.showing.tables import Table
    from analysis.votes.inputs import judgements_of

    found = judgements_of(args.file, **reading(args))
    account, won = found.reading, _won(found)
    columns = [(ours, theirs, account.evidence.get(ours, account.evidence.get("systems", ""))) for ours, theirs
               in account.columns.items()]  # fmt: skip
    words = Table(["word", "means"], list(account.words.items()), "Every word of the answers")
    rows = [(found.table.place(row), found.pair[row], _who(found, row), found.left[row] or "")
            for row in range(min(SHOWN, len(found.choice)))]  # fmt: skip
    parts: list[Table | str] = [
        f"{args.file} is a {account.form} of {account.read:,} rows, read as {len(found.choice):,} votes: "
        f"{', '.join(f'{name} {number:,}' for name, number in won.items())}. {account.lost}",
        *account.notes,
        Table(["field", "column", "why"], columns, "What every column was taken for"),
        words,
        Table(["place", "pair", "winner", "left"], rows, "The first votes"),
    ]
    document = {"file": str(args.file), "form": account.form, "rows": account.read, "columns": dict(account.columns),
                "evidence": dict(account.evidence), "words": dict(account.words), "notes": list(account.notes),
                "left_out": dict(account.left_out), "votes": len(found.choice), "won": won}  # fmt: skip
    then = next_command("python -m analysis preference", args.file)
    deliver(args, Result(document, [*parts, f"sha256:{_digest(args.file)}"], dict), then=then)


def _who(found: Judgements, row: int) -> str:
    """`alpha over beta`; the letters where no systems are named."""
    both: Any = (found.a[row], found.b[row]) if found.a else ("a", "b")
    choice = found.choice[row]
    if choice == "tie":
        return f"{both[0]} = {both[1]}"
    return f"{both[choice == 'b']} over {both[choice == 'a']}"


def _won(found: Judgements) -> dict[str, int]:
    """How often each system won, and the ties."""
    won: Counter[str] = Counter()
    for row, choice in enumerate(found.choice):
        won[choice if choice == "tie" or not found.a else (found.a, found.b)["ab".index(choice)][row]] += 1
    return dict(sorted(won.items(), key=lambda pair: (pair[0] == "tie", pair[0])))


def _digest(path: Path) -> str:
    from dialogue.files import digest

    return digest(path)[:16] if path.is_file() else "folder"
