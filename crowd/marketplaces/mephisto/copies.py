"""What Mephisto keeps of a study: a copy of every finished sitting, complete enough to restore its votes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.known import FormName
from seedvote.crowd.store.store import iso
from seedvote.crowd.store.tables import leases, pairs, raters, votes
from seedvote.dialogue.records import OptionChoice, RaterStatus, Vote
from seedvote.dialogue.validity import from_json


@dataclass(frozen=True, slots=True)
class KeptVote:
    """A vote on a real or control pair; answers to checks are kept as counts only."""

    pair: str
    choice: str
    left: str
    seconds: float | None
    submitted: str
    kind: str
    answers: dict[str, dict[str, Any]] | None = None
    """Those to several questions, without what the rater wrote; None where one was asked."""
    vote: int = 0
    """Its number in our store, which orders two votes of one millisecond."""


@dataclass(frozen=True, slots=True)
class KeptSitting:
    """One finished sitting. Its fields are the keys of what Mephisto stores, so they keep their names."""

    rater: str
    sitting: int
    rater_status: str
    checks_seen: int
    checks_failed: int
    votes: list[KeptVote]


def finished_sitting(connection: sa.Connection, rater: str, number: int) -> KeptSitting:
    """Read one sitting from our store, complete enough to restore its votes."""
    query = (
        sa.select(votes, pairs.c.kind)
        .join(leases, leases.c.lease == votes.c.lease)
        .join(pairs, pairs.c.pair == votes.c.pair)
        .where(leases.c.rater == rater, leases.c.sitting == number)
        .order_by(votes.c.vote)
    )
    rows = connection.execute(query).all()
    status = connection.execute(sa.select(raters.c.status).where(raters.c.rater == rater)).scalar_one()
    checks = [row.failed for row in rows if row.failed is not None]
    kept_votes = [
        KeptVote(
            row.pair, row.choice, row.left, row.seconds, iso(row.submitted), row.kind, _as_sheet(row.answers), row.vote
        )
        for row in rows
        if row.failed is None
    ]
    return KeptSitting(rater, number, status, len(checks), sum(checks), kept_votes)


def _as_sheet(answers: str | None) -> dict[str, dict[str, Any]] | None:
    sheet = json.loads(answers) if answers else {}
    return {name: answer for name, answer in sheet.items() if "text" not in answer} if answers else None


def as_stored(sitting: KeptSitting) -> dict[str, Any]:
    """As Mephisto stores it; a vote on one question has no key for several."""
    outputs = asdict(sitting)
    outputs["votes"] = [{k: v for k, v in vote.items() if k != "answers" or v is not None} for vote in outputs["votes"]]
    return outputs


def restored(
    outputs: Iterable[Mapping[str, Any]], votes_per_pair: int, first_checks: int, form: FormName = "pairs"
) -> list[Any]:
    """Votes from what Mephisto kept: a rater counts who passed and was neither blocked nor excluded in the end.

    Rounds follow time. Earlier versions called everybody incomplete in a study without first checks.
    """
    sittings = list(outputs)
    statuses: dict[str, set[str]] = defaultdict(set)
    for unit in sittings:
        statuses[unit["rater"]].add(unit["rater_status"])
    status = {rater: _final_status(reported, first_checks) for rater, reported in statuses.items()}
    rows = [
        (vote["submitted"], vote.get("vote", 0), unit["rater"], vote) for unit in sittings for vote in unit["votes"]
    ]
    number: dict[str, int] = defaultdict(int)
    records: list[Any] = []
    for *_, rater, vote in sorted(rows, key=lambda row: row[:3]):
        counted = status[rater] == "passed" and number[vote["pair"]] < votes_per_pair
        number[vote["pair"]] += counted
        known = {**vote, "rater": rater, "rater_status": status[rater], "counted": counted, "source": "mephisto"}
        known["round"] = number[vote["pair"]] if counted else 0
        known.pop("vote", None)
        answers = known.pop("answers", {}) or {"": {}}
        answered = ({**known, "question": name, **answer} for name, answer in answers.items())
        rows_of_vote = [_as_option(known)] if form == "choice" else answered
        kind = OptionChoice if form == "choice" else Vote
        records += [from_json(kind, record, "Mephisto's data store") for record in rows_of_vote]
    return records


def _as_option(known: dict[str, Any]) -> dict[str, Any]:
    """An answer to a question of several options, which stand where a vote has its choice and its side."""
    first, second = (*map(int, known.pop("choice").split(",")), None)[:2]
    names = {"question": known.pop("pair"), "shown": known.pop("left"), "first": first, "second": second}
    return {**known, **names}


def _final_status(statuses: Collection[str], first_checks: int) -> RaterStatus:
    """The status of a rater in the end, of those that their sittings were handed in with."""
    order: tuple[RaterStatus, ...] = ("blocked", "excluded", "passed")
    for status in order:
        if status in statuses:
            return status
    return "incomplete" if first_checks else "passed"
