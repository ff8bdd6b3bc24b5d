"""A judge against people: its agreement with votes, always next to what one more person would reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.stats.paired.order_agreement import OrderAgreement, order_agreement
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.systems import key_of, system_names
from seedvote.analysis.votes.verdicts import NET, Bench, contrast_of
from seedvote.analysis.votes.votes import Votes, net_scores
from seedvote.dialogue.records import Pair

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
class PeopleAgreement:
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


def compare_with_votes(bench: Bench, votes: Votes, clusters: str) -> PeopleAgreement | None:
    """The judge on these votes, a and b as in pairs.jsonl; None where fewer than two votes are on ruled pairs."""
    rulings = np.array([-1 if (choice := bench.ruling(name)) is None else choice for name in votes.pairs])
    ruled_votes = votes.select(rulings[votes.pair] >= 0)
    if len(ruled_votes) < 2:
        return None
    ruling, by = rulings[ruled_votes.pair], clusters_of(ruled_votes, clusters, part=True)
    is_equal = ruled_votes.choice == ruling
    confusion = np.zeros((3, 3), np.int64)
    np.add.at(confusion, (ruled_votes.choice, ruling), 1)
    majority = _majority_of_others(ruled_votes)
    pairs, place = np.unique(ruled_votes.pair, return_inverse=True)
    has_majority = majority >= 0

    def share_of_majority(answers: Ints) -> float | None:
        return float((answers[has_majority] == majority[has_majority]).mean()) if has_majority.any() else None

    return PeopleAgreement(
        votes=len(ruled_votes),
        pairs=len(pairs),
        equals_vote=mean_interval(is_equal, by=by, share=True),
        person_equals_vote=_agreement_among_people(ruled_votes, place),
        equals_majority=share_of_majority(ruling),
        person_equals_majority=share_of_majority(ruled_votes.choice),
        kappa=_agree_beyond_chance(ruled_votes.choice, ruling, by, _influence_on_kappa),
        ac1=_agree_beyond_chance(ruled_votes.choice, ruling, by, _influence_on_ac1),
        united=_split_by_unity(ruled_votes, place, is_equal),
        contrasts=_split_by_contrast(bench.pairs, ruled_votes, place, is_equal),
        lengths=_split_by_length(bench.pairs, ruled_votes, place, is_equal),
        order=_compare_orders(bench, ruled_votes),
        confusion=tuple(tuple(int(cell) for cell in row) for row in confusion),
        condition=_condition_number(confusion),
        longer=_shares_of_longer(bench.pairs, ruled_votes, ruling),
        left_out=len(votes) - len(ruled_votes),
    )


def _count_choices(votes: Votes, place: Ints) -> Ints:
    """Votes of each pair by choice, (pairs, 3)."""
    table = np.zeros((int(place.max()) + 1, 3), np.int64)
    np.add.at(table, (place, votes.choice), 1)
    return table


def _agreement_among_people(votes: Votes, place: Ints) -> float | None:
    """How often a vote equals another vote on its pair, each vote the same weight; None without two on any pair."""
    table = _count_choices(votes, place)
    has_several = table.sum(axis=1)[place] > 1
    if not has_several.any():
        return None
    equal = (table[place, votes.choice] - 1)[has_several] / (table.sum(axis=1)[place] - 1)[has_several]
    return float(equal.mean())


def _majority_of_others(votes: Votes) -> Ints:
    """For each vote the most common answer of the other votes on its pair; -1 where there is none or no single one."""
    place = np.unique(votes.pair, return_inverse=True)[1]
    counts = _count_choices(votes, place)[place]
    counts[np.arange(len(counts)), votes.choice] -= 1
    most = counts.max(axis=1)
    is_single = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(is_single & (most > 0), counts.argmax(axis=1), -1)


def _split_by_unity(votes: Votes, place: Ints, is_equal: Bools) -> tuple[AgreedPart, ...]:
    table = _count_choices(votes, place)
    has_several = (table.sum(axis=1) > 1)[place]
    share = (table.max(axis=1) / table.sum(axis=1))[place]
    parts = [(name, (share >= low) & (share < high) & has_several) for name, low, high in UNITED]
    return _measure_parts(parts, votes, place, is_equal)


def _split_by_contrast(pairs: Mapping[str, Pair], votes: Votes, place: Ints, is_equal: Bools) -> tuple[AgreedPart, ...]:
    names = system_names(pairs.values())
    titles = np.array([" and ".join(contrast_of(pairs[name], names)[:2]) for name in votes.pairs])[votes.pair]
    contrasts, counts = np.unique(titles, return_counts=True)
    ordered = contrasts[np.argsort(-counts, kind="stable")]
    if len(contrasts) < 2:
        return ()
    return _measure_parts([(str(title), titles == title) for title in ordered], votes, place, is_equal)


def _split_by_length(pairs: Mapping[str, Pair], votes: Votes, place: Ints, is_equal: Bools) -> tuple[AgreedPart, ...]:
    lengths = _count_words(pairs, votes)
    ratio = (np.maximum(lengths.max(axis=1), 1) / np.maximum(lengths.min(axis=1), 1))[votes.pair]
    parts = [(name, (ratio >= low) & (ratio < high)) for name, low, high in LENGTHS]
    return _measure_parts(parts, votes, place, is_equal)


def _count_words(pairs: Mapping[str, Pair], votes: Votes) -> Ints:
    """Words of the two responses of each pair, (pairs, 2)."""
    return np.array([[len(side.text.split()) for side in (pairs[name].a, pairs[name].b)] for name in votes.pairs])


def _measure_parts(
    parts: Sequence[tuple[str, Bools]], votes: Votes, place: Ints, is_equal: Bools
) -> tuple[AgreedPart, ...]:
    """Agreement on each part that holds a vote."""
    rows = []
    for name, is_inside in parts:
        if is_inside.any():
            codes, places = np.unique(place[is_inside], return_inverse=True)
            among_people = _agreement_among_people(votes.select(is_inside), places)
            agreement = float(is_equal[is_inside].mean())
            rows.append(AgreedPart(name, len(codes), int(is_inside.sum()), agreement, among_people))
    return tuple(rows)


def _compare_orders(bench: Bench, votes: Votes) -> OrderAgreement | None:
    """The systems by people's votes and by the judge's verdicts on the same pairs."""
    names = system_names(bench.pairs.values())
    codes, place = np.unique(votes.pair, return_inverse=True)
    pairs = [bench.pairs[votes.pairs[code]] for code in codes]
    numbers = {name: number for number, name in enumerate(sorted(set(names.values())))}
    first = np.array([numbers[names[key_of(pair.a)]] for pair in pairs])
    second = np.array([numbers[names[key_of(pair.b)]] for pair in pairs])
    people = np.bincount(place, weights=net_scores(votes.choice)) / np.bincount(place)
    judge = np.array([bench.value(pair.pair, NET) or 0.0 for pair in pairs])
    return order_agreement(first, second, people, judge)


def _condition_number(confusion: Ints) -> float | None:
    """The condition number of the judge's answers given people's; None where some answer was never given."""
    rows = confusion.sum(axis=1, keepdims=True)
    if (rows == 0).any():
        return None
    number = float(np.linalg.cond(confusion / rows))
    return number if np.isfinite(number) and number < 1e12 else None


Influence = Callable[[Floats, Floats, Ints, Ints], tuple[float, Floats]]


def _agree_beyond_chance(choice: Ints, ruling: Ints, by: Mapping[str, Ints], influence: Influence) -> Interval | None:
    """A coefficient of agreement with the interval of its linear part in every vote; None where chance is certain."""
    equal = (choice == ruling).astype(float)
    people, judge = (np.bincount(codes, minlength=3) / len(codes) for codes in (choice, ruling))
    expected, shift = influence(people, judge, choice, ruling)
    if expected > 1 - 1e-9:
        return None
    value = (equal.mean() - expected) / (1 - expected)
    return mean_interval(value + (equal - equal.mean() - (1 - value) * shift) / (1 - expected), by=by)


def _influence_on_kappa(people: Floats, judge: Floats, choice: Ints, ruling: Ints) -> tuple[float, Floats]:
    """Cohen's chance agreement, and how each vote moves it."""
    expected = float(people @ judge)
    return expected, judge[choice] + people[ruling] - 2 * expected


def _influence_on_ac1(people: Floats, judge: Floats, choice: Ints, ruling: Ints) -> tuple[float, Floats]:
    """Gwet's chance agreement, and how each vote moves it."""
    shares = (people + judge) / 2
    slope = (1 - 2 * shares) / 2
    return float((shares * (1 - shares)).sum() / 2), (slope[choice] + slope[ruling]) / 2 - float(slope @ shares)


def _shares_of_longer(pairs: Mapping[str, Pair], votes: Votes, ruling: Ints) -> tuple[float, float] | None:
    """How often the longer response is chosen by the judge and by people, among their decisive ones."""
    lengths = _count_words(pairs, votes)
    sign = np.sign(lengths[:, 1] - lengths[:, 0])[votes.pair]  # 1: b is longer
    longer = np.where(sign > 0, 1, 0)
    of_judge, of_people = (sign != 0) & (ruling < 2), (sign != 0) & (votes.choice < 2)
    if not of_judge.any() or not of_people.any():
        return None
    return (
        float((ruling[of_judge] == longer[of_judge]).mean()),
        float((votes.choice[of_people] == longer[of_people]).mean()),
    )
