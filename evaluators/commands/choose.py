"""Next-utterance choice: how often models, frozen encoders and simple rules pick what was really said.

Reads questions.jsonl and, where they are there, ranks.parquet (python -m generation rank) and encoder states (python -m
generation encode --questions). Every rule of likelihood
stands beside the others, untrained models beside trained ones, and length and TF-IDF beside all.

Example: python -m evaluators choose runs/demo
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.records import Question
    from seedvote.evaluators.choosing.rules import Chooser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and what is shown."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with questions.jsonl")
    add(
        "--metric",
        choices=("R@1", "R@2", "MRR"),
        default="R@1",
        help="what the table shows (default R@1); nuc.json has all",
    )
    add(
        "--ties",
        choices=("shared", "middle"),
        default="shared",
        help="equal scores share what they get (default), or "
        "the truth ranks in their middle, as in some published numbers",
    )
    add(
        "--heads",
        default="0-2",
        metavar="LIST",
        help="seeds of the heads that are fitted on encoder states, where "
        "STUDY/question_states holds any (default 0-2)",
    )
    add(
        "--dual-encoder",
        default="",
        metavar="LIST",
        help="train a dual encoder from scratch under these seeds, e.g. 0-2, as a reference line",
    )
    add("--paper", action="store_true", help="train it as Lowe et al. 2015: hidden 300, one false reply a true one")
    add("--corpus", type=Path, help="corpus that the dual encoder is trained on (default: STUDY/corpus)")
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> None:
    """Let everybody answer, write the score table, print."""
    from seedvote.dialogue.files import write_json
    from seedvote.dialogue.questions import read_questions, texts_hash
    from seedvote.evaluators.choosing.answer import (
        answer_questions,
        choosing_document,
        choosing_notes,
        choosing_table,
        write_choosing_scores,
    )
    from seedvote.evaluators.choosing.rules import Ranks, read_ranks

    questions = read_questions(args.study / "questions.jsonl")
    texts = texts_hash(questions)
    path = args.study / "ranks.parquet"
    ranks = read_ranks(path, questions, texts) if path.exists() else Ranks((), {})
    learnt = [*_fit_heads(args, questions, texts), *_dual_encoders(args, questions, texts)]
    answer = answer_questions(questions, [*ranks.choosers, *learnt], texts, ties=args.ties)
    table = write_choosing_scores(args.study, answer)
    document = choosing_document(answer, ranks.unknown)
    write_json(args.study / "nuc.json", document)
    if args.json:
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(choosing_table(answer, args.metric) + "\n")
        print("\n".join(choosing_notes(answer, ranks.unknown)))
        print(f"\n{answer.signature}\n{table} has a row a question and rule.")
    tell_next("python -m analysis compare", args.study, aside=args.json)


def _fit_heads(args: argparse.Namespace, questions: list[Question], texts: str) -> list[Chooser]:
    from tqdm import tqdm

    from seedvote.evaluators.choosing.learnt import encoder_choosers, state_files

    heads = _parse_seed_option(args.heads, "--heads")
    files = state_files(args.study)
    with tqdm(total=len(files) * len(heads), disable=None if files else True, unit="head") as bar:
        return list(encoder_choosers(args.study, questions, texts, heads, bar.update))


def _dual_encoders(args: argparse.Namespace, questions: list[Question], texts: str) -> list[Chooser]:
    if not args.dual_encoder:
        return []
    from seedvote.evaluators.choosing.learnt import dual_encoder_choosers

    corpus, seeds = args.corpus or args.study / "corpus", _parse_seed_option(args.dual_encoder, "--dual-encoder")
    return dual_encoder_choosers(args.study, corpus, questions, texts, seeds, paper=args.paper)


def _parse_seed_option(text: str, option: str) -> list[int]:
    from seedvote.dialogue.seeds import parse_seeds

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise InputError(f"{option} is {text!r}: {error}. Write e.g. 0-2.") from None
