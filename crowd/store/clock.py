"""One clock for a study: the database's, whatever time its servers believe it is.

A server adds up its own seconds from the last time at which it asked the database, and asks again every few seconds. So
leases and lateness need no message of their own, and a server whose clock is wrong treats raters as the others do.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

ASK_AGAIN = 5.0  # seconds
TOLERANCE = 2.0  # seconds by which a server's own clock may differ before it says so
NOTED = "clock "  # how the settings begin in which servers note that their clocks differ
FORGET_NOTE = 86_400.0  # seconds after which a note is of no use
QUESTIONS = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
}


class StoreClock:
    """The database's seconds since 1970; `ask` asks the database."""

    def __init__(self, ask: Callable[[], float], ticks: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._ticks = ask, ticks
        self._lock = threading.Lock()
        self._offset: float | None = None
        self._asked = float("-inf")

    def now(self) -> float:
        """The time by the database's clock, exact to the time of a message."""
        if self._offset is None or self._ticks() - self._asked >= ASK_AGAIN:
            self._ask_again()
        assert self._offset is not None
        return self._ticks() + self._offset

    def difference(self) -> float:
        """Seconds by which this server's own clock is ahead of the database's."""
        return time.time() - self.now()

    def _ask_again(self) -> None:
        first = self._offset is None
        if not self._lock.acquire(blocking=first):
            return  # another thread is asking
        try:
            if not first or self._offset is None:
                before = self._ticks()
                database_time = self._ask()
                after = self._ticks()
                self._offset, self._asked = database_time - (before + after) / 2, after
        finally:
            self._lock.release()


def own_note() -> str:
    """The setting in which this server notes that its clock differs."""
    return f"{NOTED}{socket.gethostname()}:{os.getpid()}"


def note_text(difference: float, now: float) -> str:
    """What it notes."""
    return json.dumps({"seconds": round(difference, 1), "at": now})


def clocks_that_differ(settings: Mapping[str, str], now: float) -> list[tuple[str, float]]:
    """The servers that noted it during the last day, and the seconds by which each was ahead of the database."""
    notes: dict[str, Any] = {
        key.removeprefix(NOTED): json.loads(value) for key, value in settings.items() if key.startswith(NOTED)
    }
    return sorted((name, note["seconds"]) for name, note in notes.items() if now - note["at"] < FORGET_NOTE)


def sentence(difference: float) -> str:
    """What a person is told of it."""
    where = "ahead of" if difference > 0 else "behind"
    return (
        f"The clock of this server is {abs(difference):.0f} seconds {where} the database's. Leases and lateness follow "
        "the database's clock; set this one right, or its log tells wrong times."
    )
