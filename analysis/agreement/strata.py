"""Whether groups of raters agree alike: Krippendorff's alpha within each group, and its share of ties."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from analysis.showing.tables import Table
from analysis.showing.words import number, p_value, plain
from analysis.stats.between_raters.agreement import Coefficient, coefficients
from analysis.stats.disparity import Disparity
from analysis.stats.sign_tests import holm_where
from analysis.votes.clusters import clusters_of
from analysis.votes.strata import Strata
from analysis.votes.votes import Votes


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """How far the raters of one group agree with each other, and how far that is from the others' agreement."""

    group: str
    people: int
    votes: int
    alpha: Coefficient | None  # nominal; None where no pair has two votes of the group
    apart: Disparity | None
    p_holm: float | None = None


def agreement_by(votes: Votes, strata: Strata, clusters: str) -> list[GroupAgreement]:
    """Every group by itself and against all others; p is adjusted for all of them, two groups alone once."""
    made = []
    for code, group in enumerate(strata.names):
        inside = strata.code == code
        mine, others = (_alpha(votes.select(part), clusters) for part in (inside, ~inside))
        apart = None if mine is None or others is None else _apart(mine, others)
        made.append(GroupAgreement(group, strata.people[code], int(inside.sum()), mine, apart))
    tests = [strata.test_of(one.group) for one in made]
    adjusted = holm_where([None if one.apart is None else one.apart.p for one in made], tests)
    return [replace(one, p_holm=p) for one, p in zip(made, adjusted, strict=True)]


def _alpha(votes: Votes, clusters: str) -> Coefficient | None:
    if len(votes) < 2:
        return None
    ways = clusters_of(votes, clusters, part=True) or {"pair": votes.pair}
    place = np.unique(votes.pair, return_inverse=True)[1]
    found = coefficients(place, votes.choice, votes.labels, values=None, clusters=ways)
    return found.alpha_nominal if found.usable_items and math.isfinite(found.alpha_nominal.value) else None


def _apart(one: Coefficient, other: Coefficient) -> Disparity | None:
    """As if the two shared no items; they do, which makes the true error smaller and this interval careful."""
    errors = [(found.high - found.low) / 2 for found in (one, other)]
    if not all(math.isfinite(error) and error > 0 for error in errors):
        return None
    gap, reach = one.value - other.value, math.hypot(*errors)
    z = gap / (reach / float(stdtrit(1e6, 0.975)))
    return Disparity(gap, gap - reach, gap + reach, math.erfc(abs(z) / math.sqrt(2)))


def agreement_strata_document(found: list[GroupAgreement], by: str, notes: tuple[str, ...]) -> dict[str, Any]:
    """The key `strata` of `--json`."""
    shown: dict[str, Any] = plain({"by": by, "groups": [asdict(one) for one in found], "warnings": list(notes)})
    return shown


def agreement_strata_parts(found: list[GroupAgreement], by: str, notes: tuple[str, ...]) -> list[Table | str]:
    """A table of groups, and what they say."""
    head = (by, "people", "votes", "alpha (95 %)", "apart from the others (95 %)", "p (Holm)")
    rows = [
        (one.group, str(one.people), f"{one.votes:,}", _reach(one.alpha), _reach(one.apart), p_value(one.p_holm))
        for one in found
    ]
    return [Table(head, rows, f"Krippendorff's alpha within groups, by {by}"), *_said(found), *notes]


def _said(found: list[GroupAgreement]) -> list[str]:
    """Which groups agree otherwise, after the correction; that none is shown to, where some were tested."""
    tested = [(one.group, one.apart, one.p_holm) for one in found if one.apart is not None and one.p_holm is not None]
    differ = [(group, apart) for group, apart, p in tested if p < 0.05]
    if tested and not differ:
        return ["No group is shown to agree otherwise than the others; small groups show large differences only."]
    return [
        f"Raters of the group {group!r} agree {'more' if apart.value > 0 else 'less'} with each other than the others "
        f"do: alpha {apart.value:+z.3f}."
        for k, (group, apart) in enumerate(differ)
        if not any(apart.mirrors(other) for _, other in differ[:k])
    ]


def _reach(found: Coefficient | Disparity | None) -> str:
    return "-" if found is None else f"{number(found.value)} ({number(found.low)} to {number(found.high)})"
