"""Replies of equal length to one context, ranked twice: by the discriminator and by their own log-probability.

Length moves both, so only replies of one length are compared. A correlation near 0 says that the discriminator does not
simply prefer what the generator finds likely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from seedvote.evaluators.detection.material import Occasion, Said, Tokens
from seedvote.evaluators.detection.rates import Measured, correlation

FEWEST_ALIKE = 5  # different replies of one length to one context
SHOWN = 3  # contexts
TOP = 5  # replies

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopReplies:
    """One context and length: the replies that each ranking puts first."""

    item: str
    length: int
    by_discriminator: Sequence[Tokens]
    by_logprob: Sequence[Tokens]


@dataclass(frozen=True, slots=True)
class SameLength:
    """The correlation of both rankings, and examples of it."""

    rho: Measured
    contexts: int
    groups: int  # pairs of a context and a length
    draws: int
    examples: Sequence[TopReplies]


def same_length(ranked: Sequence[tuple[Occasion, Said]], chances: Floats) -> SameLength | None:
    """Mean Spearman correlation over contexts and lengths; nothing where no length has enough replies."""
    correlations: list[tuple[str, float]] = []
    examples: list[TopReplies] = []
    contexts: set[str] = set()
    for occasion, length, replies in _groups(ranked, chances):
        scores, logprobs = [score for score, _ in replies.values()], [logprob for _, logprob in replies.values()]
        if len(set(scores)) < 2 or len(set(logprobs)) < 2:
            continue
        correlations.append((occasion.dialogue, float(spearmanr(scores, logprobs).statistic)))
        if occasion.item not in contexts and len(examples) < SHOWN:
            examples.append(_top(occasion.item, length, replies))
        contexts.add(occasion.item)
    if not correlations:
        return None
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for name, _ in correlations))}
    rho = correlation([value for _, value in correlations], np.array([numbers[name] for name, _ in correlations]))
    return SameLength(rho, len(contexts), len(correlations), len(ranked), examples)


def _groups(
    ranked: Sequence[tuple[Occasion, Said]], chances: Floats
) -> Iterator[tuple[Occasion, int, dict[Tokens, tuple[float, float]]]]:
    """Contexts and lengths with enough different replies, the commonest length of a context first."""
    by_context: dict[str, tuple[Occasion, dict[int, dict[Tokens, tuple[float, float]]]]] = {}
    for (occasion, reply), chance in zip(ranked, chances, strict=True):
        _, lengths = by_context.setdefault(occasion.item, (occasion, defaultdict(dict)))
        if reply.logprob is not None:
            lengths[len(reply.tokens)][reply.tokens] = (float(chance), reply.logprob)
    for occasion, lengths in by_context.values():
        for length in sorted(lengths, key=lambda words: (-len(lengths[words]), words)):
            if len(lengths[length]) >= FEWEST_ALIKE:
                yield occasion, length, lengths[length]


def _top(item: str, length: int, replies: dict[Tokens, tuple[float, float]]) -> TopReplies:
    first = [sorted(replies, key=lambda reply: (-replies[reply][by], reply))[:TOP] for by in (0, 1)]
    return TopReplies(item, length, *first)
