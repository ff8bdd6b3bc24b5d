"""Which pairs and votes stand behind the numbers, and what the votes say in every slice of the pairs.

The votes are those that `preference` and `agreement` count, and every interval is theirs. Nobody's name is kept: a
judgement has its choice, its round, its time and its comment, not its rater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.browse.slices import PairSlice, slices_of
from analysis.showing.words import count
from analysis.stats.intervals import Interval
from analysis.stats.net_preference import net_interval
from analysis.votes.clusters import clusters_of, without_interval
from analysis.votes.systems import (
    Contrast,
    Matches,
    contrasts,
    fixed_sides,
    key_of,
    match,
    named_sides,
    placed,
    system_names,
)
from analysis.votes.voters import Voters, judges_in_recipe, voters
from analysis.votes.votes import Votes, net_scores
from dialogue.errors import InputError
from dialogue.records import Pair
from dialogue.signature import signature

SLICED = 6  # pairs of systems up to which every slice of each is shown
NO_TEXTS = "No pairs.jsonl holds these pairs, so their texts are not known: give --pairs."
MANY_LOOKS = (
    "Nobody planned these {looks}: about one interval in twenty misses its truth by chance. Take a difference between "
    "slices for a hint, and test it on new votes."
)


@dataclass(frozen=True, slots=True)
class CastVote:
    """One counted vote, without its rater."""

    choice: str  # a, b or tie
    left: str  # which response stood on the left: a, b, or empty where not known
    seconds: float | None
    automatic: bool  # recorded for identical responses: nobody gave it
    comment: str


@dataclass(frozen=True, slots=True)
class PairShown:
    """One pair as the page shows it; `texts` is None where only the votes are known."""

    pair: str
    source: Pair | None
    kind: str
    systems: tuple[str, str]
    votes: tuple[CastVote, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Votes for a, for b, and ties."""
        met = Counter(one.choice for one in self.votes)
        return met["a"], met["b"], met["tie"]

    @property
    def agreement(self) -> str:
        """How far the raters of this pair agree: all, most (more than half), split, or single (fewer than two)."""
        given = Counter(one.choice for one in self.votes if not one.automatic)
        if given.total() < 2:
            return "single"
        most = max(given.values())
        return "all" if most == given.total() else "most" if 2 * most > given.total() else "split"

    @property
    def winner(self) -> str:
        """What has more votes than anything else: a, b or tie; empty where nothing has."""
        (first, most), (_, next_most), _ = Counter(dict(zip(("a", "b", "tie"), self.counts, strict=True))).most_common()
        return first if most > next_most else ""


