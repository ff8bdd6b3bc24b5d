"""What the tests of generation have in common: a toy corpus is read once, and the course of training is not drawn."""

import pytest

from seedvote.generation import curves
from tests.house.corpora import toy_corpora_are_read_once  # noqa: F401 (a fixture)
from tests.house.curves import DRAW_FIGURE, curves_are_empty  # noqa: F401 (a fixture)


@pytest.fixture
def drawn_curves(monkeypatch):
    monkeypatch.setattr(curves, "_draw_figure", DRAW_FIGURE)
