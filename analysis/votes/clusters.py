"""Which votes hang together: the one rule by which every interval, test and plan of the analysis is clustered.

Votes on one dialogue share its context, votes of one rater share a habit, so both are drawn anew at once. An item (one
context, of which many systems' answers are compared) stands in where no dialogue is named, and a pair where no item
is, or where each of them has one pair only, which makes the three the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.intervals import groups
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.int64]
Ways = Mapping[str, Ints]  # name of a way of clustering -> code of the cluster of every vote
CLUSTERINGS = ("auto", "dialogue+rater", "item+rater", "pair+rater", "dialogue", "item", "pair", "rater", "vote")
COARSEST_FIRST = ("dialogue", "item", "pair")


class Clusterable(Protocol):
    """What may hang together: votes on pairs, or answers to questions, which stand in for pairs."""

    @property
    def pair(self) -> Ints:
        """The pair or question of each row."""

    def need(self, column: str, purpose: str, /) -> Any:
        """A column, or a sentence."""

    def __len__(self) -> int:
        """How many rows."""


def clusters_of(votes: Clusterable, wanted: str = "auto", *, part: bool = False) -> dict[str, Ints]:
    """The ways in which these votes are clustered; none means that every vote is taken as independent.

    `auto` takes what the votes name and have two or more of. A clustering that is asked for by name must be there; a
    `part` of the votes (two systems, one round) may fall to a single rater, say, whose spread it then cannot show.
    """
    if wanted == "auto":
        return _found(votes)
    if wanted not in CLUSTERINGS:
        raise InputError(f"--clusters is {wanted!r}; write one of {', '.join(CLUSTERINGS)}.")
    columns = {name: _asked(votes, name, wanted, part) for name in wanted.split("+") if name != "vote"}
    return {name: codes for name, codes in columns.items() if _several(codes)}


def ways_within(votes: Votes, wanted: str = "auto") -> dict[str, Ints]:
    """What votes share as a model of effects needs it, the widest first: the clusters, and the pairs within them."""
    clusters = clusters_of(votes, wanted)
    wide = {name: codes for name, codes in clusters.items() if name != "rater"}
    return {**wide, **({"pair": votes.pair} if wide else {}), **clusters}


def _found(votes: Clusterable) -> dict[str, Ints]:
    shared = [] if not len(votes) else [name for name in COARSEST_FIRST if _gathers(votes, name)]
    ways = [*shared[:1], "rater"]
    return {name: codes for name in ways if (codes := _column(votes, name)) is not None and _several(codes)}


def _gathers(votes: Clusterable, name: str) -> bool:
    """Whether these clusters hold more than one pair somewhere: finer ones, or one pair each, add nothing to pairs."""
    codes = _column(votes, name)
    if codes is None or not _several(codes):
        return False
    return name == "pair" or groups(codes) < groups(votes.pair)


def _asked(votes: Clusterable, name: str, wanted: str, part: bool) -> Ints:
    codes: Ints = votes.need(name, f"--clusters {wanted}")
    if not part and not _several(codes):
        raise InputError(f"--clusters {wanted} needs two {name}s or more; the votes have one.")
    return codes


def _column(votes: Clusterable, name: str) -> Ints | None:
    codes: Ints | None = getattr(votes, name)
    return codes


def _several(codes: Ints) -> bool:
    return len(codes) > 1 and bool((codes != codes[0]).any())


def without_interval(votes: Votes, ways: Sequence[str]) -> str:
    """Why these votes give no interval; empty where they do. A way in which the study varies must vary here too."""
    if len(votes) < 2:
        return "1 vote"
    codes = {way: getattr(votes, way) for way in ways}
    return next((f"one {way}" for way, column in codes.items() if not _several(column)), "")
