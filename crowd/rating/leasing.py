"""Where a rater stands: what comes before the pairs, the pair that is due, the lease on it, and why there is none.

A lease is held, renewed or new. A pair is reserved for whoever is let in, so that nobody reads examples or answers
checks and then finds no pair: a reservation is a lease that is not shown yet. It takes a place among its pair's k, ends
when its rater does nothing for as long as a lease lasts, and gives way to an ordinary lease when the first real pair of
the sitting is due.

Of an ending nothing is stored but that the sitting is over. So a page opened again says what is true by then: a study
that was "complete" is open again when a block gave pairs back.

Everything is read and written inside the caller's one transaction, so that no pair is given out above its k votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import sqlalchemy as sa

from seedvote.crowd.rating import batches, talk_money
from seedvote.crowd.rating.assignment import AssignmentRules, check_is_due, later_checks
from seedvote.crowd.rating.differing import are_differences_shown
from seedvote.crowd.rating.moment import (
    NAMED,
    NEXT_PAIR,
    Moment,
    NeedsBatch,
    Offer,
    Seat,
    SeatedRater,
    count_life,
    query_next_pair,
    read_pair_row,
    read_seat_rows,
    read_seated_rater,
)
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.store import (
    Change,
    EventKind,
    Query,
    append_event,
    fetch,
    later,
    make_event,
    places_left,
)
from seedvote.crowd.store.tables import pairs, sittings, study_settings, votes
from seedvote.dialogue.records import Pair, Question, ResponseSet
from seedvote.dialogue.seeds import child_seed

Ending = Literal["done", "handed_in", "complete", "stopped", "cap", "time", "none_left", "no_more", "spent"]
OfferState = Literal["show", "wait", "finished", "spent"]
Stage = Literal["consent", "about", "instructions", "task", "wait", "paused"] | Ending

LEFT_STANDING = 3  # real pairs that are judged in one visit before what stands in another one comes there
CLOCKS = 60.0  # seconds by which the clocks of two servers may differ
MOST_IDLE = 5  # pairs in hand in idle visits of one worker; a worker may have several tasks open in tabs
UNTOLD = "~"  # in a sitting's slots: room for pairs that were not there when it began


@dataclass(frozen=True, slots=True)
class ShownPair:
    """What is to be shown; `token` is all that a rater's page learns of it beside the texts."""

    token: str
    pair: Pair | Question | ResponseSet
    layout: str
    """How it is laid out, see crowd/forms/: of a pair, the response on the left."""
    seconds_left: float
    differs: bool = False
    """Whether it is shown where the two responses differ."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a rater stands; `done` and `of` count the pairs of this sitting, hidden checks among them."""

    stage: Stage
    done: int = 0
    of: int = 0
    judged: int = 0
    """Of those done, the pairs that were no checks."""
    number: int = 1
    shown: ShownPair | None = None
    pace: float | None = None
    """With a pair: the mean seconds of the rater's answers so far."""
    undo: str | None = None
    """The token of the answer that can be taken back: whoever gave it knows it."""
    may_hand_in: bool = False
    """While they have to wait: the sitting may end with what is done."""
    more: bool = False
    """After a sitting: another one would have a pair for this rater."""
    filled: Mapping[str, str] = field(default_factory=dict)
    """Of a pair whose answer was taken back: the fields of the form as they were."""

    @property
    def is_paid(self) -> bool:
        """Whether the sitting is paid as it stands: by a judged pair, or by answers that ended the work.

        Checks alone bring the researcher nothing. Whoever answered some, and then lost the pair that was reserved,
        is told so; the researcher may pay for the time.
        """
        return self.judged > 0 or (self.done > 0 and self.stage == "no_more")


def _announced_length(seated: SeatedRater) -> int:
    """The pairs that the sitting is said to have: those that were there when it began, more if more came."""
    length = len(seated.slots) - seated.slots.count(UNTOLD)
    return length if seated.done < length else max(len(seated.slots), seated.done + (not seated.is_full))


