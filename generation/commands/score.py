"""Score responses against their references with token metrics: metrics.parquet.

Free-running responses get word-overlap scores (BLEU-2, ROUGE-L, METEOR, distinct-2, ...: docs/generation.md) and the
cosine of average embeddings, with the most frequent training response as a baseline. The study's own models also get
perplexity and teacher-forced BLEU-2, as separate metrics.

  python -m generation score runs/demo
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.dialogue.corpora.examples import Example
    from seedvote.dialogue.records import Response, Score
    from seedvote.generation.metrics.embedding import Yardstick
    from seedvote.generation.metrics.overlap import OverlapCounts

    _Group = tuple[str, int, str, str]  # model, seed (-1 for none), checkpoint, condition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, and the yardstick of meaning."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--corpus", type=Path, help="corpus (default: STUDY/corpus)")
    add("--encoder", type=Path, help="local folder of a Hugging Face encoder for `embedding`")
    add("--words-of", help="model whose word vectors `embedding` uses (default: the first, e.g. hred-0)")
    add(
        "--wordnet",
        type=Path,
        metavar="FOLDER",
        help="WordNet 3, for METEOR with synonyms (default: the installed one, if any)",
    )


def run(args: argparse.Namespace) -> None:
    """Score what has a reference."""
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.devices import use_threads
    from seedvote.dialogue.files import read_records
    from seedvote.dialogue.jobs import JOB_THREADS
    from seedvote.dialogue.records import Response
    from seedvote.dialogue.signature import signature
    from seedvote.generation.metrics.scoring import embedding_rows, most_frequent, overlap_rows, write_scores
    from seedvote.generation.metrics.word_matching import WordNet, find_wordnet
    from seedvote.generation.same_corpus import check_utterances

    corpus = read_corpus(args.corpus or args.study / "corpus")
    check_utterances(args.study / "responses.jsonl", corpus)
    references = {e.item: e for e in iterate_examples(corpus.dialogues)}
    responses = read_records(args.study / "responses.jsonl", Response)
    known = [response for response in responses if response.item in references]
    number = len(known)
    if not number:
        raise InputError("No response belongs to a context of this corpus. Name the right one: --corpus PATH")
    if train := list(iterate_examples(corpus.split("train"))):
        known += most_frequent(train, sorted({response.item for response in known}))
    yardstick, yardstick_name = _choose_yardstick(args)
    wordnet = args.wordnet or find_wordnet()
    synonyms = WordNet(wordnet).synonyms if wordnet else None
    rows = itertools.chain(
        overlap_rows(known, references, synonyms),
        _forced_rows(args.study, known, references),
        embedding_rows(known, references, yardstick) if yardstick else (),
    )
    recipe = signature(
        responses=number,
        without_reference=len(responses) - number,
        tokens="lower-case words, numbers, marks",
        bleu2="smooth exp",
        embedding=yardstick_name,
        wordnet=wordnet.name if wordnet else "none",
    )
    corpus_scores: dict[_Group, OverlapCounts] = {}
    with use_threads(JOB_THREADS):
        written = write_scores(args.study / "metrics.parquet", _added_up(rows, corpus_scores), signature=recipe)
    print(f"{args.study / 'metrics.parquet'}: {written} scores of {number} responses")
    _print_scores(corpus_scores)
    if number < len(responses):
        print(f"{len(responses) - number} responses have no context in this corpus and get no score")
    print(recipe)
    trained = (args.study / "models").is_dir()
    tell_next(f"python -m generation {'encode' if trained else 'pair'}", args.study, *repeat_options(args, "corpus"))


def _choose_yardstick(args: argparse.Namespace) -> tuple[Yardstick | None, str]:
    from seedvote.generation.checkpoints import find_trained, load_model
    from seedvote.generation.metrics.embedding import learned_words, local_encoder
    from seedvote.generation.vocabulary import read_vocabulary

    if args.encoder:
        return local_encoder(args.encoder), str(args.encoder.name)
    if not (args.study / "models").is_dir():
        return None, "none"
    models = {trained.folder.name: trained for trained in find_trained(args.study)}
    name = args.words_of or next(iter(models))
    if name not in models:
        raise InputError(f"{name!r} is not a model of this study. It has: {', '.join(models)}.")
    vocabulary = read_vocabulary(args.study / "vocabulary.json")
    return learned_words(load_model(models[name], "last", vocabulary), vocabulary), f"words of {name}"


def _forced_rows(study: Path, responses: Sequence[Response], references: Mapping[str, Example]) -> Iterator[Score]:
    from seedvote.generation.checkpoints import find_trained, load_model
    from seedvote.generation.metrics.scoring import forced_rows
    from seedvote.generation.numbering import number_examples
    from seedvote.generation.vocabulary import read_vocabulary

    if not (study / "models").is_dir():
        return
    vocabulary = read_vocabulary(study / "vocabulary.json")
    for trained in find_trained(study):
        ours = [r for r in responses if (r.model, r.seed) == (trained.model, trained.seed)]
        for checkpoint in sorted({r.checkpoint for r in ours}):
            items = {r.item: references[r.item] for r in ours if r.checkpoint == checkpoint}
            model = load_model(trained, checkpoint, vocabulary)
            yield from forced_rows(
                model,
                number_examples(items.values(), vocabulary),
                vocabulary,
                name=trained.model,
                seed=trained.seed,
                checkpoint=checkpoint,
            )


def _added_up(rows: Iterable[Score], totals: dict[_Group, OverlapCounts]) -> Iterator[Score]:
    """The rows as they come, while the counts of BLEU-2 are added up."""
    from seedvote.generation.metrics.overlap import add_counts

    for row in rows:
        if row.task in ("bleu2", "bleu2_teacher_forced"):
            key = (row.model, -1 if row.seed is None else row.seed, row.checkpoint, row.condition)
            totals[key] = add_counts([totals.get(key, {}), row.stats])
        yield row


def _print_scores(totals: Mapping[_Group, OverlapCounts]) -> None:
    from seedvote.generation.metrics.overlap import bleu2

    for (model, seed, checkpoint, condition), counts in sorted(totals.items()):
        name = model if seed < 0 else f"{model}-{seed}"
        print(f"  {name} {checkpoint} {condition}: corpus BLEU-2 {bleu2(counts, smooth='exp'):.2f}")
