"""The votes replayed from the event log, under the study's own gate or another one.

Events are replayed in order: an answer counts if its pair is short of votes and it came in time; a rater whom the rule
blocks loses what counted so far. Under the study's own rule this gives what the store holds, which is how the tests
prove the store; under another rule it gives what that rule would have made of the same answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crowd.rating.assignment import AssignmentRules, LatePolicy, counts
from crowd.rating.gate import GateRule, judge
from crowd.store.event_log import Event
from dialogue.records import RaterStatus


@dataclass(frozen=True, slots=True)
class Replayed:
    """`counted` for each lease that was answered on a real or control pair; `status` for each rater who arrived."""

    counted: Mapping[int, bool]
    status: Mapping[str, RaterStatus]


@dataclass
class _Answer:
    lease: int
    rater: str
    pair: str
    failed: bool | None
    counted: bool


@dataclass
class _Log:
    answers: dict[int, _Answer] = field(default_factory=dict)
    votes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    status: dict[str, RaterStatus] = field(default_factory=dict)


def replay(events: Iterable[Event], rule: GateRule, *, votes_per_pair: int, late_votes: LatePolicy) -> Replayed:
    """Go through the log once."""
    assignment, log = AssignmentRules(votes_per_pair=votes_per_pair, late_votes=late_votes), _Log()
    for event in events:
        if event.rater is None:
            continue
        log.status.setdefault(event.rater, "incomplete")
        if event.kind == "answered":
            _answered(log, event, assignment)
        elif event.kind == "undone":
            undone = log.answers.pop(event.data["lease"])
            log.votes[undone.pair] -= undone.counted
        if event.kind in ("answered", "undone"):
            _judge(log, event.rater, rule)
    return Replayed({a.lease: a.counted for a in log.answers.values() if a.failed is None}, log.status)


def _answered(log: _Log, event: Event, assignment: AssignmentRules) -> None:
    failed, rater, pair = event.data["failed"], str(event.rater), str(event.pair)
    counted = (
        failed is None
        and log.status[rater] != "blocked"
        and counts(log.votes[pair], late=bool(event.data["late"]), assignment=assignment)
    )
    log.votes[pair] += counted
    lease = event.data["lease"]
    log.answers[lease] = _Answer(lease, rater, pair, None if failed is None else bool(failed), counted)


def _judge(log: _Log, rater: str, rule: GateRule) -> None:
    mine = sorted((a for a in log.answers.values() if a.rater == rater), key=lambda answer: answer.lease)
    log.status[rater] = judge([a.failed for a in mine if a.failed is not None], rule)
    if log.status[rater] == "blocked":
        for answer in mine:
            log.votes[answer.pair] -= answer.counted
            answer.counted = False