@dataclass(frozen=True, slots=True)
class SliceNet:
    """What the votes on two systems say in one slice of the pairs; the whole has no slice."""

    first: str
    second: str
    slice: str
    value: str
    pairs: int
    counts: tuple[int, int, int]  # for the first, for the second, ties
    net: Interval | None
    reason: str  # why there is no interval

    @property
    def votes(self) -> int:
        """All of them."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class BrowseAnswer:
    """Every pair in the order of the file, the slices, and the numbers of each."""

    systems: tuple[str, ...]
    pairs: tuple[PairShown, ...]
    slices: tuple[PairSlice, ...]
    nets: tuple[SliceNet, ...]
    voters: Voters
    notes: tuple[str, ...]
    signature: str


def answer(
    votes: Votes, pairs: Sequence[Pair], controls: Votes | None = None, *, clusters: str = "auto"
) -> BrowseAnswer:
    """Votes on real pairs with the pairs they are about, and those on control pairs, if there are any."""
    known = {pair.pair: pair for pair in pairs}
    votes = placed(votes, known) if known else votes
    shown = _judged(votes, known, controls)
    slices = slices_of([one.source for one in shown])
    matches, why_not = _matches(votes, known)
    nets = [] if matches is None else _nets(matches, slices, {one.pair: k for k, one in enumerate(shown)}, clusters)
    names = {name for one in shown for name in one.systems if name}
    looks = sum(1 for one in nets if one.slice)
    notes = [*([why_not] if why_not else []), *([] if known else [NO_TEXTS])]
    notes += [MANY_LOOKS.format(looks=count(looks, "slice"))] if looks else []
    cast = voters(votes)
    recipe = signature(
        votes=len(votes), pairs=len(shown), clusters="+".join(clusters_of(votes, clusters)) or "vote",
        **judges_in_recipe(cast),
    )  # fmt: skip
    return BrowseAnswer(tuple(sorted(names)), shown, slices, tuple(nets), cast, (*votes.warnings, *notes), recipe)


def _matches(votes: Votes, known: Mapping[str, Pair]) -> tuple[Matches | None, str]:
    """The votes with the systems behind them, by the rule of `preference`; or why they compare none."""
    try:
        if known:
            return match(votes, Path("pairs.jsonl"), known), ""
        return (fixed_sides(votes) if votes.system_a is None else named_sides(votes)), ""
    except InputError as error:
        return None, str(error)


def _judged(votes: Votes, known: Mapping[str, Pair], controls: Votes | None) -> tuple[PairShown, ...]:
    """Real and control pairs of the file, judged or not; then pairs that only the votes name."""
    names = system_names(known.values())
    given = _by_pair(votes) | ({} if controls is None else _by_pair(controls))
    sides = {} if known else _named(votes)
    listed = [pair for pair in known.values() if pair.kind != "check"]
    shown = [
        PairShown(pair.pair, pair, pair.kind, _names(pair, names), tuple(given.pop(pair.pair, ()))) for pair in listed
    ]
    rest = [PairShown(name, None, "real", sides.get(name, ("a", "b")), tuple(judged)) for name, judged in given.items()]
    return (*shown, *rest)


def _names(pair: Pair, names: Mapping[tuple[str, int | None, str], str]) -> tuple[str, str]:
    a, b = (names.get(key_of(side), side.model) for side in (pair.a, pair.b))
    return a, b


def _named(votes: Votes) -> dict[str, tuple[str, str]]:
    """The systems of each pair where the table of votes names them."""
    if votes.system_a is None or votes.system_b is None:
        return {}
    first = np.unique(votes.pair, return_index=True)[1].tolist()
    return {
        votes.pairs[votes.pair[row]]: (votes.systems[votes.system_a[row]], votes.systems[votes.system_b[row]])
        for row in first
    }


def _by_pair(votes: Votes) -> dict[str, list[CastVote]]:
    """Pair -> its votes in the order of the table."""
    found: dict[str, list[CastVote]] = {}
    comments: NDArray[Any] | None = votes.also.get("comment")
    for row in range(len(votes)):
        side = -1 if votes.left is None else int(votes.left[row])
        seconds = float("nan") if votes.seconds is None else float(votes.seconds[row])
        one = CastVote(
            choice=votes.labels[votes.choice[row]],
            left=("a", "b", "")[side],
            seconds=None if seconds != seconds else seconds,
            automatic=votes.auto is not None and bool(votes.auto[row]),
            comment="" if comments is None else (comments[row] or "").strip(),
        )
        found.setdefault(votes.pairs[votes.pair[row]], []).append(one)
    return found


def _nets(matches: Matches, slices: Sequence[PairSlice], place: Mapping[str, int], clusters: str) -> list[SliceNet]:
    """Every two systems over all pairs, and in every slice where the systems are few."""
    ways, compared = list(clusters_of(matches.votes, clusters)), contrasts(matches)
    at = np.array([place[name] for name in matches.votes.pairs])
    found = []
    for one in compared:
        found.append(_net(one, one.votes, "", "", ways, clusters))
        for cut in slices if len(compared) <= SLICED else ():
            codes = np.array(cut.codes)[at][one.votes.pair]
            parts = ((value, one.votes.select(codes == code)) for code, (value, _) in enumerate(cut.values))
            found += [_net(one, part, cut.name, value, ways, clusters) for value, part in parts if len(part)]
    return found


def _net(one: Contrast, votes: Votes, name: str, value: str, ways: Sequence[str], clusters: str) -> SliceNet:
    reason = without_interval(votes, ways)
    counts = np.bincount(votes.choice, minlength=3).tolist()
    return SliceNet(
        one.first, one.second, name, value, len(np.unique(votes.pair)), (counts[0], counts[1], counts[2]),
        None if reason else net_interval(net_scores(votes.choice), by=clusters_of(votes, clusters, part=True)), reason,
    )  # fmt: skip
