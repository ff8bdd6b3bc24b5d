"""The picture of `analyze_ties.py`: the paper's tie distributions above, and what they hide below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from seedvote.analysis.questions.ties.answer import UNITS, Curve, TiesAnswer
from seedvote.analysis.showing.plots import (
    BLUE,
    COLOURS,
    GREY,
    INK,
    LABEL,
    REFERENCE,
    RIGHT,
    TITLE,
    VERMILION,
    WIDTH,
    apply_style,
    measure_note,
    write_footnote,
)
from seedvote.analysis.showing.words import count, percent
from seedvote.analysis.stats.laws import CHANCE, estimate_density
from seedvote.dialogue.lettering import LEADING, break_text, measure_block, measure_height

NAMED = 5  # curves that can be named beside a panel; of more, only their number is told
HEAD = "95 % of sets"
SMALL = 8.0  # points


@apply_style
def laws_figure(answer: TiesAnswer) -> Figure:
    """Above, the tie distributions as the paper draws them; below, sets of that size drawn by each unit."""
    upper, lower = 1.72, 0.48 * len(answer.units)
    labels = ["by " + curve.name.replace("+", " and ") for curve in answer.units]
    left = max(0.08, 0.03 + max(measure_block(label, LABEL) for label in labels) / WIDTH)
    names = _curve_names(answer)
    name_width = max(measure_block(name, LABEL) for name in (HEAD, *(name for name, _ in names)))
    right = min(0.8, 0.95 - name_width / WIDTH)
    room = (0.98 - left) * WIDTH
    heads = [break_text(_sets_title(answer), room, TITLE, "bold"), _line_key(answer, room)]
    title = break_text(_units_title(answer), (right - left) * WIDTH, TITLE, "bold")
    top = 0.36 + sum(measure_height(text, size) for text, size in zip(heads, (TITLE, SMALL), strict=True))
    between = 0.38 + measure_height(title, TITLE)
    foot = 0.61 + measure_note(answer.signature)
    figure = Figure(figsize=(WIDTH, top + upper + between + lower + foot))
    tall = figure.get_figheight()
    above = figure.add_axes((left, 1 - (top + upper) / tall, right - left, upper / tall))
    below = figure.add_axes((left, foot / tall, right - left, lower / tall), sharex=above)
    grid = _place_grid(answer)
    _draw_experiments(above, answer, grid)
    _draw_units(below, answer, grid, labels)
    below.set_title(title)
    for axes in (above, below):
        axes.axvline(CHANCE, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        axes.axvline(0.5, color=GREY, linewidth=0.9, zorder=0)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
    _name_lines(above)
    _name_curves(above, names, upper)
    _write_heads(figure, heads, left)
    write_footnote(figure, answer.signature)
    return figure


def _write_heads(figure: Figure, heads: Sequence[str], left: float) -> None:
    """The title, and below it what fillings and dashes mean."""
    at = 0.1
    for text, size, weight, colour in zip(heads, (TITLE, SMALL), ("bold", "normal"), ("black", INK), strict=True):
        place = 1 - at / figure.get_figheight()
        figure.text(left, place, text, fontsize=size, weight=weight, color=colour, ha="left", va="top")
        at += measure_height(text, size)


def _draw_experiments(axes: Axes, answer: TiesAnswer, grid: NDArray[np.float64]) -> None:
    """Solid, the sets that tell of new votes; dashed, those that the papers draw, where the two differ."""
    curves = _upper_curves(answer)
    many = len(curves) > NAMED
    width, alpha, fill = (0.7, 0.4, 0.0) if many else (1.6, 1.0, 0.1)
    for curve, colour in zip(curves, _curve_colours(answer), strict=True):
        height = estimate_density(curve.replaced or curve.law, grid)
        axes.fill_between(grid, height, color=colour, alpha=fill, linewidth=0)
        axes.plot(grid, height, color=colour, linewidth=width, alpha=alpha)
        if curve.replaced:
            dashes, dark = (0, (3, 2)), GREY if many else colour
            axes.plot(
                grid,
                estimate_density(curve.law, grid),
                color=dark,
                linewidth=0.7 * width,
                alpha=alpha,
                linestyle=dashes,
            )
    axes.set_yticks([])
    axes.set_ylim(0, None)
    axes.tick_params(axis="x", labelbottom=False)


def _upper_curves(answer: TiesAnswer) -> tuple[Curve, ...]:
    return answer.experiments or (answer.pooled,)


def _curve_colours(answer: TiesAnswer) -> list[str]:
    number = len(_upper_curves(answer))
    return list(COLOURS[:number]) if number <= NAMED else [BLUE] * number


def _curve_names(answer: TiesAnswer) -> list[tuple[str, str]]:
    """What stands beside the curves with its colour: each by name, or how many there are where they are many."""
    curves = _upper_curves(answer)
    if len(curves) > NAMED:
        shares = [100 * curve.share for curve in curves]
        return [(f"{len(curves)} experiments\n{min(shares):.1f}–{max(shares):.1f} % ties", BLUE)]
    labels = [f"{break_text(curve.name, 0.3 * WIDTH, LABEL)}\n{curve.share * 100:.1f} % ties" for curve in curves]
    return list(zip(labels, _curve_colours(answer), strict=True))


def _name_curves(axes: Axes, names: Sequence[tuple[str, str]], tall: float) -> None:
    at = 0.96
    for name, colour in names:
        axes.annotate(
            name, (1.03, at), xycoords="axes fraction", color=colour, fontsize=LABEL, va="top", linespacing=LEADING
        )
        at -= min((measure_height(name, LABEL) + 0.12) / tall, 1 / len(names))


def _sets_title(answer: TiesAnswer) -> str:
    recipe = answer.recipe
    how = "vote by vote" if recipe.unit == "vote" else f"by {recipe.unit.replace('+', ' and ')}"
    if recipe.replace:
        how += " with replacement"
    elif recipe.unit == "vote" and not answer.crowded:
        how += ", as in the paper"
    return f"Sets of {count(recipe.size, 'vote')}, drawn {how}"


def _line_key(answer: TiesAnswer, room: float) -> str:
    if not answer.crowded:
        return ""
    least = min(_upper_curves(answer), key=lambda curve: curve.votes)
    whole_name = "the votes" if least is answer.pooled else least.name
    how = "as in the papers" if answer.recipe.unit == "vote" else "as the papers draw votes"
    text = f"Solid: with replacement. Dashed: without, {how}, though a set is {percent(least.part, 0)} of {whole_name}."
    return break_text(text, room, SMALL)


def _draw_units(axes: Axes, answer: TiesAnswer, grid: NDArray[np.float64], labels: Sequence[str]) -> None:
    heights = [estimate_density(curve.law, grid) for curve in answer.units]
    tallest = max(float(np.nanmax(height)) for height in heights)
    for place, (curve, height) in enumerate(zip(answer.units, heights, strict=True)):
        colour = VERMILION if place == len(answer.units) - 1 and place else BLUE if not place else GREY
        low, high = curve.law.quantile(0.025), curve.law.quantile(0.975)
        axes.fill_between(grid, -place, 0.72 * height / tallest - place, color=colour, alpha=0.25, linewidth=0)
        axes.plot([low, high], [-place, -place], color=colour, linewidth=2.4)
        axes.annotate(f"{low * 100:.0f}–{high * 100:.0f} %", (1.03, -place), xycoords=RIGHT, color=colour)
    axes.set_yticks([0.16 - place for place in range(len(answer.units))], labels)
    axes.set_ylim(-len(answer.units) + 0.82, 0.95)
    axes.annotate(HEAD, (1.03, 1.0), xycoords="axes fraction", color=INK, fontsize=LABEL, va="center")
    axes.set_xlabel("Share of ties in a set")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value * 100:.0f} %")


def _units_title(answer: TiesAnswer) -> str:
    known = {part for curve in answer.units for part in curve.name.split("+")} - {"vote"}
    *first, last = [name for name in UNITS if name in known] or ["vote"]
    how = "with replacement" if answer.units[0].replace else "drawn"
    return f"Sets from all votes, {how} by {', '.join(first)}{' or ' if first else ''}{last}"


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
            fontsize=REFERENCE,
            color=GREY,
        )


def _place_grid(answer: TiesAnswer) -> NDArray[np.float64]:
    every = (*answer.experiments, answer.pooled, *answer.units)
    laws = [law for curve in every for law in (curve.law, curve.replaced) if law]
    low = min(0.25, *(law.quantile(0.002) for law in laws))
    high = max(0.55, *(law.quantile(0.998) for law in laws))
    return np.linspace(max(low - 0.02, 0), min(high + 0.02, 1), 900)
