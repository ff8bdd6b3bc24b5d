"""Saving a vote: an answer becomes a vote exactly once, with what was pressed turned back into what was chosen.

After a check the gate speaks (standing.py); an undo takes the last vote back and holds its pair again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import sqlalchemy as sa

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.rating import pool, standing, talks
from seedvote.crowd.rating.answer_sheet import CHOSEN, Given, Sheet, as_sent, is_failed, right_answers, turned_back
from seedvote.crowd.rating.assignment import is_eligible
from seedvote.crowd.rating.leasing import Step, next_step, recount_pair, wanted_votes
from seedvote.crowd.rating.marking import Passage, marks_as_sent, read_marks
from seedvote.crowd.rating.moment import Moment, Refused, Seat, SeatedRater, WrongKind, is_same_kind
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.store import append_event, fetch, later, make_event
from seedvote.crowd.store.tables import ASKED_LATER, leases, pairs, raters, sittings, votes
from seedvote.dialogue.records import Device

Saved = Literal["saved", "again", "late"]
LONGEST_SECONDS = 86_400.0
CHECKS = ("check", "void")


def answer(
    moment: Moment,
    seat: Seat,
    token: str,
    choice: Given,
    seconds: float | None,
    noticed: Noticed | None,
    *,
    view: PageView | None,
    trapped: bool,
    marks: str = "",
) -> tuple[Saved, Step]:
    """Store an answer once, with what happened to its page, and go on to the next place."""
    saved, seen_checks = save_answer(
        moment, seat, token, choice, seconds, view if moment.rules.hit.page_view else None, marks
    )
    if moment.rules.hit.page_events and noticed and saved != "again":
        keep_noticed(moment, seat, token, noticed)
    if moment.rules.hit.program_trap and trapped and saved != "again":
        keep_trapped(moment, seat, token)
    return saved, next_step(moment, seat, seen_checks)


def save_answer(
    moment: Moment,
    seat: Seat,
    token: str,
    choice: Given,
    seconds: float | None,
    view: PageView | None,
    marks: str = "",
) -> tuple[Saved, Sequence[Any] | None]:
    """Store the answer to a lease of this rater; one that is stored already stays as it was first given.

    Whatever may be asked after a check is asked after every pair, together: the time of a reply must not tell them
    apart. So the rows of SHOWN_CHECKS come back too, for the next step.
    """
    if not token.isalnum():  # PostgreSQL would not even take a NUL
        raise Refused("no lease has such a name")
    names = {"token": token, "rater": seat.rater, "seat": seat.sitting}
    who = {"rater": seat.rater}
    check_queries = ((sql.ITS_OUTCOMES, who), (sql.SHOWN_CHECKS, who)) if moment.rules.checks else ()
    claims, *check_rows = fetch(moment.connection, (sql.CLAIM, names), *check_queries)
    outcomes, seen_checks = check_rows or (None, None)
    if not claims:
        raise Refused("no lease of this rater")
    row = claims[0]
    if row.state == "answered":
        differs = _is_another_answer(moment, row, choice)
        append_event(moment.connection, "repeated", moment.now, row.rater, row.pair, differs=differs)
        return "again", seen_checks
    if moment.rules.form.is_live:
        moment.needs_study()
        talks.refuse_early(moment, row)
    if row.first is None:
        moment.needs_study()  # the first vote says of whom the study is
    if not is_same_kind(row.first, row.source):
        raise WrongKind("a study is of people or of simulated raters, from its first vote on")
    saved, failed = _store_vote(moment, seat, row, choice, seconds, view, marks)
    judges, gate = failed is not None and row.withdrawn is None, moment.rules.gate
    if judges and (
        outcomes is None or standing.moves(row, outcomes, bool(failed), gate, waits=_awaits_confirmation(row))
    ):
        moment.needs_study()
        standing.settle(moment.connection, moment.rules.assignment, gate, moment.now, row.rater)
    return saved, seen_checks


def _is_another_answer(moment: Moment, row: Any, sent_answer: Given) -> bool:
    """Whether an answer that came again is another one: a double click or a lost reply repeats the same."""
    (first,) = fetch(moment.connection, (sql.CHOICE_OF_LEASE, {"lease": row.lease}))
    choice, _ = _turn_by_response(moment, sent_answer, row.left)
    return bool(first) and first[0].choice != choice


@dataclass(frozen=True, slots=True)
class Noticed:
    """What happened to the page while one pair was shown: numbers, never contents."""

    left: int
    copied: int
    pasted: int


@dataclass(frozen=True, slots=True)
class PageView:
    """What the page's script saw of the screen while one pair was shown; the fields are those of a vote."""

    device: Device
    turns_seen: int
    context_seconds: float


