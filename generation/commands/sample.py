"""Let every trained model of a study answer the same held-out contexts, and write responses.jsonl.

By default each model answers once greedily and twice by nucleus sampling; within-seed controls need the second draw.
Agents (train --speak task) run whole dialogues, once. With --condition the contexts are those that evaluators perturb
wrote, and responses.jsonl goes into the condition's folder.

  python -m generation sample runs/demo --limit 150 --decoding greedy,nucleus:0.9
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.corpora.reading import Corpus
    from seedvote.generation.checkpoints import TrainedModel
    from seedvote.generation.sampling import Round, Sampling
    from seedvote.generation.vocabulary import Vocabulary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which contexts, which checkpoint, how to decode."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--split", choices=["train", "valid", "test"], default="test", help="split to answer (default test)")
    add(
        "--condition", metavar="NAMES", help="answer these conditions of the study, separated by commas, or all of them"
    )
    add("--db", type=Path, metavar="FOLDER", help="folder of the *_db.json files (default: those of the corpus)")
    add("--limit", type=int, help="number of contexts, evenly spread over the split (default: all)")
    add("--whole", type=int, metavar="N", help="all turns of so many dialogues, evenly spread (agents: default all)")
    add("--checkpoint", default="last", help="untrained, epoch-N, last, best_bleu, ... (default last)")
    add(
        "--decoding",
        help="one or more, separated by commas, e.g. greedy, beam:5, temperature:0.7, top_k:40, "
        "nucleus:0.9, top_k:40+temperature:0.7 (default greedy,nucleus:0.9; agents: greedy)",
    )
    add("--draws", type=int, default=2, help="responses per context for sampled decodings (default 2)")
    add("--unigram", action="store_true", help="let a baseline answer too that draws its words by their frequency")
    add("--seed", type=int, default=0, help="seed of the draws (default 0)")
    add("--device", default="cpu", help="auto, cpu, cuda or cuda:N (default cpu)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Sample what is not there, then write responses.jsonl; for every condition that is named, or for the study."""
    from seedvote.dialogue.conditions import conditions_named
    from seedvote.generation.checkpoints import find_trained, kind_of

    refuse_below(args, limit=1, draws=1, whole=1)
    models = find_trained(args.study)
    kind = kind_of(models)
    _refuse_unfit(args, kind)
    for folder in conditions_named(args.study, args.condition) if args.condition else [args.study]:
        _sample_folder(args, models, kind, folder)
    then = "generation score" if kind == "reply" else "evaluators task"
    tell_next(f"python -m {then}", args.study, *repeat_options(args, "corpus", "condition"))


def _refuse_unfit(args: argparse.Namespace, kind: str) -> None:
    if args.condition and (args.corpus or args.db):
        raise InputError("A condition brings its own corpus and databases: leave --corpus and --db out.")
    if args.limit and args.whole:
        raise InputError("--limit counts contexts, --whole dialogues: give one.")
    if kind != "reply" and args.limit:
        raise InputError(f"These models speak {kind}: they run whole dialogues. Say --whole N instead of --limit N.")
    if kind != "reply" and args.unigram:
        raise InputError(f"These models speak {kind}, and the unigram baseline knows replies only: leave it out.")
    if kind != "reply" and args.decoding and ("," in args.decoding or "beam" in args.decoding):
        raise InputError("An agent answers a dialogue once: give one --decoding, such as greedy or nucleus:0.9.")


