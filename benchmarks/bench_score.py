"""Memory of scoring beside the straightforward way: rows in a list, logits of a whole batch with their log-softmax.

Each measure is the growth of a fresh process's peak memory over overlap scores, perplexity under a small model of
13,000 words, and the Parquet file; the responses themselves are few and come again and again.
Run: python benchmarks/bench_score.py
"""

import itertools
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.records import Dialogue, Response, Turn
from seedvote.dialogue.signature import signature
from seedvote.generation.decoding import mask_special
from seedvote.generation.metrics import scoring
from seedvote.generation.models.architectures import build_model, sizes_of
from seedvote.generation.numbering import number_examples
from seedvote.generation.vocabulary import PAD, SPECIAL, Vocabulary

WORDS, FEW, MANY, DISTINCT = 13_000, 1_000, 10_000, 100
SHORT, LONG = 12, 99  # tokens of a reference


def invented(tokens, number):
    """So many texts of random words."""
    rng = np.random.default_rng(0)
    return [" ".join(f"w{n}" for n in rng.integers(0, WORDS - len(SPECIAL), tokens)) for _ in range(number)]


def whole(model, batch):
    """What `scoring` computes token by token in chunks, from the logits of the whole batch."""
    with torch.inference_mode():
        logits = model.output(model.decode_targets(model.encode(batch.contexts), batch.inputs))
        losses = -logits.log_softmax(2).gather(2, batch.targets[:, :, None])[:, :, 0]
        best, real = mask_special(logits.flatten(0, 1), first=False).argmax(1), batch.targets != PAD
    return losses[real].double(), best[real.flatten()]


def scored(count, tokens, plain):
    """Growth of peak memory, in MB, over the scores of so many responses."""
    torch.set_num_threads(1)
    if plain:
        scoring._teacher_forced = whole
    vocabulary = Vocabulary((*SPECIAL, *(f"w{n}" for n in range(WORDS - len(SPECIAL)))))
    texts = invented(tokens, DISTINCT)
    dialogues = [Dialogue(f"d{n}", "test", (Turn("user", text), Turn("system", text))) for n, text in enumerate(texts)]
    references = {example.item: example for example in iterate_examples(dialogues)}
    made = [Response(f"d{n}:1", "seq2seq", 0, "last", texts[n - 1]) for n in range(DISTINCT)]
    responses = list(itertools.islice(itertools.cycle(made), count))
    numbered = list(itertools.islice(itertools.cycle(number_examples(references.values(), vocabulary)), count))
    torch.random.default_generator.manual_seed(0)
    model = build_model("seq2seq", WORDS, sizes_of("seq2seq", "small")).eval()
    names = {"name": "seq2seq", "seed": 0, "checkpoint": "last"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = itertools.chain(
        scoring.overlap_rows(responses, references), scoring.forced_rows(model, numbered, vocabulary, **names)
    )
    with tempfile.TemporaryDirectory() as folder:
        scoring.write_scores(Path(folder) / "metrics.parquet", list(rows) if plain else rows, signature="benchmark")
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def apart(*arguments):
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(scored, *arguments).result()


def main():
    """Measure each way once and print the ratios."""
    few, many, plain = apart(FEW, SHORT, False), apart(MANY, SHORT, False), apart(MANY, SHORT, True)
    print(f"peak memory grows by {few:.0f} MB over {FEW:,} responses and by {many:.0f} MB over {MANY:,}", end="; ")
    print(f"straightforward: {plain:.0f} MB, {plain / many:.1f} times as much")
    ours, theirs = apart(DISTINCT, LONG, False), apart(DISTINCT, LONG, True)
    print(f"long references: {ours:.0f} MB; straightforward: {theirs:.0f} MB, {theirs / ours:.1f} times as much")
    print(signature(words=WORDS, responses=[FEW, MANY], distinct=DISTINCT, tokens=[SHORT, LONG], batch=32, threads=1))


if __name__ == "__main__":
    main()