def _believe_view(view: PageView, seconds: float, out: float) -> PageView:
    """The view without a time that nobody can have spent: no longer than the answer took, or the pair has been out.

    >>> _believe_view(PageView("phone", 3, 900.0), seconds=4.5, out=6.0).context_seconds
    6.0
    """
    return replace(view, context_seconds=round(min(view.context_seconds, max(seconds, out)), 2))


PAGE_VIEW = tuple(field.name for field in fields(PageView))


def keep_noticed(moment: Moment, seat: Seat, token: str, noticed: Noticed) -> None:
    """Write it beside the answer, if anything happened."""
    if not (noticed.left or noticed.copied or noticed.pasted):
        return
    pair = moment.connection.scalar(sa.select(leases.c.pair).where(leases.c.token == token))
    counts = {"left": noticed.left, "copied": noticed.copied, "pasted": noticed.pasted}
    append_event(moment.connection, "noticed", moment.now, seat.rater, pair, **counts)


def keep_trapped(moment: Moment, seat: Seat, token: str) -> None:
    """Write that the line for programs was followed on this page."""
    pair = moment.connection.scalar(sa.select(leases.c.pair).where(leases.c.token == token))
    append_event(moment.connection, "trapped", moment.now, seat.rater, pair)


def _store_vote(
    moment: Moment,
    seat: Seat,
    row: Any,
    sent_answer: Given,
    page_seconds: float | None,
    view: PageView | None,
    marks: str,
) -> tuple[Saved, bool | None]:
    """Write the vote; with it, whether a check was failed, or None after any other pair.

    Its seconds are the page's own; where that sent none (no JavaScript) or nonsense, those since the pair was given
    out.
    """
    check, is_held, rules = row.kind in CHECKS, row.state == "held", moment.rules.assignment
    late = not is_held or row.expires <= moment.now  # of a check too, which must answer as any pair does
    aside, waits = row.withdrawn is not None, _awaits_confirmation(row)
    choice, answers = _turn_by_response(moment, sent_answer, row.left)
    may = not check and is_eligible(row.status, late=late, aside=aside, late_votes=rules.late_votes)
    placed = may and row.votes < wanted_votes(
        row, rules.votes_per_pair
    )  # it is the last to come: the first k have the places
    counted = placed and not waits
    failed = _fails_check(moment, choice, answers, row) if check else None
    if (seconds := page_seconds) is None or not 0 <= seconds <= LONGEST_SECONDS:
        seconds = max(0.0, moment.now - row.issued)  # clocks go back
    facts = {"lease": row.lease, "choice": choice, "left": row.left, "seconds": round(seconds, 3)}
    facts |= {"late": int(late), "counted": int(counted), "failed": None if failed is None else int(failed)}
    facts |= {"waits": int(waits), "aside": int(aside)}
    # the event log keeps not a word that a rater wrote, so that what is taken back or forgotten is gone
    logged = {name: given for name, given in (answers or {}).items() if "text" not in given}
    whose = {"rater": row.rater, "pair": row.pair, "source": row.source, "submitted": moment.now}
    seen: dict[str, Any] = (
        dict.fromkeys(PAGE_VIEW) if view is None else asdict(_believe_view(view, seconds, moment.now - row.issued))
    )
    passages = _read_marks(moment, marks, row)
    seen |= {"differences": row.differences}
    later(
        moment.connection,
        (sql.INSERT_VOTE, facts | whose | seen | {"answers": _as_text(answers), "marks": _as_text(passages)}),
        (sql.CLOSE_LEASE, {"this": row.lease, "seat": seat.sitting}),
        recount_pair(row.pair, rules.votes_per_pair, votes=int(placed), held=-int(is_held)),
        make_event(
            "answered",
            moment.now,
            row.rater,
            row.pair,
            sitting=seat.sitting,
            **facts,
            **({"answers": logged} if logged else {}),
        ),
        (sql.SET_LAST_VOTE, {"this": row.rater, "lease": row.lease}),  # the vote has its number by now
    )
    return "late" if late else "saved", failed


def _read_marks(moment: Moment, sent: str, row: Any) -> Sequence[Passage] | None:
    """The passages that were marked, where the study asks for them."""
    rule, form = moment.rules.hit.marks, moment.rules.form
    return read_marks(sent, rule, form.responses_by_place(form.record_of(row.body), row.left)) if rule else None


