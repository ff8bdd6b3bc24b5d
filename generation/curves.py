"""The course of training as a picture: loss and free-running BLEU-2 by epoch, one row an architecture, one line a seed.

Drawn from every log.jsonl of a study, without pyplot, so that nothing global changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from seedvote.dialogue.files import atomic
from seedvote.dialogue.lettering import FONT, break_recipe, break_text
from seedvote.dialogue.signature import signature

SEED_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # safe for the colour-blind
CURVE_LOOK: dict[Any, Any] = {
    **FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 8.5,
    "legend.frameon": False,
    "lines.markersize": 3,
}
Logs = dict[str, dict[int, list[dict[str, Any]]]]  # architecture -> seed -> lines of its log


def draw_curves(study: Path) -> Path | None:
    """Write STUDY/curves.png where it is missing or older than a log; the path if it was written."""
    paths, picture = sorted(study.glob("models/*/log.jsonl")), study / "curves.png"
    newest = max((path.stat().st_mtime_ns for path in paths), default=0)
    if not newest or (picture.exists() and picture.stat().st_mtime_ns >= newest):
        return None
    logs: Logs = {}
    for path in paths:
        model, _, seed = path.parent.name.rpartition("-")
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        logs.setdefault(model, {})[int(seed)] = lines
    with mpl.rc_context(CURVE_LOOK), atomic(picture, "wb") as handle:
        _draw_figure(logs).savefig(handle, format="png", dpi=150, metadata={"Software": None})
    return picture


def _draw_figure(logs: Logs) -> Figure:
    width = 6.4
    figure = Figure(figsize=(width, 0.9 + 1.7 * len(logs)), layout="constrained")
    rows: Any = figure.subplots(len(logs), 2, squeeze=False, sharex=True, sharey="col")
    for (loss, bleu), (model, seeds) in zip(rows, sorted(logs.items()), strict=True):
        for place, (seed, lines) in enumerate(sorted(seeds.items())):
            colour, epochs = SEED_COLOURS[place % len(SEED_COLOURS)], [line["epoch"] for line in lines]
            dot = "o" if len(epochs) == 1 else None
            loss.plot(epochs, [line["loss"] for line in lines], color=colour, lw=1, ls=":", marker=dot)
            if "valid_loss" in lines[0]:
                loss.plot(epochs, [line["valid_loss"] for line in lines], color=colour, lw=1.4, marker=dot)
                label = f"seed {seed}" if len(seeds) <= len(SEED_COLOURS) else None
                bleu.plot(epochs, [line["bleu2"] for line in lines], color=colour, lw=1.4, label=label, marker=dot)
        title = break_text(f"{model}: loss per token (nats)", 0.42 * width, 8.5)
        loss.set_title(title, loc="left", fontsize=8.5)
        bleu.set_title("BLEU-2, validation, greedy", loc="left", fontsize=8.5)
        if bleu.get_legend_handles_labels()[0]:
            bleu.legend(fontsize=7.5, loc="lower right")
    for axes in rows[0]:
        axes.set_ylim(bottom=0)  # of every row, and only now: it would keep later lines from widening the axis
    for axes in rows[-1]:
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    epochs = max(lines[-1]["epoch"] for seeds in logs.values() for lines in seeds.values())
    recipe = signature(models=sorted(logs), seeds=sorted({s for seeds in logs.values() for s in seeds}), epochs=epochs)
    note = break_recipe(f"loss: solid on validation, dotted in training · {recipe}", 0.98 * width, 6.5)
    figure.supxlabel(note, fontsize=6.5, color="#6f6f6f")
    return figure
