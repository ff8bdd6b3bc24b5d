"""What several tests of the analysis need."""

import pytest

from analysis.report.paper import kit


@pytest.fixture
def undrawn(monkeypatch):
    """Reports without the kit's pictures, which take most of a report's time; test_paper draws and reads them all."""
    monkeypatch.setattr(kit, "_drawn", lambda figures: iter(()))
