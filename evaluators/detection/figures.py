"""The figure of a discrimination: the score against length, precision and recall, and the ROC curve.

Length is drawn beside the score because a discriminator that knows only length looks like one that reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seedvote.dialogue.files import atomic
from seedvote.dialogue.lettering import FONT, break_recipe, break_text, light_fonts
from seedvote.evaluators.detection.answer import Detected, Detection, stack_raters
from seedvote.evaluators.detection.rates import DetectionCurve
from seedvote.evaluators.detection.text import format_share, with_interval

PEOPLE_COLOUR, MODEL_COLOUR, GREY = "#0072B2", "#D55E00", "#6f6f6f"
LOOK: dict[Any, Any] = {
    **FONT,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelsize": 8,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "pdf.fonttype": 42,
}
WIDTH, ROW_HEIGHT = 7.4, 2.3  # inches
MOST_ROWS = 12
FEWEST_THERE = 5  # replies of one length, for a point of its mean


def write_detection_figure(folder: Path, detection: Detection) -> Path:
    """Write discriminator.png and .pdf: three panels for each generator; the path of the PNG."""
    results = list(detection.found)[:MOST_ROWS]
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(WIDTH, ROW_HEIGHT * len(results) + 0.7), layout="constrained")
        rows = figure.subplots(len(results), 3, squeeze=False)
        for panels, result in zip(rows, results, strict=True):
            _against_length(panels[0], result, detection)
            _curve_panel(panels[1], result.precision_recall, "recall", "precision", "average precision")
            _curve_panel(panels[2], result.roc, "share of the model's replies", "share of people's", "area")
            panels[2].plot([0, 1], [0, 1], color=GREY, linewidth=0.7, linestyle=":")
        lines, names = rows[0][0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper left", ncols=2, handlelength=1.2)
        left = (
            f" {len(detection.found) - len(results)} more models are in adversarial.json."
            if len(detection.found) > len(results)
            else ""
        )
        note = break_recipe(f"{detection.signature}{left}", 0.98 * WIDTH, 5.5)
        figure.supxlabel(note, fontsize=5.5, color=GREY, x=0.01, ha="left")
        path = folder / "discriminator.png"
        for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None, "Producer": None})):
            with light_fonts(), atomic(path.with_suffix(suffix), "wb") as handle:
                figure.savefig(handle, format=suffix[1:], dpi=150, metadata=metadata)
    return path


def _against_length(panel: Axes, measured: Detected, detection: Detection) -> None:
    trial, result = detection.own[measured.who]
    showings = trial.in_all("test", detection.folds)
    chance = stack_raters(result, measured.rater).mean(0)
    length = np.array([len(showing.reply) for showing in showings])
    human = np.array([showing.human for showing in showings])
    # A small sideways shift that is the same each time: equal lengths would hide each other.
    shift = (np.arange(len(showings)) * 0.618 % 1 - 0.5) * 0.7
    for whose, colour, name in ((human, PEOPLE_COLOUR, "people"), (~human, MODEL_COLOUR, "the model")):
        panel.scatter(length[whose] + shift[whose], chance[whose], s=3, alpha=0.25, color=colour, linewidths=0)
        at = [n for n in np.unique(length[whose]) if (whose & (length == n)).sum() >= FEWEST_THERE]
        panel.plot(at, [chance[whose & (length == n)].mean() for n in at], color=colour, linewidth=1.6, label=name)
    panel.axhline(0.5, color=GREY, linewidth=0.7, linestyle=":")
    panel.set(xlabel="words in the reply", ylabel="P(a person wrote it)", ylim=(-0.02, 1.02))
    title = (
        f"{measured.who.name}, {measured.who.decoding}: {with_interval(measured.accuracy)} told right, "
        f"{format_share(measured.length.value)} by length"
    )
    panel.set_title(break_text(title, 0.96 * WIDTH, 8.5))


def _curve_panel(panel: Axes, curve: DetectionCurve, x: str, y: str, area: str) -> None:
    panel.fill_between(curve.x, curve.low, curve.high, color=PEOPLE_COLOUR, alpha=0.2, linewidth=0)
    panel.plot(curve.x, curve.y, color=PEOPLE_COLOUR, linewidth=1.4)
    panel.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
    words = break_text(f"{area} {with_interval(curve.area)}", 0.22 * WIDTH, 7)
    panel.text(0.97, 0.05, words, transform=panel.transAxes, ha="right", fontsize=7)
