"""What the tests of the marketplaces have in common: nobody waits before a call is tried again."""

import time
from types import SimpleNamespace

import pytest

from seedvote.crowd.marketplaces import ledger
from seedvote.crowd.marketplaces.prolific import calling


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that calls to Prolific would have waited, in order."""
    waits = []
    monkeypatch.setattr(calling, "time", SimpleNamespace(sleep=waits.append, time=time.time))
    return waits


@pytest.fixture
def an_hour_later(monkeypatch):
    """Called, it moves the ledger's clock on: what was sent before may be looked up then."""

    def move():
        now = ledger.time.time
        monkeypatch.setattr(ledger, "time", SimpleNamespace(time=lambda: now() + 1.5 * ledger.RESTS))

    return move
