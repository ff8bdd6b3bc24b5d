"""The picture of the tie distributions: the paper's curves above, and what they hide below."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.showing.plots import BLUE, COLOURS, GREY, INK, RIGHT, VERMILION, WIDTH, footnote, styled
from analysis.stats.laws import CHANCE, density
from analysis.ties.answer import Curve, TiesAnswer


def figures(answer: TiesAnswer) -> dict[str, Figure]:
    """The one picture of the question, under the name that its file adds nothing to."""
    return {"": laws_figure(answer)}


@styled
def laws_figure(answer: TiesAnswer) -> Figure:
    """Above, the tie distributions as the paper draws them; below, sets of that size drawn by each unit."""
    rows = len(answer.units)
    figure = Figure(figsize=(WIDTH, 3.45 + 0.48 * rows))
    tall = figure.get_figheight()
    above = figure.add_axes((0.19, 1 - 2.25 / tall, 0.61, 1.72 / tall))
    below = figure.add_axes((0.19, 0.72 / tall, 0.61, 0.48 * rows / tall), sharex=above)
    grid = _grid(answer)
    _experiments(above, answer, grid)
    _units(below, answer, grid)
    for axes in (above, below):
        axes.axvline(CHANCE, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        axes.axvline(0.5, color=GREY, linewidth=0.9, zorder=0)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
    _name_lines(above)
    footnote(figure, answer.signature)
    return figure


def _experiments(axes: Axes, answer: TiesAnswer, grid: NDArray[np.float64]) -> None:
    curves = answer.experiments or (answer.pooled,)
    for place, (curve, colour) in enumerate(zip(curves, COLOURS * len(curves), strict=False)):
        height = density(curve.law, grid)
        axes.fill_between(grid, height, color=colour, alpha=0.1, linewidth=0)
        axes.plot(grid, height, color=colour)
        _beside(axes, f"{curve.name}\n{curve.share * 100:.1f} % ties", (1.03, 0.84 - 0.27 * place), colour)
    axes.set_title(_title(answer), y=1.1)
    axes.set_yticks([])
    axes.set_ylim(0, None)
    axes.tick_params(axis="x", labelbottom=False)


def _title(answer: TiesAnswer) -> str:
    recipe = answer.recipe
    drawn = "vote by vote" if recipe.unit == "vote" else f"by {recipe.unit.replace('+', ' and ')}"
    if recipe.replace:
        drawn += " with replacement"
    elif recipe.unit == "vote":
        drawn += ", as in the paper"
    return f"Sets of {recipe.size} votes, drawn {drawn}"


def _units(axes: Axes, answer: TiesAnswer, grid: NDArray[np.float64]) -> None:
    heights = [density(curve.law, grid) for curve in answer.units]
    tallest = max(float(np.nanmax(height)) for height in heights)
    for place, (curve, height) in enumerate(zip(answer.units, heights, strict=True)):
        colour = VERMILION if place == len(answer.units) - 1 and place else BLUE if not place else GREY
        low, high = curve.law.quantile(0.025), curve.law.quantile(0.975)
        axes.fill_between(grid, -place, 0.72 * height / tallest - place, color=colour, alpha=0.25, linewidth=0)
        axes.plot([low, high], [-place, -place], color=colour, linewidth=2.4)
        axes.annotate(f"{low * 100:.0f}–{high * 100:.0f} %", (1.03, -place), xycoords=RIGHT, color=colour)
    axes.set_yticks(
        [0.16 - place for place in range(len(answer.units))], [_unit_label(curve) for curve in answer.units]
    )
    axes.set_ylim(-len(answer.units) + 0.82, 0.95)
    axes.set_title(_units_title(answer), y=1.0)
    _beside(axes, "95 % of sets", (1.03, 1.0), INK)
    axes.set_xlabel("Share of ties in a set")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f} %")


def _units_title(answer: TiesAnswer) -> str:
    *first, last = [f"{curve.name}s" for curve in answer.units if curve.name in ("pair", "dialogue", "rater")] or [
        "votes"
    ]
    return f"The same when whole {', '.join(first)}{' or ' if first else ''}{last} are drawn"


def _unit_label(curve: Curve) -> str:
    return "by " + curve.name.replace("+", " and ")


def _beside(axes: Axes, text: str, at: tuple[float, float], colour: str) -> None:
    axes.annotate(text, at, xycoords="axes fraction", color=colour, fontsize=8.5, va="center", linespacing=1.25)


def _name_lines(axes: Axes) -> None:
    for at, name, side in ((CHANCE, "chance 1/3", "right"), (0.5, "half are ties", "left")):
        axes.annotate(
            name,
            (at, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-3 if side == "right" else 3, 2),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize=8,
            color=GREY,
        )


def _grid(answer: TiesAnswer) -> NDArray[np.float64]:
    laws = [curve.law for curve in (*answer.experiments, answer.pooled, *answer.units)]
    low = min(0.25, *(law.quantile(0.002) for law in laws))
    high = max(0.55, *(law.quantile(0.998) for law in laws))
    return np.linspace(max(low - 0.02, 0), min(high + 0.02, 1), 900)