def step_without_writing(moment: Moment, seated: SeatedRater, *, is_certain: bool) -> Step | None:
    """Where the rater stands, if nothing has to be written; `is_certain` is the answer of `is_pair_certain`.

    Whatever ends or halts the work is said before anything is asked, and nothing is asked before a pair is certain.
    """
    done, row = seated.done, seated.waiting
    if seated.consent != moment.rules.hit.consent_version:
        return Step("consent")
    if seated.status == "blocked":
        return Step("no_more", done, judged=seated.judged)
    if seated.finished:
        return _make_end_step(moment, seated)
    if seated.state != "running":
        if seated.state == "paused":
            return Step("paused", done, _announced_length(seated), seated.judged, may_hand_in=seated.judged > 0)
        return Step("stopped", done, _announced_length(seated), seated.judged)
    if not is_certain:
        return None
    if before := _before_pairs(moment, seated):
        return before
    if row is None or row.state != "held" or has_run_out(row, moment.now):
        return None
    record = moment.rules.form.record_of(row.body)
    due = ShownPair(row.token, record, row.left, row.expires - moment.now, bool(row.differences))
    return _make_task_step(seated, due)


def _before_pairs(moment: Moment, seated: SeatedRater) -> Step | None:
    """What is asked of the rater before any pair."""
    if seated.about is None and moment.rules.hit.about and moment.rules.hit.asked_of_rater("before"):
        return Step("about")
    if seated.instructed < len(moment.rules.hit.examples):
        return Step("instructions", number=seated.instructed + 1)
    return None


def left_for(moment: Moment, rater: str, most: int, *, with_held: bool) -> int:
    """How many pairs there are for this rater, checks among them, if nobody else came; counted up to `most` reals.

    `with_held`: with the pair that they have in hand in another visit.
    """
    who = {"rater": rater}
    waiting, open_to = (sql.WAITING, {**who, "held": int(with_held)}), (sql.OPEN_TO_RATER, {**who, "most": most})
    own_life, own_version = (sql.LIFE_OF_RATER, who), (sql.VERSION_OF_RATER, who)
    life_rows, waits, reals, whose = fetch(moment.connection, own_life, waiting, open_to, own_version)
    life, checks = count_life(moment, life_rows[0], whose[0].version), waits[0].checks
    to_come = batches.count_to_come(moment.connection, moment.rules.hit, rater, most)
    judged = min(reals[0].pairs + to_come, most) + waits[0].reals
    first = max(0, moment.rules.assignment.first_checks - life.checks - checks)
    later_ = later_checks(moment.rules.assignment, life.last_check, life.reals + judged, seed=moment.seed, rater=rater)
    return int(judged + checks + min(life.unseen, first + later_))


def next_step(moment: Moment, seat: Seat, seen_checks: Sequence[Any] | None = None) -> Step:
    """Where the rater stands; a pair is leased if one is due.

    What waits for them comes first, before a new pair: reloading the page must not deal another one. Who has the
    rows of SHOWN_CHECKS gives them: then a check costs no more messages to the store than a real pair does.
    """
    seated, offer = _seated_with_offer(moment, seat, seen_checks)
    is_certain = is_pair_certain(moment, seated)
    if step := step_without_writing(moment, seated, is_certain=is_certain):
        return step
    owed_elsewhere = _find_owed_elsewhere(moment, seated) if seated.waiting is None else None
    if not is_certain:
        if seated.reserved is not None:
            give_back_reservation(moment, seated)
            seated, offer = _after_release(moment, seated, seen_checks)
        elif offer.due:
            seated, offer = _after_release(moment, seated, seen_checks)
        if (outcome := _let_in(moment, seated, offer, owed_elsewhere)) != "show":
            return _without_pair(moment, seated, outcome)
        if before := _before_pairs(moment, seated):
            return before
    if (owed := seated.waiting or owed_elsewhere) is not None:
        if (money := _check_money(moment, owed)) != "show":
            return _without_pair(moment, seated, money)
        return _make_task_step(seated, _renew_lease(moment, seated, owed))
    due = _lease_next(moment, seated, offer)
    return _make_task_step(seated, due) if isinstance(due, ShownPair) else _without_pair(moment, seated, due)


