"""The figures of planning: power against votes (""), and the price of looking early ("-stopping")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.planning.text import Question
from analysis.showing.plots import PlottedLine, curves_figure
from analysis.stats import power as planning
from analysis.stats.power import Assumptions
from analysis.stats.sequential import mixture_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = 60  # clusters


def power_figures(question: Question, crowd: Assumptions, recipe: str) -> dict[str, Figure]:
    """Power against votes, and the interval that allows stopping at any time beside the one that does not."""
    alone = Assumptions(crowd.ties)
    most = 2 * planning.votes_for_difference(question.difference, crowd, alpha=question.alpha, power=question.power)
    votes = np.unique(np.geomspace(10, max(most, 4 * question.size), 200).round())
    lines = [
        PlottedLine(name, votes, np.array([power(size, n, who, alpha=question.alpha) for n in votes]))
        for name, power, size, who in (
            ("difference", planning.power_for_difference, question.difference, alone),
            ("difference, crowd", planning.power_for_difference, question.difference, crowd),
            ("alike", planning.power_for_margin, question.margin, alone),
            ("alike, crowd", planning.power_for_margin, question.margin, crowd),
        )
    ]
    title = f"Power to show a net preference of {question.difference:g}, or equality within {question.margin:g}"
    figure = curves_figure(
        lines,
        title=title,
        xlabel="votes",
        ylabel="power",
        recipe=recipe,
        references={question.power: f"power {question.power:g}"},
        logarithmic=True,
    )
    return {"": figure, "-stopping": stopping_figure(question, crowd, votes, recipe)}


def stopping_figure(question: Question, crowd: Assumptions, votes: Any, recipe: str) -> Figure:
    """Half the interval against votes, for one look at the end and for looks at any time."""
    errors = np.array([planning.se_of_net(n, crowd) for n in votes])
    reach = np.array([mixture_reach(question.difference**2 / se**2, question.alpha) for se in errors])
    fixed = planning.reach_of_net(question.alpha)
    seen = votes >= LOOKS
    return curves_figure(
        [
            PlottedLine("look at any time", votes[seen], (reach * errors)[seen]),
            PlottedLine("look once", votes[seen], (fixed * errors)[seen]),
        ],
        title="The price of looking early: half width of the interval",
        xlabel="votes of the crowd",
        ylabel="half width, net preference",
        recipe=recipe,
        references={question.difference: f"net preference {question.difference:g}"},
        logarithmic=True,
    )
