"""Rankings with a judge's help where pairs had stated unequal chances of votes: do strengths and ranks hold?"""

import numpy as np

from tests.analysis.claims.registry import Claim, each
from tests.analysis.stats.paired.helped_crowd import DRAWN_CELLS, Judged, helped, truth, what_holds


def strengths_hold(world: Judged, generator: np.random.Generator) -> float | None:
    """The share of the systems whose true strength is in its interval."""
    answer = helped(world, generator)
    if answer is None:
        return None
    true = truth(world.systems, world.spread)
    low, high = np.transpose([answer.fit.interval(system) for system in range(world.systems)])
    return float(np.mean((low <= true) & (true <= high)))


def ranks_hold(world: Judged, generator: np.random.Generator) -> float | None:
    answer = what_holds(world, generator)
    return None if answer is None else answer[1]


EIGHT = {name: world for name, world in DRAWN_CELLS.items() if world.systems == 8}
THIRTY = {name: world for name, world in DRAWN_CELLS.items() if world.systems == 30}
PROMISE = "the 95 % interval of a strength holds it, where pairs were drawn within strata or with known chances"
CLAIMS = (
    Claim(
        "ranks with a judge, stated chances",
        "every system's true rank is in its set, where pairs were drawn within strata or with known chances",
        {}, EIGHT, each(ranks_hold), 0.95, 0.93, studies=300,
    ),
    Claim(
        "strengths with a judge, stated chances", PROMISE, {}, EIGHT, each(strengths_hold), 0.95, 0.93, studies=1000,
    ),
    Claim(
        "strengths with a judge, stated chances, thirty systems", PROMISE, {}, THIRTY, each(strengths_hold), 0.95, 0.93,
        studies=300,
    ),
)  # fmt: skip
