"""Keeps the figures of the researcher's page up to date: votes are exported and drawn in processes of their own.

The server itself imports neither scipy nor matplotlib. `python -m analysis` reads the exported file and writes
ties.json, ties.png, ties.pdf and so_far.json: preference, agreement and the rule for stopping. A so_far.json that is
not as it should be is taken for none.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json

LOG = logging.getLogger("crowd")
EVERY = 30.0  # seconds between two looks
PYTHON = ("nice", sys.executable, "-m", "seedvote")  # nice: raters who wait for a page come before figures


Seen = tuple[int | None, int]


def keep_fresh(store: Store, study: Path, database: str | None, question: str = "") -> None:
    """From now on, export and draw whenever there are new votes, of several questions one; ends with the process."""

    def watch() -> None:
        drawn_votes: Seen = (None, 0)
        while True:
            drawn_votes = refresh_if_new(store, study, database, drawn_votes, question)
            time.sleep(EVERY)

    threading.Thread(target=watch, daemon=True).start()


def refresh_if_new(store: Store, study: Path, database: str | None, drawn_votes: Seen, question: str = "") -> Seen:
    """Refresh if the votes are not those that were drawn; returns which ones are drawn now."""
    with store.read() as connection:  # an undo lowers the number, a vote after it raises the last: both are needed
        last, number = connection.execute(sa.select(sa.func.max(votes.c.vote), sa.func.count(votes.c.vote))).one()
    return (last, number) if (last, number) == drawn_votes or refresh(study, database, question) else drawn_votes


def refresh(study: Path, database: str | None, question: str = "") -> bool:
    """Export the votes and draw them once; False if a step failed, which the log says."""
    options = ("--question", question) if question else ()
    return not export_anew(study, database) and not _run_command("analysis", "watch", str(study), "--once", *options)


def export_anew(study: Path, database: str | None, form: str = "jsonl", out: Path | None = None) -> str:
    """Write votes and raters as they stand now, into the study or elsewhere; why that failed, if it did."""
    where = ("--database", database) if database else ()
    return _run_command("crowd", "export", str(study), "--format", form, *where, *(("--out", str(out)) if out else ()))


def _run_command(*command: str) -> str:
    """The last line of what went wrong, which the log has too; empty if nothing did."""
    done = subprocess.run((*PYTHON, *command), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if not done.returncode:
        return ""
    lines = done.stderr.strip().splitlines()[-1:]
    LOG.warning("figures", extra={"facts": {"error": lines}})
    return "".join(lines) or f"it ended with status {done.returncode}"


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
