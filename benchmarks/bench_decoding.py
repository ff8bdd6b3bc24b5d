"""Batched decoding against one context at a time, and nucleus sampling against a full sort, in one run.

Models at paper size with 13,000 words and random weights; every response is cut at 20 tokens, about the mean of
MultiWOZ, so that all ways write equally much. One by one is the same function on a batch of one, in single precision.
Beside it stands the least that a loop can do: no log-probability, no lead, no row that leaves. Of 2,000 contexts these
get a few, evenly spread over their lengths.
With --bart, by one thread's processor time: our transformer against transformers' `generate` of a BART of its sizes,
greedy and nucleus, and its encoder, in batches of 128 of like lengths and as they come. Weights are random, so the
nucleus is wide.
Both ways use every core; with --busy both use one thread and are timed by its processor time, which other work on the
machine disturbs least.
"""

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.signature import signature
from seedvote.generation import decoding
from seedvote.generation.batches import stack_contexts
from seedvote.generation.encoding import Form, encode_block
from seedvote.generation.models.architectures import build_model, sizes_of
from seedvote.generation.vocabulary import BOS, EOS, EOU, OTHER, PAD

WORDS, CONTEXTS, ALONE, LENGTH = 13_000, 2000, 20, 20
CPU = torch.device("cpu")
GREEDY = decoding.parse_decoding("greedy")
PART = decoding.Part(longest=LENGTH)
BARS = {"seq2seq": 8, "seq2seq_attn": 8, "hred": 8, "bilstm_attn": 8, "transformer": 5}
clock = time.perf_counter


