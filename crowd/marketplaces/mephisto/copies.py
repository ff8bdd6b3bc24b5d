"""What Mephisto keeps of a study: a copy of every finished sitting, complete enough to restore its votes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from crowd.store.event_log import iso
from crowd.store.tables import leases, pairs, raters, votes
from dialogue.files import from_json
from dialogue.records import Vote


def sitting(connection: sa.Connection, rater: str, number: int) -> dict[str, Any]:
    """One sitting as plain values, complete enough to restore its votes: what Mephisto keeps a copy of."""
    query = (
        sa.select(votes, pairs.c.kind, pairs.c.body)
        .join(leases, leases.c.lease == votes.c.lease)
        .join(pairs, pairs.c.pair == votes.c.pair)
        .where(leases.c.rater == rater, leases.c.sitting == number)
        .order_by(votes.c.vote)
    )
    rows = connection.execute(query).all()
    status = connection.scalar(sa.select(raters.c.status).where(raters.c.rater == rater))
    checks = [row.failed for row in rows if row.failed is not None]
    return {
        "rater": rater,
        "sitting": number,
        "rater_status": status,
        "checks_seen": len(checks),
        "checks_failed": sum(checks),
        "votes": [
            {
                "pair": row.pair,
                "choice": row.choice,
                "left": row.left,
                "seconds": row.seconds,
                "submitted": iso(row.submitted),
                "kind": row.kind,
            }
            for row in rows
            if row.failed is None
        ],
    }


def restored(outputs: Iterable[Mapping[str, Any]], votes_per_pair: int) -> list[Vote]:
    """Votes from what Mephisto kept: a rater who was blocked in the end does not count, rounds follow time."""
    sittings = list(outputs)
    blocked = {unit["rater"] for unit in sittings if unit["rater_status"] == "blocked"}
    rows = [(vote["submitted"], unit["rater"], vote) for unit in sittings for vote in unit["votes"]]
    number: dict[str, int] = defaultdict(int)
    found = []
    for _, rater, vote in sorted(rows, key=lambda row: row[:2]):
        counted = rater not in blocked and number[vote["pair"]] < votes_per_pair
        number[vote["pair"]] += counted
        status = "blocked" if rater in blocked else "passed"
        known = {**vote, "rater": rater, "rater_status": status, "counted": counted, "source": "mephisto"}
        known["round"] = number[vote["pair"]] if counted else 0
        found.append(from_json(Vote, known, "Mephisto's data store"))
    return found
