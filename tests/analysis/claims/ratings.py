"""Ratings by a mixed model: does the interval of two equally good systems hold zero?"""

import numpy as np

from seedvote.analysis.questions.ratings.scores import mixed_ratings
from seedvote.analysis.votes.ratings import RatingsTable, Rows
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.reading import Reading
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Panels, grid

CELLS = {
    **grid(Panels(), "raters of one system", raters=(6, 24, 90)),
    **grid(Panels(steps=5), "raters of one system, five steps", raters=(9,)),
    **grid(Panels(sd_rater=0.1, sd_taste=0.0), "raters who hardly differ, of one system", raters=(6, 24)),
    **grid(Panels(raters=30, work="pareto"), "raters of one system", work=("pareto",)),
    **grid(Panels(own=False), "any rater", raters=(3, 8, 30)),
    **grid(Panels(own=False, steps=5), "any rater, five steps", raters=(8,)),
    **grid(Panels(raters=30, own=False, work="pareto"), "any rater", work=("pareto",)),
    **grid(Panels(2, 8, 200, own=False, ratings_each=1), "one rating a response", raters=(3, 30)),
    **grid(Panels(12, raters=48), "twelve", systems=(12,)),
    **grid(Panels(3, 3), "silent: one rater a system", raters=(3,)),
}
SILENT = tuple(cell for cell in CELLS if cell.startswith("silent"))


def table_of(panels: Panels, generator: np.random.Generator) -> RatingsTable:
    """One study as the commands read it."""
    study = panels.study(generator)
    names = {name: tuple(f"{name}{code:03}" for code in range(study[name].max() + 1)) for name in ("item", "rater")}
    votes = Votes(
        pair=study["item"], pairs=names["item"], choice=np.full(len(study["item"]), 2), item=study["item"],
        rater=study["rater"], raters=names["rater"],
    )  # fmt: skip
    systems = tuple(f"s{code:02}" for code in range(panels.systems))
    scale = float(study["score"].min()), float(study["score"].max())
    return RatingsTable(Rows(study["score"], study["system"], None, votes), (), systems, scale, Reading("", 0), False)


def holds_zero(panels: Panels, generator: np.random.Generator) -> float | None:
    try:
        differences = mixed_ratings(table_of(panels, generator), "auto").differences
    except InputError:
        return None
    gap = differences[generator.integers(len(differences))].difference
    return float(gap.low <= 0 <= gap.high)


CLAIMS = (
    Claim(
        "ratings: two systems in a mixed model", "the 95 % interval of a difference of two systems holds it",
        {"stats.crossed_linear.Contrast": "low high p", "questions.ratings.scores.RatingDifference": "p"}, CELLS,
        each(holds_zero), 0.95, 0.93, studies=600, silent=SILENT,
    ),
)  # fmt: skip
