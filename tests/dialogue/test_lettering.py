"""Words are measured in the font that draws them, and pictures are drawn in one that every machine has."""

import io
import re
import zlib
from pathlib import Path

import matplotlib as mpl
import pytest
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont

from seedvote.analysis.showing.plots import STYLE, save_figure
from seedvote.dialogue.lettering import SHAPING, break_recipe, break_text, measure_block, measure_line
from seedvote.evaluators.detection.figures import LOOK
from seedvote.generation.curves import CURVE_LOOK
from seedvote.probes.plots import LOOK as PROBES_LOOK

LOOKS = [mpl.rc_params_from_file(STYLE, use_default_template=False), PROBES_LOOK, LOOK, CURVE_LOOK]


@pytest.mark.parametrize("look", LOOKS)
def test_the_font_of_every_picture_ships_with_matplotlib(look):
    with mpl.rc_context(look):
        path = findfont(mpl.font_manager.FontProperties(), fallback_to_default=False)
    shipped = Path(mpl.get_data_path(), "fonts/ttf/DejaVuSans.ttf")
    assert shipped.is_file() and Path(path).name == shipped.name


def fonts_of(path):
    """The TrueType fonts in a PDF."""
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", path.read_bytes(), re.DOTALL):
        try:
            content = zlib.decompress(stream)
        except zlib.error:
            continue
        if content.startswith(b"\0\1\0\0"):
            yield TTFont(io.BytesIO(content))


def test_pdf_fonts_have_outlines_and_no_shaping_tables(tmp_path):
    figure = Figure()
    figure.text(0.1, 0.5, "Ties")
    save_figure(figure, tmp_path / "words")
    fonts = list(fonts_of(tmp_path / "words.pdf"))
    assert fonts
    for font in fonts:
        assert {"T", "i", "e", "s"} <= set(font.getGlyphOrder()) and "glyf" in font
        assert not set(SHAPING) & set(font.keys())


def test_text_width_follows_the_font():
    text = "seq2seq with attention over a hierarchical encoder"
    widths = {}
    for family in ("DejaVu Sans", "DejaVu Sans Mono", "STIXGeneral"):
        with mpl.rc_context({"font.family": family}):
            widths[family] = measure_line(text, 9)
            for room in (1.0, 2.0, 6.0):
                lines = break_text(text, room, 9)
                assert lines.split() == text.split() and measure_block(lines, 9) <= room
    assert widths["STIXGeneral"] < widths["DejaVu Sans"] < widths["DejaVu Sans Mono"]


def test_wrap_breaks_long_words_after_a_hyphen_first():
    name = "org/a-very-long-model-name-with-instructions-and-date-20260101"
    lines = break_text(name, 1.5, 9).split("\n")
    assert "".join(lines) == name and all(line.endswith("-") for line in lines[:-1])
    assert break_text("x" * 60, 1.0, 9).replace("\n", "") == "x" * 60
    assert break_text("", 1, 9) == "" and break_text("two\nlines", 9, 9) == "two\nlines"
    assert "\n" not in break_text("net preference -0.3 to 0.2", 9, 9)


def test_a_recipe_is_broken_after_its_bars_only():
    recipe = "votes:1200|unit:vote|set:200|replace:no,yes|law:exact|clusters:dialogue+rater"
    lines = break_recipe(recipe, 1.5, 6.5).split("\n")
    assert len(lines) > 2 and "".join(lines) == recipe and all(line.endswith("|") for line in lines[:-1])
