"""What the plan of a batch reads of an adaptive study, kept between two plans: only what has changed is read anew.

Every change of a pair's votes stands in the event log, in the transaction that makes it. So the pairs that may have
changed are those that events name since a point before which all was read. PostgreSQL commits what raters do in any
order, so this point is a change that was made alone: a batch, or one of those that touch more than one pair. Where
events do not say which pairs, as of new rules, all are read again.

All sums are of whole numbers, and pairs stand in the study's order. So a server that has just begun finds the same as
the one that drew all batches, and draws the same next one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.store.store import fetch, fetch_many
from seedvote.crowd.store.tables import events, pairs, votes
from seedvote.dialogue.formulas.allocation import ContrastPool, VoteSums
from seedvote.dialogue.records import Pair, key_of, system_names

SCORES = {"a": 1, "b": -1}
NAMED_PAIR = (  # kinds of events after which no pair has changed but the one that they name, if they do
    *("arrived", "consented", "described", "language", "instructed", "admitted", "finished"),
    *("reserved", "unreserved", "shown", "said", "returned", "answered", "noticed", "trapped", "repeated", "undone"),
    "expired",
)
OF_RATER = ("blocked", "standing", "study")  # may change all pairs of the rater they name
AT_ONCE = 500  # pairs that one statement names

_BODIES = sa.select(pairs.c.pair, pairs.c.kind, pairs.c.body).where(pairs.c.kind != "check")
_PAIRS = sa.select(pairs.c.pair, pairs.c.offered, pairs.c.target, pairs.c.votes).where(pairs.c.kind != "check")
_IN_ORDER = _PAIRS.order_by(pairs.c.position, pairs.c.pair)
_COUNTED = sa.select(votes.c.pair, votes.c.rater, votes.c.choice).where(votes.c.counted == 1).order_by(votes.c.vote)
_IS_ALONE, _IS_LATER = events.c.kind.not_in(NAMED_PAIR), events.c.event > param("since")
_LAST_ALONE = sa.select(sa.func.max(events.c.event)).where(_IS_ALONE)
_ALONE_SINCE = (
    sa.select(events.c.event, events.c.kind, events.c.rater)
    .add_columns(sa.case((events.c.kind == "batch", events.c.data)).label("data"))
    .where(_IS_ALONE, _IS_LATER)
    .order_by(events.c.event)
)
_NAMED_SINCE = sa.select(events.c.pair).distinct().where(_IS_LATER, events.c.pair.is_not(None))
_OF_RATERS = (
    sa.select(events.c.pair)
    .distinct()
    .where(events.c.rater.in_(param("raters", expanding=True)), events.c.pair.is_not(None))
)
_NAMES: sa.BindParameter[str] = param("names", expanding=True)
_PAIRS_NAMED, _COUNTED_NAMED = _PAIRS.where(pairs.c.pair.in_(_NAMES)), _COUNTED.where(votes.c.pair.in_(_NAMES))


@dataclass(frozen=True)
class Compared:
    """What the pairs of a study compare; of controls, and of one system with itself, nothing."""

    systems: tuple[str, ...]
    contrasts: tuple[tuple[int, int], ...]
    of_pair: dict[str, int]
    """Pair -> its contrast."""
    turned: frozenset[str]
    """The pairs whose `a` is the second system of their contrast."""
    dialogues: dict[str, str]


_KNOWN: dict[str, Compared] = {}  # by the digest of the pairs file: bodies never change


def read_compared(connection: sa.Connection, digest: str) -> Compared:
    """What the pairs compare, from their records."""
    return _KNOWN.get(digest) or _compare_bodies(digest, _read_bodies(connection))


def _read_bodies(connection: sa.Connection) -> Sequence[Any]:
    return fetch(connection, (_BODIES, {}))[0]


def _compare_bodies(digest: str, bodies: Sequence[Any]) -> Compared:
    compared = compare_systems([FORMS["pairs"].record_of(row.body) for row in bodies])
    _KNOWN.clear()
    _KNOWN[digest] = compared
    return compared


def compare_systems(records: Sequence[Pair]) -> Compared:
    """The systems by name, and the contrasts in the order of their names."""
    real = [record for record in records if record.kind == "real"]
    names = system_names(real)
    systems = tuple(sorted(set(names.values())))
    codes = {name: code for code, name in enumerate(systems)}
    sides = {pair.pair: (codes[names[key_of(pair.a)]], codes[names[key_of(pair.b)]]) for pair in real}
    sides = {name: (a, b) for name, (a, b) in sides.items() if a != b}
    contrasts = tuple(sorted({(min(both), max(both)) for both in sides.values()}))
    number = {both: code for code, both in enumerate(contrasts)}
    return Compared(
        systems,
        contrasts,
        {name: number[min(both), max(both)] for name, both in sides.items()},
        frozenset(name for name, (a, b) in sides.items() if a > b),
        {pair.pair: pair.dialogue or pair.item for pair in real},
    )


Answers = list[tuple[str, str]]  # raters and choices of counted votes, as they came


@dataclass(frozen=True)
class Changes:
    """What a tally takes over, as rows of the store: how pairs stand, and all their votes that count."""

    rule: AdaptiveRule
    digest: str
    last: int
    """The last event that was alone."""
    pairs: Sequence[Any]
    counted: Sequence[Any]
    is_whole: bool
    """Whether these are all pairs of the study, in its order."""
    compared: Compared | None = None
    """Of the whole study what its pairs compare, where this process knows it."""
    bodies: Sequence[Any] = ()
    """Else the pairs' records."""


