"""Show what a corpus contains: version, splits, dialogues, turns, vocabulary, and which labels exist.

Example: python -m dialogue describe runs/demo/corpus
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from seedvote.dialogue.records import Dialogue
from seedvote.dialogue.shell.command_line import tell_next

WORD = re.compile(r"[\w:']+|[^\w\s]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PATH, --json."""
    parser.add_argument("path", metavar="PATH", help="corpus folder, .json, .jsonl, .txt, .zip, .gz or .xz")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(args: argparse.Namespace) -> None:
    """Print the table or the JSON object."""
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.corpora.sources import SPLITS

    corpus = read_corpus(args.path)
    groups = {name: corpus.split(name) for name in SPLITS}
    counts = {name: corpus_counts(group) for name, group in {**groups, "all": corpus.dialogues}.items() if group}
    databases = {domain: len(rows) for domain, rows in corpus.databases.items()}
    if args.json:
        head = {"name": corpus.name, "version": corpus.version}
        print(json.dumps({**head, "splits": counts, "databases": databases}, indent=1))
    else:
        print(f"{corpus.name} {corpus.version}")
        print(splits_table(counts))
    if databases and not args.json:
        print("databases: " + ", ".join(f"{domain} {rows:,}" for domain, rows in databases.items()))
    path = Path(args.path)
    study = [path.parent] if path.name == "corpus" else ["runs/mine", "--corpus", path]
    tell_next(
        "python -m generation train", *study, *["--seeds", "0-2", "--preset", "small", "--epochs", "5"], aside=args.json
    )


def corpus_counts(dialogues: Sequence[Dialogue]) -> dict[str, int]:
    """How many of each; words are counted in lower case, a label counts where it is annotated, even as empty."""
    from seedvote.dialogue.corpora.examples import iterate_examples

    turns = [turn for dialogue in dialogues for turn in dialogue.turns]
    user = [turn for turn in turns if turn.speaker == "user"]
    system = [turn for turn in turns if turn.speaker == "system"]
    return {
        "dialogues": len(dialogues),
        "turns": len(turns),
        "examples": sum(1 for _ in iterate_examples(dialogues)),
        "vocabulary": len({word for turn in turns for word in WORD.findall(turn.text.lower())}),
        "belief states": sum(turn.belief is not None for turn in user),
        "slots": len({path for turn in user for path in turn.belief or ()}),
        "acts of the user": sum(turn.acts is not None for turn in user),
        "acts of the system": sum(turn.acts is not None for turn in system),
        "kinds of system acts": len({act for turn in system for act in turn.acts or ()}),
        "personas": sum(len(dialogue.persona) for dialogue in dialogues),
    }


def splits_table(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Splits in columns; what a corpus does not have is left out and named below."""
    names = list(next(iter(counts.values())))
    present = [name for name in names if any(column[name] for column in counts.values())]
    rows = [["", *counts]] + [[name, *(f"{column[name]:,}" for column in counts.values())] for name in present]
    width_of_names, width = max(map(len, present)), max(len(cell) for row in rows for cell in row[1:])
    lines = [row[0].ljust(width_of_names) + "".join("  " + cell.rjust(width) for cell in row[1:]) for row in rows]
    if absent := [name for name in names if name not in present]:
        lines.append("absent: " + ", ".join(absent))
    return "\n".join(lines)
