"""Figures: what is drawn is what was computed, in both formats, the same bytes each time."""

import dataclasses
import functools
import itertools

import matplotlib as mpl
import numpy as np
import pytest

from seedvote.analysis.questions.planning.answer import answer as plan
from seedvote.analysis.questions.planning.showing import stopping_figure
from seedvote.analysis.questions.preference.showing import ranks_figure
from seedvote.analysis.questions.ties.answer import answer
from seedvote.analysis.questions.ties.picture import laws_figure
from seedvote.analysis.showing import plots, row_pictures
from seedvote.analysis.showing.page import Mark, Row, RowFigure
from seedvote.analysis.showing.plots import PlottedLine
from seedvote.analysis.stats import laws
from seedvote.analysis.stats.power import Assumptions
from seedvote.analysis.votes.ranking import Parameter, Ranked, Ranking
from seedvote.analysis.votes.votes import votes_from_columns
from tests.house.pictures import FAMILIES, WIDE, cut_texts

pytestmark = pytest.mark.usefixtures("drawn")
TEXT = {"title": "Title", "xlabel": "x axis", "recipe": "votes:6|v:0.1.0"}
X = np.linspace(1, 100, 20)
PLAN = plan(assumed=Assumptions(0.35, 3, 12, 0.3, 0.1))
STRENGTH = Parameter(0.1, 0.1, -0.1, 0.3)
RANKED = (
    Ranked("seq2seq_attn-0", 40, STRENGTH, 1, 1, 1, 1, 2, 0.001),
    Ranked("transformer-1", 20, STRENGTH, 2, 2, 2, 1, 2, None),
)
RANKING = Ranking("rao-kupper", RANKED, (), None, None, 12.0, 1000)
MANY = Ranking(
    "davidson",
    tuple(Ranked(f"system-{k:02}", 40, STRENGTH, k, max(k - 9, 1), k + 5, 1, 60, 0.3) for k in range(1, 61)),
    (), None, None, 12.0, 1000,
)  # fmt: skip


LONG = "org/a-very-long-model-name-with-instructions-and-date-20260101"  # 62 letters
LONG_ROWS = RowFigure(
    LONG,
    (
        Row("The best systems of this study"),
        *(Row(f"{LONG}-{k}", LONG, (Mark("dot", 40, 40, -1, "c0"),)) for k in range(3)),
    ),
    ((0, "-100 %"), (50, "0 %"), (100, "100 %")),
    f"{LONG} {LONG}",
    ((50, LONG[:30]), (95, LONG[:30])),
    tuple(("dot", "c0", f"{LONG}-{k}") for k in range(3)),
    "votes and the reach of their interval",
    f"votes:6 {LONG} {LONG}",
)


def small_study(size=10, unit="vote", **more):
    pairs = np.repeat(np.arange(20), 3)
    table = {
        "pair": pairs,
        "choice": np.resize(["tie", "a", "b", "tie", "tie", "b", "a"], 60),
        "round": np.tile([1, 2, 3], 20),
        "rater": np.resize(np.arange(7), 60),
        **more,
    }
    return answer(votes_from_columns({k: v for k, v in table.items() if v is not None}), size=size, unit=unit)


def texts(figure):
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


def rows_of(rows, recipe=TEXT["recipe"]):
    """A picture of these rows with the words of the others."""
    ticks = ((0, "0"), (100, "1"))
    return row_pictures.draw_picture(RowFigure(TEXT["title"], tuple(rows), ticks, TEXT["xlabel"]), recipe=recipe)


