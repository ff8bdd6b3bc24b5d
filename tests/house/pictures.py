"""What stands on a picture, and what of it would be cut at an edge of the page."""

import functools
import io
from contextlib import nullcontext

from matplotlib.backends import _backend_pdf_ps as fonts
from matplotlib.text import Annotation

# Ours, a wide and a narrow one: they ship with matplotlib, so every machine has them.
WIDE = "DejaVu Sans Mono"
FAMILIES = ("DejaVu Sans", WIDE, "STIXGeneral")

USUAL = frozenset(range(250))  # the glyphs of a font that come first: letters, digits, signs


def share_fonts_of_pdfs():
    """Cut a font to its usual glyphs once for all PDFs: fontTools takes longer for it than all else of a picture."""
    cut_font, save_font = fonts.get_glyphs_subset, fonts.font_as_file

    @functools.cache
    def cut(path, glyphs):
        with cut_font(path, glyphs) as subset:
            return subset._replace(font=save_font(subset.font).getvalue())

    fonts.get_glyphs_subset = lambda path, glyphs: nullcontext(cut(path, USUAL | set(glyphs)))
    fonts.font_as_file = io.BytesIO


def texts_of(figure):
    """Every text of a figure that has been laid out; of the ticks' names those within the axis."""
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        yield from (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label)
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            yield from (tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
        yield from axes.get_legend().get_texts() if axes.get_legend() else ()
    yield from (text for text in (figure._suptitle, figure._supxlabel, figure._supylabel) if text)
    yield from figure.texts
    yield from figure.findobj(Annotation)
    yield from (text for legend in figure.legends for text in legend.get_texts())


def cut_texts(figure):
    """The texts that reach over an edge, by more than a pixel for what rounds off."""
    width, height = figure.get_size_inches() * figure.dpi
    boxes = ((text.get_text(), text.get_window_extent()) for text in texts_of(figure) if text.get_text())
    return [text for text, box in boxes if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1]
