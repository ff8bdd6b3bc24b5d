"""The votes recomputed from the event log alone, under the study's own gate or another one.

The log is gathered into facts: the answers that stand, which of them were forgiven or set aside, which checks were
mended, and what was decided about raters. From the facts the statuses and then the counted votes follow, by the same
pure functions as in the store (gate.standing, assignment.first_votes). Under the study's own rules this gives what the
store holds, which is how the tests prove the store; under other rules it gives what those would have made of the same
answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seedvote.crowd.forms.form import decisive_part
from seedvote.crowd.rating.assignment import LatePolicy, first_votes, is_eligible
from seedvote.crowd.rating.gate import GateRule, Ruling, standing, that_judge
from seedvote.crowd.store.store import Event
from seedvote.dialogue.records import RaterStatus


@dataclass(frozen=True, slots=True)
class Replayed:
    """`counted` for each lease that was answered on a real or control pair; `status` for each rater who arrived."""

    counted: Mapping[int, bool]
    status: Mapping[str, RaterStatus]


@dataclass(slots=True)
class _Answer:
    lease: int
    rater: str
    pair: str
    sitting: int
    choice: str
    late: bool
    failed: bool | None
    forgiven: bool = False
    aside: bool = False
    waits: bool = False


@dataclass(slots=True)
class _Facts:
    answers: dict[int, _Answer] = field(default_factory=dict)
    """By lease, in the order in which they came."""
    rulings: dict[str, Ruling | None] = field(default_factory=dict)
    broke: set[str] = field(default_factory=set)
    asked_checks: dict[str, int] = field(default_factory=dict)
    raters: dict[str, None] = field(default_factory=dict)
    sittings: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    targets: dict[str, int] | None = None
    """Of an adaptive study: how many votes each pair was to get, over all batches."""

    def wanted(self, pair: str, votes_per_pair: int) -> int:
        """The votes that a pair is to get: of an adaptive study none before a batch has drawn it."""
        return votes_per_pair if self.targets is None else self.targets.get(pair, 0)


def replay(
    events: Iterable[Event], rule: GateRule, *, votes_per_pair: int, late_votes: LatePolicy, excluding: bool = True
) -> Replayed:
    """Go through the log once, then judge raters and votes; with `excluding` false, as if there were no [exclude]."""
    facts = _Facts()
    for event in events:
        _apply_event(facts, event)
    if not excluding:
        facts.broke.clear()
    status = _judge_raters(facts, rule)
    by_pair = defaultdict[str, list[_Answer]](list)
    for answer in facts.answers.values():
        if answer.failed is None:
            by_pair[answer.pair].append(answer)
    counted: dict[int, bool] = {}
    for pair, answers in by_pair.items():
        may = [is_eligible(status[a.rater], late=a.late, aside=a.aside, late_votes=late_votes) for a in answers]
        places = zip(answers, first_votes(may, facts.wanted(pair, votes_per_pair)), strict=True)
        counted |= {a.lease: placed and not a.waits for a, placed in places}
    return Replayed(counted, status)


def _apply_event(facts: _Facts, event: Event) -> None:
    """Let one event change the facts."""
    data = event.data
    if event.rater is not None:
        facts.raters.setdefault(event.rater)
    if event.kind == "shown":
        facts.sittings[event.rater, event.pair] = data["sitting"]
    elif event.kind == "answered":
        _add_answer(facts, event)
    elif event.kind == "undone":
        del facts.answers[data["lease"]]
    elif event.kind == "mended":
        for answer in facts.answers.values():
            if answer.pair == event.pair:
                sheet_failed = data.get("failed", {}).get(str(answer.lease))  # where several questions are asked
                answer.failed = (
                    data["answer"] not in ("void", decisive_part(answer.choice))
                    if sheet_failed is None
                    else bool(sheet_failed)
                )
    elif event.kind == "admitted":
        facts.asked_checks[str(event.rater)] = data["asked"]
    elif event.kind == "hit" and data["name"] == "first_checks" and data["after"] > data["before"]:
        facts.asked_checks.clear()  # only before the first vote
    elif event.kind == "hit" and data["name"] == "assignment" and data["after"] == "fixed":
        facts.targets = None  # what was drawn is drawn anew, should the study become adaptive again
    elif event.kind == "batch":
        facts.targets = {} if facts.targets is None else facts.targets
        for pair, places in data["places"].items():
            facts.targets[pair] = facts.targets.get(pair, 0) + places
    elif event.kind == "study" and "withdrawn" in data and facts.targets is not None:
        for pair in data["withdrawn"]:
            facts.targets.pop(pair, None)
    elif event.kind == "ruled":
        _apply_ruling(facts, event)
    elif event.kind == "rule":
        (facts.broke.add if data["broke"] else facts.broke.discard)(str(event.rater))
    elif event.kind == "study" and "set_aside" in data:
        _set_aside(facts, event)
    elif event.kind == "study" and ("confirmed" in data or "waiting" in data):
        for lease in data["leases"]:
            if lease in facts.answers:  # of somebody forgotten, an undone one may be gone
                facts.answers[lease].waits, facts.answers[lease].aside = "waiting" in data, False


def _add_answer(facts: _Facts, event: Event) -> None:
    data, rater, pair = event.data, str(event.rater), str(event.pair)
    failed = None if data["failed"] is None else bool(data["failed"])
    sitting = data.get("sitting") or facts.sittings.get((rater, pair), 0)  # older logs say it with "shown" alone
    answer = _Answer(data["lease"], rater, pair, sitting, data["choice"], bool(data["late"]), failed)
    answer.waits, answer.aside = bool(data.get("waits")), bool(data.get("aside"))
    facts.answers[answer.lease] = answer


def _apply_ruling(facts: _Facts, event: Event) -> None:
    rater = str(event.rater)
    facts.rulings[rater] = event.data["ruling"]
    for answer in facts.answers.values():
        answer.forgiven |= bool(event.data["forgiven"]) and answer.rater == rater and answer.failed is not None


def _set_aside(facts: _Facts, event: Event) -> None:
    lease_names = event.data.get("leases")  # older logs name the sitting alone
    for answer in facts.answers.values():
        if answer.rater != event.rater:
            continue
        if lease_names is not None:
            answer.aside |= answer.lease in lease_names
        elif answer.failed is None:
            answer.aside |= answer.sitting == event.data["sitting"]


def _judge_raters(facts: _Facts, rule: GateRule) -> dict[str, RaterStatus]:
    by_rater = defaultdict[str, list[tuple[bool, bool]]](list)
    # in the order in which they were shown
    for answer in sorted(facts.answers.values(), key=lambda answer: answer.lease):
        if answer.failed is not None and not answer.aside:
            by_rater[answer.rater].append((answer.failed and not answer.forgiven, answer.waits))
    outcomes = {name: that_judge(by_rater[name]) for name in facts.raters}
    return {
        name: standing(
            outcomes[name],
            rule,
            ruling=facts.rulings.get(name),
            broke=name in facts.broke,
            asked_checks=facts.asked_checks.get(name),
        )
        for name in facts.raters
    }
