"""SDs over seeds and their ratios, where seeds are normal: chi-square's and F's intervals."""

import numpy as np

from seedvote.analysis.stats.spread import sd_ratio, seed_spread
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Trainings, grid

WORLDS = grid(Trainings(systems=2), seeds=(2, 3, 5, 10), law=("tame", "unequal"))


def seed_values(world: Trainings, generator: np.random.Generator) -> np.ndarray:
    """What seeds score on dialogues without end (systems, seeds)."""
    return world.spreads[:, None] * generator.standard_normal((world.systems, world.seeds))


def holds_the_sd(world: Trainings, generator: np.random.Generator) -> bool:
    spread = seed_spread(seed_values(world, generator)[0].tolist())
    return spread.low <= world.spreads[0] <= spread.high


def holds_the_ratio(world: Trainings, generator: np.random.Generator) -> bool:
    ratio = sd_ratio(*(seed_spread(row.tolist()) for row in seed_values(world, generator)))
    return ratio.low <= world.spreads[0] / world.spreads[1] <= ratio.high


CLAIMS = (
    Claim(
        "SD over seeds", "the 95 % interval of an SD over normal seeds holds it",
        {"stats.spread.SeedSpread": "low high"}, WORLDS, each(holds_the_sd), 0.95, 0.94, studies=4000,
    ),
    Claim(
        "ratio of SDs", "the 95 % interval of a ratio of two SDs over normal seeds holds it",
        {"stats.spread.Ratio": "low high"}, WORLDS, each(holds_the_ratio), 0.95, 0.94, studies=4000,
    ),
)  # fmt: skip
