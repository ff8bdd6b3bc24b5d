"""The rules of a study as the rating rooms use them: made of its HIT and of the checks that its store holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sqlalchemy as sa

from crowd.hit import Hit
from crowd.rating.assignment import AssignmentRules
from crowd.rating.gate import GateRule, rule_within
from crowd.store.tables import pairs


@dataclass(frozen=True, slots=True)
class StudyRules:
    """Under which rules a study runs."""

    hit: Hit
    assignment: AssignmentRules
    gate: GateRule
    checks: tuple[str, ...]
    """The checks that raters may still be shown."""


def rules_of(connection: sa.Connection, hit: Hit) -> StudyRules:
    """The rules that this HIT makes in this store."""
    valid = sa.and_(pairs.c.kind == "check", sa.or_(pairs.c.mended.is_(None), pairs.c.mended != "void"))
    checks = tuple(connection.scalars(sa.select(pairs.c.pair).where(valid)))
    gate = rule_within(GateRule(hit.max_failures, hit.count_failures, hit.first_checks), len(checks))
    return StudyRules(hit, replace(assignment_of(hit), first_checks=gate.first_checks), gate, checks)


def assignment_of(hit: Hit) -> AssignmentRules:
    """What assignment needs of hit.toml."""
    return AssignmentRules(
        votes_per_pair=hit.votes_per_pair,
        pairs_per_sitting=hit.pairs_per_sitting,
        first_checks=hit.first_checks,
        later_checks=hit.later_checks,
        lease_seconds=hit.lease_minutes * 60,
        late_votes=hit.late_votes,
        max_votes_per_rater=hit.max_votes_per_rater,
    )
