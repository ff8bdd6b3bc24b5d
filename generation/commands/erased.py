"""Decode again while something is erased from all that the decoder sees: STUDY/erased/.

Reads the erasers of `probes erase`. For each of them, and once without, it writes the reply to every context and the
likelihood of the reference. To each reply belong its dialogue acts, as read from its words, and how similar it is to
the reply without erasure.

  python -m generation erased runs/demo --limit 200
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.generation.redecoding import ErasedPart, Redecoding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts, and how to decode."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=["train", "valid", "test"], default="test", help="split to answer (default test)")
    add("--limit", type=int, help="number of contexts, evenly spread over the split (default: all)")
    add("--decoding", default="greedy", help="one decoding, as for sample (default greedy)")
    add("--seed", type=int, default=0, help="seed of the draws, where replies are drawn (default 0)")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default cpu)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Decode what is not there yet."""
    from tqdm import tqdm

    from seedvote.generation.checkpoints import find_repliers
    from seedvote.generation.redecoding import erased_parts

    refuse_below(args, limit=1)
    shared = _read_shared(args)
    every = erased_parts(args.study, find_repliers(args.study), shared)
    todo = [
        jobs.Job(name, jobs.content_key(*[part.key for part in parts]), parts)
        for name, parts in ((name, list(group)) for name, group in groupby(every, lambda part: part.path.parent.name))
        if not all(part.done for part in parts)
    ]
    work = jobs.Work(_redecode_parts, (shared, args.device), args.study / "logs" / "erased")
    missing = sum(not part.done for part in every)
    with tqdm(total=len(every), initial=len(every) - missing, disable=None, unit="eraser") as bar:
        for done in running.run_jobs(work, todo, running.place_of(args, device=args.device)):
            bar.update(done)
    print(f"{args.study / 'erased'}: {len(every)} files of {len(shared.contexts)} replies")
    print(f"{len(every) - missing} of {len(every)} files were already there.")
    tell_next("python -m analysis erasure", args.study)


def _read_shared(args: argparse.Namespace) -> Redecoding:
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.generation.decoding import parse_decoding
    from seedvote.generation.numbering import contexts_of, number_examples
    from seedvote.generation.redecoding import Redecoding, act_reader
    from seedvote.generation.vocabulary import read_vocabulary

    corpus = read_corpus(args.corpus or args.study / "corpus")
    vocabulary, chosen = read_vocabulary(args.study / "vocabulary.json"), contexts_of(corpus, args.split, args.limit)
    other_splits = [
        example
        for split in ("train", "valid", "test")
        if split != args.split
        for example in iterate_examples(corpus.split(split))
    ]
    if acts := act_reader(other_splits):
        held_out = [example for example in chosen if example.target.acts is not None]
        accuracy = f" (of {len(held_out)} references: {acts.accuracy(held_out):.0%} right)" if held_out else ""
        print(f"Acts are read from the most similar annotated reply of the other splits{accuracy}.")
    return Redecoding(
        number_examples(chosen, vocabulary), parse_decoding(args.decoding), args.seed, vocabulary, acts, args.split
    )


def _redecode_parts(shared: tuple[Redecoding, str], parts: list[ErasedPart]) -> int:
    from seedvote.dialogue.devices import pick_device
    from seedvote.generation.redecoding import redecode_checkpoint

    missing = sum(not part.done for part in parts)
    redecode_checkpoint(shared[0], parts, pick_device(shared[1]))
    return missing
