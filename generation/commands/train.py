"""Train architectures under several seeds. Finished models are skipped, and interrupted training continues.

python -m generation train runs/demo --models seq2seq,bilstm_attn --seeds 0-2 --preset small --epochs 5 --jobs 2
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.generation.training import Settings
    from seedvote.generation.vocabulary import PieceVocabulary

# Batch size, learning rate and clip of each preset. A small corpus wants more and larger updates.
PRESETS = {"tiny": (32, 1e-2, 1.0), "small": (32, 4e-3, 1.0), "paper": (64, 1e-3, 1.0), "code": (64, 1e-3, 10.0)}

FINE_TUNING = {False: (16, 5e-5, 1.0), True: (16, 2e-4, 1.0)}  # all weights, or an adapter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to train, on what, and how."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--base", metavar="MODEL", help="fine-tune this one instead: folder, .gguf file, smollm2; with --fetch a name")
    add("--lora", type=int, default=0, metavar="RANK", help="train an adapter of this rank (default: all weights)")
    add("--name", help="name of the fine-tuned model (default: the folder's)")
    add("--template", metavar="NAME", help="how it reads a dialogue, as in `import` (default: as it knows)")
    add("--fetch", action="store_true", help="allow the base to be fetched from the hub")
    add(
        "--vary",
        default="all",
        metavar="WHAT",
        help="what follows from the seeds: all (default), init, order or dropout; the rest follows from seed 0",
    )
    add("--models", default="all", help="names separated by commas, or all (default: all)")
    add(
        "--speak",
        choices=("reply", "task", "policy"),
        default="reply",
        help="replies, an agent's turns (belief, database, reply), or its replies with beliefs given (default reply)",
    )
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--train-on", choices=("train", "valid"), default="train", help="split to learn from (default train)")
    add("--seeds", default="0-2", help="training seeds, e.g. 0-2 or 0,5,7 (default 0-2)")
    add("--preset", choices=list(PRESETS), default="paper", help="sizes (default: paper; code: as the papers' code)")
    add("--epochs", type=int, help="passes over the training data (default 25, as in the papers; with --base 3)")
    add("--batch-size", type=int, help="examples per update (default: 64; 32 for small and tiny; with --base 16)")
    add(
        "--learning-rate",
        type=float,
        help="learning rate of Adam (default: 0.001; 0.004 for small, 0.01 for tiny; with --base 0.00005, LoRA 0.0002)",
    )
    add("--schedule", default="constant", help="of the learning rate: constant (default), linear or cosine, to 0")
    add("--warmup", type=float, default=0.0, metavar="SHARE", help="share of the updates in which it grows (default 0)")
    add("--accumulate", type=int, default=1, metavar="N", help="batches that make one update (default 1)")
    add(
        "--stop-after",
        type=int,
        default=0,
        metavar="N",
        help="stop after N epochs without a better score (default never)",
    )
    add("--stop-by", default="valid_loss", metavar="SCORE", help="that score: valid_loss (default), loss, bleu2, ...")
    add("--callback", default="", metavar="NAME", help="called after each epoch: tensorboard, or MODULE:FUNCTION")
    add("--clip", type=float, help="clip the gradient to this norm (default 1; 10 for code)")
    add("--dialogues", type=int, help="number of training dialogues (default: all)")
    add("--valid", type=int, default=200, help="validation contexts scored after each epoch (default 200)")
    add(
        "--vocabulary-size", type=int, default=20_000, help="maximum size of a new vocabulary, in words (default 20000)"
    )
    add("--at-least", type=int, default=1, help="minimum count of a word in a new vocabulary (default 1)")
    add(
        "--keep-epochs",
        metavar="WHICH",
        default="all",
        help="epochs whose weights stay, aside from untrained, last and best: all (default), none, or every Nth (5)",
    )
    add("--encoder", type=Path, metavar="FOLDER", help="local Hugging Face encoder that picks best_encoder")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default cpu)")
    add(
        "--precision",
        choices=["auto", "float32", "bf16"],
        default="auto",
        help="precision of matrix products (default auto: bf16 for the transformer on CUDA, else float32)",
    )
    add(
        "--deterministic",
        action="store_true",
        help="on CUDA, only algorithms that give the same bits again (slower; a CPU always does)",
    )
    running.add_job_arguments(parser, one_at_a_time=True)


def run(args: argparse.Namespace) -> None:
    """Prepare the data once, then train what is not done."""
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.generation.numbering import keep_pieces, study_vocabulary, training_data
    from seedvote.generation.speaking.speech import speech_of, with_databases
    from seedvote.generation.training import Grid, encoder_of, train_one

    refuse_below(
        args, epochs=1, batch_size=1, dialogues=1, valid=0, vocabulary_size=10, at_least=1, lora=0, accumulate=1
    )
    base = _open_base(args) if args.base else None
    chosen, place = _grid_settings(args, base[1] if base else None), running.place_of(args, device=args.device)
    encoder = encoder_of(args.encoder) if args.encoder else None
    corpus = with_databases(read_corpus(args.corpus or args.study / "corpus"), args.db)
    spoken = {"speech": speech_of(args.speak, corpus), "split": args.train_on}
    if base:
        vocabulary = keep_pieces(args.study, base[0])
    else:
        largest, at_least = args.vocabulary_size, args.at_least
        vocabulary = study_vocabulary(args.study, corpus, largest=largest, at_least=at_least, **spoken)
    data = training_data(corpus, vocabulary, dialogues=args.dialogues, valid=args.valid, **spoken)
    words = "pieces" if base else "words"
    print(f"{len(chosen)} models, {len(vocabulary)} {words}, speaking {args.speak}, trained on {data.recipe}")
    if args.precision == "bf16" and (
        exact := sorted({settings.model for settings in chosen if settings.precision != "bf16"})
    ):
        print(f"Trained in float32: {', '.join(exact)}. Their LSTMs cannot learn in bf16 on this device.")
    grid = Grid(args.study, data, args.device, encoder, _kept_epochs(args.keep_epochs), args.callback)
    todo = [settings for settings in chosen if not grid.done(settings)]
    work, rows = jobs.Work(train_one, grid, args.study / "logs" / "train"), place.limit or len(todo)
    pieces = [grid.job(settings, n % rows) for n, settings in enumerate(todo)]
    for line in running.run_jobs(work, pieces, place):
        print(line, flush=True)
    print(f"{len(chosen) - len(todo)} of {len(chosen)} models were already trained.")
    if pruned := sum(grid.prune(settings) for settings in chosen if settings not in todo):
        print(f"Weights of {pruned} epochs of these were removed (--keep-epochs {args.keep_epochs}).")
    from seedvote.generation.curves import draw_curves  # here: matplotlib leaves its cache in the home folder

    if picture := draw_curves(args.study):
        print(f"{picture}: loss and BLEU-2 by epoch")
    tell_next("python -m generation sample", args.study, *repeat_options(args, "corpus", "db"))


def _open_base(args: argparse.Namespace) -> tuple[PieceVocabulary, dict[str, Any]]:
    """The vocabulary of a pretrained model, and what is built from it."""
    from seedvote.generation.pretrained import base_of, unpack_base

    if args.models != "all" or args.speak != "reply":
        raise InputError(
            "--base fine-tunes one pretrained model, which speaks replies: leave --models and --speak out."
        )
    args.study.mkdir(parents=True, exist_ok=True)
    base = unpack_base(args.base, args.study / "base", fetch=args.fetch)
    vocabulary, sizes, template = base_of(base, lora=args.lora, template=args.template, fetch=args.fetch)
    print(template.describe() + "\n" if template.name else "", end="")
    return vocabulary, sizes


def _name_base(args: argparse.Namespace) -> str:
    from seedvote.generation.imports.hugging_face import model_place
    from seedvote.generation.models.architectures import ARCHITECTURES

    name = str(args.name or model_place(args.base).name)
    if "/" in name or name in ARCHITECTURES:
        raise InputError(f"{name!r} cannot be the name of a fine-tuned model. Give it another one: --name.")
    return name


def _grid_settings(args: argparse.Namespace, base: dict[str, Any] | None) -> list[Settings]:
    from seedvote.dialogue.seeds import parse_seeds
    from seedvote.generation.models.architectures import ARCHITECTURES, sizes_of
    from seedvote.generation.training import SCHEDULES, VARIED, Settings

    refuse_below(args, stop_after=0)
    if args.schedule not in SCHEDULES:
        raise InputError(f"--schedule is {args.schedule!r}. Choose from {', '.join(SCHEDULES)}.")
    if not 0 <= args.warmup < 1:
        raise InputError(f"--warmup is {args.warmup}; a share of all updates is expected, from 0 to below 1.")
    if args.vary not in VARIED:
        raise InputError(f"--vary is {args.vary!r}. Choose from {', '.join(VARIED)}.")
    if not base and (args.lora or args.name or args.template):
        raise InputError("--lora, --name and --template are for a pretrained model: --base MODEL.")
    for name in ("learning_rate", "clip"):
        if (value := getattr(args, name)) is not None and not 0 < value < math.inf:
            raise InputError(f"--{name.replace('_', '-')} is {value}; a number above 0 is expected.")
    try:
        seeds = parse_seeds(args.seeds)
    except ValueError as error:
        raise InputError(f"--seeds is {args.seeds!r} ({error}). Write them like 0-2 or 0,5,7.") from error
    models = list(ARCHITECTURES) if args.models == "all" else args.models.split(",")
    batch_size, rate, clip = PRESETS[args.preset]
    if base:
        models, (batch_size, rate, clip) = [_name_base(args)], FINE_TUNING[bool(args.lora)]
    batch_size, rate, clip = args.batch_size or batch_size, args.learning_rate or rate, args.clip or clip
    precision, device = _read_precision(args)
    return [
        Settings(
            model,
            seed,
            base or sizes_of(model, args.preset),
            args.epochs or (3 if base else 25),
            batch_size,
            rate,
            clip,
            precision=precision if base else precision_for(model, precision, device),
            deterministic=args.deterministic,
            vary=args.vary,
            schedule=args.schedule,
            warmup=args.warmup,
            accumulate=args.accumulate,
            patience=args.stop_after,
            watched=args.stop_by,
        )
        for model in models
        for seed in seeds
    ]


def _kept_epochs(text: str) -> int | None:
    """Every so-manieth epoch; 0 for none, None for all."""
    if text in ("all", "none"):
        return None if text == "all" else 0
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--keep-epochs is {text!r}. Choose from: all, none, or a number N for every Nth epoch.")
    return int(text)


def precision_for(model: str, precision: str, device: str) -> str:
    """What an architecture is trained in: float32 where its LSTMs cannot learn in bf16."""
    from seedvote.dialogue.devices import lstms_take_bf16
    from seedvote.generation.models.architectures import ARCHITECTURES, check_architecture

    can = (
        not ARCHITECTURES[check_architecture(model)].module.has_lstms or precision != "bf16" or lstms_take_bf16(device)
    )
    return precision if can else "float32"


def _read_precision(args: argparse.Namespace) -> tuple[str, str]:
    """The precision that is asked for, and the kind of device."""
    from seedvote.dialogue.devices import pick_device, pick_precision

    if args.on == "local" or not args.device.startswith("cuda"):
        device = pick_device(args.device)
        return pick_precision(args.precision, device), device.type
    if args.precision == "auto":
        raise InputError(
            "This machine cannot check what the remote GPUs support: add --precision bf16 or --precision float32."
        )
    return str(args.precision), str(args.device)
