"""Ties over the rounds: how often a change is found where no rater changed, and how often where all did."""

import numpy as np

from seedvote.analysis.stats.round_drift import round_drift
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Arrivals, grid

BLOCKS = {
    **grid(Arrivals(work="blocks"), "blocks", raters=(3, 10, 30), sd_habit=(0.5, 0.8)),
    **grid(Arrivals(raters=3), "three raters", work=("mixed", "lists"), sd_habit=(0.5, 0.8)),
}
NULLS = {
    **grid(Arrivals(), work=("window", "mixed", "pareto", "lists"), raters=(10, 30, 100), sd_habit=(0.5, 0.8)),
    **grid(Arrivals(sd_drift=0.5), "raters drift apart", work=("window", "mixed", "pareto", "lists")),
    **grid(Arrivals(pairs=60, rounds=5), "five rounds", work=("window", "mixed", "pareto")),
    **grid(Arrivals(), "few or many ties", work=("mixed", "pareto"), centre=(-2.5, 2.5)),
    **BLOCKS,
}
DRIFTS = grid(Arrivals(drift=1.0), work=("window", "mixed", "pareto", "lists"), raters=(10, 30, 100))


def finds_a_change(world: Arrivals, generator: np.random.Generator) -> bool | None:
    study = world.study(generator)
    found = round_drift(study["pair"], study["round"], study["rater"], study["tie"])
    return None if found.p is None else found.p < 0.05


CLAIMS = (
    Claim(
        "rounds: a change of raters", "a change over the rounds is found in 5 % of studies where no rater changed",
        {"stats.round_drift.RoundDrift": "p"}, NULLS, each(finds_a_change), 0.05, 0.06, is_error=True, studies=1500,
        silent=tuple(BLOCKS),
    ),
    Claim(
        "rounds: power", "raters whose odds of a tie rise by e over the study are found to change",
        {}, DRIFTS, each(finds_a_change), 0.8, 0.35,
    ),
)  # fmt: skip
