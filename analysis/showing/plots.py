"""Every figure: one style file, colours safe for the colour-blind, direct labels, the recipe in the footnote.

Figures are built without pyplot, so nothing global changes; `save` writes PNG and PDF, whole or not at all. Words are
measured before they are placed, so that no name is too long for the page: it is broken into lines, and what stands
beside it makes room.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from dialogue.files import atomic

STYLE = Path(__file__).with_name("seedvote.mplstyle")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
INK, GREY = "#222222", "#6f6f6f"
MANY_ROWS = 30
WIDTH = 6.4  # inches: a text column of a paper, and about 640 px in a report
RIGHT = ("axes fraction", "data")  # places given by share of the width and by value
NOTE, LABEL, TITLE = 6.5, 8.5, 10.0  # points
LEADING = 1.25  # from one line of text to the next, in sizes of the type


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


def png(figure: Figure) -> bytes:
    """The same picture for a page."""
    file = io.BytesIO()
    with mpl.rc_context(fname=STYLE):
        figure.savefig(file, format="png")
    return file.getvalue()


def inches(text: str, size: float, weight: str = "normal") -> float:
    """How wide a line of text is."""
    return _measured(text, tuple(mpl.rcParams["font.family"]), size, weight)


@lru_cache(4096)
def _measured(text: str, family: tuple[str, ...], size: float, weight: str) -> float:
    font = FontProperties(family=list(family), size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def broken(text: str, room: float, size: float, weight: str = "normal") -> str:
    """The text in as many lines as a room of so many inches asks for, broken between words where that is possible."""
    letters = len(text) if (wide := inches(text, size, weight)) <= room else int(1.5 * len(text) * room / wide) + 4
    while letters > 4 and any(inches(line, size, weight) > room for line in _lines(text, letters)):
        letters -= 1
    return "\n".join(_lines(text, letters))


def _lines(text: str, letters: int) -> list[str]:
    return textwrap.wrap(text, max(letters, 1)) or [""]


def footnote(figure: Figure, recipe: str) -> float:
    """The recipe, small, at the foot; the height in inches that it takes."""
    lines = broken(recipe.replace("|", "| "), WIDTH - 0.16, NOTE).replace("| ", "|")
    figure.text(0.012, 0.08 / figure.get_figheight(), lines, fontsize=NOTE, color=GREY, ha="left", va="bottom")
    return LEADING * NOTE / 72 * (lines.count("\n") + 1)


@dataclass(frozen=True)
class ForestRow:
    """One line of a forest: a value with its interval, and what to write beside it."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""
    colour: str = BLUE
    ring: float = math.nan  # a second value to hold the first against
    outer: tuple[float, float] | None = None  # the ends of a wider interval, drawn as a thin line


@dataclass(frozen=True, eq=False)
class PlottedLine:
    """One curve: x and y (n,), and a band low to high (n,) where there is one."""

    label: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None


