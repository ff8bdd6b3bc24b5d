"""BLEU-4 of delexicalised replies from counts that may be summed: the score of a corpus, or of any of its dialogues.

Papineni et al. 2002 with the tokenizer 13a and sacrebleu's smoothing of orders without a match (Post 2018); equal to
sacrebleu's corpus score.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.domains.spelling import PLACEHOLDER, placeholder

ORDERS = (1, 2, 3, 4)
COUNTS = (*(f"match{n}" for n in ORDERS), *(f"total{n}" for n in ORDERS), "length", "reference")
ENTITIES = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}
MARKS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
Floats = NDArray[np.float64]


@lru_cache(maxsize=1 << 16)  # references are the same for every system
def as_kinds(text: str) -> str:
    """A reply with each placeholder as one word, its kind: `[hotel_phone]` and `[value_phone]` are both PHONE."""
    return " ".join(PLACEHOLDER.sub(lambda match: placeholder(match[1]) or "OTHER", text.lower()).split())


@lru_cache(maxsize=1 << 16)  # likewise
def tokens_13a(text: str) -> list[str]:
    """The tokens of NIST's mteval-v13a.

    >>> tokens_13a("the fare is 4.50, right?")
    ['the', 'fare', 'is', '4.50', ',', 'right', '?']
    """
    for name, sign in ENTITIES.items():
        text = text.replace(name, sign)
    text = f" {text} "
    for mark, spaced in MARKS:
        text = mark.sub(spaced, text)
    return text.split()


def counts(reply: str, reference: str) -> list[float]:
    """The counts of one reply, in the order of COUNTS."""
    reply_tokens, reference_tokens = tokens_13a(reply), tokens_13a(reference)
    matches = [_shared(_ngrams(reply_tokens, n), _ngrams(reference_tokens, n)) for n in ORDERS]
    return [*matches, *(max(0, len(reply_tokens) - n + 1) for n in ORDERS), len(reply_tokens), len(reference_tokens)]


def _ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))


def _shared(grams: list[tuple[str, ...]], reference_grams: list[tuple[str, ...]]) -> int:
    """How many are in both, each as often as where it is rarer; few are, so counting these alone is quickest."""
    return sum(min(grams.count(gram), reference_grams.count(gram)) for gram in set(grams).intersection(reference_grams))


def bleu4(sums: Floats) -> Floats:
    """BLEU, 0 to 100, from summed counts `(..., 10)`; 0 where nothing was said or nothing matches at all."""
    matches, totals, length, reference = sums[..., :4], sums[..., 4:8], sums[..., 8], sums[..., 9]
    # Orders without a match count as half a match, the next such as a quarter, and so on (sacrebleu's "exp").
    halvings = 2.0 ** np.cumsum(matches == 0, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(matches > 0, matches, 1 / halvings) / totals
        brevity = np.minimum(1.0, np.exp(1 - reference / length))
        score = 100 * brevity * np.exp(np.log(precision).mean(-1))
    return np.where((totals > 0).all(-1) & (matches[..., 0] > 0), score, 0.0)
