"""Keeps the figures of the researcher's page up to date: votes are exported and drawn in processes of their own.

The server itself imports neither scipy nor matplotlib; `python -m analysis` reads the exported file and writes
ties.json, ties.png and ties.pdf beside it.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import sqlalchemy as sa

from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import votes

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
