"""The pairs on which raters disagree most, by the votes that count."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import sqlalchemy as sa

from seedvote.crowd.store.tables import pairs, votes

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Dispute:
    """One real pair; `disagreement` is the share of its pairs of votes that differ, as kappa counts it."""

    disagreement: float
    votes: int
    pair: str
    counts: tuple[int, int, int]  # for a, for b, ties
    texts: tuple[str, str]


def most_disputed(connection: sa.Connection) -> tuple[Dispute, ...]:
    """The strongest disagreement first, among equals the pair with more votes; none where all raters agree."""
    rows = ((_share_differing(met), met.total(), pair, met) for pair, met in _count_choices(connection))
    ranked = heapq.nsmallest(SHOWN, rows, key=lambda row: (-row[0], -row[1], row[2]))
    query = sa.select(pairs.c.pair, pairs.c.body).where(pairs.c.pair.in_([row[2] for row in ranked]))
    bodies = {row.pair: json.loads(row.body) for row in connection.execute(query)}
    return tuple(
        Dispute(
            share,
            number,
            pair,
            (met["a"], met["b"], met["tie"]),
            (bodies[pair]["a"]["text"], bodies[pair]["b"]["text"]),
        )
        for share, number, pair, met in ranked
        if share
    )


def _count_choices(connection: sa.Connection) -> Iterator[tuple[str, Counter[str]]]:
    query = (
        sa.select(votes.c.pair, votes.c.choice, sa.func.count().label("number"))
        .join(pairs, pairs.c.pair == votes.c.pair)
        .where(votes.c.counted == 1, pairs.c.kind == "real")
        .group_by(votes.c.pair, votes.c.choice)
        .order_by(votes.c.pair)
    )
    for pair, rows in groupby(connection.execute(query), key=lambda row: row.pair):
        yield pair, Counter({row.choice: row.number for row in rows})


def _share_differing(met: Counter[str]) -> float:
    """The probability that two of its votes differ.

    >>> _share_differing(Counter(a=1, b=1)), _share_differing(Counter(a=2, b=1)), _share_differing(Counter(a=1))
    (1.0, 0.6666666666666667, 0.0)
    """
    number = met.total()
    return 0.0 if number < 2 else 1 - sum(n * (n - 1) for n in met.values()) / (number * (number - 1))
