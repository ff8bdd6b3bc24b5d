"""The parts that a page is made of: sections of sentences, figures drawn in rows, and what raters were shown.

A figure is rows on one common axis, with places in percent of its width, so that the page can draw it at any width
and keep its words readable on a phone. A page of its own folder links to images, recordings and videos, by their paths
from there. One that is sent around holds small images itself and says of the rest what it is.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import MINUS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.media import read_media
from seedvote.dialogue.records import Part

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
HUES = 8  # colour classes c0 to c7
SHAPES = ("dot", "square", "triangle", "diamond", "cross")
QUARTERS = (0, 0.25, 0.5, 0.75, 1)  # the ticks of an axis of shares
_LARGEST = 200_000  # bytes of an image that a page holds itself


def sign_of(place: int) -> tuple[str, str]:
    """Shape and colour of the k-th system: no two of forty have the same, and neighbours differ in both.

    >>> sign_of(0), sign_of(8)
    (('dot', 'c0'), ('diamond', 'c0'))
    """
    return SHAPES[place % len(SHAPES)], f"c{place % HUES}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of `SHAPES`, a ring, tick, bar or block: places in percent, `line` its number from the top.

    `colour` is a class of the page.
    """

    shape: str
    at: float
    to: float
    line: int
    colour: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a figure; a row without marks and curve is a heading."""

    label: str
    note: str = ""
    marks: tuple[Mark, ...] = ()
    curve: str = ""  # path in a box of 100 x 100
    beside: str = ""  # another one, dashed
    colour: str = "c0"
    lines: int = 1
    described: str = ""


@dataclass(frozen=True, slots=True)
class RowFigure:
    """Rows on one axis: ticks below, named lines across."""

    title: str
    rows: tuple[Row, ...]
    ticks: Ticks
    unit: str
    across: tuple[tuple[float, str], ...] = ()
    legend: tuple[tuple[str, str, str], ...] = ()  # shape, colour, meaning
    note_head: str = ""
    caption: str = ""
    name: str = ""  # of its file in the papers' kit: the same in every study

    def value_of(self, row: Row, mark: Mark) -> str:
        """What a mark shows, as the page says it where somebody points there: `seq2seq: 12.5`."""
        meanings = {(shape, colour): meaning for shape, colour, meaning in self.legend}
        name = meanings.get((mark.shape, mark.colour), row.label)
        ends = (mark.at, mark.to) if mark.shape in ("bar", "block") else (mark.at,)
        return f"{name}: {' to '.join(map(self.ticks.value_at, ends))}"


def named_figures(figures: Sequence[RowFigure]) -> dict[str, RowFigure]:
    """Every figure by the name of its file, which is the same whatever else a study holds."""
    figure_by_name: dict[str, RowFigure] = {}
    for figure in figures:
        name = "-".join(re.findall(r"[a-z0-9]+", figure.name.lower()))
        again = sum(
            earlier_name == name or re.fullmatch(rf"{re.escape(name)}-\d+", earlier_name) is not None
            for earlier_name in figure_by_name
        )
        figure_by_name[f"{name}-{again + 1}" if again else name] = figure
    return figure_by_name


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture within the page: its bytes as an address, what it shows in words, and its caption."""

    source: str
    described: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with what belongs to it; `tables` hold the numbers that its sentences and figures show."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    figures: tuple[RowFigure, ...] = ()
    items: tuple[str, ...] = ()
    inline: tuple[Table, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()  # files beside the page: address, what it is
    pictures: tuple[Picture, ...] = ()
    behind: tuple[tuple[str, str], ...] = ()  # the pairs that the numbers are made of: address, which they are


@dataclass(frozen=True, slots=True)
class Reported:
    """What a question adds to the report, and its whole answer; nothing where the study has nothing to answer it by."""

    section: Section | None = None
    document: Mapping[str, Any] | None = None  # the keys of `--json`
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Axis:
    """Values to places in percent of the width."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Place of a value, kept within the axis.

        >>> Axis(0, 50).at(25), Axis(1, 16, logarithmic=True).at(4)
        (50.0, 50.0)
        """
        low, high, value = self.low, self.high, max(self.low, min(self.high, value))
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return 100 * (value - low) / (high - low)

    def interval(self, low: float, value: float, high: float, colour: str = "people") -> tuple[Mark, ...]:
        """A bar with a dot on it; nothing for what is not defined."""
        if not all(map(math.isfinite, (low, value, high))):
            return ()
        return Mark("bar", self.at(low), self.at(high), 0, colour), Mark("dot", self.at(value), 0, 0, colour)

    def value(self, place: float) -> float:
        """The value at a place: the inverse of `at`.

        >>> Axis(0, 50).value(25.0), round(Axis(1, 16, logarithmic=True).value(50.0), 6)
        (12.5, 4.0)
        """
        if self.logarithmic:
            return float(self.low * (self.high / self.low) ** (place / 100))
        return self.low + (self.high - self.low) * place / 100

    def ticks(self, values: Sequence[float], form: str = "{:g}") -> Ticks:
        """Named places of the values that lie within the axis."""
        inside = (value for value in values if self.low - 1e-9 <= value <= self.high + 1e-9)
        return Ticks(self, tuple((self.at(value), _spell_tick(form.format(value))) for value in inside), form)

    def round_ticks(self, form: str = "{:g}", *, whole: bool = False) -> Ticks:
        """Ticks at round values over the whole axis; `whole` numbers alone for ranks."""
        return self.ticks(round_steps(self.low, self.high, whole=whole), form)


@dataclass(frozen=True, slots=True)
class Ticks:
    """Named places of an axis, in percent of its width, and how its values are spelt."""

    axis: Axis
    places: tuple[tuple[float, str], ...]
    form: str

    def __iter__(self) -> Iterator[tuple[float, str]]:
        return iter(self.places)

    def value_at(self, place: float) -> str:
        """The value at a place, spelt as the axis spells it and a little finer.

        >>> Axis(-10, 10).ticks([0]).value_at(25), Axis(0, 1).ticks([0], "{:.0%}").value_at(34.5)
        ('−5', '34.5 %')
        """
        value = self.axis.value(place)
        return _spell_tick(f"{value:.1%}" if "%" in self.form else f"{float(f'{value:.3g}') + 0.0:g}")


def _spell_tick(number: str) -> str:
    return number.replace("-", MINUS).replace("%", " %")


@cache  # compiled once, however many pages a program writes
def load_templates(finalize: Callable[[Any], Any] | None = None) -> jinja2.Environment:
    """The templates of pages; `finalize` goes over every value that they show."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )


def hash_source(content: str) -> str:
    """What a page's policy calls its own script or style by."""
    return f"sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def round_steps(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Round values from low to high, at most `most` of them; `whole` numbers alone for ranks.

    >>> round_steps(-23, 31), round_steps(1, 3, whole=True)
    ([-20.0, -10.0, 0.0, 10.0, 20.0, 30.0], [1.0, 2.0, 3.0])
    """
    reach = max(high - low, 1e-9)
    power = 10 ** math.floor(math.log10(reach / most))
    steps = (power * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if reach / step < most and (not whole or step == int(step)))
    return [round(k * step, 10) + 0.0 for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def draw_curve(axis: Axis, x: NDArray[np.float64], height: NDArray[np.float64], tallest: float) -> str:
    """A filled curve as an SVG path in a box of 100 x 100; NaN is the ground."""
    points = [
        f"{axis.at(float(a)):.2f},{100 - 96 * float(b) / tallest:.2f}"
        for a, b in zip(x, np.nan_to_num(height), strict=True)
        if axis.low <= a <= axis.high
    ]
    return f"M{points[0].split(',')[0]},100 L{' '.join(points)} L{points[-1].split(',')[0]},100 Z"


def link_files(folder: Path, page: Path) -> Callable[[str], str]:
    """How a page links to the files of this folder.

    >>> link_files(Path("study"), Path("study/out/browse.html"))("img/a b.png")
    '../img/a%20b.png'
    """
    return lambda name: quote(os.path.relpath(folder / name, page.parent).replace(os.sep, "/"))


def embed_images(folder: Path) -> Callable[[Part], str]:
    """How a page holds an image: as its address; empty for what is large, gone or no image."""

    def embed(part: Part) -> str:
        try:
            file = read_media(folder, part.file, "image") if part.type == "image" else None
        except InputError:
            return ""
        if file is None or file.size > _LARGEST:
            return ""
        return f"data:{file.kind};base64,{base64.b64encode(file.path.read_bytes()).decode()}"

    return embed
