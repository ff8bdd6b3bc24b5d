"""Waiting for what other processes do: for a condition, never for a time that a busy machine may not keep."""

import time

# Seconds after which something counts as hung. Slow is no fault: what is waited for takes seconds where nothing else
# runs, and a machine with twelve times its load has been seen to take two minutes. Below pytest's own limit (timeout in
# pyproject.toml), so that the test says itself what it waited for.
PATIENCE = 600


def wait_for(condition, seconds=PATIENCE):
    """What the condition gives as soon as it gives anything; the test fails where it never does."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
    return found
