"""How a store of each older version becomes the next one; store.py takes all steps that are due in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable

import sqlalchemy as sa

from seedvote.crowd.store.tables import (
    events,
    holds,
    launches,
    leases,
    messages,
    pairs,
    payments,
    payouts,
    raters,
    replies,
    study_settings,
    votes,
)

Migration = Callable[[sa.Connection], None]


def _migrate_to_2(connection: sa.Connection) -> None:
    """From 0.2.0's first stores: checks of a rater's whole life, decisions of a person, checks that were mended."""
    added = {
        "pairs": ("mended TEXT",),
        "raters": ("ruling TEXT", "why TEXT", "broke TEXT"),
        "leases": ("kind TEXT NOT NULL DEFAULT 'real'",),
        "votes": ("forgiven INTEGER NOT NULL DEFAULT 0", "aside INTEGER NOT NULL DEFAULT 0"),
    }
    for table, columns in added.items():
        for column in columns:
            connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    of_pair = sa.select(pairs.c.kind).where(pairs.c.pair == leases.c.pair).scalar_subquery()
    connection.execute(sa.update(leases).where(leases.c.pair.in_(sa.select(pairs.c.pair))).values(kind=of_pair))
    _keep_aside(connection)


def _keep_aside(connection: sa.Connection) -> None:
    """Votes that a marketplace never confirmed were known by an event alone."""
    rows = connection.execute(sa.select(events.c.rater, events.c.data).where(events.c.kind == "study")).all()
    for row in rows:
        if "set_aside" in (data := json.loads(row.data)):
            is_lease = sa.and_(leases.c.rater == row.rater, leases.c.sitting == data["sitting"])
            lost = sa.and_(votes.c.counted == 0, votes.c.failed.is_(None))
            query = sa.update(votes).where(lost, votes.c.lease.in_(sa.select(leases.c.lease).where(is_lease)))
            connection.execute(query.values(aside=1))


def _migrate_to_3(connection: sa.Connection) -> None:
    """Who was let in stays in: `asked` of the raters who have passed, as facts and as events."""
    connection.execute(sa.text("ALTER TABLE raters ADD COLUMN asked INTEGER"))
    known = set(connection.scalars(sa.select(study_settings.c.key)))
    if "hit" not in known:
        return  # from before the second: its statuses are of another rule
    answered = sa.select(sa.func.count()).where(votes.c.rater == raters.c.rater, votes.c.failed.is_not(None))
    query = sa.select(raters.c.rater, answered.scalar_subquery().label("n")).where(raters.c.status == "passed")
    now = connection.scalar(sa.select(sa.func.max(events.c.at))) or 0.0
    for row in connection.execute(query).all():
        connection.execute(sa.update(raters).where(raters.c.rater == row.rater).values(asked=row.n))
        line = {"at": now, "kind": "admitted", "rater": row.rater, "data": json.dumps({"asked": row.n})}
        connection.execute(sa.insert(events).values(line))
    connection.execute(sa.delete(study_settings).where(study_settings.c.key == "settled"))  # the others, at a start


ASKED_LATER = ("mturk", "prolific")  # those there were by then


def _migrate_to_4(connection: sa.Connection) -> None:
    """The ledger; and votes through a marketplace wait until it has confirmed their visit, as facts and as events."""
    payouts.create(connection, checkfirst=True)
    for table, column in (("votes", "waits INTEGER NOT NULL DEFAULT 0"), ("payments", "withdrawn TEXT")):
        connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    unheard = sa.and_(payments.c.listed.is_(None), payments.c.source.in_(ASKED_LATER))
    now = connection.scalar(sa.select(sa.func.max(events.c.at))) or 0.0
    for row in connection.execute(sa.select(payments.c.rater, payments.c.sitting).where(unheard)).all():
        inside = sa.select(leases.c.lease).where(leases.c.rater == row.rater, leases.c.sitting == row.sitting)
        is_vote = sa.and_(votes.c.lease.in_(inside), votes.c.aside == 0)
        names = list(connection.scalars(sa.select(votes.c.lease).where(is_vote)))
        connection.execute(sa.update(votes).where(is_vote).values(waits=1))
        facts = json.dumps({"waiting": len(names), "sitting": row.sitting, "leases": names})
        connection.execute(sa.insert(events).values(at=now, kind="study", rater=row.rater, data=facts))
    connection.execute(sa.delete(study_settings).where(study_settings.c.key == "settled"))  # count anew at a start


def _migrate_to_5(connection: sa.Connection) -> None:
    """Questions with versions, and what raters tell about themselves."""
    added = {"pairs": "version INTEGER NOT NULL DEFAULT 0", "raters": "version INTEGER"}
    for table, column in (*added.items(), ("raters", "about TEXT")):
        connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _migrate_to_6(connection: sa.Connection) -> None:
    """A vote may hold the answers to several questions."""
    connection.execute(sa.text("ALTER TABLE votes ADD COLUMN answers TEXT"))


def _migrate_to_7(connection: sa.Connection) -> None:
    """The language that raters read."""
    connection.execute(sa.text("ALTER TABLE raters ADD COLUMN language TEXT"))


def _migrate_to_8(connection: sa.Connection) -> None:
    """What raters tell about themselves at the end."""
    connection.execute(sa.text("ALTER TABLE raters ADD COLUMN told TEXT"))


def _migrate_to_9(connection: sa.Connection) -> None:
    """Launches and held payments; when a payment was sent, and its VAT. The fourth may have made `payouts` as it is."""
    launches.create(connection, checkfirst=True)
    holds.create(connection, checkfirst=True)
    known = {column["name"] for column in sa.inspect(connection).get_columns("payouts")}
    for column in ("sent DOUBLE PRECISION", "vat TEXT NOT NULL DEFAULT '0'"):
        if column.split()[0] not in known:
            connection.execute(sa.text(f"ALTER TABLE payouts ADD COLUMN {column}"))
    began = payouts.c.state.in_(("sent", "confirmed", "uncertain"))
    connection.execute(sa.update(payouts).where(began, payouts.c.sent.is_(None)).values(sent=payouts.c.at))


def _migrate_to_10(connection: sa.Connection) -> None:
    """The next pair of each version is found by its index."""
    connection.execute(sa.text("DROP INDEX IF EXISTS pairs_next"))
    connection.execute(sa.text("CREATE INDEX pairs_next ON pairs (open, version, live, position)"))


def _migrate_to_11(connection: sa.Connection) -> None:
    """A person may be several raters until their marketplace confirms their visits."""
    connection.execute(sa.text("ALTER TABLE raters ADD COLUMN person TEXT"))
    connection.execute(sa.text("ALTER TABLE raters ADD COLUMN proves INTEGER NOT NULL DEFAULT 0"))
    connection.execute(sa.text("CREATE INDEX raters_person ON raters (person)"))


def _migrate_to_12(connection: sa.Connection) -> None:
    """On which kind of device a vote was given, and what was on the screen."""
    for column in ("device TEXT", "turns_seen INTEGER", "context_seconds DOUBLE PRECISION"):
        connection.execute(sa.text(f"ALTER TABLE votes ADD COLUMN {column}"))


def _migrate_to_13(connection: sa.Connection) -> None:
    """Adaptive studies: how many votes a pair is to get, in which batch it came up and how probable that was."""
    columns = ("batch INTEGER", "propensity DOUBLE PRECISION")
    for table, added in (("pairs", ("target INTEGER", *columns)), ("leases", columns)):
        for column in added:
            connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))


def _migrate_to_14(connection: sa.Connection) -> None:
    """Live conversations: what raters said, what was answered, and what it cost."""
    messages.create(connection, checkfirst=True)
    replies.create(connection, checkfirst=True)


def _migrate_to_15(connection: sa.Connection) -> None:
    """Passages that raters marked."""
    connection.execute(sa.text("ALTER TABLE votes ADD COLUMN marks TEXT"))


def _migrate_to_16(connection: sa.Connection) -> None:
    """Whether raters saw where two responses differ."""
    connection.execute(sa.text("ALTER TABLE votes ADD COLUMN differences INTEGER"))


def _migrate_to_17(connection: sa.Connection) -> None:
    """A lease says whether its page shows where two responses differ."""
    connection.execute(sa.text("ALTER TABLE leases ADD COLUMN differences INTEGER"))


MIGRATIONS: dict[int, Migration] = {
    1: _migrate_to_2,
    2: _migrate_to_3,
    3: _migrate_to_4,
    4: _migrate_to_5,
    5: _migrate_to_6,
    6: _migrate_to_7,
    7: _migrate_to_8,
    8: _migrate_to_9,
    9: _migrate_to_10,
    10: _migrate_to_11,
    11: _migrate_to_12,
    12: _migrate_to_13,
    13: _migrate_to_14,
    14: _migrate_to_15,
    15: _migrate_to_16,
    16: _migrate_to_17,
}
