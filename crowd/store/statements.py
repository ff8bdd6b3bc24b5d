"""The SQL of leases and votes: who holds what, what is due, what an answer claims, what becomes of a pair's counters.

Statements are built once, because with SQLAlchemy building one costs more than running it. What they decide is said in
crowd/rating/, where they are used.
"""

from __future__ import annotations

from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.store.tables import (
    ASKED_LATER,
    HOLDS_PLACE,
    leases,
    pairs,
    payments,
    raters,
    sittings,
    study_settings,
    votes,
)
from seedvote.dialogue.records import Side

REVISION = "revision"  # the setting that is turned whenever the rules of the study change
OWN_VERSION = sa.select(raters.c.version).where(raters.c.rater == param("rater")).scalar_subquery()
_FOR_RATER = sa.or_(pairs.c.version == 0, pairs.c.version == OWN_VERSION)  # of a question set with versions, their own

IS_LAID = sa.or_(HOLDS_PLACE, leases.c.state == "answered")
SIDES: tuple[Side, ...] = get_args(Side)
_HAS_PLACE = sa.exists().where(votes.c.lease == leases.c.lease, sa.or_(votes.c.counted == 1, votes.c.waits == 1))
_TAKEN = sa.or_(HOLDS_PLACE, _HAS_PLACE)
PLACED = sa.select(leases.c.left).where(leases.c.pair == param("pair"), _TAKEN)  # of forms that balance places
LAID = sa.select(leases.c.left).where(leases.c.rater == param("rater"), IS_LAID)  # how a rater saw all so far

# Who sits there

