"""How the pairs with votes were drawn: at random, within strata, or with known unequal chances; stated, and checked.

Predictions correct for nothing that they do not know: if people saw only the pairs on which the judge was unsure, the
estimate would be confidently wrong. So the way of drawing is stated, and the judge's verdicts on both sorts of pairs
are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from seedvote.analysis.stats import powered as ppi
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.votes.ranking import Drawing
from seedvote.analysis.votes.verdicts import Bench, Scored
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair

Floats = NDArray[np.float64]
REFUSED = 1e-6  # p of no difference between both sorts of pairs, below which "at random" is not believed
DOUBTED = 0.01
STATE = (
    "State how the pairs with votes were drawn: --labels random; --labels strata COLUMN (a field of pairs.jsonl, drawn "
    "at random within each); or --labels weights COLUMN (each pair's chance of being voted on)."
)


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether the judge sees the pairs with votes as it sees the others; `p` of no difference.

    `unsure_voted` and `unsure_others` are the shares of pairs on which it is not decided, `unsure_p` of a random sample
    that holds so many of them. `p_holm` allows for every contrast that was looked at.
    """

    voted: float
    others: float
    p: float
    unsure_voted: float
    unsure_others: float
    unsure_p: float
    p_holm: float = math.nan


@dataclass(frozen=True, slots=True)
class Labelling:
    """The way of drawing, and the field of pairs.jsonl that it goes by."""

    kind: Literal["random", "strata", "weights"] = "random"
    column: str = ""
    assumed: bool = False  # nobody said so; our own studies hand out pairs in random order

    @property
    def stated(self) -> bool:
        """Whether somebody stated that pairs had unequal chances."""
        return self.kind != "random"

    @property
    def words(self) -> str:
        """As it would be typed."""
        return f"{self.kind} {self.column}".strip()

    def estimate(self, scored: Scored, generator: np.random.Generator, share: bool) -> ppi.Powered:
        """The tuned estimate that fits the way of drawing."""
        sample = scored.sample
        if self.kind == "strata":
            return self._estimate_in_strata(scored, sample, share)
        if self.kind == "weights" and len(sample.other):
            return ppi.estimate_weighted(sample, self._chances(scored), ppi.tune_weight(sample), share)
        return ppi.plus_plus(sample, generator, share)

    def people(self, scored: Scored, share: bool) -> Interval:
        """People alone, by the same way of drawing."""
        if self.kind == "weights" and len(scored.sample.other):
            return ppi.estimate_weighted(scored.sample, self._chances(scored), 0.0, share).interval
        if self.kind == "strata" and len(scored.sample.other):
            sample = scored.sample
            blind = replace(sample, f=np.zeros(len(sample.y)), other=np.zeros(len(sample.other)))
            return self._estimate_in_strata(scored, blind, share).interval
        return ppi.estimate_from_people(scored.sample, share)

    def describe_drawing(self, pairs: Mapping[str, Pair], voted: Collection[str]) -> Drawing | None:
        """Of these pairs and those among them with votes; None where all had the same chance."""
        if self.kind == "strata":
            drawn = {name: pair for name, pair in pairs.items() if pair.kind == "real" or name in voted}
            return Drawing({}, {name: str(_read_field(pair, self.column)) for name, pair in drawn.items()})
        if self.kind == "weights":
            return Drawing({name: _read_chance(pairs[name], self.column) for name in voted}, {})
        return None

    def _estimate_in_strata(self, scored: Scored, sample: ppi.Sample, share: bool) -> ppi.Powered:
        names = [str(_read_field(pair, self.column)) for pair in (*scored.first, *scored.others)]
        codes = np.unique(names, return_inverse=True)[1]
        voted, unvoted = codes[: len(scored.first)], codes[len(scored.first) :]
        stratum, stratum_of_others, _ = ppi.joined_strata(voted[sample.pair], sample.pair, unvoted)
        return ppi.estimate_by_strata(sample, stratum, stratum_of_others, share, known=True)

    def joined_values(self, scored: Scored) -> dict[str, int]:
        """The values of the column with too few voted pairs for a stratum of their own, with these pairs' number."""
        if self.kind != "strata" or not len(scored.sample.other):
            return {}
        voted = Counter(str(_read_field(pair, self.column)) for pair in scored.first)
        names = {*voted, *(str(_read_field(pair, self.column)) for pair in scored.others)}
        few = {name: voted[name] for name in sorted(names) if voted[name] < ppi.LEAST_IN_STRATUM}
        return few if len(names) > 1 else {}

    def _chances(self, scored: Scored) -> Floats:
        return np.array([_read_chance(pair, self.column) for pair in scored.first])[scored.sample.pair]


