"""How many ties, and with what certainty: the share in sets of votes for each HumanExp, and its interval by every unit.

The paper draws 50,000 sets of 200 judgements from the 2,000 votes of one HumanExp. The number of ties in such a set is
hypergeometric, so the law is computed instead of sampled; sampling it is there on demand and gives the same. Where a
set holds a larger part of the votes than the paper's, sets drawn without replacement vary too little to tell of new
votes, so the law with replacement is given too.

A set has exactly as many votes as the recipe says, whatever it is drawn by: single votes; or clusters in random order
until it is full, the last one cut at random, as a study ends when it has its votes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.questions.ties.difficulty import TieTrait, tie_traits
from seedvote.analysis.showing.words import count, percent, plural
from seedvote.analysis.stats import laws
from seedvote.analysis.stats.disparity import Disparity, compare_groups
from seedvote.analysis.stats.intervals import Interval, count_groups, kish, mean_interval, share_test
from seedvote.analysis.stats.laws import CHANCE, Law
from seedvote.analysis.stats.resample import Clusters, bootstrap_mean, crossed_bootstrap, narrow_shares, set_shares
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, list_cautions, voters
from seedvote.analysis.votes.clusters import clusters_of, ways_within
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair, key_of, system_names
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

if TYPE_CHECKING:
    from seedvote.analysis.stats.mixed import CrossedLogit

Codes = NDArray[np.int64]
UNITS = ("vote", "pair", "item", "dialogue", "rater", "pair+rater", "item+rater", "dialogue+rater")
PAPERS_PART = 10  # the papers' sets hold a tenth of a HumanExp
MOST_ROUNDS = 100  # beyond it the column holds something else, such as times
MOST_MIXED = 20_000  # votes


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
    def differs(self) -> bool:
        """Whether this share differs from that of random clicking."""
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
        different_votes = self.votes - self.identical
        return (self.ties - self.automatic) / different_votes if different_votes else None


@dataclass(frozen=True)
class DeviceTies:
    """The votes given on one kind of device, their share of ties, and how far it is from that on the others."""

    device: str
    votes: int
    ties: Interval
    apart: Disparity | None


@dataclass(frozen=True)
class DifferencesShown:
    """The votes on near-identical responses that had their differences underlined, against those that had not."""

    shown: int
    hidden: int
    ties: Interval  # share, where they were shown
    ties_hidden: Interval
    apart: Disparity | None  # shown minus hidden
    system: str | None  # the first by name, where the votes compare two systems
    preference: Disparity | None  # its net preference, shown minus hidden


@dataclass(frozen=True, eq=False)
class TiesAnswer:
    """All numbers of the question; `units` compares the spread of sets drawn by each unit.

    `crowded` says that a set holds more than a tenth of the votes of an experiment and the recipe draws without
    replacement: then every curve has the law with replacement too, and `units` are drawn with replacement alone.
    """

    experiments: tuple[Curve, ...]
    pooled: Curve
    units: tuple[Curve, ...]
    traits: tuple[TieTrait, ...]  # of pairs, with which ties may go
    effective_raters: float | None
    devices: tuple[DeviceTies, ...]  # empty where the votes do not name two kinds or more
    differences: DifferencesShown | None  # None where they were underlined for all or nobody
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
    pairs: Mapping[str, Pair] | None = None,
) -> TiesAnswer:
    """The ties of every HumanExp, pooled, and by every unit that the votes know.

    `size` is that of a set (None: `size_that_fits`), `unit` says what is drawn to form one, `clusters` what the
    interval of the share allows for. `pairs` have the texts that ties may go with.
    """
    size = size_that_fits(votes) if size is None else size
    recipe = Recipe(sets, size, seed, unit, replace, method)
    _check_unit(votes, unit)
    clusters_of(votes, clusters)  # refuses what all votes together do not have
    parts = [*_split_experiments(votes), ("pooled", votes)]
    for name, part in parts:
        check_size(name, len(part), recipe)
    crowded = not replace and any(PAPERS_PART * size > len(part) for _, part in parts)
    *experiments, pooled = [_make_experiment(name, part, recipe, clusters, crowded) for name, part in parts]
    voter_counts, people = voters(votes), votes.given()
    model, unfitted = _fit_mixed(votes, clusters) if mixed else (None, ())
    units = _unit_curves(votes, dataclasses.replace(recipe, replace=replace or crowded), _known_units(votes, pooled))
    return TiesAnswer(
        experiments=tuple(experiments),
        pooled=pooled,
        units=tuple(units),
        traits=tie_traits(votes, pairs or {}, clusters),
        effective_raters=None if people.rater is None or not len(people) else kish(people.rater),
        devices=_compare_devices(people, clusters),
        differences=_compare_differences(people, clusters, pairs or {}),
        mixed=model,
        recipe=recipe,
        crowded=crowded,
        voters=voter_counts,
        warnings=(*unfitted, *_crowding_cautions([*experiments, pooled]), *votes.warnings, *list_cautions(votes)),
        signature=_sign_recipe(recipe, pooled, [*experiments, pooled, *units], voter_counts),
    )


def _compare_devices(votes: Votes, clusters: str) -> tuple[DeviceTies, ...]:
    """Every kind of device, the most used first."""
    if votes.device is None or count_groups(votes.device) < 2:
        return ()
    devices = []
    by = clusters_of(votes, clusters, part=True)
    for code, device in enumerate(votes.devices):
        inside = votes.device == code
        if not inside.any():
            continue
        if (share := _tie_share(votes, inside, clusters)) is not None:
            apart = compare_groups(votes.tie.astype(float), inside, by)
            devices.append(DeviceTies(device, int(inside.sum()), share, apart))
    return tuple(sorted(devices, key=lambda row: (-row.votes, row.device)))


def _tie_share(votes: Votes, inside: NDArray[np.bool_], clusters: str) -> Interval | None:
    own = votes.select(inside)
    return mean_interval(own.tie, by=clusters_of(own, clusters, part=True), share=True) if len(own) > 1 else None


def _compare_differences(votes: Votes, clusters: str, pairs: Mapping[str, Pair]) -> DifferencesShown | None:
    if votes.differences is None:
        return None
    near = votes.select(votes.differences >= 0)
    shown = np.asarray(votes.differences[votes.differences >= 0] == 1)
    shares = [_tie_share(near, side, clusters) for side in (shown, ~shown)]
    if shares[0] is None or shares[1] is None:
        return None
    by = clusters_of(near, clusters, part=True)
    apart = compare_groups(near.tie.astype(float), shown, by)
    system, net = _net_of_first(near, pairs)
    preference = None if net is None else compare_groups(net, shown, by)
    return DifferencesShown(int(shown.sum()), int((~shown).sum()), shares[0], shares[1], apart, system, preference)


def _net_of_first(votes: Votes, pairs: Mapping[str, Pair]) -> tuple[str | None, NDArray[np.float64] | None]:
    """1 for a vote for the first of two systems by name, -1 for one against it; None where there are not just two."""
    voted = {votes.pairs[code]: code for code in np.unique(votes.pair)}
    known = {name: pairs[name] for name in voted if name in pairs and pairs[name].kind == "real"}
    names = system_names(known.values())
    sides = {voted[name]: (names[key_of(pair.a)], names[key_of(pair.b)]) for name, pair in known.items()}
    if len(known) < len(voted) or len(names) != 2 or any(a == b for a, b in sides.values()):
        return None, None
    first, sign = min(names.values()), np.zeros(len(votes.pairs))
    for code, (a, _) in sides.items():
        sign[code] = 1.0 if a == first else -1.0
    by_label = np.array([{"a": 1.0, "b": -1.0}.get(label, 0.0) for label in votes.labels])
    return first, sign[votes.pair] * by_label[votes.choice]


def _check_unit(votes: Votes, unit: str) -> None:
    for part, codes in unit_codes(votes, unit).items():
        if count_groups(codes) < 2:
            raise InputError(f"--unit {unit} needs two {plural(part)} or more; the votes have one.")


def _fit_mixed(votes: Votes, clusters: str) -> tuple[CrossedLogit | None, tuple[str, ...]]:
    """The mixed logit, or the sentence that says why there is none: the other numbers hold without it."""
    if len(votes) > MOST_MIXED:
        raise InputError(
            f"--mixed takes up to {MOST_MIXED:,} votes, and these are {len(votes):,}; it would run for minutes. Leave "
            "it out, or give it a part of the votes."
        )
    from seedvote.analysis.stats.mixed import crossed_logit  # slow to import, and seldom asked for

    try:
        return crossed_logit(votes.tie, ways_within(votes, clusters)), ()
    except InputError as error:
        return None, (f"There is no mixed logit. {error}",)


def _split_experiments(votes: Votes) -> list[tuple[str, Votes]]:
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
    return min((len(part) for _, part in _split_experiments(votes)), default=len(votes))


def size_that_fits(votes: Votes, size: int = 200) -> int:
    """`size`, or half of the smallest experiment where that has fewer votes: a set of all of them would never vary."""
    smallest = smallest_experiment(votes)
    return size if smallest >= size else max(smallest // 2, 1)


def _unit_curves(votes: Votes, recipe: Recipe, units: Sequence[str]) -> list[Curve]:
    """Sets of all votes drawn by each unit, with the interval that allows for the same clusters and no others."""
    curves: dict[str, Curve] = {}
    for unit in units:
        unit_recipe = dataclasses.replace(recipe, unit=unit)
        known = {name: curve.law for name, curve in curves.items()}
        curve = _make_curve(
            unit, votes, unit_recipe, law_of_sets(votes, unit, unit_recipe, known), unit_codes(votes, unit)
        )
        if recipe.method == "sample" and curve.interval:
            curve = dataclasses.replace(curve, bootstrap=resample_studies(votes, unit_recipe, curve.interval.se))
        curves[unit] = curve
    return [*curves.values()]


def _make_experiment(name: str, votes: Votes, recipe: Recipe, wanted: str, crowded: bool) -> Curve:
    """The law of sets as the recipe draws them, and the interval that allows for the clusters of these votes."""
    curve = _make_curve(name, votes, recipe, law_of_sets(votes, name, recipe), clusters_of(votes, wanted, part=True))
    if not crowded:
        return curve
    return dataclasses.replace(curve, replaced=law_of_sets(votes, name, dataclasses.replace(recipe, replace=True)))


def _make_curve(name: str, votes: Votes, recipe: Recipe, law: Law, clusters: Mapping[str, Codes]) -> Curve:
    ties = votes.tie
    same = np.zeros(len(votes), dtype=bool) if votes.identical is None else votes.identical
    interval = mean_interval(ties, by=clusters, share=True) if len(ties) > 1 else None
    drawn_codes = unit_codes(votes, recipe.unit).values()
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
        clusters=min((count_groups(codes) for codes in drawn_codes), default=len(votes)),
        interval=interval,
        chance=_test_chance(len(votes), int(ties.sum()), interval),
        choices=dict(zip(votes.labels, np.bincount(votes.choice, minlength=len(votes.labels)).tolist(), strict=True)),
    )


def _test_chance(votes: int, ties: int, interval: Interval | None) -> Chance:
    z = (ties / votes - CHANCE) / np.sqrt(CHANCE * (1 - CHANCE) / votes)
    mass = laws.binomial_law(CHANCE, votes).probability
    p_vote = min(1.0, float(mass[mass <= mass[ties] * (1 + 1e-7)].sum()))
    if interval is None:
        return Chance(CHANCE, float(z), p_vote, None, None, "vote")
    t, p = share_test(interval, CHANCE)
    return Chance(CHANCE, float(z), p_vote, t, p, interval.unit)


def _known_units(votes: Votes, pooled: Curve) -> list[str]:
    """The ways of drawing sets that these votes know; by item only where the interval allows for items."""
    used = [] if pooled.interval is None else unit_parts(pooled.interval.unit)
    return [name for name in UNITS if _has_clusters(votes, name) and ("item" in used or "item" not in unit_parts(name))]


def _has_clusters(votes: Votes, unit: str) -> bool:
    columns = [getattr(votes, part) for part in unit_parts(unit)]
    return all(codes is not None and count_groups(codes) > 1 for codes in columns)


def _crowding_cautions(curves: Sequence[Curve]) -> list[str]:
    """That sets come too near to the whole, said of the smallest experiment."""
    least = min(curves, key=lambda curve: curve.votes)
    if least.replaced is None:
        return []
    size, part = least.law.set_votes, percent(least.part, 0)
    if not least.replaced.sd:  # votes that are all the same: sets of them are too, however they are drawn
        return []
    name = f" of {least.name}" if least.name != "pooled" else ""
    return [
        f"A set of {size} is {part} of the {count(least.votes, 'vote')}{name}; in the papers it is a tenth. "
        f"Without replacement two sets have {part} of their votes in common. So their SD is "
        f"{100 * least.law.sd:.1f} points, smaller than that of new votes. With replacement it is "
        f"{100 * least.replaced.sd:.1f}; the tables have both."
    ]


def _sign_recipe(recipe: Recipe, pooled: Curve, curves: Sequence[Curve], voter_counts: Voters) -> str:
    parts: dict[str, Any] = {"votes": pooled.votes, "unit": recipe.unit, "set": recipe.size}
    if any(law.method == "sampled" for curve in curves for law in (curve.law, curve.replaced) if law):
        parts |= {"sets": recipe.sets, "seed": recipe.seed}
    replace = (False, True) if pooled.replaced else recipe.replace
    clusters = None if pooled.interval is None else pooled.interval.unit
    return signature(**parts, replace=replace, law=recipe.method, clusters=clusters, **judges_in_recipe(voter_counts))


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
            return laws.binomial_law(ties / votes, recipe.size)
        return laws.hypergeometric_law(votes, ties, recipe.size)
    if recipe.replace:
        tie_counts = generator.binomial(recipe.size, ties / votes, recipe.sets)
    else:
        tie_counts = generator.hypergeometric(ties, votes - ties, recipe.size, recipe.sets)
    return laws.sampled_law(tie_counts / recipe.size, recipe.size)


def _cluster_law(clusters: Clusters, recipe: Recipe, generator: np.random.Generator) -> Law:
    law = None
    if recipe.method == "exact":
        exact = laws.clusters_with_replacement if recipe.replace else laws.clusters_without_replacement
        law = exact(clusters.votes, clusters.sums.astype(np.int64), recipe.size)
    if law is not None:
        return law
    shares = set_shares(clusters, size=recipe.size, sets=recipe.sets, replace=recipe.replace, generator=generator)
    return laws.sampled_law(shares, recipe.size)


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
    return laws.sampled_law(generator.choice(law.share, recipe.sets, p=law.probability), recipe.size)


def resample_studies(votes: Votes, recipe: Recipe, se: float) -> NDArray[np.float64]:
    """The share in studies of the same size drawn afresh, shape (sets,); `se` is that of the interval by this unit."""
    codes_by_column = unit_codes(votes, recipe.unit)
    generator = np.random.default_rng(child_seed(recipe.seed, "ties", "bootstrap", *codes_by_column))
    ways = list(codes_by_column.values())
    if len(ways) == 2:
        shares = crossed_bootstrap(votes.tie, ways[0], ways[1], sets=recipe.sets, generator=generator)
        return narrow_shares(shares, around=float(votes.tie.mean()), sd=se)
    codes = ways[0] if ways else np.arange(len(votes))
    return bootstrap_mean(votes.tie, codes, sets=recipe.sets, generator=generator)
