"""Erasing drawn: what every task costs beyond a random eraser, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.erasure.answer import UNUSED, USED, ErasureAnswer
from analysis.showing.plots import BLUE, GREY, VERMILION, ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {USED: VERMILION, UNUSED: BLUE}


def figures(answer: ErasureAnswer) -> dict[str, Figure]:
    """One figure: red where the decoder uses a task, blue where it does not, grey where it is not known."""
    rows = []
    for one in answer.rows:
        found = one.effects["nats"].found
        note = f"probe {one.before:.0f}, then {one.after:.0f}"
        label = f"{one.model} {one.checkpoint}: {one.task}, {one.method}"
        rows.append(ForestRow(label, found.value, found.low, found.high, note, COLOURS.get(one.verdict, GREY)))
    return {"": forest_figure(
        rows, title="What erasing a task costs the decoder, beyond a random eraser",
        xlabel="nats a token of the reference, with 95 % intervals", recipe=answer.signature,
        references={0.0: "as random"},
    )}  # fmt: skip
