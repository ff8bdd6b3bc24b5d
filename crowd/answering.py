"""An answer becomes a vote once, a failed gate takes the rater's votes out of the count, an undo gives a vote back."""

from __future__ import annotations

from typing import Literal

import sqlalchemy as sa

from crowd import event_log, gate, pool
from crowd.assignment import counts, unswapped
from crowd.hit import Answer
from crowd.leasing import Refused, Sitter, Turn, token
from crowd.store import leases, pairs, raters, votes
from dialogue.records import Choice

Saved = Literal["saved", "again", "late"]
LONGEST_SECONDS = 86_400.0

_IS = sa.bindparam
_LEASE = (
    sa.select(leases, pairs.c.kind, pairs.c.votes, pairs.c.body)
    .join_from(leases, pairs, leases.c.pair == pairs.c.pair)
    .where(leases.c.token == _IS("token"))
)
_STORE = sa.insert(votes).returning(votes.c.vote)
_ANSWERED = sa.update(leases).where(leases.c.lease == _IS("this")).values(state="answered")
_LAST = sa.update(raters).where(raters.c.rater == _IS("this")).values(last_vote=_IS("last"))


def answer(turn: Turn, sitter: Sitter, lease_token: str, choice: Answer, seconds: float | None) -> Saved:
    """Store the answer to a lease of this rater; one that is stored already stays as it was first given."""
    row = turn.connection.execute(_LEASE, {"token": lease_token}).first()
    if row is None or row.rater != sitter.seat.rater:
        raise Refused("no lease of this rater")
    if row.state == "answered":
        event_log.append(turn.connection, "repeated", turn.now, row.rater, row.pair)
        return "again"
    return _store(turn, sitter, row, unswapped(choice, row.left), _plausible(seconds, turn.now - row.issued))


def _plausible(seconds: float | None, since: float) -> float:
    """The page's own time; where it sent none (no JavaScript) or nonsense, the time since the pair was given out."""
    page = seconds if seconds is not None and 0 <= seconds <= LONGEST_SECONDS else since
    return round(page, 3)


def _store(turn: Turn, sitter: Sitter, row: sa.Row[tuple[object, ...]], choice: Choice, seconds: float) -> Saved:
    check = row.kind == "check"
    late = not check and (row.state != "held" or row.expires <= turn.now)
    counted = not check and sitter.status != "blocked" and counts(row.votes, late=late, rules=turn.rules)
    failed = int(choice != pool.pair_from(row.body).answer) if check else None
    line = {"lease": row.lease, "rater": row.rater, "pair": row.pair, "source": sitter.source, "choice": choice}
    times = {"left": row.left, "seconds": seconds, "submitted": turn.now, "late": int(late)}
    facts = {"counted": int(counted), "failed": failed}
    vote = turn.connection.execute(_STORE, line | times | facts).scalar_one()
    turn.connection.execute(_ANSWERED, {"this": row.lease})
    held = int(row.state == "held")
    pool.change(turn.connection, row.pair, turn.rules.votes_per_pair, votes=int(counted), held=-held)
    told = {"lease": row.lease, "choice": choice, "left": row.left, "seconds": seconds, "late": int(late), **facts}
    event_log.append(turn.connection, "answered", turn.now, row.rater, row.pair, **told)
    turn.connection.execute(_LAST, {"this": row.rater, "last": None if late else vote})
    if check:
        _judge(turn, sitter)
    return "late" if late else "saved"


def outcomes(turn: Turn, rater: str) -> list[bool]:
    """The rater's checks in the order in which they were shown, True where failed."""
    mine = sa.select(votes.c.failed).where(votes.c.rater == rater, votes.c.failed.is_not(None)).order_by(votes.c.lease)
    return [bool(failed) for failed in turn.connection.scalars(mine)]


def _judge(turn: Turn, sitter: Sitter) -> None:
    """Let the gate speak after a check; who is blocked keeps what was earned, but no vote of theirs counts."""
    rater = sitter.seat.rater
    status = gate.status(outcomes(turn, rater), turn.rule)
    if status == sitter.status:
        return
    turn.connection.execute(sa.update(raters).where(raters.c.rater == rater).values(status=status))
    if status != "blocked":
        return
    mine = sa.and_(votes.c.rater == rater, votes.c.counted == 1)
    for pair in turn.connection.scalars(sa.select(votes.c.pair).where(mine)).all():
        pool.change(turn.connection, pair, turn.rules.votes_per_pair, votes=-1)
    turn.connection.execute(sa.update(votes).where(mine).values(counted=0))
    held = sa.and_(leases.c.rater == rater, leases.c.state == "held")
    for pair in turn.connection.scalars(sa.select(leases.c.pair).where(held)).all():
        pool.change(turn.connection, pair, turn.rules.votes_per_pair, held=-1)
    turn.connection.execute(sa.update(leases).where(held).values(state="void"))
    event_log.append(turn.connection, "blocked", turn.now, rater)


def undo(turn: Turn, sitter: Sitter) -> bool:
    """Take back the vote that came last; its pair is held again under a new token, so that a stale click is void."""
    if sitter.last_vote is None or sitter.status == "blocked" or sitter.finished:
        return False
    joined = sa.select(votes, leases.c.attempt).join_from(votes, leases, votes.c.lease == leases.c.lease)
    row = turn.connection.execute(joined.where(votes.c.vote == sitter.last_vote)).one()
    attempt = row.attempt + 1
    held = {"state": "held", "attempt": attempt, "token": token(turn.secret, row.rater, row.pair, attempt)}
    expires = turn.now + turn.rules.lease_seconds
    here = leases.c.lease == row.lease
    turn.connection.execute(sa.update(leases).where(here).values(**held, issued=turn.now, expires=expires))
    turn.connection.execute(sa.delete(votes).where(votes.c.vote == row.vote))
    pool.change(turn.connection, row.pair, turn.rules.votes_per_pair, votes=-row.counted, held=1)
    turn.connection.execute(sa.update(raters).where(raters.c.rater == row.rater).values(last_vote=None))
    event_log.append(turn.connection, "undone", turn.now, row.rater, row.pair, lease=row.lease)
    if row.failed is not None:
        _judge(turn, sitter)
    return True
