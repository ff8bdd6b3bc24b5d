"""Write the encoder states of contexts for probes: states/<model>-<seed>-<checkpoint>.npy with a JSON sidecar.

python -m generation encode runs/demo --splits train,valid,test --checkpoints untrained,last
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue import jobs
from dialogue.command_line import given, refuse_below, tell_next
from dialogue.engines import running
from dialogue.errors import InputError

if TYPE_CHECKING:
    from generation.checkpoints import TrainedModel
    from generation.encoding import Form
    from generation.numbering import Numbered
    from generation.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Matrix:
    """One checkpoint's states: where they go, and the hash of all they follow from."""

    trained: TrainedModel
    checkpoint: str
    weights: str
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """Whether states with this very key are there."""
        from dialogue.files import read_json

        sidecar = self.path.with_suffix(".json")
        return self.path.exists() and sidecar.exists() and read_json(sidecar).get("key") == self.key


@dataclass(frozen=True, slots=True)
class Encoding:
    """What is the same for every checkpoint."""

    contexts: list[Numbered]
    splits: list[str]
    form: Form
    vocabulary: Vocabulary
    device: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts and which checkpoints."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--condition", metavar="NAMES", help="encode these conditions, separated by commas, or all of them")
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--splits", default="train,valid,test", help="separated by commas (default: all three)")
    add("--checkpoints", default="untrained,last", help="separated by commas (default untrained,last)")
    add("--limit", type=int, help="number of contexts of each split, evenly spread (default: all)")
    add("--questions", action="store_true", help="states for next-utterance choice, in STUDY/question_states: the "
        "questions with their options, and training pairs to fit a head on (default 4000)")  # fmt: skip
    add("--pooling", choices=["own", "mean", "padded"], default="own", help="states to one vector (default own)")
    add("--layers", choices=["top", "all"], default="top", help="layers whose states are written (default top)")
    add("--float16", action="store_true", help="store 16-bit numbers, in half the space")
    add("--out", help="folder inside STUDY (default states, or question_states)")
    add("--device", default="cpu", help="auto, cpu or cuda (default cpu)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Encode what is not there yet; for every condition that is named, or for the study."""
    from dialogue.conditions import conditions_named
    from generation.checkpoints import find_trained, repliers

    refuse_below(args, limit=1)
    if args.condition and (args.corpus or args.db):
        raise InputError("A condition brings its own corpus and databases: leave --corpus and --db out.")
    models = (repliers if args.questions else find_trained)(args.study)
    for folder in conditions_named(args.study, args.condition) if args.condition else [args.study]:
        _encode_corpus(args, models, folder)
    then = "evaluators choose" if args.questions else "generation pair"
    tell_next(f"python -m {then}", args.study, *([] if args.questions else given(args, "corpus")))


def _encode_corpus(args: argparse.Namespace, models: list[TrainedModel], folder: Path) -> None:
    from tqdm import tqdm

    from dialogue.corpora.examples import examples
    from dialogue.corpora.reading import read_corpus
    from generation.checkpoints import kind_of
    from generation.encoding import Form
    from generation.numbering import evenly_spread, number_examples
    from generation.question_rows import QUESTION_STATES, rows_of_study
    from generation.speaking.speech import speech_of, with_databases
    from generation.vocabulary import read_vocabulary

    splits, place = args.splits.split(","), running.place_of(args, device=args.device)
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    corpus = with_databases(read_corpus(args.corpus or folder / "corpus"), args.db)
    name = args.out or (QUESTION_STATES if args.questions else "states")
    if args.questions:
        splits, rows = rows_of_study(args.study, corpus, vocabulary, args.limit)
    else:
        chosen = [e for split in splits for e in evenly_spread(list(examples(corpus.split(split))), args.limit)]
        rows = number_examples(chosen, vocabulary, speech_of(kind_of(models), corpus))
    if not rows:
        raise InputError(f"The splits {args.splits} hold no context. Name others: --splits train,valid,test")
    form = Form(args.pooling, args.layers, "float16" if args.float16 else "float32")
    encoding = Encoding(rows, splits, form, vocabulary, args.device)
    every = _matrices(folder / name, models, args.checkpoints.split(","), encoding)
    todo = [jobs.Job(matrix.path.stem, matrix.key, matrix) for matrix in every if not matrix.done]
    with tqdm(total=len(every), initial=len(every) - len(todo), disable=None, unit="checkpoint") as bar:
        for _ in running.run_jobs(jobs.Work(_encode, encoding, args.study / "logs" / "encode"), todo, place):
            bar.update()
    print(f"{folder / name}: {len(every)} matrices of {len(rows)} {'rows' if args.questions else 'contexts'}")
    print(f"{len(every) - len(todo)} of {len(every)} matrices were already there.")


def _matrices(folder: Path, models: list[TrainedModel], checkpoints: list[str], encoding: Encoding) -> list[Matrix]:
    from generation.checkpoints import weights_hash
    from generation.numbering import examples_hash

    same = examples_hash(encoding.contexts), encoding.splits, encoding.form, encoding.vocabulary.hash, jobs.JOB_THREADS
    found = []
    for trained, checkpoint in ((trained, checkpoint) for trained in models for checkpoint in checkpoints):
        weights = weights_hash(trained, checkpoint)
        path, key = folder / f"{trained.folder.name}-{checkpoint}.npy", jobs.content_key(weights, *same)
        found.append(Matrix(trained, checkpoint, weights, path, key))
    return found


def _encode(encoding: Encoding, matrix: Matrix) -> None:
    from dialogue.files import clear_halves
    from generation.checkpoints import load_model
    from generation.devices import pick_device, threads
    from generation.encoding import write_states

    trained, device = matrix.trained, pick_device(encoding.device)
    model = load_model(trained, matrix.checkpoint, encoding.vocabulary).to(device)
    clear_halves(matrix.path)
    with threads(jobs.JOB_THREADS):
        write_states(
            matrix.path, model, encoding.contexts, encoding.form, name=trained.model, seed=trained.seed,
            checkpoint=matrix.checkpoint, weights=matrix.weights, key=matrix.key, splits=encoding.splits, device=device,
        )  # fmt: skip
