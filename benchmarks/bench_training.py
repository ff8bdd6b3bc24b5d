"""Training against two loops of others, in one run: attention LSTM at paper size, 13,000 words, batches of 64.

    python benchmarks/bench_training.py               24 of our batches
    python benchmarks/bench_training.py --batches 8   where others use the machine too

Padded: every context and every target padded to 100, contexts read as packed sequences, the vocabulary product and the
loss inside the time loop. Bucketed, packed: what a careful user of PyTorch writes: the same batches of like lengths as
ours, packed contexts, tanh attention, one vocabulary product and one loss for the real tokens of a batch, Adam as it
comes. All have the same weights and must have the same loss. Beside them stands what the matrix products of our updates
take alone, at the rate of the largest of them. Times are processor time of one thread. Lengths are those of the
training split of MultiWOZ 2.2 where ../shared is at hand, else drawn like them; the batches measured are spread evenly
over those of an epoch by their size.
"""

import argparse
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
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from seedvote.dialogue.corpora.examples import iterate_examples  # noqa: E402 (the checkout is not installed)
from seedvote.dialogue.corpora.reading import read_corpus  # noqa: E402
from seedvote.dialogue.jobs import keep_freed_memory  # noqa: E402
from seedvote.dialogue.signature import signature  # noqa: E402
from seedvote.dialogue.tokens import LONGEST_CONTEXT, tokenize  # noqa: E402
from seedvote.generation.batches import Contexts, plan_batches, stack_batch  # noqa: E402
from seedvote.generation.models.architectures import build_model, sizes_of  # noqa: E402
from seedvote.generation.models.interface import Encoded  # noqa: E402
from seedvote.generation.models.recurrent import batch_first  # noqa: E402
from seedvote.generation.numbering import Numbered  # noqa: E402
from seedvote.generation.training import batch_loss  # noqa: E402
from seedvote.generation.vocabulary import BOS, EOS, EOU, LONGEST_TARGET, PAD  # noqa: E402

WORDS, SIZE, SLOW_BATCHES = 13_000, 64, 2
CORPUS = ROOT.parent / "shared" / "data" / "multiwoz22_text" / "multiwoz22_text.jsonl.xz"


def lengths():
    """(context, target) lengths of the examples of an epoch."""
    if not CORPUS.exists():
        rng, number = np.random.default_rng(0), 56_776
        contexts = np.minimum(100, 12 + rng.gamma(2.0, 45.0, number)).astype(int)
        return list(zip(contexts, np.clip(rng.gamma(4.0, 4.5, number), 3, 100).astype(int), strict=True))
    found = []
    for example in iterate_examples(read_corpus(CORPUS).split("train")):
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


def spread(chosen, number):
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
    batch = stack_batch(chosen, torch.device("cpu"))
    contexts = type(batch.contexts)(wide([e.context for e in chosen], LONGEST_CONTEXT), batch.contexts.lengths)
    inputs, targets = (wide(part.tolist(), LONGEST_TARGET) for part in (batch.inputs, batch.targets))
    encoded, total = packed(model, contexts), 0.0
    state = model.start_state(encoded)
    for time_step in range(LONGEST_TARGET):
        hidden, state = model.decode_step(encoded, state, inputs[:, time_step])
        total = total + cross_entropy(model.output(hidden), targets[:, time_step], ignore_index=PAD, reduction="sum")
    return total / (targets != PAD).sum()


def careful_loss(model, chosen):
    """The bucketed, packed loop's loss a token."""
    contexts = Contexts(
        pad_sequence([torch.tensor(e.context) for e in chosen], batch_first=True, padding_value=PAD),
        torch.tensor([len(e.context) for e in chosen]),
    )
    targets = pad_sequence([torch.tensor(e.target) for e in chosen], batch_first=True, padding_value=PAD)
    inputs = torch.cat([torch.full((len(chosen), 1), BOS), targets[:, :-1]], 1)
    encoded, decoder = packed(model, contexts), model.decoder
    keys, words = decoder.key(encoded.memory), decoder.embedding(inputs)
    h, c = (list(part.unbind(1)) for part in encoded.state)
    hidden = []
    for word in words.unbind(1):
        scores = decoder.score(torch.tanh(decoder.query(h[-1])[:, None] + keys))[:, :, 0]
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        below = decoder.combine(torch.cat([word, torch.bmm(weights[:, None], encoded.memory)[:, 0]], 1))
        for layer, cell in enumerate(decoder.cells):
            h[layer], c[layer] = cell(below, (h[layer], c[layer]))
            below = h[layer]
        hidden.append(below)
    real = targets != PAD
    return cross_entropy(model.output(torch.stack(hidden, 1)[real]), targets[real])


