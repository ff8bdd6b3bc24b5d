"""The figures of agreement, by what their files' names end in: coefficients (""), raters ("-raters")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.showing.plots import ForestRow, forest_figure, scatter_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def agreement_figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """The coefficients with their intervals, and every rater's ties against agreement with the rest."""
    alpha = document["krippendorff_alpha"]
    named = [
        ("Fleiss' kappa", document["fleiss_kappa"]),
        *((f"alpha, {level}", alpha[level]) for level in ("nominal", "ordinal", "interval")),
        ("Gwet's AC1", document["gwet_ac1"]),
    ]
    rows = [
        ForestRow(name, found["value"], found["low"], found["high"], f"{found['value']:.2f}")
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
