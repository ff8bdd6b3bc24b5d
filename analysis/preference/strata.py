"""Whether groups of raters prefer alike: the net preference of each group, and how far it lies from the others'."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from analysis.showing.tables import Table
from analysis.showing.words import p_value, plain
from analysis.stats.disparity import Disparity, disparity
from analysis.stats.intervals import Interval
from analysis.stats.net_preference import net_interval
from analysis.stats.sign_tests import holm_where
from analysis.votes.clusters import clusters_of
from analysis.votes.strata import Strata
from analysis.votes.systems import Contrast
from analysis.votes.votes import net_scores


@dataclass(frozen=True, slots=True)
class GroupPreference:
    """One group of raters on two systems."""

    first: str
    second: str
    group: str
    people: int
    votes: int
    net: Interval | None
    apart: Disparity | None  # from all other votes on the two systems
    p_holm: float | None = None


def preference_by(contrasts: list[tuple[Contrast, Strata]], clusters: str) -> list[GroupPreference]:
    """Every group on every two systems; the p values are adjusted for all of them together, two groups alone once."""
    asked = [(one, strata) for contrast, strata in contrasts for one in _groups(contrast, strata, clusters)]
    found = [one for one, _ in asked]
    tests = [(one.first, one.second, strata.test_of(one.group)) for one, strata in asked]
    adjusted = holm_where([None if one.apart is None else one.apart.p for one in found], tests)
    return [replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True)]


def _groups(contrast: Contrast, strata: Strata, clusters: str) -> list[GroupPreference]:
    votes, values = contrast.votes, net_scores(contrast.votes.choice)
    ways = clusters_of(votes, clusters, part=True)
    made = []
    for code, group in enumerate(strata.names):
        inside = strata.code == code
        mine = votes.select(inside)
        people = 0 if mine.rater is None else len(np.unique(mine.rater))
        enough = people > 1 and len(mine) > 1
        net = net_interval(values[inside], by=clusters_of(mine, clusters, part=True)) if enough else None
        apart = disparity(values, inside, ways) if enough and (~inside).any() else None
        made.append(GroupPreference(contrast.first, contrast.second, group, strata.people[code], len(mine), net, apart))
    return made


def strata_document(found: list[GroupPreference], by: str, notes: tuple[str, ...]) -> dict[str, Any]:
    """The key `strata` of `--json`."""
    shown: dict[str, Any] = plain({"by": by, "groups": [asdict(one) for one in found], "warnings": list(notes)})
    return shown


def strata_parts(found: list[GroupPreference], by: str, notes: tuple[str, ...]) -> list[Table | str]:
    """A table of groups, and what they say."""
    head = ("systems", by, "people", "votes", "net preference (95 %)", "apart from the others (95 %)", "p (Holm)")
    rows = [
        (f"{one.first} - {one.second}", one.group, str(one.people), f"{one.votes:,}", _reach(one.net),
         _reach(one.apart), p_value(one.p_holm))
        for one in found
    ]  # fmt: skip
    differ = [(one, one.apart) for one in found if one.apart and one.p_holm is not None and one.p_holm < 0.05]
    met = [(one.first, one.second, apart) for one, apart in differ]
    said = [
        f"The group {one.group!r} prefers otherwise than the others: {apart.value:+z.3f}."
        for k, (one, apart) in enumerate(differ)
        if not any((one.first, one.second) == (a, b) and apart.mirrors(other) for a, b, other in met[:k])
    ]
    none = "No group is shown to prefer otherwise than the others; small groups show large differences only."
    return [Table(head, rows, f"Net preference by {by}"), *(said or [none]), *notes]


def _reach(found: Interval | Disparity | None) -> str:
    return "-" if found is None else f"{found.value:+z.3f} ({found.low:+z.3f} to {found.high:+z.3f})"
