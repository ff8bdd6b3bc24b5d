"""Which evaluated system scores higher, from the logs of inspect_ai, lm-eval, lighteval, HELM or a table of scores.

Each argument is one system, by its file or folder: `NAME=PATH`, and `NAME=PATH,PATH` for several runs of one system
(training seeds). Differences are paired by item; items of one document or dialogue are drawn together.
"""

from __future__ import annotations

import argparse

from seedvote.analysis.arguments import add_json_argument, deliver
from seedvote.dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The logs, and how they are compared."""
    parser.add_argument("systems", nargs="+", metavar="[NAME=]PATH[,PATH]", help="logs of one system")
    parser.add_argument("--metric", default="", metavar="NAME", help="only this metric, or TASK:METRIC")
    parser.add_argument(
        "--cluster",
        default="auto",
        metavar="FIELD",
        help="field of an item that groups items, dotted where nested; `none`; default: a field by a known name",
    )
    parser.add_argument("--margin", type=float, metavar="SCORE", help="differences within it count as equivalent")
    parser.add_argument(
        "--columns", default="", metavar="item=NAME,...", help="columns of a table: item, score, system, epoch, task"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from seedvote.analysis.questions.compare_runs import compare_runs
    from seedvote.dialogue.importing.naming import parse_names

    result = compare_runs(
        args.systems,
        metric=args.metric,
        cluster=args.cluster,
        margin=args.margin,
        columns=dict(parse_names(args.columns, "--columns")),
    )
    more = ("--json", "compared.json") if args.margin is not None else ("--margin", "0.02")
    options = given(args, "metric", "columns", "margin")
    options += [] if args.cluster == "auto" else ["--cluster", args.cluster]
    deliver(args, result, then=next_command("python -m analysis compare-runs", *args.systems, *options, *more))