def _as_text(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _turn_by_response(moment: Moment, sent_answer: Given, layout: str) -> tuple[str, Sheet | None]:
    """The choice, which with several questions is that of the leading one, and all answers."""
    lead = moment.rules.hit.lead
    if bool(moment.rules.hit.questions) is isinstance(sent_answer, str):
        raise Refused("one question was asked and several were answered, or the other way round")
    if isinstance(sent_answer, str):
        return moment.rules.form.answer_of(sent_answer, layout), None
    if lead is None:
        comments = {name: answer for name, answer in sent_answer.items() if name != CHOSEN}
        return moment.rules.form.answer_of(sent_answer[CHOSEN]["choice"], layout), comments
    answers = turned_back(sent_answer, layout)
    return answers[lead.name]["choice"], answers


def _awaits_confirmation(row: Any) -> bool:
    """Whether a marketplace has yet to confirm the visit."""
    return row.source in ASKED_LATER and row.listed is None


def _fails_check(moment: Moment, choice: str, answers: Sheet | None, row: Any) -> bool:
    lead = moment.rules.hit.lead
    if answers is not None and lead is not None:
        return is_failed(answers, right_answers(moment.rules.form.record_of(row.body), lead.name, row.mended))
    return fails(choice, row.mended or pool.key_in(row.body))


def fails(choice: str, answer: str) -> bool:
    """Whether this answer to a check is a failure; a check that is void cannot be failed."""
    return answer not in ("void", decisive_part(choice))


@dataclass(frozen=True, slots=True)
class TakenBack:
    """An answer that is no more: the new token of its pair, and the fields of the form that held it."""

    token: str
    fields: Mapping[str, str]


def take_back(moment: Moment, seated: SeatedRater, token: str) -> TakenBack | None:
    """Take back the vote that came last; its pair is held again under a new token, so that a stale click is void.

    `token` is the one under which it was given: only the browser that gave it knows it. A sitting that ended with this
    vote goes on.
    """
    if seated.last_token is None or seated.last_token != token:
        return None
    if seated.status == "blocked" or seated.state != "running":
        return None
    query = sa.select(votes, leases.c.attempt, leases.c.sitting, pairs.c.body)
    query = query.join(leases, votes.c.lease == leases.c.lease).join(pairs, pairs.c.pair == votes.c.pair)
    row = moment.connection.execute(query.where(votes.c.vote == seated.last_vote)).one()
    if row.sitting != seated.seat.sitting:
        return None
    attempt = row.attempt + 1
    lease_values: dict[str, Any] = {
        "state": "held",
        "attempt": attempt,
        "token": lease_token(moment.secret, row.rater, row.pair, attempt),
    }
    expires = moment.now + moment.rules.assignment.lease_seconds
    this_lease = leases.c.lease == row.lease
    moment.connection.execute(
        sa.update(leases).where(this_lease).values(**lease_values, issued=moment.now, expires=expires)
    )
    moment.connection.execute(sa.delete(votes).where(votes.c.vote == row.vote))
    seat = sa.and_(sittings.c.rater == seated.seat.rater, sittings.c.sitting == seated.seat.sitting)
    moment.connection.execute(sa.update(sittings).where(seat).values(finished=None))
    moment.connection.execute(sa.update(raters).where(raters.c.rater == row.rater).values(last_vote=None))
    append_event(moment.connection, "undone", moment.now, row.rater, row.pair, lease=row.lease)
    # all of it after a check too: the time of the reply must not tell which it was
    later(moment.connection, recount_pair(row.pair, moment.rules.assignment.votes_per_pair, votes=-row.counted, held=1))
    standing.count_anew(moment.connection, moment.rules.assignment, [row.pair])
    standing.settle(moment.connection, moment.rules.assignment, moment.rules.gate, moment.now, row.rater)
    return TakenBack(lease_values["token"], _form_fields(moment, row))


def _form_fields(moment: Moment, row: Any) -> Mapping[str, str]:
    """Nothing of it is kept: what was taken back is on the page that follows, and nowhere else."""
    own = moment.rules.form.fields_of(row.choice, row.left) if moment.rules.hit.lead is None else {}
    form, rule, marked = moment.rules.form, moment.rules.hit.marks, {}
    if rule and row.marks:
        responses = form.responses_by_place(form.record_of(row.body), row.left)
        marked = {"marks": marks_as_sent(json.loads(row.marks), rule, responses)}
    return {**own, **as_sent(json.loads(row.answers or "{}"), row.left), **marked}