_RATER, _SITTING = raters.c.rater == param("rater"), sittings.c.sitting == param("sitting")
_HERE = leases.c.sitting == param("sitting")
_IS_ANSWERED, _IS_CHECK = leases.c.state == "answered", leases.c.kind == "check"
_IS_HIDDEN = sa.or_(_IS_CHECK, leases.c.kind == "void")
# A live conversation that a system broke off is work done, but no answer: as a check it judges nobody.
_IS_DONE = sa.or_(_IS_ANSWERED, leases.c.state == "returned")
_JUDGED = sa.and_(_IS_DONE, ~_IS_HIDDEN)
# Whatever was shown and is unanswered waits in every sitting: a new one is no way round a check. But what a
# marketplace's person has in hand in one visit is not shown in another: each is paid for its own answers.
_RESERVED = leases.c.state == "reserved"
_SOURCE = sa.select(sittings.c.source).where(_SITTING, sittings.c.rater == param("rater")).scalar_subquery()
_PAID_APART = sa.or_(*(_SOURCE.bool_op("=")(source) for source in ASKED_LATER))
_WAITS_HERE = sa.or_(leases.c.state == "expired", sa.and_(leases.c.state == "held", sa.or_(_HERE, ~_PAID_APART)))
# A check of a visit that was set aside judges nobody, so another one is asked in its place.
_IS_SET_ASIDE = sa.exists().where(votes.c.lease == leases.c.lease, votes.c.aside == 1)
_LIFE = (
    sa.func.count().filter(_JUDGED).label("reals"),
    sa.func.count().filter(_IS_ANSWERED, _IS_HIDDEN, ~_IS_SET_ASIDE).label("checks"),
    sa.func.max(leases.c.slot).filter(_IS_CHECK).label("last_check"),
    sa.func.count().filter(_IS_CHECK).label("seen"),
)
_MINE = (
    sa.select(
        *_LIFE,
        sa.func.count().filter(_HERE, _IS_DONE).label("done"),
        sa.func.min(leases.c.lease).filter(_WAITS_HERE).label("waiting"),
        sa.func.min(leases.c.slot).filter(leases.c.state == "held", ~_HERE).label("elsewhere"),
        sa.func.count().filter(_HERE, ~_IS_HIDDEN, sa.or_(_IS_DONE, leases.c.state == "held")).label("reals_here"),
        sa.func.count().filter(_HERE, _JUDGED).label("judged_here"),
        sa.func.max(leases.c.lease).filter(_HERE, _RESERVED).label("reserved"),
        sa.func.max(leases.c.expires).filter(_HERE, _RESERVED).label("reserved_until"),
        *(sa.func.count().filter(IS_LAID, leases.c.left == side).label(f"left_{side}") for side in SIDES),
    )
    .where(leases.c.rater == param("rater"))
    .subquery("mine")
)
_LAST_TOKEN = (  # of the answer that can be taken back
    sa.select(leases.c.token)
    .join_from(votes, leases, leases.c.lease == votes.c.lease)
    .where(votes.c.vote == raters.c.last_vote)
    .scalar_subquery()
)
_IN_TIME = sa.and_(votes.c.late == 0, votes.c.seconds.is_not(None))
_PACE = sa.select(sa.func.avg(votes.c.seconds)).where(votes.c.rater == raters.c.rater, _IN_TIME).scalar_subquery()
PACES = (  # of each rater who has answered a few: the mean seconds of an answer
    sa.select(sa.func.avg(votes.c.seconds)).where(_IN_TIME).group_by(votes.c.rater).having(sa.func.count() >= 5)
)
_STATE = sa.select(study_settings.c.value).where(study_settings.c.key == "state").scalar_subquery()
_REVISION = sa.select(study_settings.c.value).where(study_settings.c.key == REVISION).scalar_subquery()
_LEASE = (
    leases.c.token,
    leases.c.attempt,
    leases.c.lease,
    leases.c.slot,
    leases.c.pair,
    leases.c.kind,
    leases.c.left,
    leases.c.state,
    leases.c.issued,
    leases.c.expires,
    leases.c.differences,
)
SEAT = (  # one row: who sits there, what they did, the lease that waits for them (else the reserved one) and its pair
    sa.select(raters.c.status, raters.c.consent, raters.c.instructed, raters.c.last_vote)
    .add_columns(raters.c.version, raters.c.about, sittings.c.begun)
    .add_columns(
        sittings.c.slots,
        sittings.c.finished,
        _MINE,
        _STATE.label("study"),
        _REVISION.label("revision"),
        _LAST_TOKEN.label("last_token"),
        _PACE.label("pace"),
    )
    .add_columns(*_LEASE, pairs.c.open, pairs.c.live, pairs.c.target, pairs.c.batch, pairs.c.propensity, pairs.c.body)
    .join_from(raters, sittings, sa.and_(sittings.c.rater == raters.c.rater, _SITTING))
    .join(_MINE, sa.true())
    .outerjoin(leases, leases.c.lease == sa.func.coalesce(_MINE.c.waiting, _MINE.c.reserved))
    .outerjoin(pairs, pairs.c.pair == leases.c.pair)
    .where(_RATER)
)
HELD_ELSEWHERE = (  # what a rater has had in hand in another visit for so many pairs, as SEAT gives what waits
    sa.select(*_LEASE, pairs.c.open, pairs.c.live, pairs.c.target, pairs.c.body)
    .join_from(leases, pairs, pairs.c.pair == leases.c.pair)
    .where(leases.c.rater == param("rater"), leases.c.state == "held", ~_HERE, leases.c.slot <= param("upto"))
    .order_by(leases.c.lease)
    .limit(1)
)

# What a rater was shown, and what there is for them

