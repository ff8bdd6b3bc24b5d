"""Whether votes can be stored at this moment, which only a write that is on disk can tell; and whose clock differs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from seedvote.crowd.store.store import TOLERANCE, Store, clock_sentence, note_text, own_note, put, settings, unset

LOG = logging.getLogger("crowd")
FRESH = 5.0  # seconds for which one answer holds: anybody may ask, and each write waits for the disk


class Pulse:
    """Writes a line of the study's settings now and then; an error of the database is whoever asks's to see."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self._lock, self._well_until = threading.Lock(), float("-inf")

    def feel(self) -> None:
        """Raise what the database raises where nothing can be stored; a failure is never remembered, only success."""
        with self._lock:
            if self.clock() < self._well_until:
                return
            difference, now = self.clock_difference(), self.store.now()
            with self.store.write() as connection:
                put(connection, "pulse", f"{now:.0f}")
                if difference:
                    put(connection, own_note(), note_text(difference, now))
            self._well_until = self.clock() + FRESH

    def clock_difference(self) -> float:
        """Seconds by which this server's clock is ahead of the database's; 0 where it is near enough."""
        difference = self.store.clock.difference()
        return difference if abs(difference) > TOLERANCE else 0.0

    def tell_clock(self) -> None:
        """At a start: log that this server's clock differs, and note it for the dashboard; or take an old note away."""
        difference = self.clock_difference()
        with self.store.read() as connection:
            is_noted = own_note() in settings(connection)
        if not difference and not is_noted:
            return
        with self.store.write() as connection:
            if difference:
                put(connection, own_note(), note_text(difference, self.store.now()))
            else:
                unset(connection, own_note())
        if difference:
            LOG.warning("clock", extra={"facts": {"seconds": round(difference, 1), "told": clock_sentence(difference)}})
