"""Preference, agreement and the rule for stopping, as the analysis wrote them into the study's so_far.json.

The server computes none of it. A file that is not as it should be is taken for none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json

FILE = "so_far.json"


@dataclass(frozen=True, slots=True)
class NetSoFar:
    """The votes on two systems; `net` and its bounds are shares, None where there is no interval yet."""

    first: str
    second: str
    votes: int
    for_first: int
    for_second: int
    ties: int
    net: float | None
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class StoppingState:
    """Whether one comparison may stop, and why."""

    first: str
    second: str
    decision: str
    reason: str


@dataclass(frozen=True, slots=True)
class SoFar:
    """What the analysis knew when it wrote."""

    written: str
    votes: int
    difference: float
    margin: float | None
    stated_at: int | None
    nets: tuple[NetSoFar, ...]
    agreement: Mapping[str, Mapping[str, float | None]]
    running: tuple[StoppingState, ...]
    refusals: tuple[str, ...]


def read_so_far(folder: Path | None) -> SoFar | None:
    """What the file says; None where there is none, or none of ours."""
    if folder is None or not (folder / FILE).exists():
        return None
    try:
        return _read_document(read_json(folder / FILE))
    except (InputError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _read_document(document: Mapping[str, Any]) -> SoFar:
    rule, margin, stated = document["rule"], document["rule"]["margin"], document["rule"]["stated_at"]
    return SoFar(
        written=str(document["written"]),
        votes=int(document["votes"]),
        difference=float(rule["difference"]),
        margin=None if margin is None else float(margin),
        stated_at=None if stated is None else int(stated),
        nets=tuple(_read_net(row) for row in document["contrasts"]),
        agreement={
            str(name): _read_bounds(value) for name, value in document["agreement"].items() if value is not None
        },
        running=tuple(
            StoppingState(*(str(row[key]) for key in StoppingState.__slots__)) for row in document["running"]
        ),
        refusals=tuple(map(str, document["refusals"])),
    )


def _read_net(row: Mapping[str, Any]) -> NetSoFar:
    bounds = _read_bounds({"value": row["net"], "low": row["low"], "high": row["high"]})
    return NetSoFar(
        first=str(row["first"]),
        second=str(row["second"]),
        votes=int(row["votes"]),
        for_first=int(row["for_first"]),
        for_second=int(row["for_second"]),
        ties=int(row["ties"]),
        net=bounds["value"],
        low=bounds["low"],
        high=bounds["high"],
        reason=None if row["reason"] is None else str(row["reason"]),
    )


def _read_bounds(value: Mapping[str, Any]) -> dict[str, float | None]:
    return {key: None if value[key] is None else float(value[key]) for key in ("value", "low", "high")}
