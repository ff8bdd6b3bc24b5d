"""Which votes belong together: by what they share, by which every interval is clustered, and by who cast them.

Votes on one dialogue share its context, votes of one rater share a habit, so both are drawn anew at once. An item (one
context, of which many systems' answers are compared) stands in where no dialogue is named, and a pair where no item
is, or where each of them has one pair only, which makes the three the same.

Groups of people are a column of a table about raters, joined by their ids. A group of fewer than five people is hidden;
so is the next smallest one where it would be the only hidden one, since the total would give it away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.words import count
from seedvote.analysis.stats.intervals import count_groups
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.people import NOT_GIVEN, group_people
from seedvote.dialogue.judges import folded_name

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
        return _automatic_clusters(votes)
    if wanted not in CLUSTERINGS:
        raise InputError(f"--clusters is {wanted!r}; write one of {', '.join(CLUSTERINGS)}.")
    columns = {name: _stated_clusters(votes, name, wanted, part) for name in wanted.split("+") if name != "vote"}
    return {name: codes for name, codes in columns.items() if _are_several(codes)}


def ways_within(votes: Votes, wanted: str = "auto") -> dict[str, Ints]:
    """What votes share as a model of effects needs it, the widest first: the clusters, and the pairs within them."""
    clusters = clusters_of(votes, wanted)
    wide = {name: codes for name, codes in clusters.items() if name != "rater"}
    return {**wide, **({"pair": votes.pair} if wide else {}), **clusters}


def _automatic_clusters(votes: Clusterable) -> dict[str, Ints]:
    shared = [] if not len(votes) else [name for name in COARSEST_FIRST if _has_shared_clusters(votes, name)]
    ways = [*shared[:1], "rater"]
    return {name: codes for name in ways if (codes := _find_column(votes, name)) is not None and _are_several(codes)}


def _has_shared_clusters(votes: Clusterable, name: str) -> bool:
    """Whether these clusters hold more than one pair somewhere: finer ones, or one pair each, add nothing to pairs."""
    codes = _find_column(votes, name)
    if codes is None or not _are_several(codes):
        return False
    return name == "pair" or count_groups(codes) < count_groups(votes.pair)


def _stated_clusters(votes: Clusterable, name: str, wanted: str, part: bool) -> Ints:
    codes: Ints = votes.need(name, f"--clusters {wanted}")
    if not part and not _are_several(codes):
        raise InputError(f"--clusters {wanted} needs two {name}s or more; the votes have one.")
    return codes


def _find_column(votes: Clusterable, name: str) -> Ints | None:
    codes: Ints | None = getattr(votes, name)
    return codes


def _are_several(codes: Ints) -> bool:
    return len(codes) > 1 and bool((codes != codes[0]).any())


def without_interval(votes: Votes, ways: Sequence[str]) -> str:
    """Why these votes give no interval; empty where they do. A way in which the study varies must vary here too."""
    if len(votes) < 2:
        return "1 vote"
    codes = {way: getattr(votes, way) for way in ways}
    return next((f"one {way}" for way, column in codes.items() if not _are_several(column)), "")


# Groups of people


HASHED = (
    "Votes of a study name raters by hashes: `python -m crowd demographics STUDY FILE` puts such a table into these "
    "names."
)
FEWEST = 5  # people in a group that is shown


@dataclass(frozen=True, eq=False)
class Strata:
    """The group of every vote: a code into `names`, or -1 where it is hidden."""

    by: str
    names: tuple[str, ...]
    people: tuple[int, ...]  # raters of each group
    code: NDArray[np.int64]  # (votes,)
    notes: tuple[str, ...]

    @property
    def one_difference(self) -> bool:
        """Whether one group against the rest and the other against the rest are the same test."""
        return len(self.names) == 2 and not (self.code < 0).any()

    def test_of(self, group: str) -> str:
        """The name of the test of a group against the rest."""
        return self.by if self.one_difference else f"{self.by}={group}"


def strata_of(votes: Votes, table: Path, by: str) -> Strata:
    """Join the votes with the table; refuse one that holds none of these raters."""
    if not by:
        raise InputError("--raters names a table of people; say which of its columns makes the groups: --by COLUMN.")
    rater = votes.need("rater", f"--by {by}")
    known = group_people(table, by)
    met = [votes.raters[code] for code in np.unique(rater)]
    joined = [name for name in met if name in known]
    if not joined:
        spelled = {_plain_id(name) for name in met} & {_plain_id(name) for name in known}
        way = "The same ids are spelled in two ways there; write them alike." if spelled else HASHED
        raise InputError(
            f"{table} holds none of the {count(len(met), 'rater')} of these votes (e.g. {met[0]!r}; there, e.g. "
            f"{next(iter(known), 'nobody')!r}). {way}"
        )
    group_of = {name: known.get(name, NOT_GIVEN) for name in met}
    people = {group: sum(member == group for member in group_of.values()) for group in sorted(set(group_of.values()))}
    hidden = hidden_groups(people)
    groups = [group for group in people if group not in hidden]
    places = {group: k for k, group in enumerate(groups)}
    code = np.array([places.get(group_of.get(name, ""), -1) for name in votes.raters] or [-1])[rater]
    notes = [f"{count(len(met) - len(joined), 'rater')} of {len(met)} do not stand in {table.name}."]
    return Strata(
        by,
        tuple(groups),
        tuple(people[group] for group in groups),
        code,
        (*(notes if len(joined) < len(met) else []), *_say_hidden(hidden, people, int((code < 0).sum()))),
    )


def _plain_id(name: str) -> str:
    """An id without what spreadsheets change: `12.0` is 12."""
    return folded_name(name).removesuffix(".0")


def hidden_groups(people: Mapping[str, int]) -> set[str]:
    """Groups too small to be shown, and a second one where there is a single one."""
    small = {group for group, number in people.items() if number < FEWEST}
    larger = sorted((number, group) for group, number in people.items() if group not in small)
    return small | {larger[0][1]} if len(small) == 1 and larger else small


def _say_hidden(hidden: set[str], people: dict[str, int], votes: int) -> list[str]:
    if not hidden:
        return []
    inside = sum(people[group] for group in hidden)
    return [
        f"{count(len(hidden), 'group')} of together {inside} people ({count(votes, 'vote')}) not shown. Groups of "
        f"fewer than {FEWEST} people are hidden, never one alone: the total would give it away."
    ]
