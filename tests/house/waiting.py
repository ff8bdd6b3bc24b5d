"""Waiting for what other processes do: for a condition, never for a time that a busy machine may not keep."""

import time

# Seconds after which something counts as hung. Slow is no fault: the whole suite takes a few minutes where nothing
# else runs. Below pytest's own limit, so that the test says itself what it waited for.
PATIENCE = 1500


def wait_for(condition, seconds=PATIENCE):
    """What the condition gives as soon as it gives anything; the test fails where it never does."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
    return found
