"""Next-utterance choice: how often models, frozen encoders and simple rules pick what was really said.

Reads questions.jsonl and, where they are there, ranks.parquet (python -m generation rank). Every rule of likelihood
stands beside the others, untrained models beside trained ones, and length and TF-IDF beside all.

Example: python -m evaluators choose runs/demo
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dialogue.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and what is shown."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with questions.jsonl")
    add("--metric", choices=("R@1", "R@2", "MRR"), default="R@1", help="what the table shows (default R@1); nuc.json "
        "has all")  # fmt: skip
    add("--ties", choices=("shared", "middle"), default="shared", help="equal scores share what they get (default), or "
        "the truth ranks in their middle, as in some published numbers")  # fmt: skip
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> None:
    """Let everybody answer, write the score table, print."""
    from dialogue.files import write_json
    from dialogue.questions import read_questions, texts_hash
    from evaluators.choosing.answer import choosing
    from evaluators.choosing.ranks import Ranks, read_ranks
    from evaluators.choosing.table import write_choosing_scores
    from evaluators.choosing.text import choosing_document, choosing_notes, choosing_table

    questions = read_questions(args.study / "questions.jsonl")
    texts = texts_hash(questions)
    path = args.study / "ranks.parquet"
    ranks = read_ranks(path, questions, texts) if path.exists() else Ranks((), {})
    found = choosing(questions, ranks.choosers, texts, ties=args.ties)
    table = write_choosing_scores(args.study, found)
    document = choosing_document(found, ranks.unknown)
    write_json(args.study / "nuc.json", document)
    if args.json:
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(choosing_table(found, args.metric) + "\n")
        print("\n".join(choosing_notes(found, ranks.unknown)))
        print(f"\n{found.signature}\n{table} has a row a question and rule.")
    tell_next("python -m analysis compare", args.study, aside=args.json)