def _without_pair(moment: Moment, seated: SeatedRater, why: Literal["wait", "finished", "spent"]) -> Step:
    if why != "wait":
        return _finish_sitting(moment, seated)
    return Step("wait", seated.done, _announced_length(seated), seated.judged, may_hand_in=seated.judged > 0)


def _let_in(moment: Moment, seated: SeatedRater, offer: Offer, owed_elsewhere: Any) -> OfferState:
    """Whether a rater who has no real pair in this sitting yet will get one; what comes before it reserves one."""
    if seated.is_full or seated.timed:
        return "show"  # the sitting is over, or ends with what is in hand
    if (owed := seated.waiting or owed_elsewhere) is not None:
        moment.needs_study()
    if owed is not None and can_be_taken_up(moment, owed):
        return "show"
    if _is_capped(moment, seated):
        return "finished"
    decision, row = _check_offer(moment, seated, offer.pair)
    check = check_is_due(moment.rules.assignment, seated.life, seed=moment.seed, rater=seated.seat.rater)
    if decision == "show" and (owed is not None or check or _before_pairs(moment, seated)):
        reserve_pair(moment, seated, row, _choose_layout(moment, seated, row, moment.rules.form.record_of(row.body)))
    return decision


def judge_offer(row: Any, votes_per_pair: int) -> OfferState:
    """Show that pair; or wait, because every pair left is in other raters' hands; or nothing is left for this rater."""
    if row is None:
        return "finished"
    return "show" if row.live < wanted_votes(row, votes_per_pair) else "wait"


def wanted_votes(row: Any, votes_per_pair: int) -> int:
    """How many votes a pair is to get: of an adaptive study those of its batches."""
    return votes_per_pair if row.target is None else int(row.target)


def _check_offer(moment: Moment, seated: SeatedRater, row: Any) -> tuple[OfferState, Any]:
    """Whether the row of the next pair may be shown now; of an adaptive study one of the next batch may be."""
    decision = judge_offer(row, moment.rules.assignment.votes_per_pair)
    if decision != "show":
        moment.needs_study()  # the last pairs may be those that others are just taking or giving back
        if moment.may_draw and moment.rules.hit.is_adaptive and places_left(moment.connection):
            raise NeedsBatch
        if row is None and _has_full_pair(moment, seated.seat.rater):
            decision = "wait"
    if decision == "show" and moment.rules.form.is_live:
        moment.needs_study()
        first_checks = max(0, moment.rules.assignment.first_checks - seated.life.checks)
        decision = talk_money.pair_offer(
            moment, moment.rules.form.record_of(row.body), first_checks=min(first_checks, seated.life.unseen)
        )
    return decision, row


def _check_money(moment: Moment, owed: Any) -> Literal["show", "wait", "spent"]:
    """Whether a live conversation may go on; what it was promised went to others when its pair did."""
    if not moment.rules.form.is_live or owed.state != "expired":
        return "show"
    moment.needs_study()
    release_expired(moment.connection, moment.rules.assignment.votes_per_pair, moment.now)
    return talk_money.resume_offer(moment, owed.lease)


def _has_full_pair(moment: Moment, rater: str) -> bool:
    """Whether other raters hold all places of a pair of an adaptive study that this one has not seen."""
    if not moment.rules.hit.is_adaptive:
        return False
    (open_pairs,) = fetch(moment.connection, (sql.OPEN_TO_RATER, {"rater": rater, "most": 1}))
    return bool(open_pairs[0].pairs)


def _after_release(
    moment: Moment, seated: SeatedRater, seen_checks: Sequence[Any] | None = None
) -> tuple[SeatedRater, Offer]:
    """Return what has run out to the pool, and look again.

    Only where it matters, not in every request: releasing is a write.
    """
    moment.needs_study()
    release_expired(moment.connection, moment.rules.assignment.votes_per_pair, moment.now)
    return _seated_with_offer(moment, seated.seat, seen_checks)


