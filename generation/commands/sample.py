"""Let every trained model of a study answer the same held-out contexts: responses.jsonl.

By default each answers greedily, and twice by nucleus sampling: the second draw makes within-seed controls possible.

  python -m generation sample runs/demo --limit 150 --decoding greedy,nucleus:0.9
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts, which checkpoint, how to decode."""
    parser.add_argument("study", type=Path, help="study folder")
    parser.add_argument("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    parser.add_argument("--split", choices=["train", "valid", "test"], default="test")
    parser.add_argument("--limit", type=int, help="so many contexts, evenly spread over the split (default: all)")
    parser.add_argument("--checkpoint", default="last", help="untrained, epoch-N, last, best_bleu, ... (default last)")
    parser.add_argument(
        "--decoding",
        default="greedy,nucleus:0.9",
        help="one or more, joined by commas: greedy, beam:5, temperature:0.7, top_k:40, nucleus:0.9, "
        "top_k:40+temperature:0.7 (default greedy,nucleus:0.9)",
    )
    parser.add_argument("--draws", type=int, default=2, help="responses a context for sampled decodings (default 2)")
    parser.add_argument("--seed", type=int, default=0, help="of the draws (default 0)")
    parser.add_argument("--device", default="cpu", help="auto, cpu, cuda")


def run(args: argparse.Namespace) -> None:
    """Sample, keep what is there, write responses.jsonl."""
    import sys

    from tqdm import tqdm

    from dialogue.corpora.examples import examples
    from dialogue.corpora.reading import read_corpus
    from dialogue.files import read_records, write_records
    from dialogue.records import Response
    from dialogue.signature import signature
    from generation.checkpoints import find_trained
    from generation.decoding import parse_decoding
    from generation.devices import pick_device
    from generation.numbering import number, spread
    from generation.sampling import Wanted, sample_all
    from generation.vocabulary import read_vocabulary

    models = find_trained(args.study)
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    contexts = number(spread(list(examples(corpus.split(args.split))), args.limit), vocabulary)
    decodings = [parse_decoding(text) for text in args.decoding.split(",")]
    wanted = Wanted(contexts, decodings, args.draws, args.checkpoint, args.seed)
    path = args.study / "responses.jsonl"
    earlier = read_records(path, Response) if path.exists() else []
    with tqdm(total=len(models), disable=None, unit="model", file=sys.stderr) as bar:
        responses = sample_all(models, wanted, vocabulary, earlier, device=pick_device(args.device), tell=bar.update)
    recipe = signature(
        split=args.split, contexts=len(contexts), checkpoint=args.checkpoint, decoding=[how.name for how in decodings],
        draws=args.draws, seed=args.seed, vocabulary=vocabulary.hash[:12],
    )  # fmt: skip
    if responses != earlier:
        write_records(path, responses, signature=recipe, kind=Response)
    print(f"{path}: {len(responses)} responses of {len(models)} models to {len(contexts)} contexts\n{recipe}")
