"""Free-running responses: greedy, beam, temperature, top-k, nucleus; batched, rows leave the batch as they finish.

To add a decoding: a field of `Decoding`, its word in `parse_decoding`, and its rule in `keep_likely` (where it samples)
or next to `run_beam`; `generation/imports/hugging_face.py` takes it from there for imported models.

The response to a context is the same whatever the batch, its order or size. Rows share nothing but matrix products,
whose last bits depend on the number of rows; decoding therefore computes in double precision, where rounding (about
1e-14) is far below what tells two choices apart. Greedy decoding tries single precision first, where a few
contexts show that rounding moves this model's logits by a tenth of NEAR at most; a row in which two tokens ever come
closer than ten times that rounding is answered again in double. Draws on CUDA do likewise: where another token might
have been drawn.
Sampled responses follow from (seed, item): each item brings its own uniform numbers, one a token, whatever else is in
the batch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seedvote.dialogue.devices import use_whole_float32
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import keep_freed_memory
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.tokens import LONGEST_RESPONSE
from seedvote.generation.batches import pad_rows, stack_contexts
from seedvote.generation.models.interface import DialogueModel, Encoded
from seedvote.generation.vocabulary import BOS, EOS, SPECIAL

# Not at every row that finishes: to copy the others' states costs more than a few idle rows.
KEEP_ROWS = 0.75  # finished rows leave the batch when this share or less is still writing
# How far ahead the best token must be, as a share of the range of a row's logits. Rounding moves logits by about 1e-6.
NEAR = {torch.float32: 3e-5, torch.float64: 0.0}
SAFE = 10  # how many times the measured rounding a choice must be apart from another one
LEAST_NEAR = 2e-6  # where the contexts that are measured happen to round less
PROBED = 20  # tokens behind which measure_rounding is measured
NEVER_WRITTEN = [number for number in range(len(SPECIAL)) if number != EOS]


@dataclass(frozen=True, slots=True)
class Part:
    """What is written in one go: the token that ends it, tokens that it never holds, its length, may it be empty."""

    end: int = EOS
    never: Sequence[int] = tuple(NEVER_WRITTEN)
    longest: int = LONGEST_RESPONSE
    may_be_empty: bool = False


RESPONSE = Part()
# (logits, which rows of the batch, the token that each row writes, from 0) -> tokens, their log-probabilities, and how
# far ahead of others they were
Chooser = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


@dataclass(frozen=True, slots=True)
class Decoding:
    """How tokens are chosen. Text form: `greedy`, `beam:5`, `nucleus:0.9`, `top_k:40+temperature:0.7`."""

    name: str
    beam: int = 0
    sampled: bool = False
    temperature: float = 1.0
    top_k: int = 0
    nucleus: float = 1.0


@dataclass(frozen=True, slots=True)
class Decoded:
    """One response: its tokens without <eos>, and the sum of their log-probabilities (with <eos>'s) under the model."""

    tokens: tuple[int, ...]
    logprob: float


class Written(NamedTuple):
    """A batch of responses: tokens (batch x time, the end behind), their log-probability summed, their least lead."""

    tokens: Tensor
    logprob: Tensor
    lead: Tensor


def parse_decoding(text: str) -> Decoding:
    """Read the text form."""
    values: dict[str, float] = {}
    for part in text.split("+"):
        name, _, number = part.partition(":")
        try:
            value = float(number) if number else 0.0
        except ValueError:
            value = math.nan
        values["?" if name in values or not math.isfinite(value) else name] = value
    top_k, beam = values.get("top_k", 0), values.get("beam", 0)
    sampled = {"temperature": values.get("temperature", 1.0), "nucleus": values.get("nucleus", 1.0)}
    legal = text == "greedy" or set(values) == {"beam"} or set(values) <= {"temperature", "nucleus", "top_k"}
    are_whole = all(n == int(n) and (n >= 1 or name not in values) for name, n in (("top_k", top_k), ("beam", beam)))
    if not legal or not are_whole or sampled["temperature"] <= 0 or not 0 < sampled["nucleus"] <= 1:
        raise InputError(
            f"Decoding {text!r} is not understood. Legal: greedy, beam:5, or one or more of temperature:0.7, "
            "top_k:40, nucleus:0.9, joined by +."
        )
    return Decoding(text, int(beam), not {"greedy", "beam"} & set(values), top_k=int(top_k), **sampled)


def write_responses(
    model: DialogueModel,
    contexts: Sequence[Sequence[int]],
    *,
    how: Decoding,
    seed: int,
    items: Sequence[str],
    batch_size: int = 128,
    device: torch.device | None = None,
    part: Part = RESPONSE,
    beginnings: Sequence[Sequence[int]] = (),
) -> list[Decoded]:
    """The responses to contexts, in their order; `items` name the contexts and, when sampling, pick the numbers.

    `beginnings`: for each context the tokens that stand before what is written, as if the model had written them.
    """
    keep_freed_memory()
    device = device or torch.device("cpu")
    answers: dict[int, Decoded] = {}
    # Contexts of like length share a batch, so that little of it is padding.
    order = sorted(range(len(contexts)), key=lambda row: len(contexts[row]))
    # Draws on a CPU stay in double: of a flat distribution most single draws are in doubt, and all would be done twice.
    may_be_single = not how.beam and (not how.sampled or device.type == "cuda")
    some = [contexts[row] for row in order[:: len(order) // 8 + 1]]
    rounding = measure_rounding(model, some, device) if may_be_single else math.inf
    single = rounding < NEAR[torch.float32] / SAFE
    near = {**NEAR, torch.float32: min(NEAR[torch.float32], max(SAFE * rounding, LEAST_NEAR))}
    # Two rounds at most: every row in single precision where that is safe, then the doubtful ones in double.
    for precision in (torch.float32, torch.float64)[0 if single else 1 :]:
        ready, doubtful = _in_precision(model, device, precision), []
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch_beginnings = [beginnings[row] for row in rows] if beginnings else None
            with use_whole_float32(device):
                written = _write_batch(
                    ready,
                    [contexts[row] for row in rows],
                    how,
                    seed,
                    [items[row] for row in rows],
                    device,
                    part,
                    batch_beginnings,
                    rounding if precision == torch.float32 else 0.0,
                )
            for row, line, total, lead in zip(rows, *(column.tolist() for column in written), strict=True):
                length = line.index(part.end) if part.end in line else len(line)
                answers[row] = Decoded(tuple(line[:length]), total)
                if not lead >= near[precision]:  # also where it is no number
                    doubtful.append(row)
        if not doubtful:
            break
        order = doubtful
    return [answers[row] for row in range(len(contexts))]


def _in_precision(model: DialogueModel, device: torch.device, precision: torch.dtype) -> DialogueModel:
    """The model itself where it is so already, else a copy: the caller's keeps its precision and its mode."""
    is_ready = all(part.device == device and part.dtype == precision for part in model.parameters())
    return model if is_ready and not model.training else copy.deepcopy(model).to(device, precision).eval()


@torch.inference_mode()
def measure_rounding(
    model: DialogueModel, contexts: Sequence[Sequence[int]], device: torch.device | None = None
) -> float:
    """How far single precision moves the logits after these contexts there, as a share of their range.

    Each context's own last tokens stand for the response.
    """
    if not contexts:
        return 0.0
    place, inputs = device or torch.device("cpu"), torch.full((len(contexts), PROBED + 1), BOS)
    for row, context in enumerate(contexts):
        inputs[row, 1:] = torch.tensor([context[-1 - time % len(context)] for time in range(PROBED)])
    single, double = (_in_precision(model, place, precision) for precision in (torch.float32, torch.float64))
    with use_whole_float32(place):
        read = [(m, m.encode(stack_contexts(contexts, place))) for m in (single, double)]
        single_logits, double_logits = (
            m.output(m.decode_targets(encoded, inputs.to(encoded.mask.device))).double() for m, encoded in read
        )
    moved = (single_logits - double_logits).abs().amax(2) / (double_logits.amax(2) - double_logits.amin(2))
    return float(moved.max())


@torch.inference_mode()
def _write_batch(
    model: DialogueModel,
    contexts: Sequence[Sequence[int]],
    how: Decoding,
    seed: int,
    items: Sequence[str],
    device: torch.device,
    part: Part,
    beginnings: Sequence[Sequence[int]] | None,
    rounding: float,
) -> Written:
    encoded = model.encode(stack_contexts(contexts, device))
    if how.beam:
        if beginnings or part != RESPONSE:
            raise InputError("Agents write their beliefs and replies word by word: beam search is for responses alone.")
        return run_beam(model, encoded, how.beam)
    if not how.sampled:
        return run_free(model, encoded, most_likely, part, beginnings)
    sampler = Sampler(how, items, seed, device, part.longest, rounding)
    return run_free(model, encoded, sampler.choose, part, beginnings)


def run_free(
    model: DialogueModel,
    encoded: Encoded,
    choose: Chooser,
    part: Part = RESPONSE,
    beginnings: Sequence[Sequence[int]] | None = None,
) -> Written:
    """Each row written one choice at a time, after its beginning."""
    size, device = len(encoded.mask), encoded.mask.device
    written = torch.full((size, part.longest), part.end, device=device)
    # In double precision also where the model is single: the sum of 60 terms is written to four places.
    logprob = torch.zeros(size, dtype=torch.float64, device=device)
    least = torch.full((size,), torch.inf, device=device, dtype=encoded.memory.dtype)
    rows, state = torch.arange(size, device=device), model.start_state(encoded)
    latest = torch.full((size,), BOS, device=device)
    alive = torch.ones(size, dtype=torch.bool, device=device)
    prefixes = pad_rows(beginnings or [[]] * size, device)
    lengths = torch.tensor([len(row) for row in beginnings or [[]] * size], device=device)
    for time in range(prefixes.shape[1] + part.longest):
        hidden, state = model.decode_step(encoded, state, latest)
        place = time - lengths[rows]  # the token that a row writes now; below 0 it is still given
        logits = mask_special(model.output(hidden), first=place <= 0, part=part)
        latest, gain, lead = choose(logits, rows, place.clamp(0, part.longest - 1))
        writers = (alive & (place >= 0) & (place < part.longest)).nonzero()[:, 0]
        their = rows[writers]
        written[their, place[writers]] = latest[writers]
        logprob[their] += gain[writers]
        least[their] = torch.minimum(least[their], lead[writers].to(least))
        alive &= (place < 0) | ((latest != part.end) & (place < part.longest - 1))
        if time < prefixes.shape[1]:
            latest = torch.where(place < 0, prefixes[rows, time], latest)
        number_alive = int(alive.sum())
        if not number_alive:
            break
        if number_alive <= KEEP_ROWS * len(rows):
            stay = alive.nonzero()[:, 0]
            rows, latest, encoded, alive = rows[stay], latest[stay], encoded.rows(stay), alive[stay]
            state = tuple(part_state[stay] for part_state in state)
    return Written(written, logprob, least)


def run_beam(model: DialogueModel, encoded: Encoded, width: int) -> Written:
    """The best finished prefix a row, by log-probability a token (with <eos>).

    At each step the `width` best continuations of the open prefixes are kept; those that end leave the beam.
    """
    size, device = len(encoded.mask), encoded.mask.device
    encoded = encoded.rows(torch.arange(size, device=device).repeat_interleave(width))
    state, latest = model.start_state(encoded), torch.full((size * width,), BOS, device=device)
    scores = torch.full((size, width), -torch.inf, dtype=torch.float64, device=device)
    # The prefixes of a row begin as copies: all but one are ruled out, else the beam would hold copies of one response.
    scores[:, 0] = 0.0
    written = torch.full((size, width, LONGEST_RESPONSE), EOS, device=device)
    best = _Best(torch.full((size, LONGEST_RESPONSE), EOS, device=device), scores[:, -1] - torch.inf, scores[:, 0] * 0)
    for time in range(LONGEST_RESPONSE):
        hidden, state = model.decode_step(encoded, state, latest)
        logs = mask_special(model.output(hidden), first=time == 0).log_softmax(1)
        scores, place = (scores[:, :, None] + logs.view(size, width, -1)).flatten(1).topk(width)
        parents, latest = place // logs.shape[1], place % logs.shape[1]
        written = written.gather(1, parents[:, :, None].expand_as(written))
        written[:, :, time] = latest
        # At the limit every open prefix counts as finished, else a row could be left without a response.
        ended = (latest == EOS) | (time == LONGEST_RESPONSE - 1)
        best.take_better(written, scores.masked_fill(~ended, -torch.inf), time + 1)
        scores = scores.masked_fill(ended, -torch.inf)
        if not bool((scores > -torch.inf).any()):
            break
        flat = (parents + torch.arange(size, device=device)[:, None] * width).flatten()
        state, latest = tuple(part[flat] for part in state), latest.flatten()
    return Written(best.tokens, best.logprob, torch.full_like(best.logprob, torch.inf))


@dataclass
class _Best:
    """The best finished prefix of each row so far."""

    tokens: Tensor
    a_token: Tensor
    logprob: Tensor

    def take_better(self, written: Tensor, ended: Tensor, length: int) -> None:
        """Take over what ended now (score -inf where nothing did) where it beats what ended before."""
        score, slot = ended.max(1)
        better = score / length > self.a_token
        self.tokens[better] = written[better, slot[better]]
        self.a_token[better], self.logprob[better] = score[better] / length, score[better]


def mask_special(logits: Tensor, *, first: Tensor | bool, part: Part = RESPONSE) -> Tensor:
    """Rule out what no part holds: special tokens, and the end at its very beginning unless it may be empty.

    `first`: whether all rows, or which of them, have not begun.
    """
    logits[:, part.never] = -torch.inf
    if isinstance(first, Tensor) and not part.may_be_empty:
        logits[:, part.end].masked_fill_(first, -torch.inf)
    elif first is True and not part.may_be_empty:
        logits[:, part.end] = -torch.inf
    return logits


def most_likely(logits: Tensor, rows: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Greedy: the most probable token of each row, and its lead over the second as a share of the range of logits.

    On CPU NumPy finds the place of a maximum in a tenth of torch's time. The logits are used up: a second matrix of
    that size would not stay in the cache.
    """
    del rows, place
    tokens = logits.argmax(1) if logits.is_cuda else torch.from_numpy(logits.numpy().argmax(1))
    best = logits.gather(1, tokens[:, None])
    least = logits[:, len(SPECIAL) :].amin(1, keepdim=True)
    second = logits.scatter_(1, tokens[:, None], -torch.inf).amax(1, keepdim=True)
    mass = logits.sub_(best).exp_().sum(1)
    return tokens, -mass.log1p(), ((best - second) / (best - least))[:, 0]


class Sampler:
    """Draws a token by inverting the distribution function at the item's own uniform number.

    `rounding`: how far logits are off, as a share of their range; 0 in double precision.
    """

    def __init__(
        self,
        how: Decoding,
        items: Sequence[str],
        seed: int,
        device: torch.device,
        longest: int = LONGEST_RESPONSE,
        rounding: float = 0.0,
    ) -> None:
        # A generator for each item: with one for all, a response would depend on the batch.
        draws = [np.random.default_rng(child_seed(seed, "decode", item)).random(longest) for item in items]
        self.uniforms = torch.from_numpy(np.stack(draws)).to(device)
        self.how, self.rounding = how, rounding

    def choose(self, logits: Tensor, rows: Tensor, place: Tensor | int) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens for the rows of the batch that are still there; in double precision no draw is in doubt."""
        logits = logits.double() if self.rounding else logits
        masses, numbers = keep_likely(logits / self.how.temperature, self.how)
        sums = masses.cumsum(1)
        # Scaled to the mass that top-k and nucleus leave, which saves dividing every probability by it.
        wanted = self.uniforms[rows, place, None] * sums[:, -1:]
        place = torch.searchsorted(sums, wanted, right=True).clamp(max=masses.shape[1] - 1)
        tokens = numbers.gather(1, place)
        lead = torch.full_like(wanted[:, 0], torch.inf)
        if self.rounding:
            known = logits.isfinite()
            reach = logits.amax(1) - logits.masked_fill(~known, torch.inf).amin(1)
            error = SAFE * self.rounding * reach / self.how.temperature
            lead[~is_safe_draw(logits / self.how.temperature, wanted, place, self.how, error)] = -1.0
        return tokens[:, 0], logits.log_softmax(1).gather(1, tokens)[:, 0], lead


def is_safe_draw(scaled: Tensor, wanted: Tensor, place: Tensor, how: Decoding, error: Tensor) -> Tensor:
    """Of which rows the same token would be drawn if every logit were off by `error` (a row) at most.

    `wanted` is the point of the distribution function, in mass, and `place` the rank that was drawn there. A logit that
    is off by e moves the share of a set of tokens by 2 e at most.
    """
    masses, _ = keep_likely(scaled, how)
    sums, error = masses.cumsum(1), error[:, None]
    upper = sums.gather(1, place)
    margin = torch.minimum(wanted - (upper - masses.gather(1, place)), upper - wanted) / sums[:, -1:]
    needed = 4 * error
    if not how.top_k and how.nucleus == 1.0:
        return (margin >= needed)[:, 0]
    # Ranks: another token within reach of the drawn one might change places with it.
    look = min(scaled.shape[1], masses.shape[1] + 1)
    best = scaled.topk(look).values
    drawn, last = best.gather(1, place), torch.full_like(place, look - 1)
    before = best.gather(1, (place - 1).clamp(0)) - drawn
    behind = drawn - best.gather(1, torch.minimum(place + 1, last))
    is_apart = ((place == 0) | (before > 2 * error)) & ((place == last) | (behind > 2 * error))
    # The cut: a token that may be in or out moves the whole scale by its mass.
    share = (best - scaled.logsumexp(1, keepdim=True)).exp()
    if how.top_k:
        share = share / share[:, : how.top_k].sum(1, keepdim=True)
        if look > how.top_k:
            is_apart &= best[:, how.top_k - 1 : how.top_k] - best[:, how.top_k :] > 2 * error
    if how.nucleus < 1:
        near_cut = ((share.cumsum(1) - share) - how.nucleus).abs() < needed
        needed = needed + (share * near_cut).sum(1, keepdim=True) / how.nucleus
    return (is_apart & (margin >= needed))[:, 0]


def keep_likely(scaled: Tensor, how: Decoding) -> tuple[Tensor, Tensor]:
    """Probabilities and numbers of the tokens that top-k and nucleus keep (0 for others), most probable first.

    Only the likeliest few tokens are ranked; where they do not hold the nucleus, more are looked at, and all of them
    where they do not even hold half of it.
    """
    words = scaled.shape[1]
    norm = scaled.logsumexp(1, keepdim=True)
    if not how.top_k and how.nucleus == 1.0:
        return (scaled - norm).exp(), torch.arange(words, device=scaled.device).expand_as(scaled)
    look = min(words, how.top_k or 32)
    while True:
        best, numbers = scaled.topk(look) if look < words else _rank_all(scaled)
        masses = (best - norm).exp()
        total = masses.sum(1, keepdim=True) if how.top_k else 1.0
        keep = masses.cumsum(1) - masses < how.nucleus * total
        if how.top_k or look == words or not bool(keep[:, -1].any()):
            return masses * keep, numbers
        is_flat = bool((masses.sum(1) < how.nucleus / 2).any())
        look = words if is_flat else min(words, 8 * look)


def _rank_all(scaled: Tensor) -> tuple[Tensor, Tensor]:
    """Every token, the most probable first; on CPU NumPy sorts in half of torch's time."""
    if scaled.is_cuda:
        return scaled.sort(1, descending=True)
    numbers = torch.from_numpy(np.argsort(-scaled.numpy(), axis=1))
    return scaled.gather(1, numbers), numbers