def _find_owed_elsewhere(moment: Moment, seated: SeatedRater) -> Any:
    """A pair that was left standing in another visit while others were judged: it is owed here too.

    Else whoever opens a visit for each hidden check, and answers none of them, would never meet the gate. Real pairs
    come again likewise: what came again would otherwise be known for a check.
    """
    upto = seated.life.reals - LEFT_STANDING
    if seated.elsewhere is None or seated.elsewhere > upto:
        return None
    seat_values = {"rater": seated.seat.rater, "sitting": seated.seat.sitting}
    (rows,) = fetch(moment.connection, (sql.HELD_ELSEWHERE, {**seat_values, "upto": upto}))
    return rows[0] if rows else None


def end_early(moment: Moment, seat: Seat) -> Step:
    """End a sitting that has to wait, because of others or of a pause; what was done in it is handed in as it is."""
    step = next_step(moment, seat)
    return _finish_sitting(moment, read_seated_rater(moment, seat)) if step.may_hand_in else step


def _seated_with_offer(
    moment: Moment, seat: Seat, seen_checks: Sequence[Any] | None = None
) -> tuple[SeatedRater, Offer]:
    """Who sits there, and what they would be offered if a real pair is due, or a check."""
    due_query = query_due(moment.now)
    check = _next_unseen_check(moment, seat.rater, seen_checks) if seen_checks is not None else None
    seat_rows, fewest, due, *named_ = fetch(
        moment.connection,
        (sql.SEAT, {"rater": seat.rater, "sitting": seat.sitting}),
        query_next_pair(seat.rater, frontier=moment.frontier, versions=moment.rules.has_versions),
        due_query,
        *([(NAMED, {"pair": check})] if check is not None else []),
    )
    if moment.frontier is not None and not fewest and moment.frontier.is_ahead:  # another server may have drawn a batch
        moment.frontier.forget()
        (fewest,) = fetch(moment.connection, query_next_pair(seat.rater, frontier=moment.frontier, versions=False))
    if moment.frontier is not None and fewest and not moment.rules.has_versions:  # one order, one frontier
        moment.frontier.reached(fewest[0])
    offer = Offer(fewest[0] if fewest else None, due, named_[0][0] if named_ else None)
    return read_seat_rows(moment, seat_rows, seat), offer


def _make_task_step(seated: SeatedRater, pair: ShownPair) -> Step:
    length = _announced_length(seated)
    return Step("task", seated.done, length, seated.judged, shown=pair, pace=seated.pace, undo=seated.last_token)


def _renew_lease(moment: Moment, seated: SeatedRater, row: Any) -> ShownPair:
    """Show it again, also if others have given the pair its votes meanwhile: this one is kept and does not count.

    A check comes again in any case, so whatever became of a real pair instead would tell which was which.
    """
    moment.needs_study()
    k, was_held = moment.rules.assignment.votes_per_pair, row.state == "held"
    expires, record = moment.now + moment.rules.assignment.lease_seconds, moment.rules.form.record_of(row.body)
    layout, token = row.left, row.token
    if moment.rules.form.balances_places and not was_held:
        layout = _choose_layout(moment, seated, row, record, before=row.left)
    if layout != row.left:  # others were shown it so meanwhile; what the old page would send means something else
        token = _lay_anew(moment, seated, row, layout)
    later(
        moment.connection,
        (sql.RENEW_LEASE, {"this": row.lease, "now": moment.now, "until": expires, "seat": seated.seat.sitting}),
        recount_pair(row.pair, k, held=int(not was_held)),
    )
    return ShownPair(token, record, layout, moment.rules.assignment.lease_seconds, bool(row.differences))