def contexts():
    """Random contexts of the lengths of MultiWOZ: half of them at the limit of 100 tokens."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(98, rng.integers(10, 190, CONTEXTS))
    return [[OTHER, *rng.integers(7, WORDS, size).tolist(), EOU] for size in sizes]


def alone(model, context):
    """The same function on a batch of one."""
    written = decoding._write_batch(model, [context], GREEDY, 0, ["0"], CPU, PART, None, 0.0)
    return tuple(written.tokens[0].tolist())


def bare(model, context):
    """The least that a loop for one context can do."""
    encoded, written, latest = model.encode(stack_contexts([context], CPU)), [], torch.tensor([BOS])
    state = model.start_state(encoded)
    while len(written) < LENGTH:
        hidden, state = model.decode_step(encoded, state, latest)
        latest = decoding.mask_special(model.output(hidden), first=not written).argmax(1)
        written.append(int(latest))
    return tuple(written)


@torch.inference_mode()
def singly(way, model, few):
    """Responses one by one, and the seconds they took."""
    way(model, few[0])
    begun = clock()
    return [way(model, context) for context in few], clock() - begun


def greedy(name, given):
    """Contexts a second in batches, and one by one (half of them before, half after: a machine's speed drifts)."""
    torch.random.default_generator.manual_seed(0)
    model = build_model(name, WORDS, sizes_of(name, "paper")).eval()
    model.output.bias.data[EOS] = -100.0
    few = sorted(given, key=len)[:: len(given) // ALONE]
    before = {way: singly(way, model, few) for way in (alone, bare)}
    begun = clock()
    answers = decoding.write_responses(
        model, given, how=GREEDY, seed=0, items=[str(n) for n in range(len(given))], part=PART
    )
    fast = len(given) / (clock() - begun)
    after = {way: singly(way, model, few) for way in (alone, bare)}
    slow = {way: 2 * len(few) / (before[way][1] + after[way][1]) for way in (alone, bare)}
    ours = {tuple(context): answer.tokens for context, answer in zip(given, answers, strict=True)}
    three = zip((ours[tuple(context)] for context in few), before[alone][0], before[bare][0], strict=True)
    same = sum(mine == one == two for mine, one, two in three)
    print(
        f"{name}: {fast:.1f} contexts a second in batches, {slow[alone]:.1f} one by one: "
        f"{fast / slow[alone]:.1f} times (bar: {BARS[name]}), "
        f"{slow[bare]:.1f} in a bare loop: {fast / slow[bare]:.1f} times; "
        f"{same} of {len(few)} responses the same",
        flush=True,
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
        begun = clock()
        for _ in range(10):
            masses, numbers = filtered(logits, how)
        times.append(clock() - begun)
        kept.append(torch.zeros_like(logits).scatter_(1, numbers, masses))
    gap = float((kept[0] - kept[1]).abs().max())
    size = float((kept[0] > 0).sum(1).double().mean())
    print(
        f"nucleus: {times[1] / times[0]:.1f} times a full sort (bar: 2.5); "
        f"probabilities differ by {gap:.0e}; {size:.0f} tokens kept on average"
    )


def against_bart(contexts_given):
    """Processor seconds of ours and of BART's, one after the other and again."""
    from transformers import BartConfig, BartForConditionalGeneration

    sizes = {"d_model": 512, "max_position_embeddings": 128, "activation_function": "relu", "dropout": 0.0}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 2048}
    tokens = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    torch.random.default_generator.manual_seed(0)
    bart = BartForConditionalGeneration(
        BartConfig(vocab_size=WORDS, forced_eos_token_id=None, **sizes, **tokens)
    ).eval()
    ours = build_model("transformer", WORDS, sizes_of("transformer", "paper")).eval()
    ours.output.bias.data[EOS] = -100.0
    given = contexts_given[:256]
    items, like = [str(n) for n in range(len(given))], sorted(given, key=len)

    def batches(rows):
        return [stack_contexts(rows[start : start + 128], CPU) for start in range(0, len(rows), 128)]

    for rows in (like, sorted(contexts_given, key=len)):
        places = sum(batch.tokens.numel() for batch in batches(rows))
        print(f"{len(rows):,} contexts of like lengths: {1 - sum(map(len, rows)) / places:.0%} of places are padding")

    @torch.inference_mode()
    def generate(**how):
        for batch in batches(like):
            mask, length = batch.mask.long(), {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH}
            bart.generate(input_ids=batch.tokens, attention_mask=mask, num_beams=1, **length, **how)

    @torch.inference_mode()
    def read(rows):
        for batch in batches(rows):
            bart.get_encoder()(input_ids=batch.tokens, attention_mask=batch.mask.long())

    def write(how):
        decoding.write_responses(ours, given, how=decoding.parse_decoding(how), seed=0, items=items, part=PART)

    for name, mine, theirs in (
        ("greedy", partial(write, "greedy"), partial(generate, do_sample=False)),
        ("nucleus:0.9", partial(write, "nucleus:0.9"), partial(generate, do_sample=True, top_p=0.9, top_k=0)),
        ("encode, like lengths", partial(encode_block, ours, given, Form(), CPU), partial(read, like)),
        ("encode, as they come", partial(encode_block, ours, given, Form(), CPU), partial(read, given)),
    ):
        taken = [[], []]
        for turn in range(4):  # the first is not counted
            for side, way in enumerate((mine, theirs)):
                begun = time.process_time()
                way()
                taken[side] += [time.process_time() - begun] * (turn > 0)
        own, other = (sorted(side)[1] for side in taken)
        print(f"{name}: ours {own:.2f} s, BART {other:.2f} s: {other / own:.2f} times as fast", flush=True)


def main():
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", action="store_true", help="one thread, processor time")
    parser.add_argument("--bart", action="store_true", help="against transformers, one thread, processor time")
    args = parser.parse_args()
    if args.busy or args.bart:
        global clock
        clock = time.process_time
        torch.set_num_threads(1)
    print(f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    given = contexts()
    if args.bart:
        against_bart(given)
        return
    for name in BARS:
        greedy(name, given)
    nucleus()
    print(signature(words=WORDS, contexts=CONTEXTS, alone=ALONE, tokens=LENGTH, threads=torch.get_num_threads()))


if __name__ == "__main__":
    main()
