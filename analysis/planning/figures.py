"""The figures of a plan: power against votes (""), and the price of looking early ("-stopping")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.planning.answer import PlanAnswer
from analysis.planning.stopping import FIRST_LOOK
from analysis.showing.plots import PlottedLine, curves_figure
from analysis.stats import power as sizing
from analysis.stats.power import Assumptions
from analysis.stats.sequential import mixture_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 200  # of every curve


def figures(answer: PlanAnswer) -> dict[str, Figure]:
    """Power against votes, and the interval that allows stopping at any time beside the one that does not."""
    return {"": power_figure(answer), "-stopping": stopping_figure(answer)}


def power_figure(answer: PlanAnswer) -> Figure:
    """Power to show the difference and the margin asked for, with independent votes and with those of the crowd."""
    question, crowd = answer.question, answer.crowd
    alone, votes = Assumptions(crowd.ties), _votes(answer, 10)
    lines = [
        PlottedLine(name, votes, np.array([of(size, n, who, alpha=question.alpha) for n in votes]))
        for name, of, size, who in (
            ("difference", sizing.power_for_difference, question.difference, alone),
            ("difference, crowd", sizing.power_for_difference, question.difference, crowd),
            ("alike", sizing.power_for_margin, question.margin, alone),
            ("alike, crowd", sizing.power_for_margin, question.margin, crowd),
        )
    ]
    return curves_figure(
        lines,
        title=f"Power to show a net preference of {question.difference:g}, or equality within {question.margin:g}",
        xlabel="votes",
        ylabel="power",
        recipe=answer.signature,
        references={question.power: f"power {question.power:g}"},
        logarithmic=True,
    )


def stopping_figure(answer: PlanAnswer) -> Figure:
    """Half the interval against votes, for one look at the end and for looks at any time."""
    question, crowd = answer.question, answer.crowd
    # Before the first look nothing is decided, so the curves begin where the rarer of pairs and raters reach it.
    votes = _votes(answer, FIRST_LOOK * max(crowd.per_pair, crowd.per_rater))
    errors = np.array([sizing.se_of_net(n, crowd) for n in votes])
    reach = np.array([mixture_reach(question.difference**2 / se**2, question.alpha) for se in errors])
    return curves_figure(
        [
            PlottedLine("look at any time", votes, reach * errors),
            PlottedLine("look once", votes, sizing.reach_of_net(question.alpha) * errors),
        ],
        title="The cost of looking early: half-width of the interval",
        xlabel="votes of this crowd",
        ylabel="half-width, net preference",
        recipe=answer.signature,
        references={question.difference: f"net preference {question.difference:g}"},
        logarithmic=True,
    )


def _votes(answer: PlanAnswer, least: float) -> np.ndarray:
    """Votes from `least` to well beyond what the difference needs."""
    question = answer.question
    most = 2 * sizing.votes_for_difference(
        question.difference, answer.crowd, alpha=question.alpha, power=question.power
    )
    return np.unique(np.geomspace(least, max(most, 4 * question.size, 4 * least), POINTS).round())
