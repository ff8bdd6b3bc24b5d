"""Every figure: one style file, colours safe for the colour-blind, direct labels, the recipe in the footnote.

Figures are built without pyplot, so nothing global changes; `save_figure` writes PNG and PDF, whole or not at all.
Words are measured before they are placed, so that no name is too long for the page: it is broken into lines, and what
stands next to it makes room.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from seedvote.dialogue.files import atomic
from seedvote.dialogue.lettering import (
    LEADING,
    break_recipe,
    break_text,
    light_fonts,
    measure_block,
    measure_height,
    measure_line,
)

STYLE = Path(__file__).with_name("seedvote.mplstyle")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, GREEN, PURPLE, ORANGE, SKY, "#332288", "#7A7A00", "#882255")
MARKERS = ("o", "s", "^", "D", "P")  # five, so that no two of forty curves share colour and mark
PEOPLE_COLOUR = "#B3470F"  # of what people said, in every figure
INK, GREY = "#222222", "#6f6f6f"
MANY_ROWS = 30
WIDTH = 6.4  # inches: a text column of a paper, and about 640 px in a report
RIGHT = ("axes fraction", "data")  # places given by share of the width and by value
NOTE, REFERENCE, LABEL, AXIS, TITLE = 6.5, 8.0, 8.5, 9.0, 10.0  # points


@cache
def _read_style(path: Path) -> dict[str, Any]:
    """The settings under a style file: where it sets nothing, matplotlib's own."""
    with mpl.rc_context(fname=path):
        settings = cast("dict[str, Any]", mpl.rcParams)
        return {name: value for name, value in dict.items(settings) if name != "backend"}


@contextmanager
def use_style() -> Iterator[None]:
    """As mpl.rc_context(fname=STYLE), which reads the file and checks three hundred settings at every figure."""
    with mpl.rc_context():
        dict.update(cast("dict[str, Any]", mpl.rcParams), _read_style(STYLE))
        yield


def apply_style(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw under the style file, leaving the reader's own settings alone."""

    @wraps(draw)
    def draw_styled(*args: Any, **options: Any) -> Figure:
        with use_style():
            return draw(*args, **options)

    return draw_styled


def save_figure(figure: Figure, stem: str | Path) -> None:
    """Write `stem`.png and `stem`.pdf, the same bytes for the same figure."""
    with use_style(), light_fonts():
        for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None, "Producer": None})):
            with atomic(f"{stem}{suffix}", "wb") as handle:
                figure.savefig(handle, format=suffix[1:], metadata=metadata)


def encode_png(figure: Figure) -> bytes:
    """The same picture for a page."""
    file = io.BytesIO()
    with use_style():
        figure.savefig(file, format="png")
    return file.getvalue()


def write_footnote(figure: Figure, recipe: str) -> None:
    """Write the recipe at the foot, small."""
    place = (0.012, 0.08 / figure.get_figheight())
    figure.text(*place, _break_note(recipe), fontsize=NOTE, color=GREY, ha="left", va="bottom")


def _break_note(recipe: str) -> str:
    return break_recipe(recipe, WIDTH - 0.16, NOTE)


def measure_note(recipe: str) -> float:
    """The height of the footnote, in inches."""
    return measure_height(_break_note(recipe), NOTE)


@dataclass(frozen=True, eq=False)
class PlottedLine:
    """One curve: x and y (n,), and a band low to high (n,) where there is one."""

    label: str
    x: NDArray[Any]
    y: NDArray[Any]
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None


@apply_style
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
    ends = [break_text(line.label, 0.3 * WIDTH, LABEL) for line in lines]
    height = max(3.3, 1.2 + sum(measure_height(end, LABEL) for end in ends))
    widest = max(measure_block(end, LABEL) for end in ends)  # which stands beside the axes
    figure, axes = _open_frame(
        title, recipe, xlabel, ylabel, height=height, left=0.11, right=min(0.8, 0.96 - widest / WIDTH)
    )
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
        name = break_text(name, axes.get_position().width * WIDTH, REFERENCE)
        axes.annotate(name, (0.01, at), xycoords=RIGHT, va="bottom", ha="left", fontsize=REFERENCE, color=GREY)
    _name_ends(axes, lines, ends)
    axes.margins(x=0.01)
    return figure


