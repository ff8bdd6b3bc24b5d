"""What a question to the data found, as people, programs and notebooks want it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.analysis.showing.tables import Table, write_latex
from seedvote.dialogue.files import atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seedvote.analysis.showing.page import RowFigure


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Tables and sentences, the last of them the recipe; `document` holds every number, under the keys of `--json`."""

    document: Mapping[str, Any]
    parts: Sequence[Table | str]
    draw: Callable[[], Mapping[str, Figure] | Sequence[RowFigure]]
    read: Sequence[str] = ()  # how the table was read, and what was left out
    written: str = ""  # the files that it wrote, where it was asked to

    def __repr__(self) -> str:
        parts = ["\n".join(self.read)] if self.read else []
        return "\n\n".join([*parts, *map(str, self.parts)])

    def _repr_html_(self) -> str:
        parts: list[Table | str] = [*self.read, *self.parts[:-1]]
        recipe = self.parts[-1]
        body = "\n".join(part.html() if isinstance(part, Table) else f"<p>{escape(part)}</p>" for part in parts)
        return f"<section>\n{body}\n<p><small><code>{escape(str(recipe))}</code></small></p>\n</section>"

    def write_latex(self, path: Path) -> None:
        """Write the tables for a paper."""
        with atomic(path) as handle:
            handle.write(
                write_latex([part for part in self.parts if isinstance(part, Table)], recipe=str(self.parts[-1]))
            )

    def plot(self) -> Drawing:
        """The figures that the command draws; of figures in rows the first takes the plain name."""
        drawings = self.draw()
        if isinstance(drawings, Mapping):
            return Drawing(drawings)
        from seedvote.analysis.showing.page import named_figures
        from seedvote.analysis.showing.row_pictures import draw_picture

        recipe = str(self.parts[-1])
        pictures = {name: draw_picture(rows, recipe=recipe) for name, rows in named_figures(drawings).items()}
        return Drawing({f"-{name}" if place else "": figure for place, (name, figure) in enumerate(pictures.items())})


@dataclass(frozen=True, eq=False)
class Drawing:
    """Figures by what their files' names end in; a notebook shows them all."""

    figures: Mapping[str, Figure]

    def save(self, stem: str | Path) -> None:
        """Write STEM.png and STEM.pdf, and those of further figures beside them."""
        from seedvote.analysis.showing.plots import save_figure

        for ending, figure in self.figures.items():
            save_figure(figure, f"{stem}{ending}")

    def _repr_html_(self) -> str:
        return "\n".join(map(_embed_image, self.figures.values()))


def _embed_image(figure: Figure) -> str:
    from seedvote.analysis.showing.plots import encode_png

    titles = str(figure.get_label()) or "; ".join(
        title for axes in figure.axes for loc in ("left", "center") if (title := axes.get_title(loc))
    )
    source = b64encode(encode_png(figure)).decode()
    width = round(100 * figure.get_figwidth())
    return f'<img alt="{escape(titles)}" width="{width}" src="data:image/png;base64,{source}">'
