"""The figures in rows of a report (`page.RowFigure`) as pictures for a paper: the same places, words and colours."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seedvote.analysis.showing.page import Mark, Row, RowFigure
from seedvote.analysis.showing.plots import (
    GREY,
    INK,
    LABEL,
    MANY_ROWS,
    PEOPLE_COLOUR,
    TITLE,
    WIDTH,
    apply_style,
    measure_note,
    name_beside,
    use_style,
    write_footnote,
)
from seedvote.dialogue.lettering import break_text, light_fonts, measure_block, measure_height, measure_line

COLOURS: Mapping[str, str] = {
    "c0": "#0b6aa8",
    "c1": "#0b7a5b",
    "c2": "#97588a",
    "c3": "#96700a",
    "c4": "#4a4fb5",
    "c5": "#5f6672",
    "c6": "#6f7d0a",
    "c7": "#b0226b",
    "people": PEOPLE_COLOUR,
    "ink": INK,
    "grey": "#8a9099",
}
NAMES = {
    "dot": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "cross": "P",
    "ring": "o",
    "faint": "o",
    "tick": "|",
    "bar": "_",
    "block": "s",
}


@dataclass(frozen=True, slots=True)
class PaperSize:
    """How wide a picture is, in inches, and the sizes of its words, in points; `step` is the height of a row."""

    width: float
    title: float
    label: float
    small: float
    step: float


PAGE = PaperSize(WIDTH, TITLE, LABEL, 7.5, 0.25)
COLUMN = PaperSize(3.3, 8.0, 7.0, 6.5, 0.2)  # of a paper with two
CLOSE = 0.15  # the step of rows that are so many that they would not fit a page


@apply_style
def draw_picture(rows: RowFigure, size: PaperSize = PAGE, *, recipe: str = "") -> Figure:
    """The figure for a page or a column: rows from the top, names at the left, notes at the right, the recipe below."""
    if len(rows.rows) > MANY_ROWS:
        size = replace(size, label=6.5, small=6.0, step=CLOSE)
    wide, label_size, small = size.width, size.label, size.small
    labels = [break_text(row.label, 0.3 * wide, label_size, _choose_weight(row)) for row in rows.rows]
    notes = [break_text(row.note, 0.24 * wide, small) for row in rows.rows]
    tops = _place_rows(rows.rows, labels, notes, size)
    widths = [
        measure_block(label, label_size, _choose_weight(row)) for row, label in zip(rows.rows, labels, strict=True)
    ]
    left = 0.03 + max(widths, default=0) / wide
    head = break_text(rows.note_head, 0.24 * wide, small)
    right = 0.97 - max([measure_block(note, small) for note in (*notes, head)], default=0) / wide
    across = _count_legend_lines(rows, size)
    title = break_text(rows.title, 0.96 * wide, size.title, "bold")
    unit = break_text(rows.unit, 1.96 * min((left + right) / 2, 1 - (left + right) / 2) * wide, label_size)
    key = 0.06 + 0.022 * small * across if across else 0.0
    heads = max(measure_height(head, small) + 0.05 if head else 0.0, 0.17 if rows.across else 0.0, 0.05)
    above = 0.16 + measure_height(title, size.title) + key + heads
    caption = break_text(rows.caption, 0.96 * wide, small) if rows.caption else ""
    foot = measure_note(recipe) + 0.06 if recipe else 0.0
    below = 0.34 + measure_height(unit, label_size) + measure_height(caption, small) + foot
    height = above + tops[-1] + below
    figure = Figure(figsize=(wide, height))
    figure.set_label(rows.title)  # what a notebook reads out
    axes = figure.add_axes((left, below / height, right - left, tops[-1] / height))
    figure.text(0.02, 1 - 0.1 / height, title, fontsize=size.title, fontweight="bold", va="top")
    _frame_axes(axes, rows, head, tops[-1], size)
    axes.set_xlabel(unit, fontsize=label_size)
    for row, label, note, top, end in zip(rows.rows, labels, notes, tops, tops[1:], strict=False):
        _draw_row(axes, row, label, note, top, end, size)
    if rows.legend:
        _draw_legend(figure, rows, across, size, 1 - (0.14 + measure_height(title, size.title)) / height)
    if caption:
        figure.text(0.02, (0.05 + foot) / height, caption, fontsize=small, color=GREY, va="bottom")
    if recipe:
        write_footnote(figure, recipe)
    return figure


def encode_svg(figure: Figure) -> bytes:
    """The figure as SVG, the same bytes for the same figure; words stay words."""
    file = io.BytesIO()
    with use_style(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "seedvote"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def encode_pdf(figure: Figure) -> bytes:
    """The same as PDF, with its fonts in it."""
    file = io.BytesIO()
    with use_style(), mpl.rc_context({"pdf.fonttype": 42}), light_fonts():
        figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Producer": None})
    return file.getvalue()


def _place_rows(rows: Sequence[Row], labels: Sequence[str], notes: Sequence[str], size: PaperSize) -> list[float]:
    """Where each row begins, in inches from the top, and where the last one ends."""
    gap = 0.06 if size.step > CLOSE else 0.03
    tops = [0.0]
    for row, label, note in zip(rows, labels, notes, strict=True):
        words = max(measure_height(label, size.label), measure_height(note, size.small)) + gap
        tops.append(tops[-1] + max(size.step + 0.11 * (row.lines - 1), 0.55 if row.curve else 0.0, words))
    return tops


def _count_legend_lines(figure: RowFigure, size: PaperSize) -> int:
    """Lines that the legend takes, so that none of its words leaves the page."""
    widths = [measure_line(meaning, size.small) + 0.4 for _, _, meaning in figure.legend]
    lines = 1 if widths else 0
    while widths and max(widths) * -(-len(widths) // lines) > 0.96 * size.width and lines < len(widths):
        lines += 1
    return lines


def _frame_axes(axes: Axes, figure: RowFigure, head: str, tall: float, size: PaperSize) -> None:
    axes.set(xlim=(0, 100), ylim=(tall, 0))
    axes.set_xticks([at for at, _ in figure.ticks], [name for _, name in figure.ticks])
    axes.tick_params(axis="x", labelsize=size.small)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for at, name in figure.across:
        axes.axvline(at, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        name_beside(axes, name, (at, 0), "data", (0, 2), size=size.small, color=GREY)
    if head:
        place = (1.03, 1.0)
        axes.annotate(head, place, xycoords="axes fraction", va="bottom", fontsize=size.small, color=GREY)


def _draw_row(axes: Axes, row: Row, label: str, note: str, top: float, end: float, size: PaperSize) -> None:
    middle, across = (top + end) / 2, axes.get_yaxis_transform()
    axes.text(
        -0.02, middle, label, transform=across, ha="right", va="center", fontsize=size.label, weight=_choose_weight(row)
    )
    axes.text(1.03, middle, note, transform=across, va="center", fontsize=size.small, color=INK)
    for path, style in ((row.curve, "-"), (row.beside, "--")):
        if path:
            _fill_curve(axes, path, COLOURS[row.colour], style, top, end)
    for mark in row.marks:
        place = end - 0.05 if row.curve else middle if mark.line < 0 or row.lines < 2 else top + 0.13 + 0.11 * mark.line
        _draw_mark(axes, mark, place, top, end)


def _choose_weight(row: Row) -> str:
    """Rows that draw nothing are headings."""
    return "normal" if row.marks or row.curve else "bold"


def _fill_curve(axes: Axes, path: str, colour: str, style: str, top: float, end: float) -> None:
    points = [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
    x = [at for at, _ in points]
    y = [top + (end - top) * 0.9 * down / 100 for _, down in points]
    axes.plot(x, y, linestyle=style, color=colour, linewidth=1.2)
    if style == "-":
        axes.fill(x, y, color=colour, alpha=0.18, linewidth=0)


def _draw_mark(axes: Axes, mark: Mark, y: float, top: float, end: float) -> None:
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
        axes.plot([mark.at], [y], NAMES[mark.shape], color=colour, markerfacecolor=inside, markersize=4.5, alpha=faint)


def _draw_legend(figure: Figure, rows: RowFigure, lines: int, size: PaperSize, y: float) -> None:
    signs = [
        Line2D(
            [],
            [],
            color=COLOURS[colour],
            linestyle="-" if shape == "bar" else "",
            marker=NAMES.get(shape, "o"),
            markersize=4.5,
            markerfacecolor="white" if shape == "ring" else COLOURS[colour],
        )
        for shape, colour, _ in rows.legend
    ]
    meanings = [meaning for _, _, meaning in rows.legend]
    figure.legend(
        signs,
        meanings,
        loc="upper left",
        bbox_to_anchor=(0.005, y),
        ncols=-(-len(signs) // lines),
        frameon=False,
        fontsize=size.small,
        borderpad=0,
        columnspacing=1.2,
    )
