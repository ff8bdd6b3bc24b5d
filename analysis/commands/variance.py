"""Find out where a score's variance comes from (architecture, seed, item, rater), and what a re-run would show.

Takes a study folder and gives the tables of its report; or takes any long table: scores.parquet, metrics.parquet, CSV
or JSON Lines with a score column and one column per factor; or with --score tie or --score net a file of votes. Prints
the components with intervals, generalisability, the error of studies of other sizes (--sizes seed=10,item=500), and the
chance that new seeds, items or raters reverse two systems. --compare A,B adds the difference of two models in a corpus
metric, with seeds and items resampled together.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seedvote.analysis.arguments import (
    READING,
    SAID_OF_VOTES,
    add_json_argument,
    add_naming_arguments,
    deliver,
    reading,
)
from seedvote.dialogue.command_line import given, next_command
from seedvote.dialogue.errors import InputError

STUDY_FILES = ("votes.jsonl", "scores.parquet", "metrics.parquet")  # each alone is enough for a report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tables, their columns, the sizes to plan for."""
    parser.add_argument(
        "scores", type=Path, nargs="+", metavar="SCORES", help="a STUDY folder, or Parquet, CSV or JSON Lines"
    )
    parser.add_argument(
        "--score", default="score", metavar="COLUMN|tie|net", help="score column; tie or net for votes (default score)"
    )
    parser.add_argument("--factors", default="", metavar="F1,F2,...", help="columns (default model,seed,item,rater)")
    parser.add_argument(
        "--target", default="model", metavar="FACTOR", help="the factor whose levels are compared (default model)"
    )
    parser.add_argument(
        "--sizes",
        action="append",
        default=[],
        metavar="F=N,...",
        help="size of another study to predict; may be repeated",
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="only tables whose names contain all these words")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="votes: pairs.jsonl (default: the one beside them)")
    add_naming_arguments(parser)
    parser.add_argument("--compare", metavar="A,B", help="compare two models by the multi-bootstrap")
    parser.add_argument(
        "--metric", choices=("mean", "micro_f1", "bleu2"), default="mean", help="what --compare compares (default mean)"
    )
    parser.add_argument(
        "--paired", action="store_true", help="for --compare: seed k is the same start or data order in both models"
    )
    parser.add_argument("--sets", type=int, default=200, help="simulated tables for the intervals (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation (default 0)")
    parser.add_argument(
        "--figure",
        metavar="STEM",
        help="draw the shares of variance: STEM.png and .pdf; the SDs of each table: STEM-1.png, ...",
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.variance.asking import variance
    from seedvote.dialogue.importing.naming import parse_names

    result = variance(
        args.scores,
        score=args.score,
        factors=[name.strip() for name in args.factors.split(",") if name.strip()],
        target=args.target,
        sizes=[{name: _size(name, text) for name, text in parse_names(typed, "--sizes")} for typed in args.sizes],
        only=args.only,
        pairs=args.pairs,
        compare=_two(args.compare) if args.compare else None,
        metric=args.metric,
        paired=args.paired,
        sets=args.sets,
        seed=args.seed,
        **reading(args),
    )
    deliver(args, result, then=_then(args, result.document))


def _then(args: argparse.Namespace, document: Mapping[str, Any]) -> str:
    """The report of the study that the first file belongs to; else how many seeds, or votes, would tell more."""
    first = args.scores[0]
    if first.is_dir() or first.name in STUDY_FILES:
        folder = first if first.is_dir() else first.parent
        return next_command("python -m analysis report", folder, *given(args, *SAID_OF_VOTES))
    if args.score in ("tie", "net"):
        return next_command("python -m analysis plan", first, *given(args, *READING))
    sds = [part["sd"] for table in document["tables"] for part in table["components"] if part["name"] == "model:seed"]
    first_sd = next((sd for sd in sds if sd > 0), None)
    return next_command("python -m analysis plan", *([] if first_sd is None else ["--seed-sd", f"{first_sd:.4g}"]))


def _two(text: str) -> tuple[str, str]:
    first, _, second = (name.strip() for name in text.partition(","))
    return first, second


def _size(name: str, text: str) -> float:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not size > 0:
        raise InputError(f"--sizes has {name}={text}; a number above 0 is expected, e.g. seed=10,item=500.")
    return size
