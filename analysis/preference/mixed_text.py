"""The mixed logit in the words and the keys of `--json` of `python -m analysis preference --mixed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from analysis.preference.mixed import MixedContrast
from analysis.showing.tables import Table
from analysis.showing.words import number, percent, plural

if TYPE_CHECKING:
    from analysis.stats.mixed import Estimate

_HEAD = ["first", "second", "decisive votes", "first preferred", "95 % interval", "net", "95 % interval",
         "by a typical rater", "SD of the log odds"]  # fmt: skip


def mixed_document(found: Sequence[MixedContrast]) -> list[dict[str, Any]]:
    """The key `mixed` of `--json`: one row for each two systems."""
    return [{**asdict(one), "reason": one.reason or None} for one in found]


def mixed_parts(found: Sequence[MixedContrast]) -> list[Table | str]:
    """The table, what its columns say, and who has a dash for which reason."""
    shown = Table(_HEAD, [_row(one) for one in found], "Mixed logit of the decisive votes")
    without: dict[str, list[str]] = {}
    for one in found:
        if one.reason:
            without.setdefault(one.reason, []).append(f"{one.first} and {one.second}")
    doubtful = [f"{one.first} and {one.second}" for one in found if not one.converged]
    doubt = f"The search of the mixed logit did not end well, so do not rely on it ({', '.join(doubtful)})."
    return [
        shown,
        *_reading(found),
        *(f"No mixed logit of {', '.join(names)}: {reason.rstrip('.')}." for reason, names in without.items()),
        *([doubt] if doubtful else []),
    ]


def _row(one: MixedContrast) -> list[str]:
    named = [one.first, one.second, f"{one.decisive:,}"]
    if one.share is None or one.net is None or one.typical is None or one.spreads is None:
        return [*named, *["-"] * (len(_HEAD) - len(named))]
    spreads = ", ".join(f"{name} {sd:.2f}" for name, sd in one.spreads.items())
    return [*named, percent(one.share.value), f"{percent(one.share.low)} to {percent(one.share.high)}",
            f"{one.net.value:+z.3f}", _reach(one.net), percent(one.typical.value), spreads]  # fmt: skip


def _reading(found: Sequence[MixedContrast]) -> list[str]:
    """What is drawn anew, and how the columns relate to the default; nothing where there is no model at all."""
    ways = next((list(one.spreads) for one in found if one.spreads), None)
    if ways is None:
        return []
    *others, last = map(plural, ways)
    anew = f"{', '.join(others)} and {last}" if others else last
    return [
        f"First preferred: of the decisive votes, the share for the first, over new {anew}. Net counts ties as the "
        "default does, and estimates the same. By a typical rater, on a typical pair, the share is further from 50 % "
        "wherever people or pairs differ."
    ]


def _reach(found: Estimate) -> str:
    return f"{number(found.low)} to {number(found.high)}"
