"""Which group of people cast every vote: a column of a table about raters, joined by their ids.

A group of fewer than five people is hidden; so is the next smallest one where it would be the only hidden one, since
the total would give it away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.people import NOT_GIVEN, groups_of_people
from seedvote.dialogue.judges import folded_name

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
    known = groups_of_people(table, by)
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
        by, tuple(groups), tuple(people[group] for group in groups), code,
        (*(notes if len(joined) < len(met) else []), *_told(hidden, people, int((code < 0).sum()))),
    )  # fmt: skip


def _plain_id(name: str) -> str:
    """An id without what spreadsheets change: `12.0` is 12."""
    return folded_name(name).removesuffix(".0")


def hidden_groups(people: Mapping[str, int]) -> set[str]:
    """Groups too small to be shown, and a second one where there is a single one."""
    small = {group for group, number in people.items() if number < FEWEST}
    larger = sorted((number, group) for group, number in people.items() if group not in small)
    return small | {larger[0][1]} if len(small) == 1 and larger else small


def _told(hidden: set[str], people: dict[str, int], votes: int) -> list[str]:
    if not hidden:
        return []
    inside = sum(people[group] for group in hidden)
    return [
        f"{count(len(hidden), 'group')} of together {inside} people ({count(votes, 'vote')}) not shown: a group of "
        f"fewer than {FEWEST} people is hidden, and never one alone, since the total would give it away."
    ]
