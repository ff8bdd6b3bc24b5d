"""Make pairs for raters: pairs.jsonl, with controls and sanity checks.

By default the architecture whose BLEU-2 varies least over seeds is paired (the papers' rule). --model names another;
--models A,B pairs two systems, and --against B lets every seed meet another system as well. The checks are also written
to checks.jsonl: change or remove lines, and run pair again.

  python -m generation pair runs/demo --pairs 120 --controls 20 --checks 12
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.corpora.examples import Example
    from seedvote.dialogue.corpora.reading import Corpus
    from seedvote.dialogue.records import Pair, Response


WHO_WROTE = "Which of the two was written by a person?"
HIT = f"""# Written by `generation pair --people`; docs/hit.md lists all keys.
title = "Which reply did a person write?"
question = "{WHO_WROTE}"
instructions = "One reply was written by a person, the other one by a program. Choose Tie where you cannot tell."
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many of what."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--model", default="auto", help="architecture, or auto: the smallest spread of BLEU (default)")
    add("--models", metavar="A,B", help="pair two systems instead, under the seeds that both have")
    add("--against", metavar="NAME", help="another system, such as a baseline, that every seed meets as well")
    add("--people", action="store_true", help="pair each reply with what people said: which was written by a person?")
    add("--checkpoint", default="last", help="checkpoint whose responses are paired (default last)")
    add("--decoding", default="auto", help="decoding that is paired (default: the sampled one, else greedy)")
    add("--pairs", type=int, default=2000, help="real pairs (default 2000, as in the papers)")
    add("--controls", type=int, help="control pairs of each kind (default: a tenth of --pairs)")
    add("--checks", type=int, default=12, help="sanity checks (default 12)")
    add("--preview", action="store_true", help="also write pairs.html, a page to read them")
    add("--seed", type=int, default=0, help="seed of contexts, sides and checks (default 0)")


def run(args: argparse.Namespace) -> None:
    """Choose the architecture, make the pairs, write them."""
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.files import read_records, write_records
    from seedvote.dialogue.records import Pair, Response
    from seedvote.dialogue.seeds import child_seed
    from seedvote.dialogue.signature import signature
    from seedvote.generation.pairing import (
        against_reference,
        answers_of,
        chosen_decoding,
        of_checkpoint,
        people_pairs,
        real_pairs,
        system_pairs,
        within_seed,
    )
    from seedvote.generation.same_corpus import check_utterances

    refuse_below(args, pairs=1, controls=0, checks=0)
    if args.against and args.models:
        raise InputError("--against is about the seeds of one architecture; --models pairs two systems. Give one.")
    if args.people and (args.against or args.models):
        raise InputError("--people pairs one architecture with people; leave out --models and --against.")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    check_utterances(args.study / "responses.jsonl", corpus)
    known = {e.item: e for e in iterate_examples(corpus.dialogues)}
    responses = of_checkpoint(args.checkpoint, read_records(args.study / "responses.jsonl", Response))
    names = _pair_two_systems(args.models, responses) if args.models else [_choose_model(args.model, responses, known)]
    decodings = [chosen_decoding(args.decoding, responses, name) for name in names]
    answers = [answers_of(responses, name, how) for name, how in zip(names, decodings, strict=True)]
    against = None
    if args.against:
        _choose_model(args.against, responses, known)
        against = answers_of(responses, args.against, chosen_decoding("auto", responses, args.against))
    if args.people:
        pairs = people_pairs(answers[0], known, args.pairs, seed=args.seed)
    elif args.models:
        pairs = system_pairs(answers[0], answers[1], known, args.pairs, seed=args.seed)
    else:
        pairs = real_pairs(answers[0], known, args.pairs, seed=args.seed, against=against)
    controls = args.controls if args.controls is not None else max(1, args.pairs // 10)
    controls = 0 if args.people else controls  # of two draws of one seed nobody can say which is a person's
    for place, (name, own) in enumerate(zip(names, answers, strict=True)):
        share = (controls + place) // len(names)
        seed = child_seed(args.seed, name) if place else args.seed
        sampled = answers_of(responses, name, chosen_decoding("auto", responses, name))
        pairs += within_seed(sampled, known, share, seed=seed)
        for stray in (False, True):
            pairs += against_reference(own, known, share, seed=seed, stray=stray)
    pairs += _reviewed_checks(args, corpus)
    recipe = signature(
        model=names,
        rule="smallest BLEU-2 spread" if args.model == "auto" and not args.models else "named",
        checkpoint=args.checkpoint,
        decoding=sorted(set(decodings)),
        pairs=sum(pair.kind == "real" for pair in pairs),
        controls=controls,
        checks=args.checks,
        seed=args.seed,
        **({"against": args.against} if args.against else {}),
        **({"against": "people"} if args.people else {}),
    )
    write_records(args.study / "pairs.jsonl", pairs, signature=recipe, kind=Pair)
    _print_pairs(args.study / "pairs.jsonl", pairs, recipe)
    if args.people:
        _ask_who_wrote(args.study / "hit.toml")
    if args.preview:
        from seedvote.generation.pairing import write_page

        write_page(args.study / "pairs.html", pairs, recipe)
        print(f"Preview: {args.study / 'pairs.html'}")
    tell_next("python -m crowd serve", args.study, "--open")


def _ask_who_wrote(path: Path) -> None:
    """The question of these pairs as a HIT, unless there is one."""
    if path.exists():
        print(f"{path} is there already: its question should be {WHO_WROTE!r}")
        return
    path.write_text(HIT, encoding="utf-8")
    print(f"{path}: {WHO_WROTE}")


def _pair_two_systems(text: str, responses: list[Response]) -> list[str]:
    names, legal = text.split(","), sorted({response.model for response in responses})
    if len(set(names)) != 2 or not set(names) <= set(legal):
        raise InputError(f"--models is {text!r}; two names joined by a comma are expected, of: {', '.join(legal)}.")
    return names


def _choose_model(name: str, responses: list[Response], known: dict[str, Example]) -> str:
    from seedvote.generation.pairing import seed_bleus

    if name != "auto":
        if name not in (legal := sorted({response.model for response in responses})):
            raise InputError(f"responses.jsonl holds no responses of {name}. It has: {', '.join(legal)}.")
        return name
    spreads = seed_bleus(responses, known)
    for spread in spreads:
        values = ", ".join(f"{value:.2f}" for value in spread.bleu.values())
        print(f"{spread.model}: BLEU-2 {values} (SD over {len(spread.bleu)} seeds {spread.sd:.2f})")
    return spreads[0].model


def _reviewed_checks(args: argparse.Namespace, corpus: Corpus) -> list[Pair]:
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.files import read_records, write_records
    from seedvote.dialogue.records import Pair
    from seedvote.dialogue.signature import signature
    from seedvote.generation.pairing import sanity_checks

    path = args.study / "checks.jsonl"
    if path.exists():
        return read_records(path, Pair)
    held_out = corpus.split("valid") or corpus.split("test")
    checks = sanity_checks(list(iterate_examples(held_out)), args.checks, seed=args.seed)
    write_records(path, checks, signature=signature(checks=len(checks), seed=args.seed), kind=Pair)
    return checks


def _print_pairs(path: Path, pairs: list[Pair], recipe: str) -> None:
    counts = Counter(pair.contrast for pair in pairs)
    print(f"{path}: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
    if "within-seed" not in counts:
        print("No within-seed controls, which need two draws: sample with --decoding greedy,nucleus:0.9 --draws 2")
    print(f"{sum(p.identical for p in pairs)} pairs have two identical responses (flagged)\n{recipe}")
