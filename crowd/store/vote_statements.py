"""What is asked and written about votes: the lease that an answer claims, the vote, the outcomes of checks.

As in lease_statements.py; what they decide is said in crowd/rating/, where they are used.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.store.tables import leases, pairs, payments, raters, sittings, votes

FIRST_SOURCE = sa.select(votes.c.source).order_by(votes.c.vote).limit(sa.literal_column("1"))
STANDING = (raters.c.status, raters.c.ruling, raters.c.broke, raters.c.asked)  # what a status is made of and changes
# in the order in which they were shown, which an undo does not change
OUTCOMES = (
    sa.select(votes.c.rater, votes.c.lease, votes.c.failed, votes.c.forgiven, votes.c.waits)
    .where(votes.c.failed >= 0, votes.c.aside == 0)
    .order_by(votes.c.lease)
)
ITS_OUTCOMES = OUTCOMES.where(votes.c.rater == param("rater"))
CLAIM = (  # a lease of this rater with its pair, who they are and where they sit
    sa.select(
        leases,
        pairs.c.votes,
        pairs.c.body,
        pairs.c.mended,
        *STANDING,
        sittings.c.source,
        payments.c.listed,
        payments.c.withdrawn,
        FIRST_SOURCE.scalar_subquery().label("first"),
    )
    .join_from(leases, pairs, leases.c.pair == pairs.c.pair)
    .join(raters, raters.c.rater == leases.c.rater)
    .join(sittings, sa.and_(sittings.c.rater == leases.c.rater, sittings.c.sitting == param("seat")))
    .outerjoin(payments, sa.and_(payments.c.rater == sittings.c.rater, payments.c.sitting == sittings.c.sitting))
    .where(leases.c.token == param("token"), leases.c.rater == param("rater"))
)
INSERT_VOTE = sa.insert(votes)
CLOSE_LEASE = sa.update(leases).where(leases.c.lease == param("this")).values(state="answered", sitting=param("seat"))
_VOTE = sa.select(votes.c.vote).where(votes.c.lease == param("lease"), votes.c.late == 0).scalar_subquery()
CHOICE_OF_LEASE = sa.select(votes.c.choice).where(votes.c.lease == param("lease"))
SET_LAST_VOTE = sa.update(raters).where(raters.c.rater == param("this")).values(last_vote=_VOTE)
