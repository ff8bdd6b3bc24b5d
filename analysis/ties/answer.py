"""How many ties, and with what certainty: the one place where it is computed, for program, notebook, report and
dashboard alike.

`answer` gives the share of ties in sets of votes for each HumanExp, and its interval by every unit that the votes know.
The paper draws 50,000 sets of 200 judgements from the 2,000 votes of one HumanExp. The number of ties in such a set is
hypergeometric, so the law is computed instead of sampled; sampling it is there on demand and gives the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from analysis.reading.cautions import cautions
from analysis.reading.clusters import clusters_of
from analysis.reading.votes import Votes
from analysis.showing.words import count
from analysis.stats import laws
from analysis.stats.intervals import Interval, groups, kish, mean_interval
from analysis.stats.laws import CHANCE, Law
from analysis.stats.resample import Clusters, bootstrap_mean, cluster_shares, crossed_bootstrap
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from dialogue.signature import signature

UNITS = ("vote", "pair", "dialogue", "rater", "pair+rater", "dialogue+rater")
MOST_ROUNDS = 100  # beyond it the column holds something else, such as times
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


@dataclass(frozen=True)
class Chance:
    """A share against clicking at random among three answers, by vote (z, exact p) and allowing for clusters (t, p)."""

    share: float
    z_vote: float
    p_vote: float
    t: float | None
    p: float | None
    unit: str

    @property
    def p_shown(self) -> float:
        """The p that allows for clusters; the one by vote where no cluster tells of a spread."""
        return self.p_vote if self.p is None else self.p

    @property
    def told_apart(self) -> bool:
        """Whether these votes can be told from random clicking; an interval by the logit may say otherwise."""
        return self.p_shown < 0.05


@dataclass(frozen=True, eq=False)
class Curve:
    """Ties among some votes and the law of their share in sets."""

    name: str
    votes: int
    ties: int
    automatic: int  # ties on pairs whose two responses are the same text
    identical: int  # votes on such pairs
    law: Law
    unit: str
    clusters: int  # units that the votes fall into (of the scarcer kind for pair+rater)
    interval: Interval | None  # of the share itself, from all these votes
    chance: Chance
    choices: Mapping[str, int]  # label -> votes
    bootstrap: NDArray[np.float64] | None = None  # the share in whole resampled studies, where sets are sampled

    @property
    def share(self) -> float:
        """Observed share of ties."""
        return self.ties / self.votes

    @property
    def share_of_different(self) -> float | None:
        """Share of ties among the votes on pairs with two different texts."""
        rest = self.votes - self.identical
        return (self.ties - self.automatic) / rest if rest else None


@dataclass(frozen=True, eq=False)
class TiesAnswer:
    """All numbers of the question; `units` compares the spread of sets drawn by each unit, with replacement."""

    experiments: tuple[Curve, ...]
    pooled: Curve
    units: tuple[Curve, ...]
    effective_raters: float | None
    recipe: Recipe
    warnings: tuple[str, ...]
    signature: str


def answer(
    votes: Votes,
    *,
    size: int = 200,
    unit: str = "vote",
    replace: bool = False,
    method: str = "exact",
    sets: int = 50_000,
    clusters: str = "auto",
    seed: int = 0,
) -> TiesAnswer:
    """The ties of every HumanExp, pooled, and by every unit that the votes know.

    `unit` says what is drawn to form a set, `clusters` what the interval of the share allows for.
    """
    recipe = Recipe(sets, size, seed, unit, replace, method)
    known = [name for name in UNITS if all(_codes(votes, part) is not None for part in _parts(name))]
    for part in _parts(unit):
        if groups(votes.need(part, f"--unit {unit}")) < 2:
            raise InputError(f"--unit {unit} needs two {part}s or more; the votes have one.")
    *experiments, pooled = [
        _curve(name, part, recipe, clusters_of(part, clusters))
        for name, part in [*_experiments(votes), ("pooled", votes)]
    ]
    by_unit = [dataclasses.replace(recipe, unit=name, replace=True) for name in known if _enough(votes, name)]
    units = [_unit_curve(votes, one) for one in by_unit]
    return TiesAnswer(
        experiments=tuple(experiments),
        pooled=pooled,
        units=tuple(units),
        effective_raters=None if votes.rater is None else kish(votes.rater),
        recipe=recipe,
        warnings=(*votes.warnings, *cautions(votes)),
        signature=_signature(votes, recipe, [*experiments, pooled, *units]),
    )


def _experiments(votes: Votes) -> list[tuple[str, Votes]]:
    if len(votes.rounds) > MOST_ROUNDS:
        raise InputError(
            f"The round column has {len(votes.rounds)} different values; it says which vote of its pair a vote is: "
            "1, 2, 3, ... Map the right column (--columns round=...)."
        )
    return [(f"HumanExp-{k}", votes.select(np.equal(votes.need("round", "an experiment"), k))) for k in votes.rounds]


def smallest_experiment(votes: Votes) -> int:
    """Votes of the smallest HumanExp, of all where there are no rounds."""
    return min((len(part) for _, part in _experiments(votes)), default=len(votes))


def size_that_fits(votes: Votes, size: int = 200) -> int:
    """`size`, or half of the smallest experiment where that has fewer votes: a set of all of them would never vary."""
    smallest = smallest_experiment(votes)
    return size if smallest >= size else max(smallest // 2, 1)


def _unit_curve(votes: Votes, recipe: Recipe) -> Curve:
    by = _clusters(votes, recipe.unit)
    curve = _curve(recipe.unit, votes, recipe, by)
    return curve if recipe.method == "exact" else dataclasses.replace(curve, bootstrap=_bootstrap(votes, by, recipe))


def _bootstrap(votes: Votes, by: Mapping[str, Codes], recipe: Recipe) -> NDArray[np.float64]:
    """The share in studies of the same size drawn afresh, shape (sets,)."""
    generator = np.random.default_rng(child_seed(recipe.seed, "ties", "bootstrap", *by))
    ways = list(by.values())
    if len(ways) == 2:
        return crossed_bootstrap(votes.tie, ways[0], ways[1], sets=recipe.sets, generator=generator)
    codes = ways[0] if ways else np.arange(len(votes))
    return bootstrap_mean(votes.tie, codes, sets=recipe.sets, generator=generator)


def _curve(name: str, votes: Votes, recipe: Recipe, honest: Mapping[str, Codes]) -> Curve:
    """The law of sets as the recipe draws them, and the interval that allows for the clusters in `honest`."""
    ties = votes.tie
    same = np.zeros(len(votes), dtype=bool) if votes.identical is None else votes.identical
    by = _clusters(votes, recipe.unit)
    interval = mean_interval(ties, by=honest, share=True) if len(ties) > 1 else None
    return Curve(
        name=name,
        votes=len(votes),
        ties=int(ties.sum()),
        automatic=int((ties & same).sum()),
        identical=int(same.sum()),
        law=_law(votes, name, recipe, by),
        unit=recipe.unit,
        clusters=min((groups(codes) for codes in by.values()), default=len(votes)),
        interval=interval,
        chance=_chance(len(votes), int(ties.sum()), interval),
        choices=dict(zip(votes.labels, np.bincount(votes.choice, minlength=len(votes.labels)).tolist(), strict=True)),
    )


def _law(votes: Votes, name: str, recipe: Recipe, by: Mapping[str, Codes]) -> Law:
    _check_size(votes, name, recipe)
    generator = np.random.default_rng(child_seed(recipe.seed, "ties", name, recipe.unit))
    if not by:
        return _vote_law(len(votes), int(votes.tie.sum()), recipe, generator)
    if len(by) == 2:
        return _crossed_law(votes, name, recipe, by, generator)
    return _cluster_law(Clusters.of(votes.tie, *by.values()), name, recipe, recipe.unit, generator)


def _vote_law(votes: int, ties: int, recipe: Recipe, generator: np.random.Generator) -> Law:
    if recipe.method == "exact":
        if recipe.replace:
            return laws.binomial(ties / votes, recipe.size)
        return laws.hypergeometric(votes, ties, recipe.size)
    if recipe.replace:
        drawn = generator.binomial(recipe.size, ties / votes, recipe.sets)
    else:
        drawn = generator.hypergeometric(ties, votes - ties, recipe.size, recipe.sets)
    return laws.sampled(drawn / recipe.size, recipe.size)


def _cluster_law(clusters: Clusters, name: str, recipe: Recipe, unit: str, generator: np.random.Generator) -> Law:
    draws = clusters.draws(recipe.size)
    if not recipe.replace and draws > len(clusters.votes):
        raise InputError(
            f"{name} has {count(len(clusters.votes), unit)}, fewer than the {draws} that make a set of {recipe.size} "
            "votes; choose a smaller --size or add --replace."
        )
    law = None
    if recipe.method == "exact":
        exact = laws.clusters_with_replacement if recipe.replace else laws.clusters_without_replacement
        law = exact(clusters.votes, clusters.sums.astype(np.int64), draws)
    if law is None:
        shares = cluster_shares(clusters, draws=draws, sets=recipe.sets, replace=recipe.replace, generator=generator)
        law = laws.sampled(shares, draws * float(clusters.votes.mean()))
    return law


def _crossed_law(
    votes: Votes, name: str, recipe: Recipe, by: Mapping[str, Codes], generator: np.random.Generator
) -> Law:
    """Sets whose pairs and raters are both new.

    No exact law is known for two crossed ways, so the variances by each are added, the one by vote is taken away (as in
    Cameron, Gelbach and Miller 2011), and a beta-binomial law is given that variance.
    """
    share = float(votes.tie.mean())
    exact = dataclasses.replace(recipe, method="exact")
    single = [
        _cluster_law(Clusters.of(votes.tie, codes), name, exact, way, generator).sd ** 2 for way, codes in by.items()
    ]
    alone = _vote_law(len(votes), int(votes.tie.sum()), exact, generator).sd ** 2
    law = laws.beta_binomial(share, recipe.size, max(sum(single) - alone, *single))
    if recipe.method == "exact":
        return law
    return laws.sampled(generator.choice(law.share, recipe.sets, p=law.probability), recipe.size)


def _chance(votes: int, ties: int, interval: Interval | None) -> Chance:
    z = (ties / votes - CHANCE) / np.sqrt(CHANCE * (1 - CHANCE) / votes)
    mass = laws.binomial(CHANCE, votes).probability
    p_vote = min(1.0, float(mass[mass <= mass[ties] * (1 + 1e-7)].sum()))
    if interval is None or interval.se < 1e-12:
        return Chance(CHANCE, float(z), p_vote, None, None, "vote")
    t = (interval.value - CHANCE) / interval.se
    return Chance(CHANCE, float(z), p_vote, t, 2 * float(stdtr(interval.df, -abs(t))), interval.unit)


def _check_size(votes: Votes, name: str, recipe: Recipe) -> None:
    if recipe.size < 1 or recipe.sets < 1:
        raise InputError(f"--size and --sets must be 1 or more (got {recipe.size} and {recipe.sets}).")
    if recipe.unit == "vote" and not recipe.replace and recipe.size > len(votes):
        raise InputError(
            f"{name} has {count(len(votes), 'vote')}, fewer than a set of {recipe.size}; "
            "choose a smaller --size or add --replace."
        )


def _codes(votes: Votes, unit: str) -> Codes | None:
    codes: Codes | None = getattr(votes, unit)
    return codes


def _clusters(votes: Votes, unit: str) -> dict[str, Codes]:
    return {part: votes.need(part, f"--unit {unit}") for part in _parts(unit)}


def _parts(unit: str) -> list[str]:
    return [] if unit == "vote" else unit.split("+")


def _enough(votes: Votes, unit: str) -> bool:
    return all(groups(votes.need(part, unit)) > 1 for part in _parts(unit))


def _signature(votes: Votes, recipe: Recipe, curves: Sequence[Curve]) -> str:
    parts: dict[str, Any] = {"votes": len(votes), "unit": recipe.unit, "set": recipe.size}
    if any(curve.law.method == "sampled" for curve in curves):
        parts |= {"sets": recipe.sets, "seed": recipe.seed}
    return signature(**parts, replace=recipe.replace, law=recipe.method)