def _choose_layout(moment: Moment, seated: SeatedRater, row: Any, record: Any, before: str | None = None) -> str:
    """How it is laid out now; `before` is how, in a lease that has run out."""
    form = moment.rules.form
    name = (seated.seat.rater, row.pair)
    placed, lefts = {"a": row.left_a, "b": row.left_b}, seated.lefts
    if form.balances_places:
        row_lists = fetch(moment.connection, (sql.PLACED, {"pair": row.pair}), (sql.LAID, {"rater": seated.seat.rater}))
        placed, lefts = (Counter(lease.left for lease in rows) for rows in row_lists)
    return form.choose_layout(record, placed, lefts, seed=moment.seed, name=name, before=before)


def _lay_anew(moment: Moment, seated: SeatedRater, row: Any, layout: str) -> str:
    """Write another layout of a lease, and the new token under which it is answered."""
    seat, attempt = seated.seat, row.attempt + 1
    token = lease_token(moment.secret, seat.rater, row.pair, attempt)
    facts = {"left": layout, "sitting": seat.sitting, "slot": row.slot}
    later(
        moment.connection,
        (sql.LAY_ANEW, {"this": row.lease, "how": layout, "token": token, "attempt": attempt}),
        make_event("shown", moment.now, seat.rater, row.pair, **facts),
    )
    return token


def _lease_next(moment: Moment, seated: SeatedRater, offer: Offer) -> ShownPair | Literal["wait", "finished", "spent"]:
    """Lease what is due: a hidden check, else the next real pair, until the sitting is as long as it said.

    So a sitting has as many pairs as it says, however many checks the rater has seen.
    """
    rater = seated.seat.rater
    if seated.is_full or seated.timed:
        return "finished"
    if check_is_due(moment.rules.assignment, seated.life, seed=moment.seed, rater=rater):
        check = offer.check or _next_check(moment, seated.seat)
        if moment.rules.form.is_live:
            moment.needs_study()
            # what was reserved for who was let in has room for the first checks too
            if seated.reserved is None:
                release_expired(moment.connection, moment.rules.assignment.votes_per_pair, moment.now)
                record = moment.rules.form.record_of(check.body)
                if (money := talk_money.pair_offer(moment, record, first_checks=0)) != "show":
                    return money
        return _make_lease(moment, seated, check)
    if _is_capped(moment, seated):
        return "finished"
    if (reservation := seated.reservation) is not None and not reservation.open:
        return _exchange_pair(moment, seated, reservation)
    if seated.reservation is not None:
        return _make_lease(moment, seated, seated.reservation, reserved=True)
    if offer.due:
        seated, offer = _after_release(moment, seated)
    decision, row = _check_offer(moment, seated, offer.pair)
    return decision if decision != "show" else _make_lease(moment, seated, row)


def _is_capped(moment: Moment, seated: SeatedRater) -> bool:
    """Whether `max_votes_per_rater` is reached, by what was read already."""
    most = moment.rules.assignment.max_votes_per_rater
    return most is not None and seated.life.reals >= most


def _next_check(moment: Moment, seat: Seat) -> Any:
    """The row of the next check in this rater's own order."""
    (seen_checks,) = fetch(moment.connection, (sql.SHOWN_CHECKS, {"rater": seat.rater}))
    return read_pair_row(moment.connection, str(_next_unseen_check(moment, seat.rater, seen_checks)))


def _next_unseen_check(moment: Moment, rater: str, seen_checks: Sequence[Any]) -> str | None:
    """The next check in this rater's own order, if one is left."""
    known = {row.pair for row in seen_checks}
    checks = moment.rules.checks_of(seen_checks[0].version) if seen_checks else ()
    return next((check for check in _own_order(checks, moment.seed, rater) if check not in known), None)


@lru_cache(1024)
def _own_order(checks: tuple[str, ...], seed: int, rater: str) -> tuple[str, ...]:
    return tuple(sorted(checks, key=lambda check: child_seed(seed, "check", rater, check)))


def _exchange_pair(moment: Moment, seated: SeatedRater, reservation: Any) -> ShownPair:
    """Another pair for one that others completed while its rater answered checks; with none left, that one.

    Its answer is kept and does not count: who worked without a pause judges a pair and is paid.
    """
    seated, offer = _after_release(moment, seated)
    decision, row = _check_offer(moment, seated, offer.pair)
    if decision != "show":
        return _make_lease(moment, seated, reservation, reserved=True)
    give_back_reservation(moment, seated)
    return _make_lease(moment, seated, row)


