"""The figures of a plan: power against votes (""), and the price of looking early ("-stopping")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.planning.answer import PlanAnswer
from analysis.showing.plots import PlottedLine, curves_figure
from analysis.stats import power as sizing
from analysis.stats.power import Assumptions
from analysis.stats.sequential import FEWEST_CLUSTERS, mixture_reach, trusted_error

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
        if of is sizing.power_for_margin or size < 1 - crowd.ties  # ties leave no room for a larger net preference
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
    # Before the first look nothing is decided, so the curves begin where the rarest clusters are enough for it.
    votes = _votes(answer, FEWEST_CLUSTERS / crowd.clusters(1))
    errors = np.array([sizing.se_of_net(n, crowd) for n in votes])
    clusters = np.array([crowd.clusters(n) for n in votes])
    trusted = trusted_error(errors, clusters)
    reach = mixture_reach(question.difference**2 / trusted**2, np.maximum(clusters - 1, 1), question.alpha)
    once = np.array([sizing.reach_of_net(n, crowd, question.alpha) for n in votes])
    anytime = np.where(reach * trusted < 1, reach * trusted, np.nan)  # no net preference is further than that from 0
    return curves_figure(
        [
            PlottedLine("look at any time", votes, anytime),
            PlottedLine("look once", votes, once * errors),
        ],
        title="The cost of looking early: half-width of the interval",
        xlabel="votes of this crowd",
        ylabel="half-width, net preference",
        recipe=answer.signature,
        references={question.difference: f"net preference {question.difference:g}"},
        logarithmic=True,
    )


def _votes(answer: PlanAnswer, least: float) -> np.ndarray:
    """Votes from `least` to well beyond what the difference needs, or the margin where ties rule the difference out."""
    question = answer.question
    asked = [row.effort for row in answer.differences if row.difference == question.difference]
    asked += [row.effort for row in answer.margins if row.margin == question.margin]
    return np.unique(
        np.geomspace(least, max(2 * asked[0].votes_clustered, 4 * question.size, 4 * least), POINTS).round()
    )
