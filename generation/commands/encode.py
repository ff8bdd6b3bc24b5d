"""Write the encoder states of contexts for probes: states/<model>-<seed>-<checkpoint>.npy with a JSON sidecar.

python -m generation encode runs/demo --splits train,valid,test --checkpoints untrained,last

Of a model from elsewhere each layer is a representation, states/<model>.layer-NN-<checkpoint>.npy; one of the same
architecture with random weights is its untrained control:

python -m generation encode runs/mine --hugging-face path/to/model --layers each --random-init 0-2
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.generation.checkpoints import TrainedModel

THEN = {"decoder": "probes erase"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts and which checkpoints."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--condition", metavar="NAMES", help="encode these conditions, separated by commas, or all of them")
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--splits", default="train,valid,test", help="separated by commas (default: all three)")
    add("--checkpoints", help="separated by commas, or all (default untrained,last)")
    add("--limit", type=int, help="number of contexts of each split, evenly spread (default: all)")
    add(
        "--questions",
        action="store_true",
        help="states for next-utterance choice, in STUDY/question_states: the "
        "questions with their options, and training pairs to fit a head on (default 4000)",
    )
    add(
        "--pooling",
        choices=["own", "last", "mean", "first", "padded", "decoder"],
        default="own",
        help="states to one vector (default: as the model does it itself); decoder: for probes erase",
    )
    add("--layers", default="top", help="top (default), all side by side, each by itself, or 0,6,12")
    add("--float16", action="store_true", help="store 16-bit numbers, in half the space")
    add("--out", help="folder inside STUDY (default states, question_states or decoder_states)")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default cpu)")
    add_elsewhere = parser.add_argument_group("a model from elsewhere").add_argument
    add_elsewhere(
        "--hugging-face", metavar="MODEL", help="folder, .gguf file or smollm2; a name on the hub with --fetch"
    )
    add_elsewhere("--fetch", action="store_true", help="allow the model to be fetched from the hub")
    add_elsewhere(
        "--random-init", metavar="SEEDS", help="also states of its architecture with random weights, e.g. 0-2"
    )
    add_elsewhere("--template", metavar="NAME", help="how it reads a dialogue, as in `import`")
    add_elsewhere("--batch", type=int, default=16, help="contexts that go through it together, at most (default 16)")
    add_elsewhere("--precision", default="float32", help="float32 (default), bfloat16, float16 or float64")
    add_elsewhere("--model", help="its name in the study (default: the folder's or file's)")
    add_elsewhere("--seed", type=int, help="its training seed, if it is one of several (default: none)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Encode what is not there yet; for every condition that is named, or for the study."""
    from seedvote.dialogue.conditions import conditions_named
    from seedvote.generation.checkpoints import find_repliers, find_trained

    refuse_below(args, limit=1, batch=1)
    if args.condition and (args.corpus or args.db):
        raise InputError("A condition brings its own corpus and databases: leave --corpus and --db out.")
    folders = conditions_named(args.study, args.condition) if args.condition else [args.study]
    if args.hugging_face:
        _check_elsewhere(args)
        for folder in folders:
            _encode_elsewhere(args, folder)
        tell_next("python -m probes run", args.study, *repeat_options(args, "corpus"))
        return
    named = args.layers in ("top", "all", "each") or all(part.isdecimal() for part in args.layers.split(","))
    if not named or args.pooling in ("last", "first"):
        raise InputError(
            "The study's own models have --layers top, all, each or numbers, and --pooling own, mean, padded or "
            "decoder; other words are for a model from elsewhere: --hugging-face."
        )
    models = (find_repliers if args.questions else find_trained)(args.study)
    for folder in folders:
        _encode_corpus(args, models, folder)
    then = "evaluators choose" if args.questions else THEN.get(args.pooling, "generation pair")
    tell_next(f"python -m {then}", args.study, *([] if args.questions else repeat_options(args, "corpus")))


def _encode_corpus(args: argparse.Namespace, models: list[TrainedModel], folder: Path) -> None:
    from tqdm import tqdm

    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.questions import QUESTION_STATES
    from seedvote.generation.checkpoints import kind_of, named_checkpoints
    from seedvote.generation.encoding import (
        Encoding,
        Form,
        by_checkpoint,
        encode_again,
        encode_matrices,
        list_matrices,
        rows_of_study,
        to_encode,
    )
    from seedvote.generation.erasing import FOLDERS
    from seedvote.generation.numbering import number_examples, spread_over
    from seedvote.generation.speaking.speech import speech_of, with_databases
    from seedvote.generation.vocabulary import read_vocabulary

    splits, place = args.splits.split(","), running.place_of(args, device=args.device)
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    corpus = with_databases(read_corpus(args.corpus or folder / "corpus"), args.db)
    name = args.out or (QUESTION_STATES if args.questions else FOLDERS.get(args.pooling, "states"))
    if args.questions:
        splits, rows = rows_of_study(args.study, corpus, vocabulary, args.limit)
    else:
        chosen = spread_over(corpus, splits, args.limit)
        rows = number_examples(chosen, vocabulary, speech_of(kind_of(models), corpus))
    single = args.layers not in ("top", "all")
    form = Form(args.pooling, "all" if single else args.layers, "float16" if args.float16 else "float32")
    encoding = Encoding(rows, splits, form, vocabulary, args.device, args.layers if single else "")
    every = list_matrices(
        folder / name, models, named_checkpoints(models, args.checkpoints or "untrained,last"), encoding
    )
    todo, again = to_encode(every)
    done, pieces = (
        len(every) - len(todo) - len(again),
        [
            jobs.Job(group[0].path.stem, jobs.content_key(*(matrix.key for matrix in group)), group)
            for group in by_checkpoint(todo)
        ],
    )
    work = jobs.Work(encode_matrices, encoding, args.study / "logs" / "encode")
    with tqdm(total=len(every), initial=done, disable=None, unit="checkpoint") as bar:
        for written in running.run_jobs(work, pieces, place):
            bar.update(written)
        for pair in again:
            encode_again(*pair)
            bar.update()
    print(f"{folder / name}: {len(every)} matrices of {len(rows)} {'rows' if args.questions else 'contexts'}")
    print(f"{done} of {len(every)} matrices were already there.")


def _check_elsewhere(args: argparse.Namespace) -> None:
    if args.questions or args.on != "local" or args.pooling == "decoder":
        raise InputError(
            "With --hugging-face, leave --questions, --on and --pooling decoder out: contexts are encoded, right here."
        )
    if "," in (args.checkpoints or ""):
        raise InputError("A folder holds one checkpoint: --checkpoints names it (default last), e.g. epoch-3.")


def _encode_elsewhere(args: argparse.Namespace, folder: Path) -> None:
    from tqdm import tqdm

    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.generation.imports import hidden_states
    from seedvote.generation.numbering import spread_over

    splits, corpus = list(dict.fromkeys(args.splits.split(","))), read_corpus(args.corpus or folder / "corpus")
    chosen = spread_over(corpus, splits, args.limit)
    options = hidden_states.StatesRequest(
        args.hugging_face,
        args.fetch,
        args.device,
        args.precision,
        args.batch,
        args.layers,
        args.pooling,
        args.model,
        args.seed,
        args.checkpoints or "last",
        "float16" if args.float16 else "float32",
        splits,
        args.template,
    )
    out = folder / (args.out or "states")
    for seed in [None, *hidden_states.random_seeds(args.random_init)]:
        with tqdm(total=len(chosen), disable=None, unit="context") as bar:
            for sentence in hidden_states.encode_elsewhere(options, chosen, out, seed, bar.update):
                print(sentence)
