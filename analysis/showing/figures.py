"""The figures of agreement, preference, planning and variance, drawn from the documents that --json writes.

Each function gives its figures by what their file's name ends in: "" for the first, "-raters" for a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.planning.text import Question
from analysis.showing.plots import BLUE, GREY, Estimate, Line, bars_figure, curves_figure, forest_figure, scatter_figure
from analysis.stats import power as planning
from analysis.stats.power import Crowd
from analysis.stats.sequential import mixture_reach

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = 60


def agreement_figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """The coefficients with their intervals, and every rater's ties against agreement with the rest."""
    alpha = document["krippendorff_alpha"]
    named = [
        ("Fleiss' kappa", document["fleiss_kappa"]),
        *((f"alpha, {level}", alpha[level]) for level in ("nominal", "ordinal", "interval")),
        ("Gwet's AC1", document["gwet_ac1"]),
    ]
    rows = [
        Estimate(name, found["value"], found["low"], found["high"], f"{found['value']:.2f}")
        for name, found in named
        if found and found["value"] is not None
    ]
    drawn = {}
    if rows:
        title = f"Agreement on {document['pairs']:,} pairs, {document['votes']:,} votes"
        drawn[""] = forest_figure(
            rows,
            title=title,
            xlabel="0: as by chance, 1: always",
            recipe=document["signature"],
            references={0.0: "chance"},
        )
    raters = [row for row in document["raters"] if row["tie_rate"] is not None and row["with_rest"] is not None]
    if raters:
        drawn["-raters"] = _raters(raters, document["signature"])
    return drawn


def _raters(raters: Sequence[Mapping[str, Any]], recipe: str) -> Any:
    ties, agree, votes = (np.array([row[key] for row in raters]) for key in ("tie_rate", "with_rest", "votes"))
    chance = float(np.average([row["expected"] for row in raters], weights=votes))
    return scatter_figure(
        ties,
        agree,
        title=f"{len(raters)} raters; a larger dot has more votes",
        xlabel="share of ties among a rater's votes",
        ylabel="agreement with the other votes",
        recipe=recipe,
        sizes=votes,
        horizontal={chance: "by chance"},
        vertical={float(np.average(ties, weights=votes)): "all votes"},
    )


def ranking_figures(said: Mapping[str, Any]) -> dict[str, Figure]:
    """The ranking, where the model of strengths could be fitted."""
    return {"": ranking_figure(said)} if said["davidson"] else {}


def ranking_figure(said: Mapping[str, Any]) -> Figure:
    """The systems' strengths from the best down, each with the chance that it is in truth below the next."""
    found = said["davidson"]
    wrong = {row["above"]: "< .01" if row["p"] < 0.005 else f"{row['p']:.2f}" for row in found["wrong_order"]}
    rows = [
        Estimate(name, part["value"], part["low"], part["high"], f"below next {wrong[name]}" if name in wrong else "")
        for name, part in found["strengths"].items()
    ]
    model = "Davidson's model" if found["model"] == "davidson" else "Rao and Kupper's model"
    return forest_figure(
        rows,
        title=f"Strengths by {model}",
        xlabel="log strength, mean 0, 95 % interval; right: chance of being below the next",
        recipe=said["signature"],
        references={0.0: ""},
    )


def component_figures(said: Mapping[str, Any]) -> dict[str, Figure]:
    """Standard deviations of every table's components."""
    drawn = {}
    for number, table in enumerate(said["tables"], 1):
        rows = [_bar(part) for part in table["components"]]
        title = f"{table['name']}: what the score varies with"
        drawn[f"-{number}"] = bars_figure(rows, title=title, xlabel="SD in the score's unit", recipe=said["signature"])
    return drawn


def _bar(part: Mapping[str, Any]) -> Estimate:
    low, high = (float(np.sqrt(max(part[end] or 0.0, 0.0))) for end in ("low", "high"))
    colour = GREY if part["name"] == "residual" else BLUE
    return Estimate(part["name"], part["sd"], low, high, f"{100 * part['share']:.0f} % of variance", colour)


def power_figures(question: Question, crowd: Crowd, recipe: str) -> dict[str, Figure]:
    """Power against votes, and the interval that allows stopping at any time beside the one that does not."""
    alone = Crowd(crowd.ties)
    most = 2 * planning.votes_for_difference(question.difference, crowd, alpha=question.alpha, power=question.power)
    votes = np.unique(np.geomspace(10, max(most, 4 * question.size), 200).round())
    lines = [
        Line(name, votes, np.array([power(size, n, who, alpha=question.alpha) for n in votes]))
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


def stopping_figure(question: Question, crowd: Crowd, votes: Any, recipe: str) -> Figure:
    """Half the interval against votes, for one look at the end and for looks at any time."""
    errors = np.array([planning.se_of_net(n, crowd) for n in votes])
    reach = np.array([mixture_reach(question.difference**2 / se**2, question.alpha) for se in errors])
    fixed = planning.reach_of_net(question.alpha)
    seen = votes >= LOOKS
    return curves_figure(
        [
            Line("look at any time", votes[seen], (reach * errors)[seen]),
            Line("look once", votes[seen], (fixed * errors)[seen]),
        ],
        title="The price of looking early: half width of the interval",
        xlabel="votes of the crowd",
        ylabel="half width, net preference",
        recipe=recipe,
        references={question.difference: f"net preference {question.difference:g}"},
        logarithmic=True,
    )
