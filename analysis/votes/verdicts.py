"""Verdicts of judges as columns beside the votes of people: what a judge says of every pair, with votes and without.

A judge is a name with one prompt. Its value of a pair is the mean over orders and draws, turned so that the first
system of the contrast counts as plus; an unusable reply counts as no opinion, for pairs with votes and without alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.powered import Sample
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.systems import Contrast, key_of, system_names
from seedvote.analysis.votes.votes import Votes, net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.judges import VERDICTS, read_verdicts, shares_of
from seedvote.dialogue.records import Pair, Ruling, Verdict

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcome = Literal["net", "tie"]
NET: Outcome = "net"
TIE: Outcome = "tie"


@dataclass(frozen=True, eq=False)
class Bench:
    """One judge with one prompt: its verdicts by pair, and the pairs themselves."""

    judge: str
    prompt: str
    verdicts: Mapping[str, tuple[Verdict, ...]]  # pair -> its verdicts, usable or not
    pairs: Mapping[str, Pair]

    @property
    def every(self) -> Iterator[tuple[Pair, Verdict]]:
        """Every verdict with its pair."""
        return ((self.pairs[name], verdict) for name, some in self.verdicts.items() for verdict in some)

    @property
    def orders(self) -> str:
        """`both`, `ab`, `ba`, or `mixed` where some pairs were asked in one order and some in both or the other."""
        orders = {"".join(sorted({verdict.order for verdict in some})) for some in self.verdicts.values()}
        return {"abba": "both"}.get(only := next(iter(orders)), only) if len(orders) == 1 else "mixed"

    def value(self, pair: str, outcome: Outcome) -> float | None:
        """What it says of a pair: a's side minus b's, or how far it is a tie; None where it was not asked."""
        some = self.verdicts.get(pair)
        if not some:
            return None
        if (shares := self.shares(pair)) is None:
            return 0.0
        first, second, tie = shares
        if outcome == "net":
            return float(first - second)
        hard = all(verdict.probability is None for verdict in some)
        return float(tie + (min(first, second) if hard else 0.0))  # an order flip counts half

    def shares(self, pair: str) -> tuple[float, float, float] | None:
        """How far its verdicts on a pair say a, b and tie; None without a usable one."""
        parts = [shares for verdict in self.verdicts.get(pair, ()) if (shares := shares_of(verdict)) is not None]
        if not parts:
            return None
        first, second, tie = np.mean(parts, axis=0)
        return float(first), float(second), float(tie)

    @property
    def criteria(self) -> tuple[str, ...]:
        """What its rubric scored, in the order of the rubric; empty without one."""
        scored = (verdict.extra.get("scores") for some in self.verdicts.values() for verdict in some)
        return tuple(dict.fromkeys(name for scores in scored if scores for name in scores["a"]))

    def criterion(self, name: str) -> dict[str, float]:
        """By pair how much higher it scores a than b on one criterion, the mean over orders and draws."""
        differences = {}
        for pair, some in self.verdicts.items():
            parts = [
                scores["a"][name] - scores["b"][name] for verdict in some if (scores := verdict.extra.get("scores"))
            ]
            if parts:
                differences[pair] = float(np.mean(parts))
        return differences

    def ruling(self, pair: str) -> int | None:
        """0 a, 1 b, 2 tie: its verdict on the whole; two orders that contradict each other are a tie."""
        value = self.value(pair, "net")
        usable = [verdict for verdict in self.verdicts.get(pair, ()) if verdict.choice != "unusable"]
        if value is None or not usable:
            return None
        counts = [sum(verdict.choice == name for verdict in usable) for name in ("a", "b", "tie")]
        best = max(counts)
        return counts.index(best) if counts.count(best) == 1 else 2


def benches(verdicts: Sequence[Verdict], pairs: Mapping[str, Pair]) -> list[Bench]:
    """The judges of a file, each with each of its prompts apart: different prompts are different judges."""
    by_judge: dict[tuple[str, str], dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        by_judge.setdefault((verdict.judge, verdict.prompt), {}).setdefault(verdict.pair, []).append(verdict)
    return [
        Bench(judge, prompt, {pair: tuple(some) for pair, some in by_pair.items()}, pairs)
        for (judge, prompt), by_pair in sorted(by_judge.items())
    ]


def benches_beside(study: Path, verdicts: Path | None, judges: Sequence[str] = ()) -> list[Bench]:
    """The judges of a study folder, or of a file of verdicts on its pairs; `judges` names some of them."""
    path = verdicts or study / VERDICTS
    if not (study / "pairs.jsonl").exists():
        lacking = f"{study} has no pairs.jsonl, so nobody knows what was judged. Give a study folder."
        raise InputError(read_elsewhere(study) or lacking)
    if not path.exists():
        raise InputError(
            f"{path} is not there, so no judge has ruled on this study. Ask one: python -m evaluators judge {study}"
        )
    pairs = {pair.pair: pair for pair in read_records(study / "pairs.jsonl", Pair)}
    judged = benches(read_verdicts(path, pairs), pairs)
    names = sorted({bench.judge for bench in judged})
    if absent := [name for name in judges if name not in names]:
        raise InputError(f"{path} has no verdicts of {absent[0]!r}; its judges are {', '.join(names)}.")
    if not judged:
        raise InputError(f"{path} holds no verdict.")
    return [bench for bench in judged if not judges or bench.judge in judges]


def seat_panel(judges: Sequence[Bench]) -> Bench | None:
    """All judges as one, on the pairs that all ruled on; None for fewer than two judges or without such pairs.

    Each judge counts the same, however often it was asked: its verdicts are one verdict with their mean shares.
    """
    if len({bench.judge for bench in judges}) < 2:
        return None
    shares = [{name: its for name in bench.verdicts if (its := bench.shares(name)) is not None} for bench in judges]
    common = [name for name in shares[0] if all(name in its for its in shares)]
    verdicts = {
        name: tuple(_seat(name, bench, its[name]) for bench, its in zip(judges, shares, strict=True)) for name in common
    }
    return Bench(f"panel of {len(judges)} judges", "", verdicts, judges[0].pairs) if common else None


def _seat(pair: str, bench: Bench, shares: tuple[float, float, float]) -> Verdict:
    first, second, tie = shares
    choice: Ruling = "a" if first > max(second, tie) else "b" if second > max(first, tie) else "tie"
    return Verdict(pair, bench.judge, "ab", choice, bench.prompt, 0, {"a": first, "b": second, "tie": tie})


def from_elsewhere(votes: Votes) -> bool:
    """Whether votes did not come through our server, which hands out pairs in random order."""
    return not votes.source or "imported" in votes.source


def contrast_of(pair: Pair, names: Mapping[tuple[str, int | None, str], str]) -> tuple[str, str, bool]:
    """The two systems of a pair in the order of their names, and whether a is the first; `names` by `system_names`."""
    a, b = names[key_of(pair.a)], names[key_of(pair.b)]
    return min(a, b), max(a, b), a <= b


@dataclass(frozen=True, eq=False)
class Scored:
    """The votes on two systems beside a score of every pair, labelled by votes or not."""

    sample: Sample
    first: tuple[Pair, ...]  # the pairs with votes, in the numbering of `sample.pair`
    others: tuple[Pair, ...]
    left_out: int  # votes on pairs that have no score
    straight: tuple[tuple[bool, ...], tuple[bool, ...]]  # whether a is the first system: pairs with votes, and others


def scored_votes(
    contrast: Contrast, pairs: Mapping[str, Pair], scores: Mapping[str, float], outcome: Outcome, clusters: str
) -> Scored | None:
    """Votes and scores of the pairs of two systems; scores are about a, minus b, or of a tie; None without any."""
    votes = contrast.votes
    known = np.array([name in scores for name in votes.pairs])
    labelled = votes.select(known[votes.pair]) if known.any() else None
    if labelled is None or len(labelled) < 2:
        return None
    codes, place = np.unique(labelled.pair, return_inverse=True)
    voted = [pairs[labelled.pairs[code]] for code in codes]
    names = system_names(pairs.values())
    judged = set(votes.pairs)
    other_pairs = [
        pair
        for name, pair in pairs.items()
        if name in scores
        and name not in judged
        and pair.kind == "real"
        and {names[key_of(pair.a)], names[key_of(pair.b)]} == {contrast.first, contrast.second}
    ]
    straight = [tuple(names[key_of(pair.a)] == contrast.first for pair in some) for some in (voted, other_pairs)]
    turns = [np.where(side, 1.0, -1.0 if outcome == "net" else 1.0) for side in straight]
    own, own_others = (
        np.array([scores[pair.pair] for pair in some]) * turn
        for some, turn in zip((voted, other_pairs), turns, strict=True)
    )
    ways = clusters_of(labelled, clusters, part=True)
    wide = next((name for name in ways if name != "rater"), "pair")
    of_pair = clusters_by_name(labelled, voted, place, wide)
    every = [*of_pair, *(cluster_name(pair, wide) for pair in other_pairs)]
    numbered = np.unique(every, return_inverse=True)[1]
    y = net_scores(labelled.choice) if outcome == "net" else labelled.tie.astype(float)
    sample = Sample(y, own[place], ways, place, numbered[: len(voted)][place], own_others, numbered[len(voted) :])
    return Scored(sample, tuple(voted), tuple(other_pairs), len(votes) - len(labelled), (straight[0], straight[1]))


def clusters_by_name(votes: Votes, voted: Sequence[Pair], place: Ints, wide: str) -> list[str]:
    """The cluster of each voted pair by name; where the pairs do not name it, by the code that the votes have."""
    if wide == "dialogue" and any(pair.dialogue is None for pair in voted) and votes.dialogue is not None:
        first = np.unique(place, return_index=True)[1]
        return [votes.dialogues[code] for code in votes.dialogue[first]]
    return [cluster_name(pair, wide) for pair in voted]


def cluster_name(pair: Pair, wide: str) -> str:
    """The cluster of a pair that has no votes; one that names no dialogue stands alone."""
    return {"dialogue": pair.dialogue or f"pair {pair.pair}", "item": pair.item}.get(wide, pair.pair)
