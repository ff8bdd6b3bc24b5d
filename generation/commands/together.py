"""Make sets of responses for raters, several systems at once or each response alone: response_sets.jsonl.

By default all models of responses.jsonl, under all their seeds, stand in every set. --size 1 shows each response alone;
a smaller --size shows every combination of so many in turn. A set's hidden checks come from the corpus.

  python -m generation together runs/demo --models bilstm_attn,hred --contexts 50 --checks 6
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

MOST = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many of what."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--models", metavar="A,B,...", help="which models (default: all of responses.jsonl)")
    add("--checkpoint", default="last", help="checkpoint whose responses are shown (default last)")
    add("--decoding", default="auto", help="decoding that is shown (default: the sampled one, else greedy)")
    add("--size", type=int, help=f"responses in a set, 1 to {MOST} (default: all systems)")
    add("--contexts", type=int, default=100, help="conversations to answer (default 100)")
    add("--distinct", action="store_true", help="leave out contexts to which two of a set said the same")
    add("--checks", type=int, default=12, help="sanity checks (default 12)")
    add("--seed", type=int, default=0, help="seed of contexts and checks (default 0)")


def run(args: argparse.Namespace) -> None:
    """Gather the systems, make the sets, write them."""
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.files import read_records, write_records
    from seedvote.dialogue.records import Response, ResponseSet
    from seedvote.dialogue.signature import signature
    from seedvote.generation.pairing import (
        answers_of,
        chosen_decoding,
        of_checkpoint,
        response_sets,
        sanity_checks,
        sets_of_checks,
        systems_of,
    )
    from seedvote.generation.same_corpus import check_utterances

    refuse_below(args, contexts=1, checks=0)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    check_utterances(args.study / "responses.jsonl", corpus)
    known = {e.item: e for e in iterate_examples(corpus.dialogues)}
    responses = of_checkpoint(args.checkpoint, read_records(args.study / "responses.jsonl", Response))
    names = args.models.split(",") if args.models else sorted({response.model for response in responses})
    how = {name: chosen_decoding(args.decoding, responses, name) for name in names}
    systems = systems_of({name: answers_of(responses, name, how[name]) for name in names})
    size = _check_size(args.size, len(systems))
    sets = response_sets(systems, known, args.contexts, size, seed=args.seed, distinct=args.distinct)
    held_out = corpus.split("valid") or corpus.split("test")
    checks = sets_of_checks(
        sanity_checks(list(iterate_examples(held_out)), args.checks, seed=args.seed), size, seed=args.seed
    )
    recipe = signature(
        systems=list(systems),
        size=size,
        checkpoint=args.checkpoint,
        decoding=sorted(set(how.values())),
        sets=len(sets),
        checks=len(checks),
        distinct=args.distinct or None,
        seed=args.seed,
    )
    path = args.study / "response_sets.jsonl"
    write_records(path, [*sets, *checks], signature=recipe, kind=ResponseSet)
    contexts, same = (
        len({response_set.item for response_set in sets}),
        sum(response_set.identical for response_set in sets),
    )
    print(f"{path}: {len(sets)} sets of {size} of {len(systems)} systems to {contexts} contexts, {len(checks)} checks")
    print(f"{same} sets hold one text alone (flagged)\n{recipe}")
    if not (args.study / "hit.toml").exists():
        print(f'Say in {args.study / "hit.toml"} that sets are shown: form = "responses"')
    tell_next("python -m crowd serve", args.study, "--open")


def _check_size(size: int | None, systems: int) -> int:
    most = min(systems, MOST)
    if size is None and systems <= MOST:
        return systems
    if size is None or not 1 <= size <= most:
        raise InputError(f"--size is {size}; of {systems} systems 1 to {most} can stand in a set.")
    return size
