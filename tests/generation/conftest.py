"""What the tests of generation have in common: a toy corpus is read once, and the course of training is not drawn."""

import pytest
from matplotlib.figure import Figure

from seedvote.generation import curves
from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)

DRAW_FIGURE = curves._draw_figure


@pytest.fixture(scope="session", autouse=True)
def curves_are_empty():
    """Every training ends with a picture, which takes longer to draw than the models of most tests to train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "_draw_figure", lambda logs: Figure(figsize=(1, 1)))
        yield


@pytest.fixture
def drawn_curves(monkeypatch):
    monkeypatch.setattr(curves, "_draw_figure", DRAW_FIGURE)
