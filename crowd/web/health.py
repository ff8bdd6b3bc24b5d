"""Whether votes can be stored at this moment: only a write that is on disk can tell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from crowd.store.store import Store, put

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
            with self.store.write() as connection:
                put(connection, "pulse", f"{time.time():.0f}")
            self._well_until = self.clock() + FRESH
