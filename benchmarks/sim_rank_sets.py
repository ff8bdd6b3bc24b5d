"""Rank sets of 53 systems: how wide they are in one step and stepwise, and how narrow they could be.

    python benchmarks/sim_rank_sets.py [--studies 60]

Each system meets its 16 neighbours on a ring: 424 comparisons of 10 votes by 40 raters on 200 dialogues. The systems
are equal, evenly spaced, or in four groups of equals. For every world: the mean number of ranks in a set, all at once
and each by itself, and the share of studies (of systems) in which the sets hold. Last, the threshold of |t| that would
just do in this world for all ranks at once (.95 of studies), the width with it, and in how many studies of the groups
the threshold of the evenly spaced world would hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads would wait for each other
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from seedvote.analysis.stats.paired.davidson import count_games, fit_model
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.rank_sets import _bound_ranks, _draw_largest, rank_sets, reach_of
from tests.analysis.worlds import Arenas, Drawn

Floats = np.ndarray
SYSTEMS, SETS, LEVEL = 53, 1000, 0.95
DESIGN = Arenas(SYSTEMS, 8, 10, dialogues=200, raters=40)
GROUPS = np.sort(np.arange(SYSTEMS) % 4)
WORLDS = {
    "equal": np.zeros(SYSTEMS),
    "evenly spaced over 4": np.linspace(4, 0, SYSTEMS),
    "evenly spaced over 8": np.linspace(8, 0, SYSTEMS),
    "four groups of equals over 4": 4 - GROUPS * 4 / 3,
    "four groups of equals over 8": 8 - GROUPS * 8 / 3,
}


@dataclass(frozen=True)
class Sets:
    """Sets of one rule in many studies, as (studies, systems) arrays."""

    low: Floats
    high: Floats

    @property
    def width(self) -> float:
        """Mean number of ranks in a set."""
        return float((self.high - self.low + 1).mean())

    def held(self, strengths: Floats) -> Floats:
        """(studies, systems): whether the set holds every rank that the system may claim."""
        best, worst = 1 + (strengths > strengths[:, None]).sum(1), (strengths >= strengths[:, None]).sum(1)
        return np.asarray((self.low <= best) & (worst <= self.high))


def study(strengths: Floats, seed: int) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """|t| with signs (systems, systems) of one study; its sets stepwise and in one step, for all and for each."""
    world = Drawn(**{**vars(DESIGN), "known": tuple(strengths.tolist())})
    generator = np.random.default_rng(seed)
    votes = world.study(generator)
    played = count_games([f"s{code:02}" for code in range(SYSTEMS)], votes["a"], votes["b"], votes["choice"], None)
    answer = cluster_errors(played, fit_model(played), {name: votes[name] for name in ("dialogue", "rater")})
    covariance = answer.covariance[:SYSTEMS, :SYSTEMS]
    sets = rank_sets(answer.strengths, covariance, answer.apart, answer.ways_apart, sets=SETS, generator=generator)
    ahead = answer.strengths[:, None] - answer.strengths
    largest = _draw_largest(covariance, SETS, seed, ~np.eye(SYSTEMS, dtype=bool))
    own = np.quantile(largest, LEVEL, axis=0, method="inverted_cdf")[:, None]
    all_pairs = SYSTEMS * (SYSTEMS - 1) / 2
    one_step = (
        np.abs(ahead) > reach_of(quantile, answer.apart, answer.ways_apart, LEVEL, comparisons)
        for quantile, comparisons in ((sets.quantile, all_pairs), (own, SYSTEMS - 1))
    )
    every, each = (_bound_ranks(ahead, is_shown) for is_shown in one_step)
    ratios = ahead / np.where(np.eye(SYSTEMS, dtype=bool), np.inf, answer.apart)
    return ratios, [every, (sets.all_low, sets.all_high), each, (sets.low, sets.high)]


def all_sets(aheads: list[Floats], threshold: float) -> Sets:
    """The sets of every study with one threshold."""
    bounds = [_bound_ranks(ahead, np.abs(ahead) > threshold) for ahead in aheads]
    return Sets(*(np.array(ends) for ends in zip(*bounds, strict=True)))


def least_threshold(aheads: list[Floats], strengths: Floats) -> float:
    """The threshold with which all sets hold in .95 of studies."""
    candidates = np.arange(1.0, 8.0, 0.05)
    shares = [all_sets(aheads, threshold).held(strengths).all(1).mean() for threshold in candidates]
    return float(candidates[np.argmax(np.array(shares) >= LEVEL)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=60)
    studies = parser.parse_args().studies
    thresholds, seen = {}, {}
    for name, strengths in WORLDS.items():
        answers = [study(strengths, seed) for seed in range(studies)]
        seen[name] = [ahead for ahead, _ in answers]
        rules = [
            Sets(*(np.array([bounds[rule][end] for _, bounds in answers]) for end in range(2))) for rule in range(4)
        ]
        thresholds[name] = least_threshold(seen[name], strengths)
        widths = [f"{rule.width:.1f}" for rule in rules]
        every, own = rules[1].held(strengths).all(1).mean(), rules[3].held(strengths).mean()
        print(
            f"{name}: all at once {widths[0]} in one step, {widths[1]} stepwise (hold in {every:.3f} of studies); "
            f"each by itself {widths[2]} in one step, {widths[3]} stepwise ({own:.3f} of systems); "
            f"threshold {thresholds[name]:.2f} would do, width {all_sets(seen[name], thresholds[name]).width:.1f}",
            flush=True,
        )
    for even, groups in (("evenly spaced over 4", "four groups of equals over 4"),
                         ("evenly spaced over 8", "four groups of equals over 8")):  # fmt: skip
        share = all_sets(seen[groups], thresholds[even]).held(WORLDS[groups]).all(1).mean()
        print(f"{thresholds[even]:.2f}, which would do for systems {even}, holds in {share:.3f} of studies of {groups}")


if __name__ == "__main__":
    main()
