"""Waiting for what other processes do."""

import time


def wait_for(condition, seconds=400):
    """What the condition gives as soon as it gives anything; the test fails where it never does."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)
    return found