def _make_lease(moment: Moment, seated: SeatedRater, row: Any, *, reserved: bool = False) -> ShownPair:
    """A new lease; one that was reserved has its place and its layout already."""
    seat, record = seated.seat, moment.rules.form.record_of(row.body)
    layout = row.left if reserved else _choose_layout(moment, seated, row, record)
    rules, token = moment.rules.assignment, lease_token(moment.secret, seat.rater, row.pair, 0)
    facts = {"left": layout, "sitting": seat.sitting, "slot": seated.life.reals}
    lease = {"token": token, "attempt": 0, "rater": seat.rater, "pair": row.pair, "kind": row.kind, "state": "held"}
    differs = _choose_differences(moment, seat.rater, record)
    lease |= {"batch": row.batch, "propensity": row.propensity, "differences": differs}
    later(
        moment.connection,
        (sql.DROP, {"this": row.lease if reserved else None}),  # always, or the time would tell checks from pairs
        (sql.INSERT_LEASE, lease | facts | {"issued": moment.now, "expires": moment.now + rules.lease_seconds}),
        recount_pair(row.pair, rules.votes_per_pair, held=int(not reserved)),
        make_event("shown", moment.now, seat.rater, row.pair, **facts),
    )
    return ShownPair(token, record, layout, rules.lease_seconds, bool(differs))


def _choose_differences(moment: Moment, rater: str, record: Any) -> int | None:
    """Whether this page shows where the responses differ: kept with the lease, as the setting or the rater's name may
    change before it is answered."""
    setting = moment.rules.hit.differences
    if setting == "off":
        return None
    is_highlighted = are_differences_shown(setting, moment.secret, rater, record)
    return None if is_highlighted is None else int(is_highlighted)


def _finish_sitting(moment: Moment, seated: SeatedRater) -> Step:
    """The sitting is over if a pair was judged in it; where none was to be had, it may still be used later."""
    give_back_reservation(moment, seated)
    if not seated.judged:
        return _make_end_step(moment, seated)
    seat = seated.seat
    is_sitting = sa.and_(sittings.c.rater == seat.rater, sittings.c.sitting == seat.sitting)
    moment.connection.execute(sa.update(sittings).where(is_sitting).values(finished=moment.now))
    append_event(moment.connection, "finished", moment.now, seat.rater, sitting=seat.sitting, done=seated.done)
    return _make_end_step(moment, seated)


def _make_end_step(moment: Moment, seated: SeatedRater) -> Step:
    length, running = len(seated.slots), seated.state == "running"
    prospects = read_outlook(moment, seated.seat.rater)
    stage = name_ending(
        prospects, is_full=seated.is_full and length > 0, stopped=seated.state == "stopped", timed=seated.timed
    )
    undo = seated.last_token if running else None  # a pair taken back could not be judged again
    return Step(stage, seated.done, length, seated.judged, undo=undo, more=prospects.now and running)


# Why a rater gets no further pair: one true word for each case