FIGURES = {
    "ties": lambda: laws_figure(small_study()),
    "ties by every unit": lambda: laws_figure(small_study(dialogue=np.repeat(np.arange(5), 12))),
    "ties in sets of a tenth of a round": lambda: laws_figure(small_study(size=2)),
    "ties in 59 experiments": lambda: laws_figure(small_study(round=np.arange(60) % 59, size=1)),
    "ties in experiments of long names": lambda: laws_figure(
        small_study(round=np.resize([20260101120000000, 1], 60), unit="pair+rater")
    ),
    "one row": lambda: rows_of([Row("kappa", "0.20", (Mark("dot", 40, 40, -1, "c0"),))]),
    "many rows": lambda: rows_of([Row(f"kappa {k}", "0.20", (Mark("dot", 40, 40, -1, "c0"),)) for k in range(60)]),
    "long recipe": lambda: rows_of(LONG_ROWS.rows, "|".join(["votes:1", *(f"key{k}:value" for k in range(40))])),
    "long names of curves": lambda: plots.curves_figure(
        [PlottedLine(LONG, X, X / k) for k in range(1, 9)], ylabel="y", **TEXT
    ),
    "names with signs of mathematics": lambda: rows_of(
        [Row("a_$x$_{b", "$\\frac", (Mark("dot", 40, 40, -1, "c0"),))], "votes:6 $\\frac"
    ),
    "ranks": lambda: row_pictures.draw_picture(ranks_figure(RANKING), recipe=TEXT["recipe"]),
    "ranks of sixty": lambda: row_pictures.draw_picture(ranks_figure(MANY), recipe=TEXT["recipe"]),
    "stopping": lambda: stopping_figure(dataclasses.replace(PLAN, signature=TEXT["recipe"])),
    "curves": lambda: plots.curves_figure(
        [PlottedLine("one", X, X / 100, X / 200, X / 90), PlottedLine("two", X, X / 100)],
        ylabel="y",
        references={0.8: "80 %"},
        logarithmic=True,
        **TEXT,
    ),
    "long names of panels": lambda: plots.panels_figure(
        {f"{LONG}-{k}": [PlottedLine(f"{LONG}-{n}", X, X / n) for n in (1, 2)] for k in range(4)},
        title=f"{LONG} over {LONG}-b",
        xlabel=LONG,
        ylabel=f"{LONG} {LONG}",
        recipe=TEXT["recipe"],
    ),
    "long names of axes": lambda: plots.scatter_figure(
        X,
        X / 2,
        title=LONG,
        xlabel=f"{LONG} {LONG}",
        ylabel=f"{LONG} {LONG}",
        recipe=TEXT["recipe"],
        marked={0: LONG[:40], 19: LONG[:40]},
        horizontal={3: f"{LONG} {LONG}"},
        vertical={4: LONG[:20], 99: LONG[:40]},
    ),
    "long names of rows": lambda: row_pictures.draw_picture(LONG_ROWS),
    "scatter": lambda: plots.scatter_figure(
        X, X / 2, ylabel="y", sizes=X, marked={1: "r1"}, horizontal={3: "mean"}, vertical={4: "chance"}, **TEXT
    ),
}


@functools.cache
def laid_out(name, family="DejaVu Sans"):
    """A figure of the table as it stands on its page; tests look at it and change nothing."""
    figure = FIGURES[name]()
    with plots.use_style():
        figure.draw_without_rendering()
    return figure


# A few kinds, and the names that are hardest to draw; all others under make test-slow.
WRITTEN = ("ties", "one row", "curves", "names with signs of mathematics")


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    "name", [name if name in WRITTEN else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]
)
def test_every_figure_is_written_in_both_formats_and_the_same_twice(tmp_path, name):
    for stem in ("one", "two"):
        plots.save_figure(FIGURES[name](), tmp_path / stem)
    for suffix in (".png", ".pdf"):
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.fixture(params=[pytest.param(one, marks=[] if one == WIDE else pytest.mark.slow) for one in FAMILIES])
def family(request, tmp_path, monkeypatch):
    """Pictures drawn in another font than ours: every room is measured, none is known by heart."""
    style = plots.STYLE.read_text(encoding="utf-8")
    assert "font.family: DejaVu Sans\n" in style
    other = tmp_path / "other.mplstyle"
    other.write_text(style.replace("font.family: DejaVu Sans\n", f"font.family: {request.param}\n"), encoding="utf-8")
    monkeypatch.setattr(plots, "STYLE", other)
    return request.param


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_carries_its_recipe_and_no_text_leaves_the_page(name, family):
    figure = laid_out(name, family)
    assert any(text.startswith("votes:") for text in texts(figure))
    with plots.use_style():
        assert cut_texts(figure) == []


