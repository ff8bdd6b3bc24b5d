"""The figures of agreement, by what their files' names end in: coefficients (""), raters ("-raters", "-spam")."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from analysis.agreement.answer import AgreementAnswer
from analysis.showing.plots import ForestRow, forest_figure, scatter_figure
from analysis.showing.words import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from analysis.stats.between_raters.raters import RaterHabits


def figures(answer: AgreementAnswer) -> dict[str, Figure]:
    """The coefficients with their intervals, and every rater's ties and spam against agreement with the rest."""
    drawn = {}
    if rows := _estimates(answer):
        title = f"Agreement on {count(answer.found.items, 'pair')}, {count(answer.found.votes, 'vote')}"
        drawn[""] = forest_figure(
            rows,
            title=title,
            xlabel="0: as by chance, 1: always",
            recipe=answer.signature,
            references={0.0: "chance"},
        )
    for name, habit in (("-raters", "tie_rate"), ("-spam", "spam")):
        raters = [one for one in answer.raters if isfinite(getattr(one, habit)) and isfinite(one.with_rest)]
        if raters:
            drawn[name] = _raters(raters, habit, answer.signature)
    return drawn


def _estimates(answer: AgreementAnswer) -> list[ForestRow]:
    # The margin of the figure is as wide as its longest name.
    named = [(one.name.removeprefix("Krippendorff's "), one.found) for one in answer.coefficients]
    return [
        ForestRow(name, one.value, one.low, one.high, f"{one.value:.2f}")
        for name, one in named
        if one is not None and isfinite(one.value)
    ]


AXES = {
    "tie_rate": "share of ties among a rater's votes",
    "spam": "share of a rater's votes that MACE takes for spam",
}


def _raters(raters: Sequence[RaterHabits], habit: str, recipe: str) -> Figure:
    share, agree = np.array([getattr(one, habit) for one in raters]), np.array([one.with_rest for one in raters])
    votes = np.array([one.votes for one in raters])
    chance = float(np.average([one.expected for one in raters], weights=votes))
    return scatter_figure(
        share,
        agree,
        title=f"{count(len(raters), 'rater')}; a larger dot has more votes",
        xlabel=AXES[habit],
        ylabel="agreement with the other votes",
        recipe=recipe,
        sizes=votes,
        horizontal={chance: "by chance"},
        vertical={float(np.average(share, weights=votes)): "all votes"},
    )
