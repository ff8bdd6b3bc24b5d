"""Every figure: one style file, colours safe for the colour-blind, direct labels, the recipe in the footnote.

Figures are built without pyplot, so nothing global changes; `save` writes PNG and PDF, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.laws import Law
from analysis.ties import CHANCE, Ties
from dialogue.files import atomic

STYLE = Path(__file__).with_name("seedvote.mplstyle")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
INK, GREY, PALE = "#222222", "#777777", "#d9d9d9"
WIDTH = 6.4  # inches: a text column of a paper, and about 640 px in a report


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw under the style file, leaving the reader's own settings alone."""

    @wraps(draw)
    def inside(*args: Any, **options: Any) -> Figure:
        with mpl.rc_context(fname=STYLE):
            return draw(*args, **options)

    return inside


def save(figure: Figure, stem: str | Path) -> None:
    """Write `stem`.png and `stem`.pdf, the same bytes for the same figure."""
    with mpl.rc_context(fname=STYLE):
        for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None, "Producer": None})):
            with atomic(f"{stem}{suffix}", "wb") as handle:
                figure.savefig(handle, format=suffix[1:], metadata=metadata)


def footnote(figure: Figure, recipe: str) -> None:
    """The recipe, small, at the foot."""
    figure.text(0.012, 0.012, recipe, fontsize=6.5, color=GREY, ha="left", va="bottom")


@styled
def ties_figure(ties: Ties) -> Figure:
    """Above, the tie distributions as the paper draws them; below, how wide sets of that size are by each unit."""
    rows = len(ties.units)
    figure = Figure(figsize=(WIDTH, 3.0 + 0.42 * rows))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.3, 0.5 + 0.42 * rows])
    figure.subplots_adjust(left=0.17, right=0.83, top=0.93, bottom=0.6 / figure.get_figheight(), hspace=0.3)
    _experiments(above, ties)
    _units(below, ties)
    _reference_lines(above, below)
    footnote(figure, ties.signature)
    return figure


def _experiments(axes: Axes, ties: Ties) -> None:
    curves = ties.experiments or (ties.pooled,)
    grid = _grid(ties)
    for curve, colour in zip(curves, COLOURS * len(curves), strict=False):
        height = density(curve.law, grid)
        axes.fill_between(grid, height, color=colour, alpha=0.12, linewidth=0)
        axes.plot(grid, height, color=colour)
    axes.set_title(f"Sets of {ties.recipe.size} votes, drawn {_drawn(ties)}")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(0, None)


def _drawn(ties: Ties) -> str:
    return f"by {ties.recipe.unit}" + (" with replacement" if ties.recipe.replace else "")


def _units(axes: Axes, ties: Ties) -> None:
    for row, curve in enumerate(ties.units):
        low, high = curve.law.quantile(0.025), curve.law.quantile(0.975)
        axes.plot([low, high], [-row, -row], color=BLUE, linewidth=2)
        axes.plot([curve.law.mean], [-row], "o", color=BLUE)
    axes.set_yticks([-row for row in range(len(ties.units))], [curve.name for curve in ties.units])
    axes.set_xlabel("Share of ties")


def _reference_lines(above: Axes, below: Axes) -> None:
    for axes in (above, below):
        axes.axvline(CHANCE, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        axes.axvline(0.5, color=GREY, linewidth=1, zorder=0)


def _grid(ties: Ties) -> NDArray[np.float64]:
    laws = [curve.law for curve in (*ties.experiments, ties.pooled, *ties.units)]
    low = min(0.25, *(law.quantile(0.0005) for law in laws))
    high = max(0.55, *(law.quantile(0.9995) for law in laws))
    return np.linspace(max(low - 0.02, 0), min(high + 0.02, 1), 800)


def density(law: Law, grid: NDArray[np.float64], half: float = 0.006) -> NDArray[np.float64]:
    """Density of a law at the points of `grid`: its mass within `half` of each, so that any lattice draws smoothly."""
    edges = np.stack([grid - half, grid + half], axis=1)
    return np.array([law.within(pair)[0] for pair in edges]) / (2 * half)