def read_labels(words: Sequence[str] | str | None, *, imported: bool) -> Labelling:
    """`random`, `strata COLUMN` or `weights COLUMN`; votes from elsewhere need one of them."""
    parts = words.split() if isinstance(words, str) else list(words or ())
    if not parts:
        if imported:
            raise InputError(f"These votes come from elsewhere. {STATE}")
        return Labelling(assumed=True)
    if parts == ["random"]:
        return Labelling()
    if len(parts) == 2 and parts[0] == "strata":
        return Labelling("strata", parts[1])
    if len(parts) == 2 and parts[0] == "weights":
        return Labelling("weights", parts[1])
    raise InputError(f"--labels {' '.join(parts)} is not known. {STATE}")


def _is_decided(bench: Bench, pair: Pair) -> bool:
    choices = {verdict.choice for verdict in bench.verdicts[pair.pair]}
    return choices in ({"a"}, {"b"})


def _read_field(pair: Pair, column: str) -> Any:
    value = pair.extra[column] if column in pair.extra else getattr(pair, column, None)
    if value is None and column not in pair.extra:
        raise InputError(f"pairs.jsonl: pair {pair.pair!r} has no field {column!r}, which --labels names.")
    return value


def _read_chance(pair: Pair, column: str) -> float:
    chance = _read_field(pair, column)
    if isinstance(chance, bool) or not isinstance(chance, (int, float)) or not 0 < chance <= 1:
        raise InputError(f"pairs.jsonl: {column} of pair {pair.pair!r} is {chance!r}; a chance is above 0 and up to 1.")
    return float(chance)


def refuse_drift(judge: str, names: Sequence[tuple[str, str]], drifts: Sequence[Drift | None]) -> None:
    """Refuse pairs that nobody stated to be a random sample and that plainly are none, over all contrasts at once."""
    tested = [(name, drift) for name, drift in zip(names, drifts, strict=True) if drift is not None]
    for (first, second), drift in tested:
        is_far = drift.unsure_voted > 0.9 and drift.unsure_voted - drift.unsure_others > 0.2
        if is_far and drift.unsure_p * len(tested) < REFUSED:
            raise InputError(
                f"{first} and {second}: people voted almost only where {judge} was unsure "
                f"({drift.unsure_voted:.0%} of the pairs with votes, {drift.unsure_others:.0%} of the others). They "
                "are no random sample. Give each pair's chance of being voted on: --labels weights COLUMN."
            )
        if drift.p * len(tested) < REFUSED:
            raise InputError(
                f"{first} and {second}: {judge} sees the pairs with votes otherwise than the others (mean "
                f"{drift.voted:+z.3f} and {drift.others:+z.3f}), so they are no random sample. {STATE}"
            )


def measure_drift(bench: Bench, scored: Scored) -> Drift | None:
    """A t test of the judge's mean on pairs with and without votes, by clusters, and an exact one of where it is sure.

    Means that do not vary on either side have no t: then p is the chance of a random sample that splits them so.
    """
    sample = scored.sample
    if len(sample.other) < 2 or sample.pairs < 2:
        return None
    first = np.unique(sample.pair, return_index=True)[1]
    voted, wide = sample.f[first], sample.wide[first]
    variance = (
        ppi.covariance_between(voted, wide, voted, wide)
        + ppi.covariance_between(sample.other, sample.other_wide, sample.other, sample.other_wide)
        - 2 * ppi.covariance_between(voted, wide, sample.other, sample.other_wide)
    )
    difference = float(voted.mean() - sample.other.mean())
    voted_clusters, other_clusters = len(np.unique(wide)), len(np.unique(sample.other_wide))
    if variance <= 0:
        splits = math.comb(voted_clusters + other_clusters, voted_clusters)
        p = 1.0 if difference == 0 else min(2 / splits, 1.0)
    else:
        freedom = max(min(voted_clusters, other_clusters) - 1, 1)
        p = 2 * float(stdtr(freedom, -abs(difference) / np.sqrt(variance)))
    unsure_voted, unsure_others = (
        sum(not _is_decided(bench, pair) for pair in pairs) for pairs in (scored.first, scored.others)
    )
    pairs = len(scored.first) + len(scored.others)
    return Drift(
        voted=float(voted.mean()),
        others=float(sample.other.mean()),
        p=p,
        unsure_voted=unsure_voted / len(scored.first),
        unsure_others=unsure_others / len(scored.others),
        unsure_p=chance_of_so_many(unsure_voted, len(scored.first), unsure_voted + unsure_others, pairs),
    )


def chance_of_so_many(unsure_in_sample: int, sample: int, unsure: int, pairs: int) -> float:
    """The hypergeometric chance that a random sample of `sample` pairs holds so many unsure ones, or more."""
    ways = range(unsure_in_sample, min(sample, unsure) + 1)
    return sum(math.comb(unsure, k) * math.comb(pairs - unsure, sample - k) for k in ways) / math.comb(pairs, sample)
