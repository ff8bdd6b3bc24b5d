"""Tell the users' turns of a corpus otherwise: typos, more or fewer words, paraphrases, speech errors, new entities.

Writes STUDY/conditions/KIND@DOSE-SEED/corpus, which every command reads, and STUDY/perturbed.html with the differences
of this run: that of another run is refused without --replace.
A dose is the share of user turns that are changed (entities: of dialogues); for speech it is the word error rate. Turns
changed at a dose are changed at every higher one. Values stay to the letter.

Example: python -m evaluators perturb runs/demo --kinds typos,speech --doses .1,.5,.8 --wer .1,.2,.3
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import tell_next

if TYPE_CHECKING:
    from seedvote.evaluators.perturbing.kinds import Condition, Means

EASY = "typos,verbose,simple,paraphrase,speech,entities"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, the kinds and the doses."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="study folder; its conditions/ gets the new corpora")
    add("--corpus", type=Path, metavar="PATH", help="corpus (default: STUDY/corpus)")
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--kinds", default=EASY, help=f"separated by commas; also: outside (default {EASY})")
    add("--doses", default=".1,.5,.8", help="shares of user turns that are changed (default .1,.5,.8)")
    add("--wer", default=".1,.2,.3", help="word error rates of speech (default .1,.2,.3)")
    add("--split", choices=("train", "valid", "test"), default="test", help="split to change (default test)")
    add("--from", dest="other", type=Path, metavar="PATH", help="another corpus, whose utterances outside puts in")
    add("--rewrites", type=Path, metavar="FILE", help='paraphrases by people: {"item": "sng0073:1", "text": "..."}')
    add("--endpoint", metavar="URL", help="paraphrases by a chat endpoint (key: SEEDVOTE_API_KEY)")
    add("--model", metavar="NAME", help="name of the model at the endpoint")
    add("--unprotected", action="store_true", help="change values too; annotations may then be wrong")
    add("--replace", action="store_true", help="write over the perturbed.html of an earlier run")
    add("--describe", action="store_true", help="say what there is to change, and write nothing")
    add("--seed", type=int, default=0, metavar="S", help="seed of the changes (default 0)")
    add("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> None:
    """Perturb, write, and say what was done."""
    from seedvote.dialogue.corpora.reading import read_corpus, read_databases
    from seedvote.dialogue.files import atomic
    from seedvote.evaluators.perturbing.kinds import KINDS, conditions_of, refuse_unfit
    from seedvote.evaluators.perturbing.material import UserTurns
    from seedvote.evaluators.perturbing.writing import (
        as_document,
        condition_recipe,
        condition_sentence,
        conditions_table,
        differences_page,
        material_sentence,
        refuse_other_page,
        write_condition,
    )

    kinds = list(dict.fromkeys(args.kinds.split(",")))
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"--kinds names {wrong[0]!r}, which is not one of {', '.join(KINDS)}.")
    doses, rates = _parse_shares(args.doses, "doses"), _parse_shares(args.wer, "wer")
    corpus = read_corpus(args.corpus or args.study / "corpus")
    if args.db:
        corpus = replace(corpus, databases=read_databases(args.db))
    material = UserTurns(corpus, args.split, args.seed, not args.unprotected)
    if args.describe:
        print(material_sentence(corpus, material))
        tell_next("python -m evaluators perturb", args.study, *(["--corpus", args.corpus] if args.corpus else []))
        return
    means = _gather_means(args)
    refuse_unfit(material, kinds, means)
    perturbed: list[Condition] = [
        condition
        for kind in kinds
        for condition in conditions_of(material, kind, rates if kind == "speech" else doses, means)
    ]
    recipes = [
        condition_recipe(condition, corpus, args.split, protected=not args.unprotected) for condition in perturbed
    ]
    page = args.study / "perturbed.html"
    differences = differences_page(perturbed, [condition_sentence(condition) for condition in perturbed], recipes[0])
    if not args.replace:
        refuse_other_page(page, differences)
    for condition in perturbed:
        write_condition(args.study, condition, corpus, args.split, protected=not args.unprotected)
    with atomic(page) as handle:
        handle.write(differences)
    if args.json:
        pairs_with_recipes = zip(perturbed, recipes, strict=True)
        print(
            json.dumps(
                {"conditions": [as_document(*pair) for pair in pairs_with_recipes]}, indent=1, ensure_ascii=False
            )
        )
    else:
        print(conditions_table(perturbed))
        print(
            "\n".join(
                f"{condition.kind} at {condition.dose:g}: {note}" for condition in perturbed for note in condition.notes
            )
        )
        print(f"{page} shows the differences, up to 50 turns of each condition.\n{recipes[0]}")
    tell_next("python -m webbrowser", page, aside=args.json)


def _parse_shares(text: str, name: str) -> list[float]:
    try:
        shares = [float(part) for part in text.split(",")]
    except ValueError:
        shares = [-1.0]
    if not all(0 <= share <= 1 for share in shares) or len(set(shares)) != len(shares):
        raise InputError(f"--{name} is {text!r}; shares from 0 to 1 are expected, each once, such as .1,.5,.8")
    return shares


def _gather_means(args: argparse.Namespace) -> Means:
    """What some kinds need beside the corpus."""
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.evaluators.perturbing.kinds import Means

    if args.rewrites and args.endpoint:
        raise InputError("Give --rewrites or --endpoint, not both.")
    if bool(args.endpoint) != bool(args.model):
        raise InputError("--endpoint URL and --model NAME go together.")
    foreign = read_corpus(args.other) if args.other else None
    if args.rewrites:
        from seedvote.evaluators.perturbing.wording import read_rewrites

        return Means(foreign, str(args.other or ""), read_rewrites(args.rewrites))
    if not args.endpoint:
        return Means(foreign, str(args.other or ""))
    from seedvote.dialogue.engines.chat import Endpoint
    from seedvote.evaluators.perturbing.wording import rewrites_of

    endpoint = Endpoint(args.endpoint, args.model, os.environ.get("SEEDVOTE_API_KEY", ""))
    journal = args.study / "conditions" / "paraphrases.jsonl"
    return Means(
        foreign,
        str(args.other or ""),
        ask=lambda turns: rewrites_of(endpoint, turns, journal, lambda: None, seed=args.seed),
    )