@styled
def forest_figure(
    rows: Sequence[ForestRow],
    *,
    title: str,
    xlabel: str,
    recipe: str,
    references: Mapping[float, str] | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Values with intervals, one a line from the top, their notes at the right; `references` are named vertical lines.

    For agreement coefficients, rankings of systems (note: the probability of the order) and design effects. Many rows
    stand closer and are written smaller, so that they still fit one page.
    """
    step, size = (0.3, LABEL) if len(rows) <= MANY_ROWS else (0.15, 7.0)
    figure, axes = _rows_frame(rows, title=title, xlabel=xlabel, recipe=recipe, step=step, size=size)
    if logarithmic:
        ends = [end for row in rows for end in (row.low, row.value, row.high) if end > 0]
        wide = bool(ends) and max(ends) > 1e4 * min(ends)  # numbers at each third of so many decades would touch
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 3)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    for place, row in enumerate(rows):
        axes.plot([row.low, row.high], [-place, -place], color=row.colour, linewidth=2.2)
        if row.outer is not None:
            axes.plot(row.outer, [-place, -place], color=row.colour, linewidth=0.7)
        axes.plot([row.ring], [-place], "o", color=row.colour, markersize=0.76 * size, markerfacecolor="white")
        axes.plot([row.value], [-place], "o", color=row.colour, markersize=5.5 if size > 8 else 3.5)
    for at, name in (references or {}).items():
        _line_at(axes, at, name)
    return figure


@styled
def curves_figure(
    lines: Sequence[PlottedLine],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    recipe: str,
    references: Mapping[float, str] | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Curves named at their right ends; `references` are named horizontal lines. For power, stopping and D-studies."""
    ends = [broken(line.label, 0.3 * WIDTH, LABEL) for line in lines]
    height = max(3.3, 1.2 + LEADING * LABEL / 72 * sum(end.count("\n") + 1 for end in ends))
    figure, axes = _frame(title, recipe, height=height, left=0.11, right=min(0.8, _right(ends)))
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # else less than a decade reads 4 x 10^2
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")
    for line, colour in zip(lines, COLOURS * len(lines), strict=False):
        if line.low is not None and line.high is not None:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(line.x, line.y, color=colour)
    for at, name in (references or {}).items():
        axes.axhline(at, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(name, (0.01, at), xycoords=RIGHT, va="bottom", ha="left", fontsize=8, color=GREY)
    _name_ends(axes, lines, ends)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.margins(x=0.01)
    return figure


@styled
def panels_figure(
    panels: Mapping[str, Sequence[PlottedLine]], *, title: str, xlabel: str, ylabel: str, recipe: str
) -> Figure:
    """Curves with bands in panels of one height scale, up to three beside each other; one key for all of them."""
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    names = list(dict.fromkeys(line.label for lines in panels.values() for line in lines))
    key = -(-len(names) // 3)
    height = 1.9 * down + 0.9 + LEADING * LABEL / 72 * (key + 2)
    figure = Figure(figsize=(WIDTH, height))
    below = 0.65 + footnote(figure, recipe) + LEADING * LABEL / 72 * key
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    figure.subplots_adjust(0.09, below / height, 0.985, 1 - 0.62 / height, 0.08, 0.42)
    figure.suptitle(title, x=0.09, y=1 - 0.1 / height, ha="left", va="top", fontsize=TITLE, fontweight="bold")
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (name, lines) in zip(grid.flat, panels.items(), strict=False):
        axes.set_title(name, fontsize=LABEL)
        axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        for line in lines:
            colour = COLOURS[names.index(line.label) % len(COLOURS)]
            if line.low is not None and line.high is not None:
                axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
            axes.plot(line.x, line.y, color=colour, marker="o", markersize=3, label=line.label)
    handles = {line.get_label(): line for axes in grid.flat[: len(panels)] for line in axes.lines[1:]}
    foot = (below - 0.44) / height
    figure.legend(handles.values(), handles, loc="upper left", bbox_to_anchor=(0.08, foot), ncols=3, fontsize=LABEL)
    figure.text(0.54, foot, xlabel, ha="center", va="bottom", fontsize=LABEL)
    figure.text(0.012, 0.5, ylabel, rotation=90, va="center", ha="left", fontsize=LABEL)
    return figure


@styled
def scatter_figure(
    x: NDArray[Any],
    y: NDArray[Any],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    recipe: str,
    sizes: NDArray[Any] | None = None,
    marked: Mapping[int, str] | None = None,
    horizontal: Mapping[float, str] | None = None,
    vertical: Mapping[float, str] | None = None,
) -> Figure:
    """One dot a row (n,), its area from `sizes`; `marked` names single dots. For raters: tie rate against agreement."""
    figure, axes = _frame(title, recipe, height=3.9, left=0.12, right=0.95)
    area = 22.0 if sizes is None else 8 + 60 * np.asarray(sizes) / max(float(np.max(sizes)), 1.0)
    axes.scatter(x, y, s=area, color=BLUE, alpha=0.55, edgecolors="white", linewidths=0.6)
    for row, name in (marked or {}).items():
        axes.plot(x[row], y[row], "o", color=VERMILION, markersize=5.5)
        axes.annotate(name, (x[row], y[row]), xytext=(6, 4), textcoords="offset points", fontsize=8, color=VERMILION)
    for at, name in (vertical or {}).items():
        _line_at(axes, at, name, foot=True)
    for at, name in (horizontal or {}).items():
        axes.axhline(at, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        axes.annotate(name, (0.995, at), xycoords=RIGHT, va="bottom", ha="right", fontsize=8, color=GREY)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure


@styled
def bars_figure(rows: Sequence[ForestRow], *, title: str, xlabel: str, recipe: str) -> Figure:
    """Bars from zero with intervals and notes, one a line from the top. For components of variance."""
    figure, axes = _rows_frame(rows, title=title, xlabel=xlabel, recipe=recipe, step=0.36)
    for place, row in enumerate(rows):
        axes.barh(-place, row.value, height=0.56, color=row.colour, alpha=0.85)
        axes.plot([row.low, row.high], [-place, -place], color=INK, linewidth=1.1)
    axes.axvline(0, color=GREY, linewidth=0.8)
    return figure


def _frame(title: str, recipe: str, *, height: float, left: float, right: float) -> tuple[Figure, Axes]:
    """An axes of a page `height` inches high, from `left` to `right` of its width; a long title makes it higher."""
    lines = broken(title, (0.98 - left) * WIDTH, TITLE, "bold")
    height += LEADING * TITLE / 72 * lines.count("\n")
    above = 0.46 + LEADING * TITLE / 72 * lines.count("\n")
    figure = Figure(figsize=(WIDTH, height))
    below = 0.54 + footnote(figure, recipe)
    axes = figure.add_axes((left, below / height, right - left, 1 - (below + above) / height))
    axes.set_title(lines, fontsize=TITLE)
    return figure, axes


def _rows_frame(
    rows: Sequence[ForestRow], *, title: str, xlabel: str, recipe: str, step: float, size: float = LABEL
) -> tuple[Figure, Axes]:
    """An axes with a line for every row, named at the left, its note at the right; `step` inches or more each."""
    labels = [broken(row.label, 0.4 * WIDTH, size) for row in rows]
    notes = [broken(row.note, 0.25 * WIDTH, size) for row in rows]
    most = max(text.count("\n") for text in (*labels, *notes))
    step = max(step, LEADING * size / 72 * (most + 1.5)) if most else step
    left = 0.035 + max(widest(label, size) for label in labels) / WIDTH
    right = min(0.8, _right(notes, size))
    figure, axes = _frame(title, recipe, height=1.25 + step * len(rows), left=left, right=right)
    for place, note in enumerate(notes):
        axes.annotate(note, (1.03, -place), xycoords=RIGHT, va="center", color=INK, fontsize=size)
    axes.set_yticks([-place for place in range(len(rows))], labels)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=size)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(xlabel)
    return figure, axes


def widest(label: str, size: float = LABEL) -> float:
    """The width in inches of the longest line of a text."""
    return max(inches(line, size) for line in label.split("\n"))


def _right(texts: Sequence[str], size: float = LABEL) -> float:
    """Where an axes must end for these texts to stand beside it."""
    return 0.96 - max(widest(text, size) for text in texts) / WIDTH


def _line_at(axes: Axes, at: float, name: str, *, foot: bool = False) -> None:
    axes.axvline(at, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axes.annotate(
        name,
        (at, 0.0 if foot else 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, 2 if foot else -1),
        textcoords="offset points",
        fontsize=8,
        color=GREY,
        va="bottom" if foot else "top",
    )


def _name_ends(axes: Axes, lines: Sequence[PlottedLine], names: Sequence[str]) -> None:
    """Write each curve's name at its right end, moved apart where ends are close, the highest curve's name on top."""
    low, high = axes.get_ylim()
    tall = axes.get_position().height * axes.figure.get_figheight()  # type: ignore[union-attr]
    most = max(name.count("\n") + 1 for name in names)
    step = LEADING * LABEL / 72 * most / tall * (high - low)
    order = sorted(range(len(lines)), key=lambda i: (round(float(lines[i].y[-1]) / step), float(np.mean(lines[i].y))))
    places = np.array([float(lines[i].y[-1]) for i in order])
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + step)
    ceiling = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], ceiling)
        ceiling = places[i] - step
    for i, place in zip(order, places, strict=True):
        colour = COLOURS[i % len(COLOURS)]
        at = (1.02, place)
        axes.annotate(names[i], at, xycoords=RIGHT, color=colour, fontsize=LABEL, va="center")
