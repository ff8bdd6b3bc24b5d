"""Task success of predictions: Inform, Success, Combined, joint goal accuracy and BLEU, each with its interval.

Takes published predictions ({"dialogue": [{"response", "state"}, ...]}) or a study whose responses carry states.
Every rule that moves the numbers is named; where another rule is possible, its number stands beside.

Example: python -m evaluators task soloist.json damd.json --corpus multiwoz --db multiwoz/db --claims printed.csv
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

OWN = "the corpus's own replies, delexicalised by its acts: not comparable with a leaderboard that has other references"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Predictions, the corpus, and the rules."""
    add = parser.add_argument
    add("predictions", nargs="+", type=Path, metavar="FILE", help="predictions (JSON, .gz, .xz), or a study's folder")
    add("--corpus", type=Path, metavar="PATH", help="the corpus with goals and states (default: the study's own)")
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--condition", metavar="NAMES", help="score these conditions of the study, separated by commas, or all of them")
    add("--split", choices=("valid", "test"), default="test", help="dialogues that were to be answered (default: test)")
    add(
        "--domains",
        choices=("predicted", "slots", "state"),
        help="how a turn's domain is known (default: the first that the predictions allow, in this order)",
    )
    add(
        "--venue",
        choices=("subset", "sampled"),
        default="subset",
        help="what is offered: all matching rows (default), or beside that one drawn row, the older rule",
    )
    add("--missing", choices=("skip", "fail"), default="skip", help="dialogues without an answer (default: skip)")
    add("--references", type=Path, metavar="FILE", help='BLEU against these: {"dialogue": ["delexicalised reply"]}')
    add("--claims", type=Path, metavar="CSV", help="printed numbers: system,inform,success,bleu,combined")
    add("--out", type=Path, metavar="FOLDER", help="write task.parquet and task.json there (default: the study)")
    add("--by", choices=("slot",), help="also print how often each slot is right")
    add("--seed", type=int, default=0, metavar="S", help="seed of the draws (default 0)")
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> None:
    """Evaluate, print, and write the score table; for every condition that is named, or for what is given."""
    from seedvote.dialogue.conditions import conditions_named

    if not args.condition:
        out = _evaluate_paths(args, args.predictions, args.corpus, args.out)
        again = [
            "python -m evaluators task",
            *args.predictions,
            *repeat_options(args, "corpus", "db"),
            "--out",
            "runs/task",
        ]
        tell_next(*(["python -m analysis compare", out] if out else again), aside=args.json)
        return
    study = args.predictions[0]
    if len(args.predictions) > 1 or not study.is_dir() or args.corpus or args.db or args.out or args.json:
        raise InputError(
            "--condition goes with one study's folder: each condition has its own corpus, databases and score table. "
            "Leave --corpus, --db, --out and --json out."
        )
    for folder in conditions_named(study, args.condition):
        print(folder.name)
        if args.condition == "all" and not (folder / "responses.jsonl").exists():
            print("not scored: it has no responses.jsonl\n")
            continue
        _evaluate_paths(args, [folder], None, None)
    tell_next("python -m analysis robustness", study)


def _evaluate_paths(args: argparse.Namespace, paths: list[Path], corpus: Path | None, out: Path | None) -> Path | None:
    """Score one set of predictions; where its table is."""
    from seedvote.dialogue.conditions import condition_of
    from seedvote.evaluators.task.evaluation import TaskRules, evaluate_systems
    from seedvote.evaluators.task.predictions import corpus_of, read_given
    from seedvote.evaluators.task.rates import world_of
    from seedvote.evaluators.task.text import (
        evaluation_document,
        rates_table,
        read_claims,
        slots_notes,
        slots_table,
        task_notes,
        write_task_scores,
    )

    corpus = corpus_of(paths, corpus)
    claims = read_claims(args.claims) if args.claims else {}
    predictions = read_given(paths)
    world = world_of(corpus, args.db, args.split, args.references)
    references = str(args.references.name) if args.references else "own"
    settings = TaskRules(args.split, args.domains, args.venue, args.missing, references, args.seed)
    evaluation = evaluate_systems(predictions, world, settings)
    if args.json:
        print(json.dumps(evaluation_document(evaluation, claims), indent=1, ensure_ascii=False))
    else:
        print(rates_table(evaluation, claims) + "\n")
        print("\n".join(task_notes(evaluation, claims, references if args.references else OWN)))
        if args.by:
            print("\n".join(["", slots_table(evaluation), "", *slots_notes(evaluation)]))
        print(evaluation.signature)
    out = out or (paths[0] if paths[0].is_dir() else None)
    if out:
        write_task_scores(out, evaluation, evaluation_document(evaluation, claims), condition_of(corpus))
        if not args.json:
            print(f"\n{out / 'task.parquet'} has a row for every dialogue and turn.\n")
    return out
