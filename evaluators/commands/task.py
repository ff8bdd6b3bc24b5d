"""Task success of predictions: Inform, Success, Combined, joint goal accuracy and BLEU, each with its interval.

Takes published predictions ({"dialogue": [{"response", "state"}, ...]}) or a study whose responses carry states.
Every rule that moves the numbers is named; where another rule is possible, its number stands beside.

Example: python -m evaluators task soloist.json damd.json --corpus multiwoz --db multiwoz/db --claims printed.csv
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dialogue.command_line import tell_next

OWN = "the corpus's own replies, delexicalised by its acts: not comparable with a leaderboard that has other references"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Predictions, the corpus, and the rules."""
    add = parser.add_argument
    add("predictions", nargs="+", type=Path, metavar="FILE", help="predictions (JSON, .gz, .xz), or a study's folder")
    add("--corpus", type=Path, metavar="PATH", help="the corpus with goals and states (default: the study's own)")
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--split", choices=("valid", "test"), default="test", help="dialogues that were to be answered (default: test)")
    add("--domains", choices=("predicted", "slots", "state"), help="how a turn's domain is known (default: the first "
        "that the predictions allow, in this order)")  # fmt: skip
    add("--venue", choices=("subset", "sampled"), default="subset", help="what is offered: all matching rows "
        "(default), or beside that one drawn row, the older rule")  # fmt: skip
    add("--missing", choices=("skip", "fail"), default="skip", help="dialogues without an answer (default: skip)")
    add("--references", type=Path, metavar="FILE", help='BLEU against these: {"dialogue": ["delexicalised reply"]}')
    add("--claims", type=Path, metavar="CSV", help="printed numbers: system,inform,success,bleu,combined")
    add("--out", type=Path, metavar="FOLDER", help="write task.parquet and task.json there (default: the study)")
    add("--seed", type=int, default=0, metavar="S", help="seed of the draws (default 0)")
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> None:
    """Evaluate, print, and write the score table."""
    from dialogue.conditions import condition_of
    from evaluators.task.claims import read_claims
    from evaluators.task.evaluation import TaskRules, evaluate
    from evaluators.task.inputs import corpus_of, read_given
    from evaluators.task.table import write_task_scores
    from evaluators.task.text import document, rates_table, task_notes
    from evaluators.task.world import world_of

    corpus = corpus_of(args.predictions, args.corpus)
    claims = read_claims(args.claims) if args.claims else {}
    given = read_given(args.predictions)
    world = world_of(corpus, args.db, args.split, args.references)
    references = str(args.references.name) if args.references else "own"
    settings = TaskRules(args.split, args.domains, args.venue, args.missing, references, args.seed)
    found = evaluate(given, world, settings)
    if args.json:
        print(json.dumps(document(found, claims), indent=1, ensure_ascii=False))
    else:
        print(rates_table(found, claims) + "\n")
        print("\n".join(task_notes(found, claims, references if args.references else OWN)))
        print(found.signature)
    out = args.out or (args.predictions[0] if args.predictions[0].is_dir() else None)
    if out:
        write_task_scores(out, found, document(found, claims), condition_of(corpus))
        if not args.json:
            print(f"\n{out / 'task.parquet'} has a row for every dialogue and turn.")
    again = ["python -m evaluators task", *args.predictions, "--corpus", corpus, "--out", "runs/task"]
    tell_next(*(["python -m analysis compare", out] if out else again), aside=args.json)