def test_sixty_rows_leave_room_for_axis_and_footnote():
    figure = laid_out("ranks of sixty")
    with plots.use_style():
        (axes,) = figure.axes
        label = axes.xaxis.label.get_window_extent()
        (foot,) = (text.get_window_extent() for text in figure.texts if text.get_text().startswith("votes:"))
        assert foot.y1 < label.y0
        assert label.y1 < min(tick.get_window_extent().y0 for tick in axes.get_xticklabels())
        for side in ("right", "left"):  # names and ranks, these under their head
            extents = [text.get_window_extent() for text in axes.texts if text.get_ha() == side]
            boxes = sorted((box.y0, box.y1) for box in extents)
            assert len(boxes) == 60 + (side == "left")
            assert all(upper[0] >= lower[1] - 1 for lower, upper in itertools.pairwise(boxes))
    assert figure.get_figheight() < 11.7  # a page


def boxes_of(figure, *words):
    with plots.use_style():
        found = [text for text in figure.findobj(mpl.text.Text) if text.get_text() in words]
        return [text.get_window_extent() for text in found]


@pytest.mark.parametrize("name", ["one row", "many rows"])
def test_the_label_of_the_axis_stays_off_the_footnote(name):
    label, note = boxes_of(laid_out(name), TEXT["xlabel"], TEXT["recipe"])
    assert label.y0 > note.y1 + 2


@pytest.mark.parametrize("name", ["ties", "ties by every unit", "ties in experiments of long names"])
def test_the_words_above_the_ties_do_not_cover_each_other(name):
    figure = laid_out(name)
    title, key = (text.get_window_extent() for text in figure.texts[:2])
    above = [text.get_window_extent() for text in figure.findobj(mpl.text.Text) if text.get_text() == "chance 1/3"]
    assert title.y0 >= key.y1 - 1 and key.y0 >= above[0].y1 - 1


def test_both_laws_are_drawn_and_named_where_a_set_is_near_the_round():
    figure = laws_figure(small_study())
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    said = " ".join(" ".join(texts(figure)).split())
    assert len(dashed) == 3 + 1  # and the line of pure chance
    assert "Solid: with replacement. Dashed: without, as in the papers, though a set is 50 % of HumanExp-1." in said
    plain = laws_figure(small_study(size=2))
    assert len([line for line in plain.axes[0].lines if line.get_linestyle() == "--"]) == 1
    assert "Sets of 2 votes, drawn vote by vote, as in the paper" in texts(plain)


def test_the_filled_curves_above_are_the_laws_that_are_drawn_below():
    found = small_study(size=10)
    above, below = laws_figure(found).axes
    pooled = small_study(size=10, round=None)
    alone = laws_figure(pooled).axes[0]
    height = max(line.get_ydata().max() for line in alone.lines[:1])
    expected = np.nanmax(laws.estimate_density(found.units[0].law, alone.lines[0].get_xdata()))
    assert abs(height - expected) < 1e-12
    assert len(below.collections) == len(found.units) and len(above.collections) == 3


def test_names_at_curve_ends_do_not_overlap():
    figure = plots.curves_figure(
        [PlottedLine(f"curve {i}", X, 1 - np.exp(-X * i)) for i in range(1, 6)], ylabel="y", **TEXT
    )
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.findobj(mpl.text.Text) if t.get_text().startswith("curve ")]
    tops = sorted((box.y0, box.y1) for box in boxes)
    assert all(upper[0] >= lower[1] - 1 for lower, upper in itertools.pairwise(tops))


def test_the_readers_own_settings_stay_as_they_were():
    before = dict(mpl.rcParams)
    laws_figure(small_study())
    assert dict(mpl.rcParams) == before


def test_the_drawn_density_integrates_to_one_and_keeps_the_mean():
    grid = np.linspace(-0.1, 1.1, 4001)
    uneven = laws.clusters_with_replacement(np.array([1, 4, 7, 9]), np.array([1, 0, 5, 3]), 30)
    for law in (laws.hypergeometric_law(2000, 700, 200), laws.binomial_law(0.5, 20), uneven):
        height = np.nan_to_num(laws.estimate_density(law, grid))
        step = grid[1] - grid[0]
        assert abs(height.sum() * step - 1) < 0.01
        assert abs((height * grid).sum() * step - law.mean) < 0.01


@pytest.mark.parametrize("missing", ["round", "rater"])
def test_the_figure_stands_without_rounds_or_raters(missing):
    assert "half are ties" in texts(laws_figure(small_study(**{missing: None})))


def test_the_figure_stands_when_every_vote_is_a_tie():
    assert "100.0 % ties" in " ".join(texts(laws_figure(small_study(choice=["tie"] * 60))))
