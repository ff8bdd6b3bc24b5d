"""Train discriminators to tell a model's replies from people's, and say what they go by.

Beside every accuracy stand its nulls, what length alone and a bag of words tell, and what is told beyond the best of
them. Each discriminator is a rater; no dialogue is in two parts.

Example: python -m evaluators discriminate runs/demo --decoding temperature:1
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which replies, which discriminators."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with responses.jsonl to the valid and test split")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--models", default="", metavar="LIST", help="models, e.g. seq2seq,hred-1 (default: all)")
    add("--decoding", default="", metavar="LIST", help="decodings, e.g. temperature:1,greedy (default: all)")
    add(
        "--encoder",
        choices=("lstm", "bag"),
        default="lstm",
        help="what reads the replies (default lstm; bag: words and pairs of words, in seconds)",
    )
    add("--seeds", default="0-4", metavar="LIST", help="discriminators' seeds, each a rater (default 0-4)")
    add(
        "--folds",
        type=int,
        default=1,
        metavar="K",
        help="quarters of the dialogues that are tested in turn (default 1)",
    )
    add("--shared", action="store_true", help="train one more for all models together: one scale for all")
    add("--same-length", action="store_true", help="rank many draws of one length by discriminator and by log p")
    add("--draws", type=int, default=100, metavar="N", help="draws of a context that are ranked (default 100)")
    add("--seed", type=int, default=0, metavar="S", help="seed of the split and of drawn labels (default 0)")
    add("--json", action="store_true", help="print JSON instead of tables")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Train what is not there yet, then tell."""
    from seedvote.evaluators.detection.answer import summarise_trials
    from seedvote.evaluators.detection.figures import write_detection_figure
    from seedvote.evaluators.detection.material import QUARTERS, make_trials, read_detection
    from seedvote.evaluators.detection.text import (
        artefact_lines,
        detection_document,
        detection_notes,
        detection_table,
        ranking_lines,
        write_detection_scores,
    )
    from seedvote.evaluators.detection.work import (
        DetectionSettings,
        as_detection_jobs,
        read_result,
        run_trial,
        trial_jobs,
    )

    refuse_below(args, draws=20, folds=1)
    if args.folds > QUARTERS:
        raise InputError(f"--folds is {args.folds}; a quarter is tested at a time, so 4 is the most.")
    settings = DetectionSettings(_parse_seed_option(args.seeds), args.encoder == "lstm", args.seed, args.folds)
    material = read_detection(
        args.study, args.corpus, args.seed, args.folds, _split_list(args.models), _split_list(args.decoding)
    )
    draws = args.draws if args.same_length else 0
    todo = trial_jobs(
        args.study, material, list(make_trials(material, seed=args.seed, shared=args.shared, draws=draws)), settings
    )
    work = jobs.Work(run_trial, (material.words, settings), args.study / "logs" / "discriminate")
    _carry_out(work, as_detection_jobs(todo), len(todo), running.place_of(args))
    answer = summarise_trials(material, [(result.trial, read_result(result.path)) for result in todo], settings)
    document = detection_document(answer)
    write_detection_scores(args.study, answer)
    _write_json(args.study / "adversarial.json", document)
    figure = write_detection_figure(args.study, answer)
    if args.json:
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(detection_table(answer) + "\n")
        print("\n".join(detection_notes(answer)))
        print("\n" + "\n".join(artefact_lines(result) for result in answer.found))
        if args.same_length:
            print("\n" + "\n".join(line for result in answer.found for line in ranking_lines(result, answer)))
        print(f"\n{answer.signature}\n{figure} shows it; {args.study / 'adversarial.parquet'} has a row a reply.")
    tell_next("python -m analysis compare", args.study, aside=args.json)


def _carry_out(work: jobs.Work, todo: list[jobs.Job], every: int, place: jobs.Place) -> None:
    from tqdm import tqdm

    with tqdm(total=every, initial=every - len(todo), disable=None, unit="trial") as bar:
        for _ in running.run_jobs(work, todo, place):
            bar.update()


def _write_json(path: Path, document: object) -> None:
    from seedvote.dialogue.files import write_json

    write_json(path, document)


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_seed_option(text: str) -> tuple[int, ...]:
    from seedvote.dialogue.seeds import parse_seeds

    try:
        return tuple(parse_seeds(text))
    except ValueError as error:
        raise InputError(f"--seeds is {text!r}: {error}. Write e.g. 0-2.") from None
