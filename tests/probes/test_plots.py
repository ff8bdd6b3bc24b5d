"""What the pictures of probe scores show, read from the drawn marks."""

import matplotlib as mpl
import numpy as np
import pytest

from seedvote.probes import plots
from seedvote.probes.comparisons import Course, DifficultyGroup, MetricComparison
from seedvote.probes.plots import draw_difficulty_bars
from tests.house.pictures import FAMILIES, WIDE, cut_texts


def test_a_bar_is_as_high_as_its_group_and_stands_with_its_model():
    groups = [
        DifficultyGroup("hred", "easy", ("IsMultiTopic", "UtteranceLoc"), 71.0, 4.0),
        DifficultyGroup("seq2seq", "easy", ("IsMultiTopic", "UtteranceLoc"), 64.0, 3.0),
        DifficultyGroup("hred", "hard", ("ActionSelect",), 40.0, float("nan")),
    ]
    panel = draw_difficulty_bars(groups, "").axes[0]
    bars = {round(bar.get_x() + bar.get_width() / 2): [] for bar in panel.patches}
    for bar in panel.patches:
        bars[round(bar.get_x() + bar.get_width() / 2)].append(bar.get_height())
    assert [text.get_text() for text in panel.get_xticklabels()] == ["hred", "seq2seq"]
    assert bars == {0: [71.0, 40.0], 1: [64.0]}
    whiskers = [line.get_segments()[0][:, 1].tolist() for line in panel.collections]
    assert whiskers[0] == pytest.approx([67.0, 75.0]) and whiskers[-1] == pytest.approx([40.0, 40.0])


def test_selectors_stand_at_their_model_in_the_order_of_the_legend():
    means = {(model, metric): [50.0] for model in ("hred", "seq2seq") for metric in ("bleu2", "rouge_l", "meteor")}
    panel = plots.draw_selectors(means, "", criterion="metric").axes[0]
    points = [float(line.get_xdata()[0]) for line in panel.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert points == sorted(points) and [round(at) for at in points] == [0, 0, 0, 1, 1, 1]


RECIPE = "|".join(["scores:12", *(f"key{k}:value" for k in range(60))])
LONG = "org/a-very-long-model-name-with-instructions"
FIGURES = {
    "difficulty": lambda: plots.draw_difficulty_bars(
        [
            DifficultyGroup(f"{LONG}-{k}", level, ("A",), 50.0, 3.0)
            for k in range(5)
            for level in ("easy", "medium", "hard")
        ],
        RECIPE,
    ),
    "selection": lambda: plots.draw_selectors(
        {(f"{LONG}-{k}", f"checkpoint by a metric of number {n}"): [50.0, 60.0] for k in range(3) for n in range(7)},
        RECIPE,
        criterion=LONG,
    ),
    "evolution": lambda: plots.draw_evolution(
        [
            Course(f"{LONG}-{k}", f"ATaskWithALongName{n}{LONG}", np.arange(3), np.full((2, 3), 50.0))
            for k in range(3)
            for n in range(6)
        ],
        {},
        RECIPE,
    ),
    "scatter": lambda: plots.draw_scatter(
        [
            MetricComparison(
                f"{LONG}-{k}", (LONG, f"{LONG}-2"), ("last", "untrained"), np.ones(2), np.ones(2), 0.5, 0.5
            )
            for k in range(5)
        ],
        "bleu2",
        RECIPE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "family", [pytest.param(one, marks=[] if one == WIDE else pytest.mark.slow) for one in FAMILIES]
)
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_leaves_the_page_in_any_font(name, family, monkeypatch):
    monkeypatch.setitem(plots.LOOK, "font.family", family)
    figure = FIGURES[name]()
    with mpl.rc_context(plots.LOOK):
        figure.draw_without_rendering()
        assert cut_texts(figure) == []
