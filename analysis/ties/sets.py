"""How sets of votes are drawn, and the law of the share of ties in them.

A set has exactly as many votes as the recipe says, whatever it is drawn by: single votes; or clusters in random order
until it is full, the last one cut at random, as a study ends when it has its votes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.showing.words import count
from analysis.stats import laws
from analysis.stats.laws import Law
from analysis.stats.resample import Clusters, bootstrap_mean, crossed_bootstrap, narrowed, set_shares
from analysis.votes.votes import Votes
from dialogue.errors import InputError
from dialogue.seeds import child_seed

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Recipe:
    """How sets are drawn."""

    sets: int
    size: int
    seed: int
    unit: str
    replace: bool
    method: str


def unit_parts(unit: str) -> list[str]:
    """The columns whose clusters are drawn; none for single votes."""
    return [] if unit == "vote" else unit.split("+")


def unit_codes(votes: Votes, unit: str) -> dict[str, Codes]:
    """The clusters of each column that the unit names."""
    return {part: votes.need(part, f"--unit {unit}") for part in unit_parts(unit)}


def check_size(name: str, votes: int, recipe: Recipe) -> None:
    """Refuse sets that cannot be drawn."""
    if recipe.size < 1 or recipe.sets < 1:
        raise InputError(f"--size and --sets must be 1 or more (got {recipe.size} and {recipe.sets}).")
    if not recipe.replace and recipe.size > votes:
        raise InputError(
            f"{name} has {count(votes, 'vote')}, fewer than a set of {recipe.size}; "
            "choose a smaller --size or add --replace."
        )


def law_of_sets(votes: Votes, name: str, recipe: Recipe, known: Mapping[str, Law] | None = None) -> Law:
    """The law of the share of ties in a set; drawn where none can be written down or the recipe wants it drawn.

    `known` are laws of the same votes and recipe by other units, from which one by two crossed units is made.
    """
    generator = np.random.default_rng(child_seed(recipe.seed, "ties", name, recipe.unit))
    if len(parts := unit_parts(recipe.unit)) == 2:
        return _crossed_law(votes, name, recipe, known or {}, generator)
    if not parts:
        return vote_law(len(votes), int(votes.tie.sum()), recipe, generator)
    return _cluster_law(Clusters.of(votes.tie, *unit_codes(votes, recipe.unit).values()), recipe, generator)


def vote_law(votes: int, ties: int, recipe: Recipe, generator: np.random.Generator) -> Law:
    """Sets of single votes, as in the papers."""
    if recipe.method == "exact":
        if recipe.replace:
            return laws.binomial(ties / votes, recipe.size)
        return laws.hypergeometric(votes, ties, recipe.size)
    if recipe.replace:
        drawn = generator.binomial(recipe.size, ties / votes, recipe.sets)
    else:
        drawn = generator.hypergeometric(ties, votes - ties, recipe.size, recipe.sets)
    return laws.sampled(drawn / recipe.size, recipe.size)


def _cluster_law(clusters: Clusters, recipe: Recipe, generator: np.random.Generator) -> Law:
    law = None
    if recipe.method == "exact":
        exact = laws.clusters_with_replacement if recipe.replace else laws.clusters_without_replacement
        law = exact(clusters.votes, clusters.sums.astype(np.int64), recipe.size)
    if law is not None:
        return law
    drawn = set_shares(clusters, size=recipe.size, sets=recipe.sets, replace=recipe.replace, generator=generator)
    return laws.sampled(drawn, recipe.size)


def _crossed_law(
    votes: Votes, name: str, recipe: Recipe, known: Mapping[str, Law], generator: np.random.Generator
) -> Law:
    """Sets in which both ways of clustering are new.

    No exact law is known for two crossed ways, so the variances by each are added, the one by vote is taken away (as in
    Cameron, Gelbach and Miller 2011, and as in the interval), and a beta-binomial law is given that variance.
    """

    def variance(unit: str) -> float:
        law = known.get(unit) or law_of_sets(votes, name, dataclasses.replace(recipe, unit=unit))
        return law.sd**2

    single = [variance(part) for part in unit_parts(recipe.unit)]
    law = laws.beta_binomial(float(votes.tie.mean()), recipe.size, max(sum(single) - variance("vote"), *single))
    if recipe.method == "exact":
        return law
    return laws.sampled(generator.choice(law.share, recipe.sets, p=law.probability), recipe.size)


def whole_studies(votes: Votes, recipe: Recipe, se: float) -> NDArray[np.float64]:
    """The share in studies of the same size drawn afresh, shape (sets,); `se` is that of the interval by this unit."""
    by = unit_codes(votes, recipe.unit)
    generator = np.random.default_rng(child_seed(recipe.seed, "ties", "bootstrap", *by))
    ways = list(by.values())
    if len(ways) == 2:
        drawn = crossed_bootstrap(votes.tie, ways[0], ways[1], sets=recipe.sets, generator=generator)
        return narrowed(drawn, around=float(votes.tie.mean()), sd=se)
    codes = ways[0] if ways else np.arange(len(votes))
    return bootstrap_mean(votes.tie, codes, sets=recipe.sets, generator=generator)
