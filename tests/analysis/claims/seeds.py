"""Systems over training seeds: intervals of means, ranks of all systems at once, ranges."""

import math
from dataclasses import replace

import numpy as np
from scipy.stats import norm

from seedvote.analysis.questions.leaderboard import _rank_trained
from seedvote.analysis.stats.mean_over_seeds import mean_over_seeds, replicates_by_dialogue
from seedvote.analysis.stats.reruns import EVERYTHING, predict_flips, replicates_of
from seedvote.analysis.stats.seed_levels import SeedLevels, ranks_over_seeds, seed_levels
from seedvote.analysis.stats.spread import seed_range
from tests.analysis.claims.registry import Claim, each
from tests.analysis.worlds import Trainings, deviations, grid, median_of

LAWS = ("tame", "unequal", "collapsing", "log-normal")
SEEDS = (2, 3, 5, 10)
TAME = {
    **grid(Trainings(), seeds=SEEDS, law=("tame", "unequal"), sd=(0.2, 1.0)),
    **grid(Trainings(dialogues=20), "20 dialogues", seeds=(2, 3, 10), law=("tame", "unequal")),
}
EVERY = {
    **grid(Trainings(), systems=(2, 5, 12), seeds=SEEDS, law=LAWS),
    **grid(Trainings(gaps=(0.0, 0.5, 0.5, 1.0, 2.0)), "unequal means", seeds=SEEDS, law=LAWS),
    **grid(Trainings(systems=60, gaps=tuple(np.arange(60) / 10)), seeds=(3, 10), law=("tame", "unequal")),
}
AS_TRAINED = {
    **grid(Trainings(sd=0.0), "equal", systems=(2, 5, 12), seeds=(1, 3)),
    **grid(Trainings(sd=0.0, dialogues=20), "equal, 20 dialogues", systems=(2, 5, 12), seeds=(1,)),
    **grid(Trainings(), "of their own luck", seeds=(1, 3)),
}
ONE_SEED = grid(Trainings(seeds=1), systems=(2, 5))


def levels_of(scores: np.ndarray) -> SeedLevels:
    """From scores (systems, seeds, dialogues)."""
    systems, seeds, dialogues = scores.shape
    models = scores.reshape(systems * seeds, dialogues)
    places = np.arange(systems * seeds).reshape(systems, seeds)
    means = models.mean(1)
    return seed_levels(means, (models - means[:, None]) / dialogues, list(places))


def holds_a_mean(world: Trainings, generator: np.random.Generator) -> bool | None:
    """Whether the interval of the first system, the unstable one where there is one, holds its mean."""
    levels = levels_of(world.study(generator))
    reach = float(levels.reach()[0])
    return bool(abs(levels.means[0] - world.truth[0]) <= reach) if np.isfinite(reach) else None


def holds_all_ranks(world: Trainings, generator: np.random.Generator) -> bool:
    best, worst = ranks_over_seeds(levels_of(world.study(generator)))
    return hold_ranks(best, worst, world.truth)


def holds_all_ranks_as_trained(world: Trainings, generator: np.random.Generator) -> bool:
    scores, truth = world.trained_study(generator)
    spans = _rank_trained(levels_of(scores), math.inf, int(generator.integers(2**31)))
    return hold_ranks(np.array([span.best for span in spans]), np.array([span.worst for span in spans]), truth)


def hold_ranks(best: np.ndarray, worst: np.ndarray, truth: np.ndarray) -> bool:
    """Whether every system's set holds all ranks that it may claim: equals share theirs."""
    above, below = ((truth[None] > truth[:, None]).sum(1), (truth[None] < truth[:, None]).sum(1))
    return bool(((best <= 1 + above) & (worst >= len(truth) - below)).all())


def holds_the_median(world: Trainings, studies: int, generator: np.random.Generator) -> np.ndarray:
    """Of the misses so many count that a range which keeps its own level holds in .95."""
    half = median_of(world.law)
    ranges = [seed_range(deviations(world.law, generator, (world.seeds,)).tolist()) for _ in range(studies)]
    missed = np.array([not spread.low <= half <= spread.high for spread in ranges])
    return 1.0 - (missed & (generator.random(studies) < 0.05 / (1 - ranges[0].level)))


