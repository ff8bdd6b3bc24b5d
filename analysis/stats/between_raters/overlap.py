"""How far raters mark the same passages of a text: F1 of characters over every two raters of a response.

F1 is ``2 |A and B| / (|A| + |B|)``, summed above and below over all responses and all pairs of raters, so a response
in which neither marked anything says nothing. By chance two raters share what their passages would share if they lay
anywhere in the response, ``2 |A| |B| / length``. The interval leaves out each dialogue, and each rater, in turn
(jackknife.py), on the scale of logits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from seedvote.analysis.stats.between_raters.jackknife import LeftOut, jackknife
from seedvote.analysis.stats.intervals import kish

Floats = NDArray[np.float64]
Marked = Collection[tuple[int, str]]
"""Characters, each with what is said to be wrong with it (or with an empty word)."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """F1 of characters, and what chance would give; no ends where no dialogue or rater can be left out."""

    value: float
    low: float | None
    high: float | None
    chance: float
    comparisons: int
    """Pairs of raters on one response, of whom one marked something."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """One response with what each of its raters marked; who marked nothing has nothing."""

    dialogue: str
    length: int
    marks: Mapping[str, Marked]


def measure_overlap(texts: Sequence[MarkedText], level: float = 0.95) -> Overlap | None:
    """The overlap over all of them; None where no two raters of a response marked anything."""
    rows = [row for text in texts for row in _compare_raters(text)]
    if not rows:
        return None
    shares = np.array([row[3:] for row in rows], dtype=float)  # shared, marked, shared by chance
    dialogues = _number_names([row[0] for row in rows])
    people = _number_names([name for row in rows for name in row[1:3]]).reshape(-1, 2)
    raters = [people[:, 0], people[:, 1]]
    value, chance = (float(shares[:, k].sum() / shares[:, 1].sum()) for k in (0, 2))
    low, high = _find_ends(value, shares, dialogues, raters, level)
    return Overlap(value, low, high, chance, len(rows))


def _compare_raters(text: MarkedText) -> list[tuple[str, str, str, float, float, float]]:
    rows = []
    for one, other in combinations(sorted(text.marks), 2):
        first, second = set(text.marks[one]), set(text.marks[other])
        if total := len(first) + len(second):
            kinds = {kind for _, kind in first} & {kind for _, kind in second}
            sizes = [[sum(kind == one_kind for _, kind in side) for side in (first, second)] for one_kind in kinds]
            by_chance = sum(2 * a * b / max(text.length, 1) for a, b in sizes)
            rows.append((text.dialogue, one, other, 2.0 * len(first & second), float(total), by_chance))
    return rows


def _number_names(names: Sequence[str]) -> NDArray[np.int64]:
    known = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([known[name] for name in names])


def _find_ends(
    value: float, shares: Floats, dialogues: NDArray[np.int64], raters: Sequence[NDArray[np.int64]], level: float
) -> tuple[float | None, float | None]:
    people = int(max(codes.max() for codes in raters)) + 1
    if dialogues.max() < 1 or people < 3 or not 0 < value < 1:  # of two raters one cannot be left out
        return None, None
    above, below = shares[:, 0], shares[:, 1]
    size = int(dialogues.max()) + 1
    by_dialogue = _sums(dialogues, above, below, size)
    by_rater = _sums(raters[0], above, below, people) + _sums(raters[1], above, below, people)
    cells = defaultdict[tuple[int, int], Floats](lambda: np.zeros(2))
    for k, dialogue in enumerate(dialogues):
        for codes in raters:
            cells[int(dialogue), int(codes[k])] += shares[k, :2]
    total = shares[:, :2].sum(axis=0)
    ways = [LeftOut(_without(total, sums), kish(np.arange(len(sums)), sums[:, 1])) for sums in (by_dialogue, by_rater)]
    error = jackknife(float(logit(value)), ways, _without(total, np.array(list(cells.values()))))
    if not np.isfinite(error.se):
        return None, None
    reach = float(stdtrit(error.df, (1 + level) / 2)) * error.se
    return float(expit(logit(value) - reach)), float(expit(logit(value) + reach))


def _sums(codes: NDArray[np.int64], above: Floats, below: Floats, size: int) -> Floats:
    return np.stack([np.bincount(codes, part, size) for part in (above, below)], axis=1)


def _without(total: Floats, parts: Floats) -> Floats:
    """The logit of the ratio without each part; an end of the scale where nothing else is shared, or all is."""
    rest = total - parts
    share = np.divide(rest[:, 0], rest[:, 1], out=np.full(len(rest), np.nan), where=rest[:, 1] > 0)
    logits: Floats = logit(np.clip(share, 1e-6, 1 - 1e-6))
    return logits