def _sample_folder(args: argparse.Namespace, models: list[TrainedModel], kind: str, folder: Path) -> None:
    from tqdm import tqdm

    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.files import read_records, write_records
    from seedvote.dialogue.records import Response
    from seedvote.dialogue.signature import signature
    from seedvote.generation.same_corpus import refuse_another, response_key
    from seedvote.generation.sampling import plan_rounds, unigram_responses
    from seedvote.generation.speaking.speech import with_databases
    from seedvote.generation.vocabulary import read_vocabulary

    vocabulary, path = read_vocabulary(args.study / "vocabulary.json"), folder / "responses.jsonl"
    corpus = with_databases(read_corpus(args.corpus or folder / "corpus"), args.db)
    refuse_another(path, corpus)
    sampling, place = _plan_sampling(args, kind, corpus, vocabulary), running.place_of(args, device=args.device)
    if not sampling.contexts:
        print(f"{folder} has no {args.split} dialogues: nothing to answer.")
        return
    every = plan_rounds(folder, models, sampling, vocabulary)
    todo = _group_by_model([part for part in every if not part.path.exists()])
    work = jobs.Work(_answer_rounds, (sampling, vocabulary, args.device), args.study / "logs" / "sample")
    with tqdm(total=len(models), initial=len(models) - len(todo), disable=None, unit="model") as bar:
        for _ in running.run_jobs(work, todo, place):
            bar.update()
    earlier = read_records(path, Response) if path.exists() else []
    new_responses = [response for part in every for response in read_records(part.path, Response)]
    if args.unigram:
        items = [numbered.item for numbered in sampling.contexts]
        how = {"draws": sampling.draws, "checkpoint": args.checkpoint, "seed": args.seed}
        new_responses += unigram_responses(list(iterate_examples(corpus.split("train"))), items, **how)
    responses = list({response_key(part): part for part in [*earlier, *new_responses]}.values())
    of_agents = {"speak": kind, "dialogues": len(sampling.dialogues)} if sampling.speech.is_agent else {}
    recipe = signature(
        split=args.split,
        contexts=len(sampling.contexts),
        checkpoint=args.checkpoint,
        decoding=[how.name for how in sampling.decodings],
        draws=sampling.draws,
        seed=args.seed,
        vocabulary=vocabulary.hash[:12],
        corpus=corpus.digest,
        threads=jobs.JOB_THREADS,
        **of_agents,
        **({"baseline": "unigram"} if args.unigram else {}),
    )
    if responses != earlier:
        write_records(path, responses, signature=recipe, kind=Response)
    print(f"{path}: {len(responses)} responses of {len(models)} models to {len(sampling.contexts)} contexts")
    print(f"{len(models) - len(todo)} of {len(models)} models had already answered.\n{recipe}")


def _plan_sampling(args: argparse.Namespace, kind: str, corpus: Corpus, vocabulary: Vocabulary) -> Sampling:
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.generation.decoding import parse_decoding
    from seedvote.generation.numbering import contexts_of, evenly_spread, number_examples
    from seedvote.generation.sampling import Sampling
    from seedvote.generation.speaking.speech import check_speaks, speech_of

    if not args.condition:
        contexts_of(corpus, args.split, 1)  # which refuses a split without any
    check_speaks(vocabulary, speech := speech_of(kind, corpus), args.study / "vocabulary.json")
    dialogues = evenly_spread(corpus.split(args.split), args.whole)
    chosen = number_examples(evenly_spread(list(iterate_examples(dialogues)), args.limit), vocabulary, speech)
    decodings = args.decoding or ("greedy" if speech.is_agent else "greedy,nucleus:0.9")
    return Sampling(
        chosen,
        [parse_decoding(text) for text in decodings.split(",")],
        1 if speech.is_agent else args.draws,
        args.checkpoint,
        args.seed,
        speech,
        dialogues if speech.is_agent else (),
    )


def _group_by_model(todo: list[Round]) -> list[jobs.Job]:
    groups = [list(group) for _, group in groupby(todo, key=lambda part: part.trained)]
    return [
        jobs.Job(group[0].trained.folder.name, jobs.content_key(*[part.path.name for part in group]), group)
        for group in groups
    ]


def _answer_rounds(shared: tuple[Sampling, Vocabulary, str], todo: list[Round]) -> None:
    from seedvote.dialogue.devices import pick_device
    from seedvote.generation.sampling import answer_rounds

    sampling, vocabulary, device = shared
    answer_rounds(sampling, vocabulary, todo, pick_device(device))
