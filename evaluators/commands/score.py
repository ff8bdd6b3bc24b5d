"""Score a study's responses by an evaluator that another package brings, such as COMET: STUDY/NAME.parquet.

  python -m evaluators score --list
  python -m evaluators score runs/demo chrf

A package names its evaluator by the entry point `seedvote.evaluators`; examples/plugin is one, whole. Contexts and
references come from the study's corpus, contexts alone from pairs.jsonl. compare, variance, worth and the report then
read the scores by their card.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study and the evaluator."""
    add = parser.add_argument
    add("study", type=Path, nargs="?", help="study folder with responses.jsonl")
    add("evaluator", nargs="?", default="", help="name of the evaluator")
    add("--list", action="store_true", help="the evaluators that are installed")
    add("--corpus", type=Path, metavar="PATH", help="corpus (default: STUDY/corpus)")


def run(args: argparse.Namespace) -> None:
    """Ask the evaluator, and say what is covered."""
    from seedvote.evaluators.plugins import find_evaluators, score_study

    if args.list:
        points = find_evaluators()
        print("\n".join(f"{name}  {point.value}" for name, point in points.items()) or "None is installed.")
        return
    if args.study is None or not args.evaluator:
        raise InputError("Give a study and an evaluator: python -m evaluators score STUDY NAME. --list names them.")
    report = score_study(args.study, args.evaluator, args.corpus)
    print(f"{report.path}: {report.responses:,} responses")
    for task, number in report.missing.items():
        if number:
            print(f"{task}: {number:,} of them have no score, and their items are left out for every model.")
    if report.further_draws:
        print(f"{report.further_draws:,} further draws of the same contexts are not scored.")
    print(report.signature)
    tell_next("python -m analysis compare", args.study)
