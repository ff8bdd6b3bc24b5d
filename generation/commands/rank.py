"""Let models answer the questions of next-utterance choice by likelihood: ranks.parquet.

Every option gets its log-probability, its number of tokens, and its log-probability after a context that says nothing.
The rules are made of these by `evaluators choose`: their sum, per token, and PMI.

Example: python -m generation rank runs/demo --checkpoints untrained,last
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.records import Question
    from seedvote.generation.checkpoints import TrainedModel
    from seedvote.generation.ranking import NumberedQuestion
    from seedvote.generation.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class RankJob:
    """One checkpoint: where its ranks go, and the hash of all they follow from."""

    trained: TrainedModel
    checkpoint: str
    path: Path
    key: str


@dataclass(frozen=True, slots=True)
class RankInputs:
    """What is the same for every checkpoint."""

    questions: list[NumberedQuestion]
    vocabulary: Vocabulary
    texts: str
    device: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which questions, which checkpoints, or which model from elsewhere."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with questions.jsonl")
    add("--checkpoints", default="untrained,last", help="separated by commas (default untrained,last)")
    add(
        "--hugging-face", metavar="MODEL", help="local folder, or a name on the hub with --fetch: rank this model alone"
    )
    add("--template", metavar="NAME", help="how it reads a dialogue, as in `import`")
    add("--fetch", action="store_true", help="allow the model to be fetched from the hub")
    add("--model", help="name of the Hugging Face model in tables (default: its folder's)")
    add("--seed", type=int, help="its training seed, where there is one")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default cpu)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Rank what is not ranked yet, and gather."""
    from seedvote.dialogue.questions import read_questions, texts_hash
    from seedvote.generation.ranking import gather_ranks

    questions = read_questions(args.study / "questions.jsonl")
    texts = texts_hash(questions)
    if args.hugging_face:
        _rank_hugging_face(args, questions, texts)
    else:
        _rank_trained(args, questions, texts)
    path, checkpoints, rows = gather_ranks(args.study, texts)
    print(f"{path}: {rows:,} options under {checkpoints} checkpoints")
    tell_next("python -m evaluators choose", args.study)


def _rank_trained(args: argparse.Namespace, questions: list[Question], texts: str) -> None:
    from tqdm import tqdm

    from seedvote.dialogue.tables.frames import is_written
    from seedvote.generation.checkpoints import find_repliers, weights_hash
    from seedvote.generation.ranking import number_questions
    from seedvote.generation.vocabulary import read_vocabulary

    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    options = RankInputs(number_questions(questions, vocabulary), vocabulary, texts, args.device)
    every = []
    for trained in find_repliers(args.study):
        for checkpoint in args.checkpoints.split(","):
            key = jobs.content_key(texts, weights_hash(trained, checkpoint), vocabulary.hash, jobs.JOB_THREADS)
            path = args.study / "ranks" / f"{trained.folder.name}-{checkpoint}.parquet"
            every.append(RankJob(trained, checkpoint, path, key))
    todo = [
        jobs.Job(rank_job.path.stem, rank_job.key, rank_job)
        for rank_job in every
        if not is_written(rank_job.path, rank_job.key)
    ]
    work = jobs.Work(_rank_options, options, args.study / "logs" / "rank")
    with tqdm(total=len(every), initial=len(every) - len(todo), disable=None, unit="checkpoint") as bar:
        for _ in running.run_jobs(work, todo, running.place_of(args, device=args.device)):
            bar.update()


def _rank_options(shared: RankInputs, job: RankJob) -> None:
    from seedvote.dialogue.devices import pick_device, use_threads
    from seedvote.dialogue.files import clear_halves
    from seedvote.generation.checkpoints import load_model
    from seedvote.generation.ranking import rank_options, write_ranks

    trained, device = job.trained, pick_device(shared.device)
    model = load_model(trained, job.checkpoint, shared.vocabulary).to(device)
    clear_halves(job.path)
    with use_threads(jobs.JOB_THREADS):
        ranks = list(rank_options(model, shared.questions, device))
    write_ranks(job.path, ranks, trained.model, trained.seed, job.checkpoint, texts=shared.texts, key=job.key)


def _rank_hugging_face(args: argparse.Namespace, questions: list[Question], texts: str) -> None:
    from tqdm import tqdm

    from seedvote.dialogue.devices import pick_device
    from seedvote.dialogue.files import clear_halves
    from seedvote.generation.imports.hugging_face import HuggingFace, rank_by
    from seedvote.generation.ranking import write_ranks

    device = pick_device(args.device)
    model = HuggingFace(args.hugging_face, fetch=args.fetch, device=device, template=args.template)
    print(model.template.describe() + "\n" if model.template.name else "", end="")
    name = args.model or Path(args.hugging_face).name
    seed = "" if args.seed is None else f"-{args.seed}"
    path = args.study / "ranks" / f"hf-{name.replace('/', '_')}{seed}.parquet"
    clear_halves(path)
    with tqdm(total=len(questions), disable=None, unit="question") as bar:
        ranks = list(rank_by(model, questions, bar.update))
    write_ranks(path, ranks, name, args.seed, "last", texts=texts, key=texts)
