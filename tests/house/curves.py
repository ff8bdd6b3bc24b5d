"""The course of training, which every training draws in the end, and few tests look at."""

import pytest
from matplotlib.figure import Figure

from seedvote.generation import curves

DRAW_FIGURE = curves._draw_figure


@pytest.fixture(scope="session", autouse=True)
def curves_are_empty():
    """For a room whose tests train: the picture takes longer to draw than the models of most tests to train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "_draw_figure", lambda logs: Figure(figsize=(1, 1)))
        yield
