"""The calibrated tie index: does its interval hold where real pairs lie between their controls?"""

from functools import cache

import numpy as np

from seedvote.analysis.questions.preference.answer import index_of
from seedvote.analysis.votes.votes import votes_from_columns
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Anchored, grid

true_index = cache(Anchored.truth)


def holds_the_index(world: Anchored, generator: np.random.Generator) -> bool | None:
    kinds = [
        votes_from_columns({
            "pair": [f"p{code}" for code in pair], "rater": [f"r{code}" for code in rater],
            "choice": np.where(tie, "tie", "a"),
        })
        for tie, pair, rater in world.study(generator)
    ]  # fmt: skip
    found = index_of(kinds)
    return None if found is None else found.low <= true_index(world) <= found.high


CELLS = grid(Anchored(), raters=(3, 8, 30, 200), sd_habit=(0.5, 1.0))
CLAIMS = (
    Claim(
        "tie index", "Fieller's interval of the tie index holds it",
        {"stats.sign_tests.TieIndex": "low high"},
        CELLS, each(holds_the_index), 0.95, 0.92, silent=tuple(cell for cell in CELLS if cell.startswith("raters 3,")),
    ),
)  # fmt: skip
