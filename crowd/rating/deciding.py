"""What a person decides in mid-study: that a check is wrong, or that a rater is blocked, let in again or excluded.

A decision is stored as a fact, then everything that follows from it is written anew (standing.py), in one transaction
with its event. Nothing here touches what is due or paid to anybody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.rating import standing
from seedvote.crowd.rating.answer_sheet import is_failed, right_answers
from seedvote.crowd.rating.answering import fails
from seedvote.crowd.rating.gate import Ruling
from seedvote.crowd.rating.identities import siblings
from seedvote.crowd.rating.moment import StudyRules, kept_hit, rules_in_force, turn_revision
from seedvote.crowd.rating.pool import key_in
from seedvote.crowd.rating.standing import Effect
from seedvote.crowd.store.identity import invited_id, rater_hash
from seedvote.crowd.store.keys import keys_in, restore_invitation, revoke
from seedvote.crowd.store.store import Store, append_event, settings
from seedvote.crowd.store.tables import leases, pairs, raters, votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import RaterStatus


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision brought about; `before` and `now` are the rater's status, or the check's answer."""

    before: str
    now: str
    effect: Effect
    checks: int
    """Checks that raters may still be shown."""


def mend(store: Store, check: str, answer: str, now: float) -> Decided:
    """Declare a check void, or give it the answer that it should have had; its outcomes are judged again."""
    with store.write() as connection:
        row = connection.execute(sa.select(pairs).where(pairs.c.pair == check)).one_or_none()
        if row is None or row.kind != "check":
            raise InputError(f"This study has no check {check}. `crowd check list STUDY` prints them.")
        known = FORMS[rules_in_force(connection).hit.form].possible_answers(row.body)
        if answer not in (*known, "void"):
            raise InputError(f"Check {check} has no answer {answer}. It may be {', '.join(known)}.")
        before = row.mended or key_in(row.body)
        connection.execute(sa.update(pairs).where(pairs.c.pair == check).values(mended=answer))
        _judge_anew(connection, check, answer)
        sheet_outcomes: dict[str, Any] = {"failed": failed} if (failed := _failed_sheets(connection, check)) else {}
        append_event(connection, "mended", now, pair=check, answer=answer, before=before, **sheet_outcomes)
        turn_revision(connection)
        rules = rules_in_force(connection)
        effect = standing.settle(connection, rules.assignment, rules.gate, now)
        tell(connection, effect, now, because=f"check {check}: {answer}")
        return Decided(before, answer, effect, len(rules.checks))


def _judge_anew(connection: sa.Connection, check: str, answer: str) -> None:
    """Every answer to the check, by its new answer; a void one is shown to nobody any more."""
    kind = {"kind": "void" if answer == "void" else "check"}
    connection.execute(sa.update(leases).where(leases.c.pair == check).values(kind))
    waits = sa.or_(leases.c.state == "held", leases.c.state == "expired")
    if answer == "void":
        connection.execute(sa.update(leases).where(leases.c.pair == check, waits).values(state="void"))
    hit = kept_hit(connection)
    if hit is not None and hit.lead is not None:
        _judge_sheets_anew(connection, check, answer, hit.lead.name)
        return
    for choice in connection.scalars(sa.select(votes.c.choice).where(votes.c.pair == check).distinct()).all():
        update = sa.update(votes).where(votes.c.pair == check, votes.c.choice == choice)
        connection.execute(update.values(failed=int(fails(choice, answer))))


def _judge_sheets_anew(connection: sa.Connection, check: str, answer: str, lead: str) -> None:
    """The same where several questions were answered: each sheet by all that the check asks."""
    body = connection.execute(sa.select(pairs.c.body).where(pairs.c.pair == check)).scalar_one()
    record = FORMS[rules_in_force(connection).hit.form].record_of(body)
    right = right_answers(record, lead, answer)
    rows = connection.execute(sa.select(votes.c.vote, votes.c.answers).where(votes.c.pair == check)).all()
    for row in rows:
        failed = int(is_failed(json.loads(row.answers), right))
        connection.execute(sa.update(votes).where(votes.c.vote == row.vote).values(failed=failed))


