"""Train architectures under several seeds; what is done is skipped, what was broken off goes on.

python -m generation train runs/demo --models seq2seq,bilstm_attn --seeds 0-2 --preset small --epochs 5 --jobs 2
"""

from __future__ import annotations

import argparse
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.errors import InputError

if TYPE_CHECKING:
    from generation.numbering import Data
    from generation.training import Settings

BATCH_AND_RATE = {"small": (32, 4e-3), "paper": (64, 1e-3)}  # a small corpus wants more and larger updates
_DATA: list[Data] = []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to train, on what, and how."""
    parser.add_argument("study", type=Path, help="study folder")
    parser.add_argument("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    parser.add_argument("--models", default="all", help="names joined by commas, or all")
    parser.add_argument("--seeds", default="0-2", help="e.g. 0-2 or 0,5,7 (default 0-2)")
    parser.add_argument("--preset", choices=["small", "paper"], default="paper", help="sizes (default: paper)")
    parser.add_argument("--epochs", type=int, default=25, help="default 25, the papers'")
    parser.add_argument("--batch-size", type=int, help="default: 64, and 32 for the small preset")
    parser.add_argument("--learning-rate", type=float, help="Adam's (default: 0.001, and 0.004 for the small preset)")
    parser.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient (default 1)")
    parser.add_argument("--dialogues", type=int, help="train on so many dialogues (default: all)")
    parser.add_argument("--valid", type=int, default=200, help="validation contexts scored after each epoch")
    parser.add_argument("--vocabulary-size", type=int, default=20_000, help="most words kept, when built")
    parser.add_argument("--at-least", type=int, default=1, help="times a word must occur to be kept")
    parser.add_argument("--jobs", type=int, default=1, help="models trained side by side, one thread each")
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda")


def run(args: argparse.Namespace) -> None:
    """Prepare the data once, then train what is not done."""
    from dialogue.corpora.reading import read_corpus
    from generation.numbering import prepare, study_vocabulary

    grid = _grid(args)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    vocabulary = study_vocabulary(args.study, corpus, largest=args.vocabulary_size, at_least=args.at_least)
    data = prepare(corpus, vocabulary, dialogues=args.dialogues, valid=args.valid)
    print(f"{len(grid)} models on {data.recipe}, {len(vocabulary)} words")
    _DATA[:] = [data]
    if args.jobs == 1:
        for settings in grid:
            print(_train_one(args.study, settings, args.device, 0))
    else:
        _train_side_by_side(args, grid, data)


def _grid(args: argparse.Namespace) -> list[Settings]:
    from dialogue.seeds import parse_seeds
    from generation.models.architectures import ARCHITECTURES, sizes_of
    from generation.training import Settings

    for name in ("epochs", "batch_size", "jobs"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} is {value}; 1 is the least.")
    try:
        seeds = parse_seeds(args.seeds)
    except ValueError as error:
        raise InputError(f"--seeds is {args.seeds!r} ({error}). Write them like 0-2 or 0,5,7.") from error
    models = list(ARCHITECTURES) if args.models == "all" else args.models.split(",")
    batch_size, rate = BATCH_AND_RATE[args.preset]
    batch_size, rate = args.batch_size or batch_size, args.learning_rate or rate
    return [
        Settings(model, seed, sizes_of(model, args.preset), args.epochs, batch_size, rate, args.clip)
        for model in models
        for seed in seeds
    ]


def _train_side_by_side(args: argparse.Namespace, grid: list[Settings], data: Data) -> None:
    pool = ProcessPoolExecutor(args.jobs, get_context("spawn"), initializer=_take, initargs=(data,))
    try:
        running = [
            pool.submit(_train_one, args.study, settings, args.device, n % args.jobs) for n, settings in enumerate(grid)
        ]
        for future in running:
            print(future.result(), flush=True)
    except BrokenProcessPool as error:
        raise InputError(
            "A training process was killed (out of memory?). What was done is kept; run the same command again, "
            "with fewer --jobs if memory is short."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _take(data: Data) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker at once and quietly: files are whole or absent
    _DATA[:] = [data]


def _train_one(study: Path, settings: Settings, device: str, row: int) -> str:
    from generation.devices import pick_device
    from generation.training import read_log, train

    folder = study / "models" / f"{settings.model}-{settings.seed}"
    train(folder, settings, _DATA[0], pick_device(device), bar_row=row)
    last = read_log(folder)[-1]
    shown = ", ".join(f"{name} {last[name]:.3f}" for name in ("loss", "valid_loss", "bleu2") if name in last)
    return f"{folder.name}: {last['epoch']} epochs, {shown}"
