"""Word-overlap scores of a response against its reference, each item with counts that may be summed.

BLEU-2: Papineni et al. 2002 with unigrams and bigrams; counts clipped per segment; brevity penalty exp(1 - r/c) for
c < r. `smooth="exp"` halves once more for every order without a match (sacrebleu's default), `"none"` gives 0 then.
All scores are on the scale 0-100, as the papers print BLEU.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

Smooth = Literal["exp", "none"]
ORDERS = (1, 2)


def ngrams(tokens: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """How often each n-gram occurs."""
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def bleu_counts(response: Sequence[str], reference: Sequence[str]) -> dict[str, float]:
    """Summable counts: clipped matches and totals of both orders, lengths of response and reference."""
    counts: dict[str, float] = {"length": len(response), "reference": len(reference)}
    for order in ORDERS:
        ours, theirs = ngrams(response, order), ngrams(reference, order)
        counts[f"match{order}"] = sum((ours & theirs).values())
        counts[f"total{order}"] = max(0, len(response) - order + 1)
    return counts


def add_counts(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Counts of a corpus from those of its items."""
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value
    return total


def bleu2(counts: Mapping[str, float], *, smooth: Smooth) -> float:
    """BLEU-2 of one item or of a corpus, 0-100."""
    logs, halvings = 0.0, 0
    for order in ORDERS:
        match, total = counts[f"match{order}"], counts[f"total{order}"]
        if not total or (not match and (smooth == "none" or order == 1)):
            return 0.0
        halvings += not match
        logs += math.log(match / total if match else 0.5**halvings / total)
    length, reference = counts["length"], counts["reference"]
    penalty = 1.0 if length >= reference else math.exp(1 - reference / length)
    return 100 * penalty * math.exp(logs / len(ORDERS))
