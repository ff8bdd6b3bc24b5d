"""Training against the straightforward loop, in one run: attention LSTM at paper size, 13,000 words, batches of 64.

The straightforward loop pads every context and every target to 100, reads contexts as packed sequences, and computes
the vocabulary product and the loss inside the time loop. Lengths are those of the training split of MultiWOZ 2.2 where
../shared is at hand, else drawn like them; the batches measured are spread evenly over those of an epoch by their size.
"""

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dialogue.corpora.examples import examples  # noqa: E402 (the checkout is not installed)
from dialogue.corpora.reading import read_corpus  # noqa: E402
from dialogue.signature import signature  # noqa: E402
from dialogue.tokens import tokenize  # noqa: E402
from generation.batches import plan_batches, stack  # noqa: E402
from generation.devices import keep_freed_memory  # noqa: E402
from generation.models.architectures import build, sizes_of  # noqa: E402
from generation.models.interface import Encoded  # noqa: E402
from generation.models.recurrent import batch_first  # noqa: E402
from generation.numbering import Numbered  # noqa: E402
from generation.training import batch_loss  # noqa: E402
from generation.vocabulary import EOS, EOU, LONGEST_CONTEXT, LONGEST_TARGET, PAD  # noqa: E402

WORDS, SIZE, BATCHES, SLOW_BATCHES = 13_000, 64, 24, 2
CORPUS = ROOT.parent / "shared" / "data" / "multiwoz22_text" / "multiwoz22_text.jsonl.xz"


def lengths():
    """(context, target) lengths of the examples of an epoch."""
    if not CORPUS.exists():
        rng, number = np.random.default_rng(0), 56_776
        contexts = np.minimum(100, 12 + rng.gamma(2.0, 45.0, number)).astype(int)
        return list(zip(contexts, np.clip(rng.gamma(4.0, 4.5, number), 3, 100).astype(int), strict=True))
    found = []
    for example in examples(read_corpus(CORPUS).split("train")):
        context = sum(len(tokenize(turn.text)) + 2 for turn in example.context)
        found.append((min(LONGEST_CONTEXT, context), min(LONGEST_TARGET, len(tokenize(example.target.text)) + 1)))
    return found


def made():
    """Examples of those lengths with random words."""
    rng = np.random.default_rng(0)
    return [
        Numbered(str(n), [*rng.integers(7, WORDS, c - 1).tolist(), EOU], [*rng.integers(7, WORDS, t - 1).tolist(), EOS])
        for n, (c, t) in enumerate(lengths())
    ]


def spread(chosen, number=BATCHES):
    """Batches of one epoch from the smallest to the largest, the first of them twice (it is not timed)."""
    plan = sorted(
        plan_batches(chosen, SIZE, seed=0, epoch=1), key=lambda rows: sum(len(chosen[r].target) for r in rows)
    )
    middle = [plan[(2 * n + 1) * len(plan) // (2 * number)] for n in range(number)]
    return [[chosen[row] for row in rows] for rows in (middle[0], *middle)]


def wide(rows, width):
    """Rows padded to a fixed width."""
    return torch.tensor([list(row) + [PAD] * (width - len(row)) for row in rows])


def packed(model, contexts):
    """The contexts read as packed sequences, torch's own way not to read padding."""
    rows = pack_padded_sequence(model.source(contexts.tokens), contexts.lengths, batch_first=True, enforce_sorted=False)
    outputs, state = model.encoder(rows)
    memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=contexts.tokens.shape[1])
    return Encoded(memory, contexts.mask, batch_first(state), state[0].transpose(0, 1))


def slow_loss(model, chosen):
    """The straightforward loop's loss a token."""
    batch = stack(chosen, torch.device("cpu"))
    contexts = type(batch.contexts)(wide([e.context for e in chosen], LONGEST_CONTEXT), batch.contexts.lengths)
    inputs, targets = (wide(part.tolist(), LONGEST_TARGET) for part in (batch.inputs, batch.targets))
    encoded, total = packed(model, contexts), 0.0
    state = model.start(encoded)
    for time_step in range(LONGEST_TARGET):
        hidden, state = model.step(encoded, state, inputs[:, time_step])
        total = total + cross_entropy(model.output(hidden), targets[:, time_step], ignore_index=PAD, reduction="sum")
    return total / (targets != PAD).sum()


def fast_loss(model, chosen):
    """Ours."""
    summed, tokens = batch_loss(model, stack(chosen, torch.device("cpu")))
    return summed / tokens


def examples_a_second(loss_of, batches, optimizer, model):
    """Examples trained on in a CPU second, without the first batch."""
    seen, begun = 0, time.process_time()
    for number, chosen in enumerate(batches):
        optimizer.zero_grad()
        loss_of(model, chosen).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if number == 0:
            begun = time.process_time()
        else:
            seen += len(chosen)
    return seen / (time.process_time() - begun)


def fresh():
    """The model, always with the same weights."""
    torch.random.default_generator.manual_seed(0)
    return build("seq2seq_attn", WORDS, sizes_of("seq2seq_attn", "paper"))


def slow_rate(batches):
    """Examples a CPU second of the straightforward loop."""
    torch.set_num_threads(1)
    model = fresh()
    return examples_a_second(slow_loss, batches, torch.optim.Adam(model.parameters(), 1e-3), model)


def main():
    """Measure both ways and print the ratio."""
    torch.set_num_threads(1)  # CPU seconds of one thread: other work on the machine disturbs them least
    chosen, rng = made(), np.random.default_rng(0)
    mixed = [[chosen[row] for row in rng.choice(len(chosen), SIZE)] for _ in range(SLOW_BATCHES + 1)]
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:  # our way to hold memory would help it too
        theirs = apart.submit(slow_rate, mixed).result()
    keep_freed_memory()  # as train does
    model = fresh()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = examples_a_second(fast_loss, spread(chosen), torch.optim.Adam(model.parameters(), 1e-3, fused=True), model)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with torch.no_grad():
        gap = abs(float(fast_loss(model, mixed[0]) - slow_loss(model, mixed[0])))
    print(
        f"ours {ours:.1f} examples a CPU second, straightforward loop {theirs:.1f}: {ours / theirs:.1f} times (bar: 5)"
    )
    print(f"loss of one batch differs by {gap:.1e}")
    print(f"peak memory {peak / 2**20:.2f} GB, of which {before / 2**20:.2f} before training (bar: 2)")
    print(signature(words=WORDS, batch=SIZE, batches=BATCHES, slow=SLOW_BATCHES, threads=torch.get_num_threads()))


if __name__ == "__main__":
    main()
