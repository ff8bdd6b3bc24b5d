"""How many ties, and with what certainty: the one place where it is computed, for program, notebook, report and
dashboard alike.

`answer` gives the share of ties in sets of votes for each HumanExp, and its interval by every unit that the votes know.
The paper draws 50,000 sets of 200 judgements from the 2,000 votes of one HumanExp. The number of ties in such a set is
hypergeometric, so the law is computed instead of sampled; sampling it is there on demand and gives the same. Where a
set holds a larger part of the votes than the paper's, sets drawn without replacement vary too little to tell of new
votes, so the law with replacement stands beside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.showing.words import count, percent, plural
from analysis.stats import laws
from analysis.stats.intervals import Interval, groups, kish, mean_interval, share_test
from analysis.stats.laws import CHANCE, Law
from analysis.ties.sets import Codes, Recipe, check_size, law_of_sets, unit_codes, unit_parts, whole_studies
from analysis.votes.cautions import cautions
from analysis.votes.clusters import clusters_of, ways_within
from analysis.votes.voters import Voters, judges_in_recipe, voters
from analysis.votes.votes import Votes
from dialogue.errors import InputError
from dialogue.signature import signature

if TYPE_CHECKING:
    from analysis.stats.mixed import CrossedLogit

UNITS = ("vote", "pair", "item", "dialogue", "rater", "pair+rater", "item+rater", "dialogue+rater")
PAPERS_PART = 10  # the papers' sets hold a tenth of a HumanExp
MOST_ROUNDS = 100  # beyond it the column holds something else, such as times
MOST_MIXED = 20_000  # votes


@dataclass(frozen=True)
class Chance:
    """A share against clicking at random among three answers, by vote (z, exact p) and allowing for clusters (t, p).

    `p` is under .05 exactly where the 95 % interval of the share excludes `share`, for both are by the same logit.
    """

    share: float
    z_vote: float
    p_vote: float
    t: float | None
    p: float | None
    unit: str

    @property
    def p_shown(self) -> float:
        """The p that allows for clusters; of a single vote, the exact one."""
        return self.p_vote if self.p is None else self.p

    @property
    def told_apart(self) -> bool:
        """Whether these votes can be told from random clicking."""
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
    replace: bool  # whether the sets of `law` are drawn with replacement
    replaced: Law | None  # the same with replacement, where sets without it share more votes than the paper's
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
    def part(self) -> float:
        """The part of these votes that a set holds."""
        return self.law.set_votes / self.votes

    @property
    def share_of_different(self) -> float | None:
        """Share of ties among the votes on pairs with two different texts."""
        rest = self.votes - self.identical
        return (self.ties - self.automatic) / rest if rest else None


@dataclass(frozen=True, eq=False)
class TiesAnswer:
    """All numbers of the question; `units` compares the spread of sets drawn by each unit.

    `crowded` says that a set holds more than a tenth of the votes of an experiment and the recipe draws without
    replacement: then every curve has the law with replacement too, and `units` are drawn with replacement alone.
    """

    experiments: tuple[Curve, ...]
    pooled: Curve
    units: tuple[Curve, ...]
    effective_raters: float | None
    mixed: CrossedLogit | None  # a crossed mixed logit beside the interval, where it was asked for
    recipe: Recipe
    crowded: bool
    voters: Voters
    warnings: tuple[str, ...]
    signature: str


def answer(
    votes: Votes,
    *,
    size: int | None = None,
    unit: str = "vote",
    replace: bool = False,
    method: str = "exact",
    sets: int = 50_000,
    clusters: str = "auto",
    mixed: bool = False,
    seed: int = 0,
) -> TiesAnswer:
    """The ties of every HumanExp, pooled, and by every unit that the votes know.

    `size` is that of a set (None: `size_that_fits`), `unit` says what is drawn to form one, `clusters` what the
    interval of the share allows for.
    """
    size = size_that_fits(votes) if size is None else size
    recipe = Recipe(sets, size, seed, unit, replace, method)
    _check_unit(votes, unit)
    clusters_of(votes, clusters)  # refuses what all votes together do not have
    parts = [*_experiments(votes), ("pooled", votes)]
    for name, part in parts:
        check_size(name, len(part), recipe)
    crowded = not replace and any(PAPERS_PART * size > len(part) for _, part in parts)
    *experiments, pooled = [_curve(name, part, recipe, clusters, crowded) for name, part in parts]
    cast = voters(votes)
    model, unfitted = _mixed(votes, clusters) if mixed else (None, ())
    units = _unit_curves(votes, dataclasses.replace(recipe, replace=replace or crowded), _units(votes, pooled))
    return TiesAnswer(
        experiments=tuple(experiments),
        pooled=pooled,
        units=tuple(units),
        effective_raters=kish(given.rater) if (given := votes.given()).rater is not None and len(given) else None,
        mixed=model,
        recipe=recipe,
        crowded=crowded,
        voters=cast,
        warnings=(*unfitted, *_crowding([*experiments, pooled]), *votes.warnings, *cautions(votes)),
        signature=_signature(recipe, pooled, [*experiments, pooled, *units], cast),
    )


def _check_unit(votes: Votes, unit: str) -> None:
    for part, codes in unit_codes(votes, unit).items():
        if groups(codes) < 2:
            raise InputError(f"--unit {unit} needs two {plural(part)} or more; the votes have one.")


def _mixed(votes: Votes, clusters: str) -> tuple[CrossedLogit | None, tuple[str, ...]]:
    """The mixed logit, or the sentence that says why there is none: the other numbers hold without it."""
    if len(votes) > MOST_MIXED:
        raise InputError(
            f"--mixed takes up to {MOST_MIXED:,} votes, and these are {len(votes):,}; it would run for minutes. Leave "
            "it out, or give it a part of the votes."
        )
    from analysis.stats.mixed import crossed_logit  # slow to import, and seldom asked for

    try:
        return crossed_logit(votes.tie, ways_within(votes, clusters)), ()
    except InputError as error:
        return None, (f"There is no mixed logit. {error}",)


def _experiments(votes: Votes) -> list[tuple[str, Votes]]:
    if votes.round is None:
        return []
    if len(votes.rounds) > MOST_ROUNDS:
        raise InputError(
            f"The round column has {len(votes.rounds)} different values; it says which vote of its pair a vote is: "
            "1, 2, 3, ... Map the right column (--columns round=...)."
        )
    return [(f"HumanExp-{k}", votes.select(votes.in_round & (votes.round == k))) for k in votes.rounds]


def smallest_experiment(votes: Votes) -> int:
    """Votes of the smallest HumanExp, of all where there are no rounds."""
    return min((len(part) for _, part in _experiments(votes)), default=len(votes))


def size_that_fits(votes: Votes, size: int = 200) -> int:
    """`size`, or half of the smallest experiment where that has fewer votes: a set of all of them would never vary."""
    smallest = smallest_experiment(votes)
    return size if smallest >= size else max(smallest // 2, 1)


def _unit_curves(votes: Votes, recipe: Recipe, units: Sequence[str]) -> list[Curve]:
    """Sets of all votes drawn by each unit, with the interval that allows for the same clusters and no others."""
    found: dict[str, Curve] = {}
    for unit in units:
        drawn = dataclasses.replace(recipe, unit=unit)
        known = {name: curve.law for name, curve in found.items()}
        curve = _counted(unit, votes, drawn, law_of_sets(votes, unit, drawn, known), unit_codes(votes, unit))
        if recipe.method == "sample" and curve.interval:
            curve = dataclasses.replace(curve, bootstrap=whole_studies(votes, drawn, curve.interval.se))
        found[unit] = curve
    return [*found.values()]


def _curve(name: str, votes: Votes, recipe: Recipe, wanted: str, crowded: bool) -> Curve:
    """The law of sets as the recipe draws them, and the interval that allows for the clusters of these votes."""
    curve = _counted(name, votes, recipe, law_of_sets(votes, name, recipe), clusters_of(votes, wanted, part=True))
    if not crowded:
        return curve
    return dataclasses.replace(curve, replaced=law_of_sets(votes, name, dataclasses.replace(recipe, replace=True)))


def _counted(name: str, votes: Votes, recipe: Recipe, law: Law, by: Mapping[str, Codes]) -> Curve:
    ties = votes.tie
    same = np.zeros(len(votes), dtype=bool) if votes.identical is None else votes.identical
    interval = mean_interval(ties, by=by, share=True) if len(ties) > 1 else None
    drawn = unit_codes(votes, recipe.unit).values()
    return Curve(
        name=name,
        votes=len(votes),
        ties=int(ties.sum()),
        automatic=int((ties & same).sum()),
        identical=int(same.sum()),
        law=law,
        replace=recipe.replace,
        replaced=None,
        unit=recipe.unit,
        clusters=min((groups(codes) for codes in drawn), default=len(votes)),
        interval=interval,
        chance=_chance(len(votes), int(ties.sum()), interval),
        choices=dict(zip(votes.labels, np.bincount(votes.choice, minlength=len(votes.labels)).tolist(), strict=True)),
    )


def _chance(votes: int, ties: int, interval: Interval | None) -> Chance:
    z = (ties / votes - CHANCE) / np.sqrt(CHANCE * (1 - CHANCE) / votes)
    mass = laws.binomial(CHANCE, votes).probability
    p_vote = min(1.0, float(mass[mass <= mass[ties] * (1 + 1e-7)].sum()))
    if interval is None:
        return Chance(CHANCE, float(z), p_vote, None, None, "vote")
    t, p = share_test(interval, CHANCE)
    return Chance(CHANCE, float(z), p_vote, t, p, interval.unit)


def _units(votes: Votes, pooled: Curve) -> list[str]:
    """The ways of drawing sets that these votes know; by item only where the interval allows for items."""
    used = [] if pooled.interval is None else unit_parts(pooled.interval.unit)
    return [name for name in UNITS if _enough(votes, name) and ("item" in used or "item" not in unit_parts(name))]


def _enough(votes: Votes, unit: str) -> bool:
    found = [getattr(votes, part) for part in unit_parts(unit)]
    return all(codes is not None and groups(codes) > 1 for codes in found)


def _crowding(curves: Sequence[Curve]) -> list[str]:
    """That sets come too near to the whole, said of the smallest experiment."""
    least = min(curves, key=lambda curve: curve.votes)
    if least.replaced is None:
        return []
    size, part = least.law.set_votes, percent(least.part, 0)
    if not least.replaced.sd:  # votes that are all the same: sets of them are too, however they are drawn
        return []
    name = f" of {least.name}" if least.name != "pooled" else ""
    return [
        f"A set of {size} is {part} of the {count(least.votes, 'vote')}{name}; in the papers it is a tenth. Drawn "
        f"without replacement, two sets share {part} of their votes on average, so their SD "
        f"({100 * least.law.sd:.1f} points) is smaller than that of new votes; with replacement it is "
        f"{100 * least.replaced.sd:.1f}. Both are given."
    ]


def _signature(recipe: Recipe, pooled: Curve, curves: Sequence[Curve], cast: Voters) -> str:
    parts: dict[str, Any] = {"votes": pooled.votes, "unit": recipe.unit, "set": recipe.size}
    if any(law.method == "sampled" for curve in curves for law in (curve.law, curve.replaced) if law):
        parts |= {"sets": recipe.sets, "seed": recipe.seed}
    replace = (False, True) if pooled.replaced else recipe.replace
    drawn_anew = None if pooled.interval is None else pooled.interval.unit
    return signature(**parts, replace=replace, law=recipe.method, clusters=drawn_anew, **judges_in_recipe(cast))