class StudyTally:
    """The pairs of an adaptive study and the votes that count, as of the changes that were taken over last."""

    def __init__(self) -> None:
        self._rule, self._digest = AdaptiveRule(), ""
        self._since: int | None = None  # the last event by then that was alone; None: all is to be read

    @property
    def is_read(self) -> bool:
        """Whether anything was read."""
        return self._since is not None

    def bring_up(self, connection: sa.Connection, rule: AdaptiveRule, digest: str) -> None:
        """Read what has changed and take it over; `digest` is that of the pairs file."""
        self.take_over(self.read_changes(connection, rule, digest))

    def read_changes(self, connection: sa.Connection, rule: AdaptiveRule, digest: str) -> Changes:
        """What has changed since changes were taken over. Little is done but reading, so the transaction is short."""
        if (rule, digest) == (self._rule, self._digest) and self._since is not None:
            names, last = _find_changed(connection, self._since)
            if names is not None:
                return Changes(rule, digest, last, *_read_named(connection, sorted(names)), False)
        else:
            last = int(connection.scalar(_LAST_ALONE) or 0)
        rows, counted = fetch_many(connection, _IN_ORDER), fetch_many(connection, _COUNTED)
        if compared := _KNOWN.get(digest):
            return Changes(rule, digest, last, rows, counted, True, compared)
        return Changes(rule, digest, last, rows, counted, True, bodies=_read_bodies(connection))

    def take_over(self, changes: Changes) -> None:
        """Be as the store was when they were read."""
        self._rule, self._digest, self._since = changes.rule, changes.digest, None  # until all was taken over
        if changes.is_whole:
            self._begin(changes)
        self._take_rows(changes.pairs, changes.counted)
        self._since = changes.last

    def _begin(self, changes: Changes) -> None:
        self.compared = changes.compared or _compare_bodies(changes.digest, changes.bodies)
        number = len(self.compared.contrasts)
        self.sums = VoteSums(number, 2)
        self.others = list[str]()
        """Offered pairs that compare nothing: controls, and those of one system with itself."""
        self.offered = self.given_out = self.short = 0
        """Of the offered pairs that compare: how many there are, the votes they were given out for in all, and how many
        of them have fewer."""
        self._order: list[list[str]] = [[] for _ in range(number)]
        self._counts = dict[str, tuple[int, int]]()  # of the offered pairs, votes that they are to get and have
        self._answers = dict[str, Answers]()
        self._pools = [ContrastPool(())] * number
        self._stale = set(range(number))  # contrasts whose pools are to be made anew
        for row in changes.pairs:
            contrast = self.compared.of_pair.get(row.pair)
            if row.offered:
                (self.others if contrast is None else self._order[contrast]).append(row.pair)
                self.offered += contrast is not None

    def _take_rows(self, rows: Iterable[Any], counted: Iterable[Any]) -> None:
        """Take over how pairs stand, with all their votes that count."""
        answers = defaultdict[str, list[tuple[str, str]]](list)
        for vote in counted:
            answers[vote.pair].append((vote.rater, decisive_part(vote.choice)))
        for row in rows:
            self._take_in(row, answers.get(row.pair, []))

    def _take_in(self, row: Any, answers: Answers) -> None:
        name, contrast = row.pair, self.compared.of_pair.get(row.pair)
        target, has = self._counts.get(name, (0, 0))
        if row.offered:
            self._counts[name] = (row.target or 0, row.votes)
        if contrast is None:
            return
        if row.offered:
            self.given_out += (row.target or 0) - target
            self.short += ((row.target or 0) > row.votes) - (target > has)
        if (before := self._answers.get(name, [])) != answers:
            for times, several in ((-1, before), (1, answers)):
                for rater, choice in several:
                    score = -SCORES.get(choice, 0) if name in self.compared.turned else SCORES.get(choice, 0)
                    self.sums.add(contrast, score, (rater, self.compared.dialogues[name]), times)
            self._answers[name] = answers
            if not answers:
                del self._answers[name]
        self._stale.add(contrast)

    def make_pools(self) -> Sequence[ContrastPool]:
        """The pairs of each contrast that may come up, in the study's random order: those that never did, or others."""
        for contrast in self._stale:
            names = self._order[contrast]
            fresh = [name for name in names if not self._counts[name][0]]
            complete = [] if fresh else [(name, self._differs(name)) for name in names if self._may_grow(name)]
            self._pools[contrast] = ContrastPool(fresh, complete)
        self._stale.clear()
        return self._pools

    def _may_grow(self, name: str) -> bool:
        target, has = self._counts[name]
        return target <= has < self._rule.most

    def _differs(self, name: str) -> bool:
        """Whether the first raters of a pair chose differently."""
        return len({choice for _, choice in self._answers.get(name, [])[: self._rule.fewest]}) > 1

    def has_come_up(self, name: str) -> bool:
        """Whether a batch has drawn this offered pair."""
        return self._counts[name][0] > 0


def _read_named(connection: sa.Connection, names: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """How these pairs stand, and their votes that count."""
    rows, counted = list[Any](), list[Any]()
    for at in range(0, len(names), AT_ONCE):
        part = {"names": names[at : at + AT_ONCE]}
        rows += fetch_many(connection, _PAIRS_NAMED, part)
        counted += fetch_many(connection, _COUNTED_NAMED, part)
    return rows, counted


def _find_changed(connection: sa.Connection, since: int) -> tuple[set[str] | None, int]:
    """The pairs that may have changed since this event (None: whichever), and the last event by now that was alone."""
    names, whose, last, is_known = set[str](), set[str](), since, True
    for event in fetch_many(connection, _ALONE_SINCE, {"since": since}):
        last = event.event
        if event.kind == "batch":
            names.update(json.loads(event.data)["places"])
        elif event.kind in OF_RATER and event.rater is not None:
            whose.add(event.rater)
        else:
            is_known = False
    if not is_known:
        return None, last
    names.update(row.pair for row in fetch_many(connection, _NAMED_SINCE, {"since": since}))
    if whose:
        names.update(row.pair for row in fetch_many(connection, _OF_RATERS, {"raters": sorted(whose)}))
    return names, last
