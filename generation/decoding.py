"""Free-running responses: greedy, beam, temperature, top-k, nucleus; batched, rows leave the batch as they finish.

The response to a context is the same whatever the batch, its order or size. Rows never share anything but a matrix
product, whose last bits depend on the number of rows; so every choice also tells by how much it was made, and a
response with a choice closer than that rounding could turn is written again alone, which has one outcome only. Sampled
responses follow from (seed, item): each item brings its own uniform numbers, one a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dialogue.errors import InputError
from dialogue.seeds import child_seed
from generation.batches import stack_contexts
from generation.models.interface import Encoded, Model
from generation.vocabulary import BOS, EOS, SPECIAL

LONGEST_RESPONSE = 60
CLOSE_LOGITS = 1e-4  # rounding moves logits by less than a tenth of this (tested)
CLOSE_MASS = 2e-6  # the same for sums of probabilities
NEVER = [number for number in range(len(SPECIAL)) if number != EOS]


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
class Answer:
    """One response: its tokens without <eos>, and the sum of their log-probabilities (with <eos>'s) under the model."""

    tokens: tuple[int, ...]
    logprob: float


def parse_decoding(text: str) -> Decoding:
    """Read the text form."""
    values: dict[str, float] = {}
    for part in text.split("+"):
        name, _, number = part.partition(":")
        try:
            values[name] = float(number) if number else 0.0
        except ValueError:
            values = {"?": 0.0}
    top_k, beam = values.get("top_k", 0), values.get("beam", 0)
    sampled = {"temperature": values.get("temperature", 1.0), "nucleus": values.get("nucleus", 1.0)}
    legal = set(values) in ({"greedy"}, {"beam"}) or set(values) <= {"temperature", "nucleus", "top_k"}
    whole = all(n == int(n) and (n >= 1 or name not in values) for name, n in (("top_k", top_k), ("beam", beam)))
    if not legal or not whole or sampled["temperature"] <= 0 or not 0 < sampled["nucleus"] <= 1:
        raise InputError(
            f"Decoding {text!r} is not understood. Legal: greedy, beam:5, or one or more of temperature:0.7, "
            "top_k:40, nucleus:0.9, joined by +."
        )
    return Decoding(text, int(beam), not {"greedy", "beam"} & set(values), top_k=int(top_k), **sampled)


def respond(
    model: Model,
    contexts: Sequence[Sequence[int]],
    *,
    how: Decoding,
    seed: int,
    items: Sequence[str],
    batch_size: int = 64,
    device: torch.device | None = None,
) -> list[Answer]:
    """The responses to contexts, in their order; `items` name the contexts and, when sampling, pick the numbers."""
    device = device or torch.device("cpu")
    answers: dict[int, Answer] = {}
    order = sorted(range(len(contexts)), key=lambda row: len(contexts[row]))
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            close = _answer(model, contexts, rows, how, seed, items, device, answers)
            for row in close if len(rows) > 1 else []:
                _answer(model, contexts, [row], how, seed, items, device, answers)
    return [answers[row] for row in range(len(contexts))]


def _answer(
    model: Model,
    contexts: Sequence[Sequence[int]],
    rows: Sequence[int],
    how: Decoding,
    seed: int,
    items: Sequence[str],
    device: torch.device,
    answers: dict[int, Answer],
) -> list[int]:
    """Fill in the answers of some rows as one batch; the rows that were too close to call come back."""
    encoded = model.encode(stack_contexts([contexts[row] for row in rows], device))
    chooser = _Sampler(how, [items[row] for row in rows], seed, device) if how.sampled else _Greedy()
    tokens, logprob, closest = run_free(model, encoded, chooser)
    for row, line, total in zip(rows, tokens.tolist(), logprob.tolist(), strict=True):
        length = line.index(EOS) if EOS in line else len(line)
        answers[row] = Answer(tuple(line[:length]), total)
    return [row for row, margin in zip(rows, closest.tolist(), strict=True) if margin < 1]


def run_free(model: Model, encoded: Encoded, chooser: _Greedy | _Sampler) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens (batch x time, EOS behind), summed log-probabilities and the closest choice of each row."""
    size, device = len(encoded.mask), encoded.mask.device
    written = torch.full((size, LONGEST_RESPONSE), EOS, device=device)
    logprob = torch.zeros(size, dtype=torch.float64, device=device)
    closest = torch.full((size,), torch.inf, device=device)
    rows, state = torch.arange(size, device=device), model.start(encoded)
    latest = torch.full((size,), BOS, device=device)
    for time in range(LONGEST_RESPONSE):
        hidden, state = model.step(encoded, state, latest)
        logits = mask_special(model.output(hidden).float(), first=time == 0)
        latest, margin = chooser.choose(logits, rows, time)
        written[rows, time] = latest
        logprob[rows] += (logits.gather(1, latest[:, None])[:, 0] - logits.logsumexp(1)).double()
        closest[rows] = torch.minimum(closest[rows], margin.float())
        alive = (latest != EOS).nonzero()[:, 0]
        if not len(alive):
            break
        if len(alive) < len(rows):
            rows, latest, encoded = rows[alive], latest[alive], encoded.rows(alive)
            state = tuple(part[alive] for part in state)
    return written, logprob, closest


def mask_special(logits: Tensor, *, first: bool) -> Tensor:
    """Rule out what no response holds: special tokens, and <eos> at the very beginning (an empty response)."""
    logits[:, NEVER] = -torch.inf
    if first:
        logits[:, EOS] = -torch.inf
    return logits


class _Greedy:
    """The most probable token."""

    def choose(self, logits: Tensor, rows: Tensor, time: int) -> tuple[Tensor, Tensor]:
        """Tokens, and how many times the rounding they were ahead of the runner-up."""
        del rows, time
        best, numbers = logits.topk(2)
        return numbers[:, 0], (best[:, 0] - best[:, 1]) / CLOSE_LOGITS


class _Sampler:
    """A token drawn by inverting the distribution function at the item's own uniform number.

    The kept tokens stand in order of number, so that near ties in probability do not move the outcome; only who is
    kept depends on the ranking.
    """

    def __init__(self, how: Decoding, items: Sequence[str], seed: int, device: torch.device) -> None:
        draws = [np.random.default_rng(child_seed(seed, "decode", item)).random(LONGEST_RESPONSE) for item in items]
        self.uniforms = torch.from_numpy(np.stack(draws)).to(device)
        self.how = how

    def choose(self, logits: Tensor, rows: Tensor, time: int) -> tuple[Tensor, Tensor]:
        """Tokens, and how many times the rounding the draw was away from another outcome."""
        scaled = logits / self.how.temperature
        masses, numbers, edge = keep_likely(scaled, self.how)
        sums = masses.cumsum(1)
        wanted = self.uniforms[rows, time, None] * sums[:, -1:]
        place = torch.searchsorted(sums, wanted, right=True).clamp(max=masses.shape[1] - 1)
        above = (sums.gather(1, place) - wanted)[:, 0]
        below = masses.gather(1, place)[:, 0] - above
        gaps = torch.stack([_unless(place[:, 0] == masses.shape[1] - 1, above), _unless(place[:, 0] == 0, below)])
        return numbers.gather(1, place)[:, 0], torch.minimum(gaps.amin(0), edge) / CLOSE_MASS


def _unless(outermost: Tensor, gap: Tensor) -> Tensor:
    return gap.masked_fill(outermost, torch.inf)


def keep_likely(scaled: Tensor, how: Decoding) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities and numbers of the tokens that top-k and nucleus keep, in order of number, and the edge's width.

    Only the likeliest few tokens are ranked; where they do not hold the nucleus, twice as many are looked at.
    """
    words = scaled.shape[1]
    norm = scaled.double().logsumexp(1, keepdim=True)
    if not how.top_k and how.nucleus == 1.0:
        masses = (scaled.double() - norm).exp()
        return masses, torch.arange(words, device=scaled.device).expand_as(scaled), masses.new_full((len(masses),), 1)
    look = min(words, how.top_k + 1 if how.top_k else 32)
    while True:
        best, numbers = scaled.topk(look)
        masses = (best.double() - norm).exp()
        keep, edge = _inside(masses, how)
        if how.top_k or look == words or not bool(keep[:, -1].any()):
            break
        look = min(words, 4 * look)
    numbers, order = numbers.sort(1)
    return (masses * keep).gather(1, order), numbers, edge


def _inside(masses: Tensor, how: Decoding) -> tuple[Tensor, Tensor]:
    """Which of the ranked tokens are kept, and by how much the last kept and the first left out are told apart."""
    keep = torch.ones_like(masses, dtype=torch.bool)
    if how.top_k and masses.shape[1] > how.top_k:
        keep[:, how.top_k :] = False
    whole = (masses * keep).sum(1, keepdim=True) if how.top_k else 1.0
    before = masses.cumsum(1) - masses
    keep &= before < how.nucleus * whole
    last = keep.sum(1, keepdim=True) - 1
    following = (last + 1).clamp(max=masses.shape[1] - 1)
    gap = (masses.gather(1, last) - masses.gather(1, following)).masked_fill(following == last, 1.0)
    reach = (before.gather(1, last) + masses.gather(1, last) - how.nucleus * whole).abs()
    start = (before.gather(1, last) - how.nucleus * whole).abs()
    return keep, torch.minimum(gap, torch.minimum(reach, start))[:, 0]