def product_seconds(batches):
    """What the matrix products of these updates take alone: their operations at the rate of the vocabulary product."""
    sizes = sizes_of("seq2seq_attn", "paper")
    e, h, a = sizes["embedding"], sizes["hidden"], sizes["attention"]
    lstm = 8 * h * ((e + h) + 2 * h * (sizes["layers"] - 1))
    operations = 0
    for chosen in batches:
        read, written = (
            sum(len(part) for part in side) for side in ([x.context for x in chosen], [x.target for x in chosen])
        )
        looks = sum(len(x.context) * len(x.target) for x in chosen)
        operations += read * (lstm + 2 * h * a) + looks * 2 * (a + h)
        operations += written * (lstm + 2 * e * (e + h) + 2 * h * a + 2 * h * WORDS)
    hidden, table = torch.randn(1024, h), torch.randn(h, WORDS)
    taken = []
    for _ in range(5):
        begun = time.process_time()
        hidden @ table
        taken.append(time.process_time() - begun)
    return 3 * operations * min(taken) / (2 * 1024 * h * WORDS)  # two of three are the gradients'


def fast_loss(model, chosen):
    """Ours."""
    summed, tokens = batch_loss(model, stack_batch(chosen, torch.device("cpu")))
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
    return build_model("seq2seq_attn", WORDS, sizes_of("seq2seq_attn", "paper"))


def their_rate(loss_of, batches):
    """Examples a CPU second of another loop."""
    torch.set_num_threads(1)
    model = fresh()
    return examples_a_second(loss_of, batches, torch.optim.Adam(model.parameters(), 1e-3), model)


def main():
    """Measure all and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--batches", type=int, default=24, help="of ours, and of the bucketed, packed loop (default: 24)"
    )
    number = parser.parse_args().batches
    torch.set_num_threads(1)  # CPU seconds of one thread: other work on the machine disturbs them least
    chosen, rng = made(), np.random.default_rng(0)
    mixed = [[chosen[row] for row in rng.choice(len(chosen), SIZE)] for _ in range(SLOW_BATCHES + 1)]
    batches = spread(chosen, number)
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:  # our way to hold memory would help them too
        padded = apart.submit(their_rate, slow_loss, mixed).result()
        careful = apart.submit(their_rate, careful_loss, batches).result()
    keep_freed_memory()  # as train does
    model = fresh()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours = examples_a_second(fast_loss, batches, torch.optim.Adam(model.parameters(), 1e-3, fused=True), model)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limit = sum(map(len, batches[1:])) / product_seconds(batches[1:])
    with torch.no_grad():
        gaps = [abs(float(fast_loss(model, mixed[0]) - other(model, mixed[0]))) for other in (slow_loss, careful_loss)]
    print(f"ours {ours:.1f} examples a CPU second; padded loop {padded:.1f}: {ours / padded:.1f} times; "
          f"bucketed, packed loop {careful:.1f}: {ours / careful:.2f} times")  # fmt: skip
    print(f"the matrix products alone would let {limit:.1f} through: {limit / ours:.2f} times ours, "
          f"{limit / careful:.2f} times the bucketed, packed loop")  # fmt: skip
    print(f"loss of one batch differs by {gaps[0]:.1e} and {gaps[1]:.1e}")
    print(f"peak memory {peak / 2**20:.2f} GB, of which {before / 2**20:.2f} before training (bar: 2)")
    print(signature(words=WORDS, batch=SIZE, batches=number, slow=SLOW_BATCHES, threads=torch.get_num_threads()))


if __name__ == "__main__":
    main()
