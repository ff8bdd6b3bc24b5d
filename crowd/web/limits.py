"""A limit on requests per rater (or per address, before a rater is known), kept in memory and never stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

MOST_KEYS = 10_000  # beyond it full buckets are dropped, so that made-up ids cannot fill the memory


class RateLimit:
    """A token bucket for each key: `rate` requests a second, with bursts of `burst`; a rate of 0 limits nothing."""

    def __init__(self, rate: float, burst: int = 40, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Take one request from the key's bucket, if there is one in it."""
        if not self.rate:
            return True
        now = self.clock()
        with self._lock:
            if len(self._buckets) > MOST_KEYS:
                self._drop_full(now)
            level, since = self._buckets.get(key, (float(self.burst), now))
            level = min(self.burst, level + (now - since) * self.rate)
            self._buckets[key] = (max(0.0, level - 1), now)
            return level >= 1

    def _drop_full(self, now: float) -> None:
        """Forget the buckets that have filled up again: they limit nothing."""
        full = self.burst / self.rate
        self._buckets = {key: value for key, value in self._buckets.items() if now - value[1] < full}
