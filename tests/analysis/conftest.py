"""What several tests of the analysis need."""

import pytest

from analysis.report.paper import kit


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Reports without the kit's pictures, which take most of a report's time; who looks at them asks for `drawn`."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(kit, "_drawn", lambda figures: iter(()))


@pytest.fixture
def drawn():
    """Reports with the kit's pictures."""
