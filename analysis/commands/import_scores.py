"""Bring the scores of your own metric into a study, so that it stands beside people: STUDY/EVALUATOR.parquet.

The table is CSV, Excel, JSON Lines or Parquet with one row a response: `model`, `item`, where there are any `seed` and
`checkpoint`, and a column for each metric; or one score a row with `task` and `score`. Every row is held against the
study's responses, and what has no score is counted. The card says how the scores are read; without one they are shown
as they stand.

  python -m analysis import-scores runs/demo bertscore.csv --evaluator bertscore --unit share --better higher
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.cards import LATE, legal
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.reading import parse_names
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.analysis.votes.scores.importing import Brought
    from seedvote.dialogue.cards import Card

OF_TASK = ("unit", "scale", "better", "chance", "level", "aggregate")
OF_CARD = ("title", "order", "baselines")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The table, its names, and the card."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("table", type=Path, metavar="TABLE", help="scores: CSV, Excel, JSON, JSON Lines or Parquet")
    add("--evaluator", required=True, metavar="NAME", help="name of the evaluator and of its file, e.g. bertscore")
    add("--columns", default="", metavar="OURS=THEIRS,...", help="names of columns, e.g. model=system,item=id")
    add("--metrics", default="", metavar="C1,C2,...", help="columns that hold a metric each (default: all of numbers)")
    add("--replace", action="store_true", help="write over other scores of this evaluator")
    card = parser.add_argument_group("card", "how the scores are read; one for all tasks, or --card for each its own")
    say = card.add_argument
    say("--card", type=Path, metavar="FILE", help="the card as JSON (docs/own-metrics.md)")
    say("--title", help="name in tables and figures, as within a sentence (default: NAME)")
    say("--order", type=int, help=f"place among evaluators, the lowest first (default {LATE})")
    say("--unit", choices=legal("unit"), help="unit of the scores (default none: a bare number)")
    say("--scale", type=float, help="number that scores are multiplied by (default 100 for shares, else 1)")
    say("--better", choices=legal("better"), help="which scores are better (default neither: no claim)")
    say("--chance", type=float, help="score that guessing gets, before scaling")
    say("--level", choices=legal("level"), help="what a row is about (default turn; dialogue: item is a dialogue)")
    say("--aggregate", choices=legal("aggregate"), help="how scores make one number (default mean; else from counts)")
    say("--baselines", metavar="M1,M2,...", help="names in `model` that are baselines, not the study's models")


def run(args: argparse.Namespace) -> None:
    """Read, check, write, and say what is covered."""
    from seedvote.analysis.votes.scores.importing import bring_scores

    brought = bring_scores(
        args.study,
        args.table,
        args.evaluator,
        card=_read_card(args),
        columns=dict(parse_names(args.columns, "--columns")),
        metrics=_split_names(args.metrics),
        replace=args.replace,
    )
    print("\n".join(_describe_import(brought, args.evaluator)))
    tell_next("python -m analysis compare", args.study)


def _split_names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _read_card(args: argparse.Namespace) -> Card | None:
    """The card of the file, or from the options; None where neither says anything."""
    from seedvote.dialogue.cards import ANY, card_from
    from seedvote.dialogue.files import read_json

    stated = [name for name in (*OF_CARD, *OF_TASK) if getattr(args, name) is not None]
    if args.card is not None:
        if stated:
            raise InputError(f"--card says it all; leave out --{stated[0]}, or write it into {args.card}.")
        return card_from(read_json(args.card), str(args.card))
    if not stated:
        return None
    task = {name: getattr(args, name) for name in OF_TASK if name in stated}
    if args.unit == "share" and args.scale is None:
        task["scale"] = 100.0
    fields: dict[str, Any] = {"title": args.title or args.evaluator, "tasks": {ANY: task}}
    fields |= {"order": args.order} if args.order is not None else {}
    return card_from(fields | {"baselines": _split_names(args.baselines)}, "the card of the options")


def _describe_import(brought: Brought, evaluator: str) -> list[str]:
    from seedvote.analysis.showing.words import count, percent

    tasks = ", ".join(brought.tasks)
    wrote = (
        "holds these scores already" if brought.same else f"{count(brought.scores, 'score')} of {evaluator} ({tasks})"
    )
    share = percent(brought.covered / brought.responses) if brought.responses else "-"
    lines = [
        f"{brought.path}: {wrote}",
        f"{brought.covered:,} of {count(brought.responses, 'response')} have a score ({share})",
    ]
    if brought.missing:
        why = ", ".join(f"{reason} {number:,}" for reason, number in brought.missing.items())
        lines.append(f"{count(sum(brought.missing.values()), 'score')} missing, and never averaged: {why}")
    lines += [f"no score: {system}, {count(n, 'response')}" for system, n in list(brought.without.items())[:6]]
    if len(brought.without) > 6:
        lines.append(f"no score: {len(brought.without) - 6} further models")
    if brought.unread:
        lines.append(f"columns not read: {', '.join(brought.unread)}")
    return [*lines, brought.signature]