LIFE_OF_RATER = sa.select(sa.func.count()).add_columns(*_LIFE).where(leases.c.rater == param("rater"))
_HAS_HELD = sa.and_(HOLDS_PLACE, param("held", type_=sa.Integer) == 1)
_MAY_WAIT = sa.or_(leases.c.state == "expired", _HAS_HELD)
WAITING: sa.Select[Any] = (
    sa.select(sa.func.count().filter(_MAY_WAIT, _IS_CHECK).label("checks"))
    .add_columns(sa.func.count().filter(_MAY_WAIT, ~_IS_HIDDEN).label("reals"))
    .where(leases.c.rater == param("rater"))
)
# A look at one lease for each pair: of NOT EXISTS, PostgreSQL without statistics makes a join that reads all leases of
# the rater for each pair that they have seen.
_THEIRS = sa.select(leases.c.lease).where(leases.c.rater == param("rater"), leases.c.pair == pairs.c.pair)
IS_UNSEEN = _THEIRS.correlate(pairs).scalar_subquery().is_(None)
_ANY_OPEN = sa.select(pairs.c.pair).where(pairs.c.open == 1, _FOR_RATER, IS_UNSEEN)
OPEN_TO_RATER: sa.Select[Any] = sa.select(sa.func.count().label("pairs")).select_from(
    _ANY_OPEN.limit(param("most")).subquery("open_to")
)
_UNSEEN = sa.select(pairs.c.pair).where(
    pairs.c.kind == "real",
    pairs.c.offered == 1,
    pairs.c.open == 0,
    pairs.c.target < param("top"),
    _FOR_RATER,
    IS_UNSEEN,
)
# of an adaptive study: pairs that this rater has not seen and that a later batch may open; those that never came up
MAY_OPEN: sa.Select[Any] = sa.select(sa.func.count().label("pairs")).select_from(
    _UNSEEN.limit(param("most")).subquery("may_open")
)
MAY_COME_UP: sa.Select[Any] = sa.select(_UNSEEN.where(pairs.c.target == 0).exists().label("any"))
INSERT_LEASE = sa.insert(leases)
RENEW_LEASE = (
    sa.update(leases)
    .where(leases.c.lease == param("this"))
    .values(state="held", issued=param("now"), expires=param("until"), sitting=param("seat"))
)
LAY_ANEW = (
    sa.update(leases)
    .where(leases.c.lease == param("this"))
    .values(left=param("how"), token=param("token"), attempt=param("attempt"))
)
SHOWN_CHECKS = (  # one row at least: with the version, which says what may still be shown
    sa.select(raters.c.version, leases.c.pair)
    .join_from(raters, leases, sa.and_(leases.c.rater == raters.c.rater, _IS_HIDDEN), isouter=True)
    .where(raters.c.rater == param("rater"))
)
VERSION_OF_RATER = sa.select(raters.c.version).where(raters.c.rater == param("rater"))

# What is due, and what idle visits hold

_ENDED = sa.or_(leases.c.expires <= param("now"), leases.c.issued > param("ahead"))
_in_hand = leases.alias("in_hand")
_AT_WORK_ON = sa.exists().where(  # a check in hand keeps the pair that is reserved for what comes after it
    leases.c.state == "reserved",
    _in_hand.c.rater == leases.c.rater,
    _in_hand.c.state == "held",
    _in_hand.c.expires > param("now"),
)
DUE = sa.select(leases.c.lease, leases.c.rater, leases.c.pair, leases.c.state).where(HOLDS_PLACE, _ENDED, ~_AT_WORK_ON)
_answered = leases.alias("answered")
_IS_IDLE = ~sa.exists().where(
    _answered.c.rater == leases.c.rater, _answered.c.sitting == leases.c.sitting, _answered.c.state == "answered"
)
IDLE_HELD = (
    sa.select(leases.c.lease, leases.c.rater, leases.c.pair, leases.c.state)
    .join(payments, sa.and_(payments.c.rater == leases.c.rater, payments.c.sitting == leases.c.sitting))
    .join(raters, raters.c.rater == leases.c.rater)
    .where(sa.or_(raters.c.rater == param("person"), raters.c.person == param("person")))
    .where(HOLDS_PLACE, payments.c.listed.is_(None), _IS_IDLE)
    .order_by(leases.c.issued.desc(), leases.c.lease.desc())
)

# Changes

PROLONG = sa.update(leases).where(leases.c.lease == param("this")).values(expires=param("until"))
MOVE_RESERVATION = (
    sa.update(leases).where(leases.c.rater == param("this"), leases.c.state == "reserved").values(sitting=param("here"))
)
ONE_LEASE = sa.select(leases).where(leases.c.lease == param("lease"))
_VOTES = pairs.c.votes + param("more")
WANTED = sa.func.coalesce(pairs.c.target, param("k", type_=sa.Integer))  # the votes that a pair is to get
_SHORT = sa.case((sa.and_(pairs.c.offered == 1, WANTED > _VOTES), 1), else_=0)
RECOUNT = (
    sa.update(pairs)
    .where(pairs.c.pair == param("this"), pairs.c.kind != "check")
    .values(votes=_VOTES, live=pairs.c.live + param("more") + param("held"), open=_SHORT)
)
EXPIRE = sa.update(leases).where(leases.c.lease == param("this")).values(state="expired")
DROP = sa.delete(leases).where(leases.c.lease == param("this"))  # of a reservation nothing was shown

# What an answer claims, and what becomes of it

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
        pairs.c.target,
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