def _failed_sheets(connection: sa.Connection, check: str) -> dict[str, int]:
    """Lease -> whether it failed, for the log, which does not hold what a check asks beside its first question."""
    has_sheet = sa.and_(votes.c.pair == check, votes.c.answers.is_not(None))
    return {str(row.lease): row.failed for row in connection.execute(sa.select(votes).where(has_sheet))}


def find_rater(store: Store, name: str) -> str | None:
    """The hash of the rater with this id or invitation, or the hash itself where that was given."""
    with store.read() as connection:
        values = settings(connection)
        invited = invited_id(keys_in(values).people, name)
        names = [*(rater_hash(values["rater_key"], worker) for worker in (name, invited)), name]
        return connection.scalars(sa.select(raters.c.rater).where(raters.c.rater.in_(names))).first()


def known_rater(store: Store, name: str) -> str:
    """The same; a sentence where there is no such rater."""
    if (rater := find_rater(store, name)) is None:
        raise InputError(
            "No rater of this study has that id. Give the id they came with, the name on their invitation, or the hash "
            "in votes.jsonl. An invitation that nobody has opened yet is taken back by: crowd block STUDY NAME "
            "--invitation"
        )
    return rater


def revoke_invitation(store: Store, name: str, now: float) -> None:
    """The invitation by this name lets nobody in any more; every server obeys at its next look at the store."""
    with store.write() as connection:
        revoke(connection, invited_id(keys_in(settings(connection)).people, name))
        append_event(connection, "study", now, invitation="revoked")
        turn_revision(connection)


def admit_invitation(store: Store, name: str, now: float) -> bool:
    """Take that back. Whether the invitation had been revoked."""
    with store.write() as connection:
        restored = restore_invitation(connection, invited_id(keys_in(settings(connection)).people, name))
        if restored:
            append_event(connection, "study", now, invitation="restored")
            turn_revision(connection)
        return restored


def rule_on(store: Store, rater: str, ruling: Ruling | None, why: str | None, now: float) -> Decided:
    """Block or exclude a person, as every rater that they are; with None, lift that and forgive their failed checks."""
    with store.write() as connection:
        query = sa.select(raters.c.status).where(raters.c.rater == rater)
        before: RaterStatus = connection.execute(query).scalar_one()
        rules = rules_in_force(connection)
        effects = [_apply_ruling(connection, rules, name, ruling, why, now) for name in siblings(connection, rater)]
        effect = sum(effects[1:], effects[0])
        tell(connection, effect, now, because=f"{ruling or 'unblock'} by hand")
        return Decided(before, str(connection.scalar(query)), effect, len(rules.checks))


def _apply_ruling(
    connection: sa.Connection, rules: StudyRules, rater: str, ruling: Ruling | None, why: str | None, now: float
) -> Effect:
    status = connection.scalar(sa.select(raters.c.status).where(raters.c.rater == rater))
    forgiven = ruling is None and status == "blocked"
    if forgiven:
        failed_checks = sa.and_(votes.c.rater == rater, votes.c.failed.is_not(None))
        connection.execute(sa.update(votes).where(failed_checks).values(forgiven=1))
    connection.execute(sa.update(raters).where(raters.c.rater == rater).values(ruling=ruling, why=why))
    append_event(connection, "ruled", now, rater, ruling=ruling, why=why, forgiven=forgiven)
    return standing.settle(connection, rules.assignment, rules.gate, now, rater)


def tell(connection: sa.Connection, effect: Effect, now: float, because: str) -> None:
    """Write one event with what settling changed."""
    moved = {f"{before} to {after}": number for (before, after), number in effect.raters.items()}
    votes = {"gained": effect.gained, "lost": effect.lost}
    pairs = {"opened": effect.opened, "closed": effect.closed}
    append_event(connection, "settled", now, because=because, raters=moved, votes=votes, pairs=pairs)