@apply_style
def panels_figure(
    panels: Mapping[str, Sequence[PlottedLine]], *, title: str, xlabel: str, ylabel: str, recipe: str
) -> Figure:
    """Curves with bands in panels of one height scale, up to three beside each other; one key for all of them."""
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    names = list(dict.fromkeys(line.label for lines in panels.values() for line in lines))
    columns = max(1, min(3, int(0.9 * WIDTH / (max(measure_line(name, LABEL) for name in names) + 0.6))))
    key = -(-len(names) // columns)
    title = break_text(title, 0.89 * WIDTH, TITLE, "bold")
    xlabel = break_text(xlabel, 0.89 * WIDTH, LABEL)
    heads = [break_text(name, 0.85 * WIDTH / across, LABEL, "bold") for name in panels]
    head, legend = max(measure_height(name, LABEL) for name in heads), key * 1.3 * measure_height("name", LABEL)
    top = 0.2 + measure_height(title, TITLE) + head
    below = 0.5 + measure_note(recipe) + legend + measure_height(xlabel, LABEL)
    panel, gap = 1.35, 0.4 + head
    height = top + down * panel + (down - 1) * gap + below
    figure = Figure(figsize=(WIDTH, height))
    write_footnote(figure, recipe)
    grid = figure.subplots(down, across, sharey=True, squeeze=False)
    ylabel = break_text(ylabel, 0.9 * height, LABEL)
    left = 0.09 + _measure_further_lines(ylabel, LABEL) / WIDTH
    figure.subplots_adjust(left, below / height, 0.985, 1 - top / height, 0.08, gap / panel)
    figure.suptitle(title, x=0.09, y=1 - 0.1 / height, ha="left", va="top", fontsize=TITLE, fontweight="bold")
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, name, lines in zip(grid.flat, heads, panels.values(), strict=False):
        axes.set_title(name, fontsize=LABEL)
        axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        for line in lines:
            colour = COLOURS[names.index(line.label) % len(COLOURS)]
            if line.low is not None and line.high is not None:
                axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
            marker = MARKERS[names.index(line.label) % len(MARKERS)]
            axes.plot(line.x, line.y, color=colour, marker=marker, markersize=3, label=line.label)
    handles = {line.get_label(): line for axes in grid.flat[: len(panels)] for line in axes.lines[1:]}
    foot = (below - 0.29 - measure_height(xlabel, LABEL)) / height
    figure.legend(
        handles.values(), handles, loc="upper left", bbox_to_anchor=(0.08, foot), ncols=columns, fontsize=LABEL
    )
    figure.text(0.54, foot, xlabel, ha="center", va="bottom", fontsize=LABEL)
    figure.text(0.012, 0.5, ylabel, rotation=90, va="center", ha="left", fontsize=LABEL)
    return figure


@apply_style
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
    figure, axes = _open_frame(title, recipe, xlabel, ylabel, height=3.9, left=0.12, right=0.95)
    area = 22.0 if sizes is None else 8 + 60 * np.asarray(sizes) / max(float(np.max(sizes)), 1.0)
    axes.scatter(x, y, s=area, color=PEOPLE_COLOUR, alpha=0.55, edgecolors="white", linewidths=0.6)
    for row, name in (marked or {}).items():
        axes.plot(x[row], y[row], "o", color=VERMILION, markersize=5.5)
        name_beside(axes, name, (float(x[row]), float(y[row])), "data", (6, 4), color=VERMILION)
    for at, name in (vertical or {}).items():
        _line_at(axes, at, name, foot=True)
    for at, name in (horizontal or {}).items():
        axes.axhline(at, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        name = break_text(name, axes.get_position().width * WIDTH, REFERENCE)
        axes.annotate(name, (0.995, at), xycoords=RIGHT, va="bottom", ha="right", fontsize=REFERENCE, color=GREY)
    return figure


def _open_frame(
    title: str, recipe: str, xlabel: str, ylabel: str = "", *, height: float, left: float, right: float
) -> tuple[Figure, Axes]:
    """An axes of a page from `left` to `right` of its width.

    The page is `height` inches high where title and name of the axis take one line each; longer ones make it higher.
    """
    tall = height - 0.46 - 0.54 - measure_height("note", NOTE)
    ylabel = break_text(ylabel, tall, AXIS)
    left += _measure_further_lines(ylabel, AXIS) / WIDTH
    title = break_text(title, (0.98 - left) * WIDTH, TITLE, "bold")
    xlabel = break_text(xlabel, 1.96 * min((left + right) / 2, 1 - (left + right) / 2) * WIDTH, AXIS)
    above, below = (
        0.46 + _measure_further_lines(title, TITLE),
        0.54 + _measure_further_lines(xlabel, AXIS) + measure_note(recipe),
    )
    height = above + tall + below
    figure = Figure(figsize=(WIDTH, height))
    write_footnote(figure, recipe)
    axes = figure.add_axes((left, below / height, right - left, tall / height))
    axes.set_title(title, fontsize=TITLE)
    axes.set_xlabel(xlabel, fontsize=AXIS)
    axes.set_ylabel(ylabel, fontsize=AXIS)
    return figure, axes


def _measure_further_lines(text: str, size: float) -> float:
    """What a text takes beyond its first line, in inches."""
    return measure_height(text, size) - measure_height(text and "line", size)


def _line_at(axes: Axes, at: float, name: str, *, foot: bool = False) -> None:
    axes.axvline(at, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    place = ((at, 0.0 if foot else 1.0), ("data", "axes fraction"))
    name_beside(axes, name, *place, (3, 2 if foot else -1), color=GREY, va="bottom" if foot else "top")


def name_beside(
    axes: Axes,
    name: str,
    at: tuple[float, float],
    units: Any,
    offset: tuple[float, float],
    *,
    size: float = REFERENCE,
    **look: Any,
) -> None:
    """Write a name at the right of a place, or at its left where the page has no more room there."""
    left, place, right = axes.xaxis.get_transform().transform([axes.get_xlim()[0], at[0], axes.get_xlim()[1]])
    box = axes.get_position()
    wide = axes.figure.get_figwidth()  # type: ignore[union-attr]
    room = (1 - box.x0 - box.width * (place - left) / (right - left)) * wide - offset[0] / 72
    side = "left" if measure_block(name, size) < room else "right"
    offset = offset if side == "left" else (-offset[0], offset[1])
    axes.annotate(name, at, offset, units, "offset points", ha=side, fontsize=size, **look)


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
