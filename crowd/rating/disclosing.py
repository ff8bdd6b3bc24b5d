"""What is stored about one rater, for their own eyes: from every table that holds something of them.

Not told, because it would change how people answer: which of the pairs were hidden checks, what came of them, and
whether the answers count. The page says that this is stored, and whom to ask.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from seedvote.crowd.store.tables import events, leases, payments, payouts, raters, sittings, votes
from seedvote.dialogue.records import Source

LEFT_US = ("sent", "confirmed")  # payouts that were made, as far as is known


@dataclass(frozen=True, slots=True)
class KnownVisit:
    """One sitting: as the marketplace or the address names it, and when."""

    source: Source
    worker: str
    key: str
    begun: float
    finished: float | None


@dataclass(frozen=True, slots=True)
class KnownRater:
    """Everything of one rater that may be shown to them."""

    rater: str
    """Their name in the stored and published answers."""
    arrived: float
    consent: str | None
    consented: float | None
    language: str | None
    visits: Sequence[KnownVisit]
    profile: Mapping[str, str]
    """Answers about themselves, before and at the end; what was withheld is not stored."""
    comments: int
    shown: int
    """Pairs that they saw."""
    answered: int
    first: float | None
    last: float | None
    seconds: float
    """All the time that the answers took."""
    noticed: tuple[int, int, int]
    """Page left, copied from, pasted into."""
    paid: Sequence[tuple[Decimal, str]]
    followed: int = 0
    """Pages on which the line for programs was followed."""


def known_of(connection: sa.Connection, rater: str) -> KnownRater | None:
    """All that is stored of this rater; None where nothing is."""
    row = connection.execute(sa.select(raters).where(raters.c.rater == rater)).one_or_none()
    if row is None:
        return None
    last_answers = json.loads(row.told or '{"answers": {}, "comments": {}}')
    rater_votes = connection.execute(sa.select(votes).where(votes.c.rater == rater).order_by(votes.c.vote)).all()
    sheets = [json.loads(vote.answers) for vote in rater_votes if vote.answers]
    texts = sum("text" in answer for sheet in sheets for answer in sheet.values())
    shown_pairs = (
        sa.select(sa.func.count()).select_from(leases).where(leases.c.rater == rater, leases.c.state != "reserved")
    )
    return KnownRater(
        rater=rater,
        arrived=row.arrived,
        consent=row.consent,
        consented=row.consented,
        language=row.language,
        visits=_read_visits(connection, rater),
        profile=json.loads(row.about or "{}") | last_answers["answers"],
        comments=len(last_answers["comments"]) + texts,
        shown=connection.scalar(shown_pairs) or 0,
        answered=len(rater_votes),
        first=min((vote.submitted for vote in rater_votes), default=None),
        last=max((vote.submitted for vote in rater_votes), default=None),
        seconds=sum(vote.seconds or 0.0 for vote in rater_votes),
        noticed=_count_page_events(connection, rater),
        followed=_count_trapped_pages(connection, rater),
        paid=_read_payments(connection, rater),
    )


def _read_visits(connection: sa.Connection, rater: str) -> list[KnownVisit]:
    query = (
        sa.select(sittings.c.source, payments.c.worker, payments.c.key, sittings.c.begun, sittings.c.finished)
        .join(payments, sa.and_(payments.c.rater == sittings.c.rater, payments.c.sitting == sittings.c.sitting))
        .where(sittings.c.rater == rater)
        .order_by(sittings.c.sitting)
    )
    return [KnownVisit(*row) for row in connection.execute(query)]


def _count_page_events(connection: sa.Connection, rater: str) -> tuple[int, int, int]:
    query = sa.select(events.c.data).where(events.c.rater == rater, events.c.kind == "noticed")
    counts = [json.loads(data) for data in connection.scalars(query)]
    times_left, copied, pasted = (
        sum(event_counts.get(name, 0) for event_counts in counts) for name in ("left", "copied", "pasted")
    )
    return times_left, copied, pasted


def _count_trapped_pages(connection: sa.Connection, rater: str) -> int:
    query = sa.select(sa.func.count()).where(events.c.rater == rater, events.c.kind == "trapped")
    return connection.scalar(query) or 0


def _read_payments(connection: sa.Connection, rater: str) -> list[tuple[Decimal, str]]:
    is_same_visit = sa.and_(payments.c.source == payouts.c.market, payments.c.key == payouts.c.submission)
    query = sa.select(payouts.c.amount, payouts.c.currency).join(payments, is_same_visit)
    query = query.where(payments.c.rater == rater, payouts.c.state.in_(LEFT_US))
    return [(Decimal(amount), currency) for amount, currency in connection.execute(query) if Decimal(amount)]
