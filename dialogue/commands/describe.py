"""Say what a corpus holds: version, splits, dialogues, turns, vocabulary, and which labels exist.

Example: python -m dialogue describe runs/demo/corpus
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any

from dialogue.records import Dialogue

WORD = re.compile(r"[\w:']+|[^\w\s]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PATH, --json."""
    parser.add_argument("path", metavar="PATH", help="corpus folder, .json, .jsonl, .txt, .zip, .gz or .xz")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(args: argparse.Namespace) -> None:
    """Print the table or the JSON object."""
    from dialogue.corpora.reading import read_corpus
    from dialogue.corpora.splits import SPLITS

    corpus = read_corpus(args.path)
    groups = {name: corpus.split(name) for name in SPLITS}
    shown = {name: _counts(group) for name, group in {**groups, "all": corpus.dialogues}.items() if group}
    databases = {domain: len(rows) for domain, rows in corpus.databases.items()}
    if args.json:
        head = {"name": corpus.name, "version": corpus.version}
        print(json.dumps({**head, "splits": shown, "databases": databases}, indent=1))
        return
    print(f"{corpus.name} {corpus.version}")
    print(_table(shown))
    if databases:
        print("databases  " + ", ".join(f"{domain} {rows}" for domain, rows in databases.items()))


def _counts(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    from dialogue.corpora.examples import examples

    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    return {
        "dialogues": len(dialogues),
        "turns": len(turns),
        "examples": sum(1 for _ in examples(dialogues)),
        "vocabulary": len({word for turn in turns for word in WORD.findall(turn.text.lower())}),
        "belief states": sum(turn.belief is not None for turn in turns),
        "user acts": sum(turn.acts is not None for turn in turns if turn.speaker == "user"),
        "system acts": sum(turn.acts is not None for turn in turns if turn.speaker == "system"),
        "personas": sum(bool(dialogue.persona) for dialogue in dialogues),
    }


def _table(shown: dict[str, dict[str, Any]]) -> str:
    names = list(next(iter(shown.values())))
    rows = [["", *shown]] + [[name, *(f"{counts[name]:,}" for counts in shown.values())] for name in names]
    width = max(len(cell) for row in rows for cell in row[1:])
    left = max(map(len, names))
    return "\n".join(row[0].ljust(left) + "".join("  " + cell.rjust(width) for cell in row[1:]) for row in rows)
