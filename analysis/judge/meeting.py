"""A judge beside people: agreement with votes, always next to what one more person would reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.stats.intervals import Interval, mean_interval
from analysis.stats.paired.order_agreement import OrderAgreement, order_agreement
from analysis.votes.clusters import clusters_of
from analysis.votes.systems import key_of, system_names
from analysis.votes.verdicts import NET, Bench, contrast_of
from analysis.votes.votes import Votes, net_scores
from dialogue.records import Pair

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
UNITED = (("under half", 0.0, 0.5), ("half to three quarters", 0.5, 0.75), ("three quarters and more", 0.75, 1.01))
# How much longer the longer response is, in words.
LENGTHS = (("up to a quarter longer", 1.0, 1.25), ("up to twice as long", 1.25, 2.0), ("longer still", 2.0, np.inf))


@dataclass(frozen=True, slots=True)
class AgreedPart:
    """Agreement on some of the pairs: those on which people are so united, of two systems, or of such lengths."""

    name: str
    pairs: int
    votes: int
    agreement: float  # the judge's ruling equals a vote
    among_people: float | None  # a vote equals another one on its pair


@dataclass(frozen=True, slots=True)
class Met:
    """One judge on the pairs that have votes."""

    votes: int
    pairs: int
    equals_vote: Interval  # the judge's ruling equals a vote
    person_equals_vote: float | None  # a vote equals another person's on the pair
    equals_majority: float | None  # the judge equals the majority of all votes but one
    person_equals_majority: float | None  # and that one vote does
    kappa: Interval | None
    ac1: Interval | None
    united: tuple[AgreedPart, ...]
    contrasts: tuple[AgreedPart, ...]  # by which two systems are compared; empty for one comparison
    lengths: tuple[AgreedPart, ...]  # by how much the lengths of the responses differ
    order: OrderAgreement | None  # of the systems, by the judge and by people; None for fewer than four
    confusion: tuple[tuple[int, ...], ...]  # votes: rows people's a, b, tie; columns the judge's
    condition: float | None  # of the confusion, by which errors grow where one inverts it (Rogan and Gladen)
    longer: tuple[float, float] | None  # of decisive ones for the longer response: judge, people
    left_out: int  # votes on pairs without a usable ruling


def meet(bench: Bench, votes: Votes, clusters: str) -> Met | None:
    """The judge beside these votes, a and b as in pairs.jsonl; None where fewer than two votes are on ruled pairs."""
    rulings = np.array([-1 if (found := bench.ruling(name)) is None else found for name in votes.pairs])
    kept = votes.select(rulings[votes.pair] >= 0)
    if len(kept) < 2:
        return None
    ruled, by = rulings[kept.pair], clusters_of(kept, clusters, part=True)
    equal = kept.choice == ruled
    confusion = np.zeros((3, 3), np.int64)
    np.add.at(confusion, (kept.choice, ruled), 1)
    leave = _majority_of_others(kept)
    pairs, place = np.unique(kept.pair, return_inverse=True)
    plus = leave >= 0
    return Met(
        votes=len(kept),
        pairs=len(pairs),
        equals_vote=mean_interval(equal, by=by, share=True),
        person_equals_vote=_among_people(kept, place),
        equals_majority=float((ruled[plus] == leave[plus]).mean()) if plus.any() else None,
        person_equals_majority=float((kept.choice[plus] == leave[plus]).mean()) if plus.any() else None,
        kappa=_beyond_chance(kept.choice, ruled, by, _of_kappa),
        ac1=_beyond_chance(kept.choice, ruled, by, _of_ac1),
        united=_united(kept, place, equal),
        contrasts=_by_contrast(bench.pairs, kept, place, equal),
        lengths=_by_length(bench.pairs, kept, place, equal),
        order=_order(bench, kept),
        confusion=tuple(tuple(int(cell) for cell in row) for row in confusion),
        condition=_condition(confusion),
        longer=_for_the_longer(bench.pairs, kept, ruled),
        left_out=len(votes) - len(kept),
    )


def _counts(votes: Votes, place: Ints) -> Ints:
    """Votes of each pair by choice, (pairs, 3)."""
    table = np.zeros((int(place.max()) + 1, 3), np.int64)
    np.add.at(table, (place, votes.choice), 1)
    return table


def _among_people(votes: Votes, place: Ints) -> float | None:
    """How often a vote equals another vote on its pair, each vote the same weight; None without two on any pair."""
    table = _counts(votes, place)
    several = table.sum(axis=1)[place] > 1
    if not several.any():
        return None
    others = (table[place, votes.choice] - 1)[several] / (table.sum(axis=1)[place] - 1)[several]
    return float(others.mean())


def _majority_of_others(votes: Votes) -> Ints:
    """For each vote the most common answer of the other votes on its pair; -1 where there is none or no single one."""
    place = np.unique(votes.pair, return_inverse=True)[1]
    left = _counts(votes, place)[place]
    left[np.arange(len(left)), votes.choice] -= 1
    best = left.max(axis=1)
    single = (left == best[:, None]).sum(axis=1) == 1
    return np.where(single & (best > 0), left.argmax(axis=1), -1)


def _united(votes: Votes, place: Ints, equal: Bools) -> tuple[AgreedPart, ...]:
    table = _counts(votes, place)
    several = (table.sum(axis=1) > 1)[place]
    share = (table.max(axis=1) / table.sum(axis=1))[place]
    parts = [(name, (share >= low) & (share < high) & several) for name, low, high in UNITED]
    return _agreed(parts, votes, place, equal)


def _by_contrast(pairs: Mapping[str, Pair], votes: Votes, place: Ints, equal: Bools) -> tuple[AgreedPart, ...]:
    names = system_names(pairs.values())
    met = [contrast_of(pairs[name], names)[:2] for name in votes.pairs]
    said = np.array([" and ".join(both) for both in met])[votes.pair]
    every, counts = np.unique(said, return_counts=True)
    ordered = every[np.argsort(-counts, kind="stable")]
    return _agreed([(str(one), said == one) for one in ordered], votes, place, equal) if len(every) > 1 else ()


def _by_length(pairs: Mapping[str, Pair], votes: Votes, place: Ints, equal: Bools) -> tuple[AgreedPart, ...]:
    lengths = np.array([[len(side.text.split()) for side in (pairs[name].a, pairs[name].b)] for name in votes.pairs])
    ratio = (np.maximum(lengths.max(axis=1), 1) / np.maximum(lengths.min(axis=1), 1))[votes.pair]
    return _agreed([(name, (ratio >= low) & (ratio < high)) for name, low, high in LENGTHS], votes, place, equal)


def _agreed(parts: Sequence[tuple[str, Bools]], votes: Votes, place: Ints, equal: Bools) -> tuple[AgreedPart, ...]:
    """Agreement on each part that holds a vote."""
    return tuple(
        AgreedPart(name, len(np.unique(place[inside])), int(inside.sum()), float(equal[inside].mean()),
                   _among_people(votes.select(inside), np.unique(place[inside], return_inverse=True)[1]))
        for name, inside in parts if inside.any()
    )  # fmt: skip


def _order(bench: Bench, votes: Votes) -> OrderAgreement | None:
    """The systems by people's votes and by the judge's verdicts on the same pairs."""
    names = system_names(bench.pairs.values())
    codes, place = np.unique(votes.pair, return_inverse=True)
    every = [bench.pairs[votes.pairs[code]] for code in codes]
    known = {name: n for n, name in enumerate(sorted(set(names.values())))}
    first, second = (
        np.array([known[names[key_of(side)]] for side in some])
        for some in ([pair.a for pair in every], [pair.b for pair in every])
    )
    people = np.bincount(place, weights=net_scores(votes.choice)) / np.bincount(place)
    judge = np.array([bench.value(pair.pair, NET) or 0.0 for pair in every])
    return order_agreement(first, second, people, judge)


def _condition(confusion: Ints) -> float | None:
    """The condition number of the judge's answers given people's; None where some answer was never given."""
    rows = confusion.sum(axis=1, keepdims=True)
    if (rows == 0).any():
        return None
    number = float(np.linalg.cond(confusion / rows))
    return number if np.isfinite(number) and number < 1e12 else None


Influence = Callable[[Floats, Floats, Ints, Ints], tuple[float, Floats]]


def _beyond_chance(choice: Ints, ruled: Ints, by: Mapping[str, Ints], of: Influence) -> Interval | None:
    """A coefficient of agreement with the interval of its linear part in every vote; None where chance is certain."""
    equal = (choice == ruled).astype(float)
    people, judge = (np.bincount(codes, minlength=3) / len(codes) for codes in (choice, ruled))
    expected, moved = of(people, judge, choice, ruled)
    if expected > 1 - 1e-9:
        return None
    value = (equal.mean() - expected) / (1 - expected)
    return mean_interval(value + (equal - equal.mean() - (1 - value) * moved) / (1 - expected), by=by)


def _of_kappa(people: Floats, judge: Floats, choice: Ints, ruled: Ints) -> tuple[float, Floats]:
    """Cohen's chance agreement, and how each vote moves it."""
    expected = float(people @ judge)
    return expected, judge[choice] + people[ruled] - 2 * expected


def _of_ac1(people: Floats, judge: Floats, choice: Ints, ruled: Ints) -> tuple[float, Floats]:
    """Gwet's chance agreement, and how each vote moves it."""
    shares = (people + judge) / 2
    slope = (1 - 2 * shares) / 2
    return float((shares * (1 - shares)).sum() / 2), (slope[choice] + slope[ruled]) / 2 - float(slope @ shares)


def _for_the_longer(pairs: Mapping[str, Pair], votes: Votes, ruled: Ints) -> tuple[float, float] | None:
    """How often the longer response is chosen by the judge and by people, among their decisive ones."""
    lengths = np.array([[len(side.text.split()) for side in (pairs[name].a, pairs[name].b)] for name in votes.pairs])
    apart = np.sign(lengths[:, 1] - lengths[:, 0])[votes.pair]  # 1: b is longer
    longer = np.where(apart > 0, 1, 0)
    mine, theirs = (apart != 0) & (ruled < 2), (apart != 0) & (votes.choice < 2)
    if not mine.any() or not theirs.any():
        return None
    return float((ruled[mine] == longer[mine]).mean()), float((votes.choice[theirs] == longer[theirs]).mean())
