"""Show what the program makes of a file of judgements, and why, without analysing it.

It shows what every column was taken for and on which evidence, what every word of the answers means, and the first rows
as votes. It says what was left out and who won how often. Where the file can be read in several ways, it says so with
the result of each.

  python -m analysis read votes.csv
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.analysis.arguments import JSON, READING, add_options, deliver, reading
from seedvote.dialogue.shell.command_line import next_command

if TYPE_CHECKING:
    from seedvote.dialogue.importing.votes import Judgements

SHOWN = 5  # rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what is stated of it."""
    parser.add_argument("file", type=Path, metavar="FILE", help="judgements: CSV, JSON, Excel, Parquet, ...")
    add_options(parser, *READING, JSON)


def run(args: argparse.Namespace) -> None:
    """Read, and say how."""
    from seedvote.analysis.showing.result import Result
    from seedvote.analysis.showing.tables import Table
    from seedvote.analysis.votes.inputs import judgements_of

    judgements = judgements_of(args.file, **reading(args))
    account, won = judgements.reading, _count_wins(judgements)
    columns = [
        (ours, theirs, account.evidence.get(ours, account.evidence.get("systems", "")))
        for ours, theirs in account.columns.items()
    ]
    words = Table(["word", "means"], list(account.words.items()), "Every word of the answers")
    rows = [
        (judgements.table.place(row), judgements.pair[row], _name_systems(judgements, row), judgements.left[row] or "")
        for row in range(min(SHOWN, len(judgements.choice)))
    ]
    parts: list[Table | str] = [
        f"{args.file} is a {account.form} of {account.read:,} rows, read as {len(judgements.choice):,} votes: "
        f"{', '.join(f'{name} {number:,}' for name, number in won.items())}. {account.lost}",
        *account.notes,
        Table(["field", "column", "why"], columns, "What every column was taken for"),
        words,
        Table(["place", "pair", "winner", "left"], rows, "The first votes"),
    ]
    document = {
        "file": str(args.file),
        "form": account.form,
        "rows": account.read,
        "columns": dict(account.columns),
        "evidence": dict(account.evidence),
        "words": dict(account.words),
        "notes": list(account.notes),
        "left_out": dict(account.left_out),
        "votes": len(judgements.choice),
        "won": won,
    }
    following = next_command("python -m analysis preference", args.file)
    deliver(args, Result(document, [*parts, f"sha256:{_sign_file(args.file)}"], dict), then=following)


def _name_systems(judgements: Judgements, row: int) -> str:
    """`alpha over beta`; the letters where no systems are named."""
    systems: Any = (judgements.a[row], judgements.b[row]) if judgements.a else ("a", "b")
    choice = judgements.choice[row]
    if choice == "tie":
        return f"{systems[0]} = {systems[1]}"
    return f"{systems[choice == 'b']} over {systems[choice == 'a']}"


def _count_wins(judgements: Judgements) -> dict[str, int]:
    """How often each system won, and the ties."""
    won: Counter[str] = Counter()
    for row, choice in enumerate(judgements.choice):
        won[
            choice if choice == "tie" or not judgements.a else (judgements.a, judgements.b)["ab".index(choice)][row]
        ] += 1
    return dict(sorted(won.items(), key=lambda pair: (pair[0] == "tie", pair[0])))


def _sign_file(path: Path) -> str:
    from seedvote.dialogue.files import digest

    return digest(path)[:16] if path.is_file() else "folder"
