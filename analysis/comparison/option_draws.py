"""Several draws of false options for the same contexts: the same models, on other questions about the same replies.

The comparison shows the first draw. Where every draw asked every model about the same dialogues, a panel keeps what
each draw gives, so that the variance can tell the draw's part from the dialogue's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from analysis.votes.scores.files import Scores
from analysis.votes.scores.panel import Panel
from analysis.votes.scores.values import Key, Value

Values = Mapping[Key, Mapping[int | None, Value]]
DRAW = re.compile(r"candidates draw \d+")


def with_option_draws(
    panels: Sequence[Panel], scores: Scores, kept: Values, panels_of_draw: Callable[[Values], Sequence[Panel]]
) -> list[Panel]:
    """The panels of the first draw, those with further draws of false options with all of them."""
    drawn: dict[str, dict[Key, Mapping[int | None, Value]]] = {}
    for key, found in scores.values.items():
        first = kept.get(key._replace(condition=""))
        if DRAW.fullmatch(key.condition) and first is not None and _same_dialogues(first, found):
            drawn.setdefault(key.condition, {})[key._replace(condition="")] = found
    further = [{_place(one): one for one in panels_of_draw(values)} for values in drawn.values()]
    return [_with(panel, [there[_place(panel)] for there in further if _place(panel) in there]) for panel in panels]


def _same_dialogues(first: Mapping[int | None, Value], other: Mapping[int | None, Value]) -> bool:
    return first.keys() == other.keys() and all(first[seed].clusters == other[seed].clusters for seed in first)


def _place(panel: Panel) -> tuple[str, str, str]:
    return panel.kind, panel.name, panel.checkpoint


def _with(panel: Panel, further: Sequence[Panel]) -> Panel:
    """The panel with the cells of every draw that has all of its models."""
    cells = [one.cells for one in (panel, *further) if one.systems == panel.systems and one.cells is not None]
    return replace(panel, by_draw=np.stack(cells)) if len(cells) > 1 else panel
