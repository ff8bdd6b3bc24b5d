"""What is stored about one rater, in every table that holds something of them: shown to them, and forgotten.

Not told, because it would change how people answer: which of the pairs were hidden checks, what came of them, and
whether the answers count. The page says that this is stored, and whom to ask.

Of who asks to be forgotten, the votes stay, under a random name that nothing leads back from, without times of day or
durations, and count or do not count as before. Payment, consent, sittings and all words go, and every event but those
from which that follows. A person who comes again afterwards is somebody new; the invitation of somebody who was
blocked lets nobody in any more.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from seedvote.crowd.rating.answering import PAGE_VIEW
from seedvote.crowd.rating.identities import siblings
from seedvote.crowd.rating.leasing import release_expired
from seedvote.crowd.rating.talks import erase_words
from seedvote.crowd.store.identity import FORGOTTEN
from seedvote.crowd.store.keys import is_invited, keys_in, revoke
from seedvote.crowd.store.store import Store, append_event, settings
from seedvote.crowd.store.tables import (
    HOLDS_PLACE,
    events,
    holds,
    leases,
    messages,
    payments,
    payouts,
    raters,
    sittings,
    votes,
)
from seedvote.dialogue.records import Device, Source

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
    devices: Sequence[Device] = ()
    """The kinds of devices on which they answered, where that is stored."""
    followed: int = 0
    """Pages on which the line for programs was followed."""
    messages: int = 0
    """What they wrote in live conversations."""


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
        devices=[*dict.fromkeys(vote.device for vote in rater_votes if vote.device)],
        followed=_count_trapped_pages(connection, rater),
        paid=_read_payments(connection, rater),
        messages=_count_messages(connection, rater),
    )


def _count_messages(connection: sa.Connection, rater: str) -> int:
    own = sa.select(leases.c.lease).where(leases.c.rater == rater)
    return connection.scalar(sa.select(sa.func.count()).where(messages.c.lease.in_(own))) or 0


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


DAY = 86_400
KEPT = ("answered", "undone", "blocked", "standing", "admitted", "ruled", "rule", "study")  # what the votes follow from


def forget(store: Store, rater: str, *, votes_per_pair: int, now: float) -> int | None:
    """Forget this person, as every rater that they are; how many votes stay, or None where nobody has that hash."""
    with store.write() as connection:
        if connection.scalar(sa.select(raters.c.rater).where(raters.c.rater == rater)) is None:
            return None
        kept_votes = sum(_forget_one(connection, name, votes_per_pair, now) for name in siblings(connection, rater))
    _wipe_file(store)
    return kept_votes


def _forget_one(connection: sa.Connection, rater: str, votes_per_pair: int, now: float) -> int:
    # random, not a hash: whoever has the key and the id could make the hash again
    nobody = f"{FORGOTTEN}{secrets.token_hex(6)}"
    is_held = sa.and_(leases.c.rater == rater, HOLDS_PLACE)
    connection.execute(sa.update(leases).where(is_held).values(expires=now))
    release_expired(connection, votes_per_pair, now)
    erase_words(connection, rater)
    _revoke_invitations(connection, rater)
    _rename_payouts(connection, rater, nobody)
    for table in (payments, sittings):
        connection.execute(sa.delete(table).where(table.c.rater == rater))
    kept_votes = _rename_rater(connection, rater, nobody)
    _thin_events(connection, rater, nobody)
    append_event(connection, "forgotten", now, nobody, votes=kept_votes)
    return kept_votes


def _revoke_invitations(connection: sa.Connection, rater: str) -> None:
    """Who was blocked or excluded does not come back by their link as somebody new; only a digest of it stays."""
    status = connection.scalar(sa.select(raters.c.status).where(raters.c.rater == rater))
    if status not in ("blocked", "excluded"):
        return
    people = keys_in(settings(connection)).people
    for worker in connection.scalars(sa.select(payments.c.worker).where(payments.c.rater == rater).distinct()).all():
        if is_invited(people, worker):
            revoke(connection, worker)


def _rename_payouts(connection: sa.Connection, rater: str, nobody: str) -> None:
    """What was paid stays in the books, without the marketplace's name of the visit."""
    visits = connection.execute(sa.select(payments.c.source, payments.c.key).where(payments.c.rater == rater)).all()
    for n, visit in enumerate(visits):
        is_payout = sa.and_(payouts.c.market == visit.source, payouts.c.submission == visit.key)
        bare = {"submission": f"{nobody}-{n}", "handle": "", "why": ""}
        connection.execute(sa.update(payouts).where(is_payout).values(bare))
        is_hold = sa.and_(holds.c.market == visit.source, holds.c.submission == visit.key)
        connection.execute(sa.delete(holds).where(is_hold))


def _rule_name(clause: str | None) -> str | None:
    """The name of the rule that a rater broke, without its numbers: they tell how long the answers took."""
    return clause and clause.partition(":")[0]


def _rename_rater(connection: sa.Connection, rater: str, nobody: str) -> int:
    broke = connection.scalar(sa.select(raters.c.broke).where(raters.c.rater == rater))
    columns = ("consent", "consented", "last_vote", "why", "about", "told", "language", "person")
    gone = {"arrived": 0.0, "broke": _rule_name(broke), **dict.fromkeys(columns)}
    connection.execute(sa.update(raters).where(raters.c.rater == rater).values(rater=nobody, **gone))
    is_own = leases.c.rater == rater
    # a token follows from the person's id, so it would lead back to them, and stand in their way if they come again
    token = sa.literal(f"{nobody}-") + sa.cast(leases.c.lease, sa.Text)
    connection.execute(sa.update(leases).where(is_own).values(rater=nobody, token=token, issued=0.0, expires=0.0))
    v = votes.c
    rater_votes = connection.execute(sa.select(v.vote, v.submitted, v.answers).where(v.rater == rater)).all()
    for row in rater_votes:
        bare = {"rater": nobody, "submitted": row.submitted // DAY * DAY, **dict.fromkeys(("seconds", *PAGE_VIEW))}
        bare["answers"] = _without_texts(row.answers)
        connection.execute(sa.update(votes).where(votes.c.vote == row.vote).values(bare))
    return len(rater_votes)


def _without_texts(answers: str | None) -> str | None:
    """What a person wrote may name them; the event log never had it."""
    if answers is None:
        return None
    return json.dumps({name: answer for name, answer in json.loads(answers).items() if "text" not in answer})


def _thin_events(connection: sa.Connection, rater: str, nobody: str) -> None:
    for row in connection.execute(sa.select(events).where(events.c.rater == rater)).all():
        this = events.c.event == row.event
        if row.kind not in KEPT:
            connection.execute(sa.delete(events).where(this))
            continue
        data = {name: value for name, value in json.loads(row.data).items() if name not in ("seconds", "why")}
        if row.kind == "rule":
            data["broke"] = _rule_name(data["broke"])
        values = {"rater": nobody, "at": row.at // DAY * DAY, "data": json.dumps(data)}
        connection.execute(sa.update(events).where(this).values(values))


def _wipe_file(store: Store) -> None:
    """SQLite keeps erased bytes in free pages and in its log: write the file anew."""
    if store.engine.dialect.name != "sqlite":
        return
    with closing(store.engine.raw_connection()) as connection:
        cursor = connection.cursor()  # below SQLAlchemy, which would begin a transaction: VACUUM stands alone
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
