"""Let every trained model of a study answer the same held-out contexts, and write responses.jsonl.

By default each model answers once greedily and twice by nucleus sampling; within-seed controls need the second draw.

  python -m generation sample runs/demo --limit 150 --decoding greedy,nucleus:0.9
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue import jobs
from dialogue.command_line import given, refuse_below, tell_next
from dialogue.engines import running

if TYPE_CHECKING:
    from generation.sampling import Round, Sampling
    from generation.vocabulary import Vocabulary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts, which checkpoint, how to decode."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=["train", "valid", "test"], default="test", help="split to answer (default test)")
    add("--limit", type=int, help="number of contexts, evenly spread over the split (default: all)")
    add("--checkpoint", default="last", help="untrained, epoch-N, last, best_bleu, ... (default last)")
    add(
        "--decoding",
        default="greedy,nucleus:0.9",
        help="one or more, separated by commas, e.g. greedy, beam:5, temperature:0.7, top_k:40, nucleus:0.9, "
        "top_k:40+temperature:0.7 (default greedy,nucleus:0.9)",
    )
    add("--draws", type=int, default=2, help="responses per context for sampled decodings (default 2)")
    add("--seed", type=int, default=0, help="seed of the draws (default 0)")
    add("--device", default="cpu", help="auto, cpu or cuda (default cpu)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Sample what is not there, then write responses.jsonl."""
    from tqdm import tqdm

    from dialogue.corpora.reading import read_corpus
    from dialogue.files import read_records, write_records
    from dialogue.records import Response
    from dialogue.signature import signature
    from generation.checkpoints import find_trained
    from generation.decoding import parse_decoding
    from generation.numbering import contexts_of, number_examples
    from generation.same_corpus import refuse_another
    from generation.sampling import Sampling, response_key, rounds
    from generation.vocabulary import read_vocabulary

    refuse_below(args, limit=1, draws=1)
    models, place = find_trained(args.study), running.place_of(args, device=args.device)
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    refuse_another(args.study / "responses.jsonl", corpus)
    contexts = number_examples(contexts_of(corpus, args.split, args.limit), vocabulary)
    decodings = [parse_decoding(text) for text in args.decoding.split(",")]
    sampling = Sampling(contexts, decodings, args.draws, args.checkpoint, args.seed)
    every = rounds(args.study, models, sampling, vocabulary)
    todo = _by_model([one for one in every if not one.path.exists()])
    work = jobs.Work(_answer, (sampling, vocabulary, args.device), args.study / "logs" / "sample")
    with tqdm(total=len(models), initial=len(models) - len(todo), disable=None, unit="model") as bar:
        for _ in running.run_jobs(work, todo, place):
            bar.update()
    path = args.study / "responses.jsonl"
    earlier = read_records(path, Response) if path.exists() else []
    made = [response for one in every for response in read_records(one.path, Response)]
    responses = list({response_key(response): response for response in [*earlier, *made]}.values())
    recipe = signature(
        split=args.split, contexts=len(contexts), checkpoint=args.checkpoint, decoding=[how.name for how in decodings],
        draws=args.draws, seed=args.seed, vocabulary=vocabulary.hash[:12],
        corpus=corpus.digest, threads=jobs.JOB_THREADS,
    )  # fmt: skip
    if responses != earlier:
        write_records(path, responses, signature=recipe, kind=Response)
    print(f"{path}: {len(responses)} responses of {len(models)} models to {len(contexts)} contexts")
    print(f"{len(models) - len(todo)} of {len(models)} models had already answered.\n{recipe}")
    tell_next("python -m generation score", args.study, *given(args, "corpus"))


def _by_model(todo: list[Round]) -> list[jobs.Job]:
    groups = [list(group) for _, group in groupby(todo, key=lambda one: one.trained)]
    return [
        jobs.Job(group[0].trained.folder.name, jobs.content_key(*[one.path.name for one in group]), group)
        for group in groups
    ]


def _answer(shared: tuple[Sampling, Vocabulary, str], todo: list[Round]) -> None:
    from generation.devices import pick_device
    from generation.sampling import answer_rounds

    sampling, vocabulary, device = shared
    answer_rounds(sampling, vocabulary, todo, pick_device(device))
