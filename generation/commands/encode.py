"""Write the encoder states of contexts for probes: states/<model>-<seed>-<checkpoint>.npy with a JSON sidecar.

python -m generation encode runs/demo --splits train,valid,test --checkpoints untrained,last
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dialogue.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts and which checkpoints."""
    parser.add_argument("study", type=Path, help="study folder")
    parser.add_argument("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    parser.add_argument("--splits", default="train,valid,test", help="joined by commas (default: all three)")
    parser.add_argument("--checkpoints", default="untrained,last", help="joined by commas (default untrained,last)")
    parser.add_argument("--limit", type=int, help="so many contexts of each split, evenly spread (default: all)")
    parser.add_argument("--pooling", choices=["own", "mean", "padded"], default="own", help="see docs/generation.md")
    parser.add_argument("--layers", choices=["top", "all"], default="top", help="default top")
    parser.add_argument("--float16", action="store_true", help="half the space")
    parser.add_argument("--out", default="states", help="folder inside STUDY (default states)")
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda")


def run(args: argparse.Namespace) -> None:
    """Encode what is not there yet."""
    from tqdm import tqdm

    from dialogue.corpora.examples import examples
    from dialogue.corpora.reading import read_corpus
    from generation.checkpoints import find_trained, hash_of, load_model
    from generation.devices import pick_device
    from generation.encoding import Form, pooling_name, write_states
    from generation.numbering import number, spread
    from generation.vocabulary import read_vocabulary

    models, splits = find_trained(args.study), args.splits.split(",")
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    chosen = [e for split in splits for e in spread(list(examples(corpus.split(split))), args.limit)]
    if not chosen:
        raise InputError(f"The splits {args.splits} hold no context. Name others: --splits train,valid,test")
    contexts, device = number(chosen, vocabulary), pick_device(args.device)
    form = Form(args.pooling, args.layers, "float16" if args.float16 else "float32")
    todo = [(trained, name) for trained in models for name in args.checkpoints.split(",")]
    for trained, checkpoint in tqdm(todo, disable=None, unit="checkpoint"):
        weights = hash_of(trained, checkpoint)
        path = args.study / args.out / f"{trained.folder.name}-{checkpoint}.npy"
        model = load_model(trained, checkpoint, vocabulary).to(device)
        known = (weights, pooling_name(model, form), form.dtype, [e.item for e in contexts])
        if not _done(path, *known):
            write_states(
                path, model, contexts, form, name=trained.model, seed=trained.seed, checkpoint=checkpoint,
                weights=weights, splits=splits, device=device,
            )  # fmt: skip
    print(f"{args.study / args.out}: {len(todo)} matrices of {len(contexts)} contexts")


def _done(path: Path, weights: str, pooling: str, dtype: str, ids: list[str]) -> bool:
    from dialogue.files import read_json

    sidecar = path.with_suffix(".json")
    if not (path.exists() and sidecar.exists()):
        return False
    known = read_json(sidecar)
    return bool((known["weights"], known["pooling"], known["dtype"], known["ids"]) == (weights, pooling, dtype, ids))
