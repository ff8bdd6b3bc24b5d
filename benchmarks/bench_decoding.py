"""Batched decoding against one context at a time, and nucleus sampling against a full sort, in one run.

Models at paper size with 13,000 words and random weights; every response is cut at 20 tokens, about the mean of
MultiWOZ, so that both ways write equally much. Both ways compute in double precision and give the same responses.
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dialogue.signature import signature
from generation import decoding
from generation.models.architectures import build, sizes_of
from generation.vocabulary import EOS, EOU, OTHER

WORDS, CONTEXTS, ALONE, LENGTH = 13_000, 256, 8, 20
BARS = {"seq2seq": 8, "bilstm_attn": 8, "transformer": 5}


def contexts():
    """Random contexts of the lengths of MultiWOZ: half of them at the limit of 100 tokens."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(98, rng.integers(10, 190, CONTEXTS))
    return [[OTHER, *rng.integers(7, WORDS, size).tolist(), EOU] for size in sizes]


def greedy(name, given):
    """Contexts a CPU second in batches, and one by one."""
    torch.random.default_generator.manual_seed(0)
    model, how = build(name, WORDS, sizes_of(name, "paper")), decoding.parse_decoding("greedy")
    model.output.bias.data[EOS] = -100.0
    rates, answers = [], []
    for chosen, size in ((given, 128), (given[:ALONE], 1)):
        begun = time.process_time()
        answers.append(
            decoding.respond(
                model, chosen, how=how, seed=0, items=[str(n) for n in range(len(chosen))], batch_size=size
            )
        )
        rates.append(len(chosen) / (time.process_time() - begun))
    same = [a.tokens for a in answers[0][:ALONE]] == [a.tokens for a in answers[1]]
    print(
        f"{name}: {rates[0]:.1f} contexts a CPU second in batches, {rates[1]:.1f} one by one: "
        f"{rates[0] / rates[1]:.1f} times (bar: {BARS[name]}); same responses: {same}"
    )


def full_sort(logits, how):
    """Nucleus by sorting the whole vocabulary."""
    masses, numbers = torch.softmax(logits, 1).sort(1, descending=True)
    return masses * (masses.cumsum(1) - masses < how.nucleus), numbers


def nucleus():
    """Times of the two ways on distributions as peaked as those of trained models."""
    how = decoding.parse_decoding("nucleus:0.9")
    logits = torch.randn(64, WORDS, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3.5
    times, kept = [], []
    for filtered in (decoding.keep_likely, full_sort):
        filtered(logits, how)
        begun = time.process_time()
        for _ in range(10):
            masses, numbers = filtered(logits, how)
        times.append(time.process_time() - begun)
        kept.append(torch.zeros_like(logits).scatter_(1, numbers, masses))
    gap = float((kept[0] - kept[1]).abs().max())
    size = float((kept[0] > 0).sum(1).double().mean())
    print(
        f"nucleus: {times[1] / times[0]:.1f} times a full sort (bar: 2.5); "
        f"probabilities differ by {gap:.0e}; {size:.0f} tokens kept on average"
    )


def main():
    """Measure all."""
    torch.set_num_threads(1)  # CPU seconds of one thread: other work on the machine disturbs them least
    decoding.LONGEST_RESPONSE = LENGTH
    given = contexts()
    for name in BARS:
        greedy(name, given)
    nucleus()
    print(signature(words=WORDS, contexts=CONTEXTS, alone=ALONE, tokens=LENGTH, threads=torch.get_num_threads()))


if __name__ == "__main__":
    main()