def holds_a_drop(world: Trainings, generator: np.random.Generator) -> bool:
    """The mean of one system alone, as of a drop under a perturbation."""
    scores = world.study(generator)[0]
    means = scores.mean(1)
    found = mean_over_seeds(replicates_by_dialogue(means, (scores - means[:, None]) / world.dialogues))
    return found.low <= world.truth[0] <= found.high


def holds_the_flip(world: Trainings, generator: np.random.Generator) -> bool:
    """Whether the interval of the chance that a re-run reverses two systems holds it; their difference is anything."""
    first, second = world.spreads**2 / world.seeds
    by_dialogue = 2 * (world.sd_system**2 + world.sd_run**2 / world.seeds) / world.dialogues
    error = float(np.sqrt(first + second + by_dialogue))
    truth = error * generator.uniform(-4, 4)
    scores = replace(world, gaps=(truth, 0.0)).study(generator)
    model = np.repeat(np.arange(2 * world.seeds), world.dialogues)
    replicates = replicates_of(scores.ravel(), model, {"items": np.tile(np.arange(world.dialogues), 2 * world.seeds)})
    places = np.arange(2 * world.seeds).reshape(2, world.seeds)
    flip = predict_flips(replicates, ("a", places[0]), ("b", places[1]))[EVERYTHING]
    return flip.low <= norm.cdf(-truth * np.sign(flip.difference) / error) <= flip.high


FLIPS = grid(Trainings(systems=2), seeds=SEEDS, law=("tame", "unequal"), sd=(0.2, 1.0), dialogues=(20, 60))
DROPS = grid(Trainings(systems=1), seeds=SEEDS, sd=(0.0, 0.3, 1.0, 3.0), dialogues=(20, 60))
RANGES = grid(Trainings(), seeds=(2, 3, 4, 5, 6, 10, 30), law=("tame", "collapsing", "log-normal"))
LONE = {f"one seed, {name}": world for name, world in ONE_SEED.items()}
CLAIMS = (
    Claim(
        "leaderboard: mean over seeds",
        "the 95 % interval of a system over new seeds holds its mean; one seed has none",
        {"questions.leaderboard.RankedSpan": "low high", "questions.leaderboard.StepDown": "low high p_holm"},
        {**TAME, **LONE}, each(holds_a_mean), 0.95, 0.93, studies=2000, silent=tuple(LONE),
    ),
    Claim(
        "leaderboard: all ranks at once", "the 95 % ranks over new seeds hold for all systems at once",
        {"questions.leaderboard.RankedSpan": "best worst"}, EVERY, each(holds_all_ranks), 0.95, 0.93,
    ),
    Claim(
        "leaderboard: all ranks as trained",
        "the 95 % ranks of these very models on other dialogues hold for all systems at once",
        {"questions.leaderboard.RankedSpan": "best worst"}, AS_TRAINED, each(holds_all_ranks_as_trained), 0.95, 0.93,
        studies=1000,
    ),
    Claim(
        "drop or mean over seeds", "the 95 % interval of one mean over seeds and dialogues holds it",
        {"stats.mean_over_seeds.SeedMean": "low high p"}, DROPS, each(holds_a_drop), 0.95, 0.93, studies=1000,
    ),
    Claim(
        "chance of a reversed order", "the 95 % interval of the chance that a re-run reverses two systems holds it",
        {"stats.reruns.Flip": "p low high"}, FLIPS, each(holds_the_flip), 0.95, 0.93,
    ),
    Claim(
        "range of seeds", "the range of seeds holds the median training as often as it says (here as if it said .95)",
        {"stats.spread.SeedRange": "low high"}, RANGES, holds_the_median, 0.95, 0.95, studies=20_000,
    ),
)  # fmt: skip
