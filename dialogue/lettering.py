"""The letters of every picture: one font, which ships with matplotlib, and words measured before they are placed.

So a picture looks the same on every machine, whatever fonts it has, and no name is too long for the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

# Without hinting, letters are drawn as wide as they are measured, at any resolution.
FONT = {"font.family": "DejaVu Sans", "text.hinting": "none"}
LEADING = 1.25  # from one line of text to the next, in sizes of the type
PIECES = re.compile(r"(\s+|(?<=\w-)(?=\w))")  # with what stands between them
SHAPING = ("GSUB", "GPOS", "GDEF", "kern")  # tables of a font by which other programs place its glyphs


@contextmanager
def light_fonts() -> Iterator[None]:
    """Put fonts into a PDF without their tables for shaping words: matplotlib has placed every glyph itself.

    To cut these tables down to the glyphs of a picture takes longer than all the rest of a PDF.
    """
    from fontTools.subset import Options

    usual = Options._drop_tables_default
    Options._drop_tables_default = [*usual, *SHAPING]
    try:
        yield
    finally:
        Options._drop_tables_default = usual


def measure_line(text: str, size: float, weight: str = "normal") -> float:
    """The width of one line, in inches, in the font of the figure that is being drawn."""
    from matplotlib import rcParams

    return _measure_width(text, tuple(rcParams["font.family"]), size, weight)


@lru_cache(4096)
def _measure_width(text: str, family: tuple[str, ...], size: float, weight: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=list(family), size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def measure_block(text: str, size: float, weight: str = "normal") -> float:
    """The width of the longest line of a text, in inches."""
    return max(measure_line(line, size, weight) for line in text.split("\n"))


def measure_height(text: str, size: float) -> float:
    """The height of all lines of a text, in inches; nothing for an empty one."""
    return LEADING * size / 72 * (text.count("\n") + 1) if text else 0.0


def break_text(text: str, room: float, size: float, weight: str = "normal") -> str:
    """The text in as many lines as a room of so many inches asks for: between words, else after hyphens, else anywhere.

    Lines that the text already has stay.
    """
    return "\n".join(line for part in text.split("\n") for line in _fill_lines(part, room, size, weight))


def _fill_lines(text: str, room: float, size: float, weight: str) -> list[str]:
    lines = [""]
    for piece in PIECES.split(text):
        if measure_line(lines[-1] + piece, size, weight) <= room:
            lines[-1] += piece
        elif not piece.isspace():
            lines += (
                _cut_piece(piece, room, size, weight)
                if lines[-1]
                else _cut_piece(lines.pop() + piece, room, size, weight)
            )
        else:
            lines.append("")
    return [line.strip() for line in lines]


def _cut_piece(piece: str, room: float, size: float, weight: str) -> list[str]:
    """A piece in as many lines as its letters need; one letter fits everywhere."""
    lines = [piece[:1]]
    for letter in piece[1:]:
        if measure_line(lines[-1] + letter, size, weight) <= room:
            lines[-1] += letter
        else:
            lines.append(letter)
    return lines


def break_recipe(recipe: str, room: float, size: float) -> str:
    """A recipe in lines, broken after its bars."""
    lines = [""]
    for part in re.split(r"(?<=\|)", recipe):
        fits = not lines[-1] or measure_line(lines[-1] + part, size) <= room
        lines = [*lines[:-1], lines[-1] + part] if fits else [*lines, part]
    return "\n".join(break_text(line, room, size) for line in lines)
