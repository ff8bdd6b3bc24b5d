"""The rules of a study as the rating rooms use them: made of the HIT that is in force and of the checks in its store.

The store keeps every key of the HIT that a server last took up. Servers, commands and the researcher's page go by
that, so that a file that was edited meanwhile cannot make two of them count differently.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.forms.form import HitForm
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from_kept
from seedvote.crowd.rating.assignment import AssignmentRules
from seedvote.crowd.rating.gate import GateRule, rule_within
from seedvote.crowd.store.statements import FIRST_SOURCE, REVISION
from seedvote.crowd.store.store import Query, fetch, put
from seedvote.crowd.store.tables import pairs, study_settings
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

KEPT = "hit"


@dataclass(frozen=True, slots=True)
class StudyRules:
    """Under which rules a study runs."""

    hit: Hit
    form: HitForm
    """What is shown at once, and how it is answered."""
    assignment: AssignmentRules
    gate: GateRule
    checks: tuple[str, ...]
    """The checks that raters may still be shown."""
    parts: Mapping[int, tuple[str, ...]]
    """Version -> those that its raters see; 0 is there in any case, for who has no version."""
    fewest_checks: int
    """The checks that a rater may be shown: of several versions, of the one with the fewest."""
    offered: int
    """The pairs that a rater may be shown beside them: of several versions, of the smallest."""
    revision: str | None
    """Turned whenever anything here changes, so that every server of the study sees it in its next transaction."""

    @property
    def has_versions(self) -> bool:
        """Whether raters see different parts of the study."""
        return len(self.parts) > 1

    def checks_of(self, version: int | None) -> tuple[str, ...]:
        """The checks that a rater of this version sees."""
        return self.parts.get(version or 0, self.parts[0])


# Statements are built once, because with SQLAlchemy building one costs more than running it.
_VALID = sa.and_(pairs.c.kind == "check", sa.or_(pairs.c.mended.is_(None), pairs.c.mended != "void"))
_CHECKS = sa.select(pairs.c.pair, pairs.c.version).where(_VALID)
_OFFERED = sa.select(pairs.c.version, sa.func.count().label("n")).where(pairs.c.offered == 1).group_by(pairs.c.version)
_SETTING = sa.select(study_settings.c.value).where(study_settings.c.key == param("key"))
# By its answer, `value_in`, a server sees that the rules are no longer those that it has read.
REVISION_NOW: Query = (_SETTING, {"key": REVISION})


def rules_of(connection: sa.Connection, hit: Hit) -> StudyRules:
    """The rules that this HIT makes in this store."""
    checks, counts, revision = fetch(connection, (_CHECKS, {}), (_OFFERED, {}), REVISION_NOW)
    offered = {row.version: row.n for row in counts}
    versions = [version for version in offered if version] or [0]
    parts = {v: tuple(row.pair for row in checks if row.version in (0, v)) for v in (0, *versions)}
    fewest = min(len(parts[version]) for version in versions)
    gate = rule_within(GateRule(hit.max_failures, hit.count_failures, hit.first_checks), fewest)
    assignment = replace(assignment_of(hit), first_checks=gate.first_checks)
    smallest = min(offered.get(0, 0) + (offered[version] if version else 0) for version in versions)
    names = tuple(row.pair for row in checks)
    return StudyRules(hit, FORMS[hit.form], assignment, gate, names, parts, fewest, smallest, value_in(revision))


def rules_in_force(connection: sa.Connection) -> StudyRules:
    """The rules of the HIT that the store keeps."""
    hit = kept_hit(connection)
    if hit is None:
        raise InputError(
            "This study was begun by an older version. Serve it once with this one: python -m crowd serve."
        )
    return rules_of(connection, hit)


def kept_hit(connection: sa.Connection) -> Hit | None:
    """The HIT that is in force; None where no server of this version has served the study."""
    text = _setting(connection, KEPT)
    return None if text is None else hit_from_kept(json.loads(text))


def keep_hit(connection: sa.Connection, hit: Hit) -> None:
    """Keep every key of the HIT from now on."""
    put(connection, KEPT, json.dumps(hit_as_kept(hit), ensure_ascii=False, sort_keys=True))
    turn_revision(connection)


def turn_revision(connection: sa.Connection) -> None:
    """Let every server read the rules again before it writes anything."""
    put(connection, REVISION, str(1 + int(_setting(connection, REVISION) or 0)))


def first_source(connection: sa.Connection) -> Source | None:
    """Where the first vote of the study came from: it makes the study one of people or of simulated raters."""
    (rows,) = fetch(connection, (FIRST_SOURCE, {}))
    return source_in(rows)


def source_in(rows: Sequence[Any]) -> Source | None:
    """The source among the rows of FIRST_SOURCE."""
    return rows[0].source if rows else None


def fits(first: Source | None, source: Source) -> bool:
    """Whether votes of this source may join a study that began with the other.

    >>> fits("local", "mturk"), fits("local", "simulated"), fits(None, "simulated")
    (True, False, True)
    """
    return first is None or (first == "simulated") == (source == "simulated")


def value_in(rows: Sequence[Any]) -> str | None:
    """The value among the rows of a setting."""
    return rows[0].value if rows else None


def _setting(connection: sa.Connection, key: str) -> str | None:
    (rows,) = fetch(connection, (_SETTING, {"key": key}))
    return value_in(rows)


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
