"""The figures in rows of a report (`page.RowFigure`) as pictures for a paper: the same places, words and colours."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.showing.page import Mark, Row, RowFigure
from analysis.showing.plots import AXIS, GREY, INK, LABEL, STYLE, TITLE, WIDTH, name_beside, styled
from dialogue.lettering import break_text, measure_block, measure_height, measure_line

COLOURS: Mapping[str, str] = {
    "c0": "#0b6aa8", "c1": "#c2500a", "c2": "#0b7a5b", "c3": "#97588a", "c4": "#96700a", "c5": "#5f6672",
    "people": "#b3470f", "ink": INK, "grey": "#8a9099",
}  # fmt: skip
NAMES = {"dot": "o", "ring": "o", "faint": "o", "tick": "|", "bar": "_", "block": "s"}
SMALL = 7.5
STEP = 0.25  # inches a line


@styled
def picture(found: RowFigure) -> Figure:
    """The figure, as wide as a text column; rows from the top, their names at the left, their notes at the right."""
    labels = [break_text(row.label, 0.3 * WIDTH, LABEL, _weight(row)) for row in found.rows]
    notes = [break_text(row.note, 0.24 * WIDTH, SMALL) for row in found.rows]
    tops = _tops(found.rows, labels, notes)
    widths = [measure_block(label, LABEL, _weight(row)) for row, label in zip(found.rows, labels, strict=True)]
    left = 0.03 + max(widths, default=0) / WIDTH
    head = break_text(found.note_head, 0.24 * WIDTH, SMALL)
    right = 0.97 - max([measure_block(note, SMALL) for note in (*notes, head)], default=0) / WIDTH
    across = _across(found)
    title = break_text(found.title, 0.96 * WIDTH, TITLE, "bold")
    unit = break_text(found.unit, 1.96 * min((left + right) / 2, 1 - (left + right) / 2) * WIDTH, AXIS)
    above = 0.48 + measure_height(title, TITLE) + 0.17 * across
    caption = break_text(found.caption, 0.96 * WIDTH, SMALL) if found.caption else ""
    below = 0.34 + measure_height(unit, AXIS) + measure_height(caption, SMALL)
    height = above + tops[-1] + below
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((left, below / height, right - left, tops[-1] / height))
    figure.text(0.02, 1 - 0.1 / height, title, fontsize=TITLE, fontweight="bold", va="top")
    _frame(axes, found, head, tops[-1])
    axes.set_xlabel(unit, fontsize=AXIS)
    for row, label, note, top, end in zip(found.rows, labels, notes, tops, tops[1:], strict=False):
        _row(axes, row, label, note, top, end)
    if found.legend:
        _legend(figure, found, across, 1 - (0.14 + measure_height(title, TITLE)) / height)
    if caption:
        figure.text(0.02, 0.05 / height, caption, fontsize=SMALL, color=GREY, va="bottom")
    return figure


def svg(figure: Figure) -> bytes:
    """The figure as SVG, the same bytes for the same figure; words stay words."""
    file = io.BytesIO()
    with mpl.rc_context(fname=STYLE), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "seedvote"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def pdf(figure: Figure) -> bytes:
    """The same as PDF, with its fonts in it."""
    file = io.BytesIO()
    with mpl.rc_context(fname=STYLE), mpl.rc_context({"pdf.fonttype": 42}):
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Producer": None})
    return file.getvalue()


def _tops(rows: Sequence[Row], labels: Sequence[str], notes: Sequence[str]) -> list[float]:
    """Where each row begins, in inches from the top, and where the last one ends."""
    tops = [0.0]
    for row, label, note in zip(rows, labels, notes, strict=True):
        words = max(measure_height(label, LABEL), measure_height(note, LABEL)) + 0.06
        tops.append(tops[-1] + max(STEP + 0.11 * (row.lines - 1), 0.55 if row.curve else 0.0, words))
    return tops


def _across(found: RowFigure) -> int:
    """Lines that the legend takes, so that none of its words leaves the page."""
    widths = [measure_line(meaning, SMALL) + 0.45 for _, _, meaning in found.legend]
    lines = 1 if widths else 0
    while widths and max(widths) * -(-len(widths) // lines) > 0.96 * WIDTH and lines < len(widths):
        lines += 1
    return lines


def _frame(axes: Axes, found: RowFigure, head: str, tall: float) -> None:
    axes.set(xlim=(0, 100), ylim=(tall, 0))
    axes.set_xticks([at for at, _ in found.ticks], [name for _, name in found.ticks])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for at, name in found.across:
        axes.axvline(at, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        name_beside(axes, name, (at, 0), "data", (0, 2), size=SMALL, color=GREY)
    if head:
        place = (1.03, 1.0)
        axes.annotate(head, place, xycoords="axes fraction", va="bottom", fontsize=SMALL, color=GREY)


def _row(axes: Axes, row: Row, label: str, note: str, top: float, end: float) -> None:
    middle, across = (top + end) / 2, axes.get_yaxis_transform()
    axes.text(-0.02, middle, label, transform=across, ha="right", va="center", fontsize=LABEL, weight=_weight(row))
    axes.text(1.03, middle, note, transform=across, va="center", fontsize=SMALL, color=INK)
    for path, style in ((row.curve, "-"), (row.beside, "--")):
        if path:
            _curve(axes, path, COLOURS[row.colour], style, top, end)
    for mark in row.marks:
        place = end - 0.05 if row.curve else middle if mark.line < 0 or row.lines < 2 else top + 0.13 + 0.11 * mark.line
        _mark(axes, mark, place, top, end)


def _weight(row: Row) -> str:
    """Rows that draw nothing are headings."""
    return "normal" if row.marks or row.curve else "bold"


def _curve(axes: Axes, path: str, colour: str, style: str, top: float, end: float) -> None:
    points = [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
    x = [at for at, _ in points]
    y = [top + (end - top) * 0.9 * down / 100 for _, down in points]
    axes.plot(x, y, linestyle=style, color=colour, linewidth=1.2)
    if style == "-":
        axes.fill(x, y, color=colour, alpha=0.18, linewidth=0)


def _mark(axes: Axes, mark: Mark, y: float, top: float, end: float) -> None:
    colour = COLOURS[mark.colour]
    if mark.shape == "bar":
        axes.plot([mark.at, mark.to], [y, y], color=colour, linewidth=2.2, alpha=0.6, solid_capstyle="butt")
    elif mark.shape == "block":
        axes.barh(y, mark.to - mark.at, left=mark.at, height=0.13, color=colour)
    elif mark.shape == "tick":
        reach = (top + 0.03, end - 0.03) if mark.line < 0 else (y - 0.06, y + 0.06)
        axes.plot([mark.at, mark.at], reach, color=colour, linewidth=2)
    else:
        inside = "white" if mark.shape == "ring" else colour
        faint = 0.4 if mark.shape == "faint" else 1
        axes.plot([mark.at], [y], "o", color=colour, markerfacecolor=inside, markersize=4.5, alpha=faint)


def _legend(figure: Figure, found: RowFigure, lines: int, y: float) -> None:
    signs = [
        Line2D(
            [], [], color=COLOURS[colour], linestyle="-" if shape == "bar" else "", marker=NAMES.get(shape, "o"),
            markersize=4.5, markerfacecolor="white" if shape == "ring" else COLOURS[colour],
        )
        for shape, colour, _ in found.legend
    ]  # fmt: skip
    meanings = [meaning for _, _, meaning in found.legend]
    figure.legend(
        signs, meanings, loc="upper left", bbox_to_anchor=(0.005, y), ncols=-(-len(signs) // lines), frameon=False,
        fontsize=SMALL, borderpad=0, columnspacing=1.2,
    )  # fmt: skip