_OPEN = sa.select(sa.exists().where(pairs.c.open == 1).label("open"))
_ROOM = sa.select(sa.exists().where(pairs.c.open == 1, pairs.c.live < sql.WANTED).label("room"))
_STATE = sa.select(study_settings.c.value).where(study_settings.c.key == "state")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What there is still to do in a study."""

    somebody: bool
    """Some pair is short of votes, for whomever."""
    rater: bool
    """This rater has not judged all of those, though others may hold them at present."""
    now: bool
    """One of them may be shown to this rater at once."""
    at_cap: bool
    """The rater has given all the answers that one person may give."""
    is_spent: bool = False
    """No money is left for a further conversation."""


def read_outlook(moment: Moment, rater: str) -> Outlook:
    """Ask the store."""
    connection, assignment = moment.connection, moment.rules.assignment
    open_pairs, fewest = fetch(connection, (_OPEN, {}), (NEXT_PAIR, {"rater": rater}))
    row = fewest[0] if fewest else None
    may_come = batches.count_to_come(connection, moment.rules.hit, rater, 1) > 0
    can_show = judge_offer(row, assignment.votes_per_pair) == "show" or (
        may_come and batches.may_draw_for(connection, moment.rules.hit, rater)
    )
    capped = is_at_cap(connection, rater, assignment)
    somebody = bool(open_pairs[0].open) or places_left(connection) > 0
    is_spent = moment.rules.form.is_live and talk_money.is_spent(moment)
    can_show = can_show and not capped and not is_spent
    for_rater = may_come or row is not None or _has_full_pair(moment, rater)
    return Outlook(somebody, for_rater, can_show, capped, is_spent)


def over_for_all(connection: sa.Connection) -> Literal["complete", "stopped"] | None:
    """Why a newcomer would find nothing to do: what would be true of anybody, whoever it is."""
    if connection.scalar(_STATE) == "stopped":
        return "stopped"
    return None if connection.scalar(_OPEN) or places_left(connection) else "complete"


def closed_to_newcomers(
    connection: sa.Connection, votes_per_pair: int, now: float
) -> Literal["complete", "stopped", "paused", "wait"] | None:
    """Why somebody new would not be given a pair at once, if that is so."""
    if over := over_for_all(connection):
        return over
    if connection.scalar(_STATE) == "paused":
        return "paused"
    room, due = fetch(connection, (_ROOM, {"k": votes_per_pair}), query_due(now))
    return None if room[0].room or due or places_left(connection) else "wait"


def is_at_cap(connection: sa.Connection, rater: str, assignment: AssignmentRules) -> bool:
    """Whether this rater has given as many judgements as `max_votes_per_rater` allows."""
    if assignment.max_votes_per_rater is None:
        return False
    is_judgement = sa.and_(votes.c.rater == rater, votes.c.failed.is_(None))
    number = connection.scalar(sa.select(sa.func.count()).select_from(votes).where(is_judgement)) or 0
    return number >= assignment.max_votes_per_rater


def name_ending(prospects: Outlook, *, is_full: bool, stopped: bool, timed: bool = False) -> Ending:
    """The word for it; what was promised and done comes first, then what holds for everybody, then for this rater.

    >>> name_ending(Outlook(somebody=True, rater=True, now=True, at_cap=False), is_full=False, stopped=False)
    'handed_in'
    """
    if is_full:
        return "done"
    if stopped:
        return "stopped"
    if not prospects.somebody:
        return "complete"
    if prospects.is_spent:
        return "spent"
    if prospects.at_cap:
        return "cap"
    if not prospects.rater:
        return "none_left"
    return "time" if timed else "handed_in"


# Pairs that are reserved for who is let in


def is_pair_certain(moment: Moment, seated: SeatedRater) -> bool:
    """Whether the rater has a real pair in this sitting already: judged, in hand or reserved."""
    waiting, reservation = seated.waiting, seated.reservation
    if seated.has_real or (waiting is not None and _is_real(waiting) and waiting.state == "held"):
        return True
    if seated.status == "incomplete" and seated.life.reals:
        return True  # their votes wait for the checks that they still owe
    if reservation is not None and not reservation.open and not seated.done:
        return False  # others completed it, by late answers or new rules; who has begun keeps it all the same
    return seated.reserved is not None and (seated.reserved_until > moment.now or _is_at_work(waiting, moment.now))


def _is_at_work(waiting: Any, now: float) -> bool:
    """Whether the check that they have in hand keeps their reservation, see RUNS_OUT."""
    return waiting is not None and waiting.state == "held" and not has_run_out(waiting, now)


def can_be_taken_up(moment: Moment, waiting: Any) -> bool:
    """Whether a real pair that ran out while the rater was away has a place for them still."""
    k = wanted_votes(waiting, moment.rules.assignment.votes_per_pair)
    return _is_real(waiting) and bool(waiting.open) and waiting.live < k


def _is_real(row: Any) -> bool:
    return row.kind not in ("check", "void")


def reserve_pair(moment: Moment, seated: SeatedRater, row: Any, layout: str) -> None:
    """Hold this pair back for the rater; `left` is how it will be laid out."""
    seat, now = seated.seat, moment.now
    token = lease_token(moment.secret, seat.rater, row.pair, 0)
    who = {"token": token, "attempt": 0, "rater": seat.rater, "sitting": seat.sitting, "slot": seated.life.reals}
    what = {"pair": row.pair, "kind": row.kind, "left": layout, "state": "reserved"}
    times = {"issued": now, "expires": now + moment.rules.assignment.lease_seconds}
    later(
        moment.connection,
        (sql.INSERT_LEASE, who | what | times),
        recount_pair(row.pair, moment.rules.assignment.votes_per_pair, held=1),
        make_event("reserved", now, seat.rater, row.pair, sitting=seat.sitting),
    )


def prolong_reservation(moment: Moment, seated: SeatedRater) -> None:
    """The rater reads on, so their reservation lasts as long as a lease that is given now."""
    if seated.reserved is not None:
        until = moment.now + moment.rules.assignment.lease_seconds
        later(moment.connection, (sql.PROLONG, {"this": seated.reserved, "until": until}))


def move_reservation(moment: Moment, rater: str, sitting: int) -> None:
    """What was reserved in another visit is reserved in this one."""
    later(moment.connection, (sql.MOVE_RESERVATION, {"this": rater, "here": sitting}))


def give_back_reservation(moment: Moment, seated: SeatedRater) -> None:
    """The sitting ends without it."""
    if seated.reserved is not None:
        moment.needs_study()
        (rows,) = fetch(moment.connection, (sql.ONE_LEASE, {"lease": seated.reserved}))
        release_leases(moment.connection, rows, moment.rules.assignment.votes_per_pair, moment.now)


def release_idle(moment: Moment, person: str) -> None:
    """Give back what this person's idle visits hold, but for what was given last; one pair goes to the visit to come.

    Anybody who knows a worker's id can forge visits. Each would take a pair that the worker then cannot be shown, for
    as long as somebody keeps its page open. A visit with an answer keeps what it has.
    """
    (rows,) = fetch(moment.connection, (sql.IDLE_HELD, {"person": person}))
    release_leases(moment.connection, rows[MOST_IDLE - 1 :], moment.rules.assignment.votes_per_pair, moment.now)


# What becomes of leases that have run out, and of a pair's counters


def has_run_out(row: Any, now: float) -> bool:
    """Whether a lease that is held has ended. One from the future has too: a clock was ahead and was set right."""
    return bool(row.expires <= now or row.issued > now + CLOCKS)


def query_due(now: float) -> Query:
    """The leases of which `has_run_out` holds, as a question."""
    return sql.DUE, {"now": now, "ahead": now + CLOCKS}


def recount_pair(pair: str, k: int, *, votes: int = 0, held: int = 0) -> Change:
    """Add to a pair's places taken and held leases, and see whether it is still short of its k votes."""
    return sql.RECOUNT, {"this": pair, "k": k, "more": votes, "held": held}


def release_expired(connection: sa.Connection, k: int, now: float) -> None:
    """Return to the pool what was shown and not answered in time, and what was reserved and not taken."""
    (due,) = fetch(connection, query_due(now))
    release_leases(connection, sorted(due, key=lambda row: row.lease), k, now)


def release_leases(connection: sa.Connection, due: Sequence[Any], k: int, now: float) -> None:
    """Return these leases, rows of `query_due`, to the pool."""
    for row in due:
        kind: EventKind = "unreserved" if row.state == "reserved" else "expired"
        later(
            connection,
            (sql.DROP if kind == "unreserved" else sql.EXPIRE, {"this": row.lease}),
            recount_pair(row.pair, k, held=-1),
            make_event(kind, now, row.rater, row.pair),
        )
