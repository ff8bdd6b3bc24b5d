"""What several tests of the analysis need."""

import pytest

from analysis.report.paper import kit


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Reports without the kit's pictures, and others sketched; who looks at pictures asks for `drawn`."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(kit, "_drawn", lambda figures: iter(()))
        request.getfixturevalue("sketched")


@pytest.fixture
def drawn():
    """Pictures as users get them, those of the kit among them."""
