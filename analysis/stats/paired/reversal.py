"""How few votes decide who leads: the smallest set that is found without which another system is ahead.

Of two systems the sign of a sum decides, so the largest contributions first is exact. Of several, strengths are fitted
(davidson.py), and what a vote adds to the lead over a rival is its score times the inverse information (Broderick,
Giordano and Meager 2021; for leaderboards Huang et al. 2025, arXiv:2508.11847). Half of the set that this predicts is
left out, the strengths are fitted anew, and so on, so that the last fit confirms the set. Smaller sets are then tried
one by one, up to 500 of them: small studies get the exact number, in large ones a smaller set may exist.

Units are codes of the votes. A vote with the code -1 stays: it is of nobody, so nobody could have left it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.paired.davidson import (
    CellWeights,
    Fit,
    Floats,
    Games,
    Ints,
    Model,
    design_of,
    find_group_of,
    fit_model,
    predict_outcomes,
    refit_strengths,
)
from seedvote.dialogue.errors import InputError

EVEN = 1e-6  # strengths that differ by less are equal
MOST_TRIED = 500  # smaller sets, each by a fit
LARGE = 4_000_000  # numbers of a table of units and cells: beyond it nothing smaller is tried


@dataclass(frozen=True, slots=True)
class Reversal:
    """The fewest units (votes, raters, dialogues) without which `rival` leads; None where no set was found."""

    unit: str
    fewest: int | None
    rival: str
    of: int


def reverse_sum(values: Floats, units: Mapping[str, Ints], rival: str) -> list[Reversal]:
    """The fewest without which the sum of `values`, which is above zero, is below it; exact."""
    reversals = []
    for unit, codes_of_unit in units.items():
        codes = _number_units(codes_of_unit)
        parts = np.bincount(codes[codes >= 0], weights=values[codes >= 0])
        sums_left = values.sum() - np.cumsum(-np.sort(-parts))
        beyond = np.flatnonzero(sums_left < -1e-9)
        number = int(beyond[0]) + 1 if len(beyond) else None
        reversals.append(Reversal(unit, number, rival, len(parts)))
    return reversals


def reverse_leader(played: Games, model: Model, units: Mapping[str, Ints]) -> list[Reversal]:
    """The fewest without which the system with the highest strength falls behind another one; none where two lead."""
    full_fit = fit_model(played, model)
    if np.diff(np.sort(full_fit.strengths)[-2:])[0] < EVEN:
        return []
    return [_find_reversal(played, full_fit, model, unit, _number_units(codes)) for unit, codes in units.items()]


def _find_reversal(played: Games, full_fit: Fit, model: Model, unit: str, codes: Ints) -> Reversal:
    """Rivals in the order of what the first fit predicts, until none can need fewer than the best found."""
    leader, number, design = int(np.argmax(full_fit.strengths)), int(codes.max()) + 1, design_of(played)
    predicted = {}
    for rival in {*range(len(full_fit.systems))} - {leader}:
        contributions = _measure_contributions(played, design, full_fit, (leader, rival), codes)
        predicted[rival] = _fewest_predicted(contributions, _measure_gap(full_fit, leader, rival))
    fewest, name = number, ""
    for rival, expected in sorted(predicted.items(), key=lambda item: item[1]):
        if expected > 2 * fewest:  # a first step is seldom off by half
            break
        needed = _leave_out(played, full_fit, model, (leader, rival), codes, fewest)
        if needed is not None and needed < fewest:
            fewest, name = needed, full_fit.systems[rival]
    smaller = next(_smaller_sets(played, full_fit, leader, codes, fewest), None) if name else None
    return Reversal(unit, *(smaller or (fewest if name else None, name)), number)


def _smaller_sets(played: Games, full_fit: Fit, leader: int, codes: Ints, fewest: int) -> Iterator[tuple[int, str]]:
    """Sets of fewer units without which another system leads, the smallest first: how many, and who leads then."""
    if (int(codes.max()) + 1) * played.counts.size > LARGE:
        return
    counts = np.zeros((int(codes.max()) + 1, played.counts.size))
    np.add.at(counts, (codes[codes >= 0], played.code[codes >= 0]), played.weights[codes >= 0])
    same = np.unique(counts, axis=0, return_inverse=True)[1].ravel()
    # Units that are the same in everything: as many of them as a smaller set can hold.
    units = [unit for unit in range(len(counts)) if (same[:unit] == same[unit]).sum() < fewest - 1]
    tried, design = 0, design_of(played)
    for size in range(1, fewest):
        tried += comb(len(units), size)
        if tried > MOST_TRIED:
            return
        for out in combinations(units, size):
            remaining_games = replace(played, counts=played.counts - counts[list(out)].sum(0).reshape(-1, 3))
            try:
                best = int(np.argmax(refit_strengths(remaining_games, full_fit, design)))
            except InputError:
                continue
            if best != leader:
                yield size, full_fit.systems[best]


def _leave_out(
    played: Games, full_fit: Fit, model: Model, systems: tuple[int, int], codes: Ints, below: int
) -> int | None:
    """How many units were left out until `rival` was ahead; None where that takes `below` or more, or cannot be."""
    (leader, rival), fitted, out = systems, full_fit, np.zeros(int(codes.max()) + 1, bool)
    remaining_games = played
    while (gap := _measure_gap(fitted, leader, rival)) >= 0:
        contributions = np.where(
            out, -np.inf, _measure_contributions(remaining_games, design_of(remaining_games), fitted, systems, codes)
        )
        order = np.argsort(-contributions, kind="stable")
        step = max(_fewest_predicted(contributions, gap) // 2, 1)
        if out.sum() + step >= below or contributions[order[step - 1]] <= 0:
            return None
        out[order[:step]] = True
        is_kept = ~np.append(out, False)[codes]
        tally = np.bincount(played.code[is_kept], weights=played.weights[is_kept], minlength=played.counts.size)
        remaining_games = replace(played, counts=tally.reshape(-1, 3).astype(np.float64))
        if not find_group_of(leader, remaining_games)[rival]:
            return None
        try:
            fitted = fit_model(remaining_games, model)
        except InputError:
            return None
    return int(out.sum())


def _measure_gap(fitted: Fit, leader: int, rival: int) -> float:
    return float(fitted.strengths[leader] - fitted.strengths[rival])


def _fewest_predicted(contributions: NDArray[np.float64], gap: float) -> int:
    """How many of the largest contributions add up to more than the lead; more than there are where none do."""
    total = np.cumsum(-np.sort(-contributions[contributions > 0]))
    return int(np.searchsorted(total, gap, side="right")) + 1


def _measure_contributions(
    played: Games, design: CellWeights, fitted: Fit, systems: tuple[int, int], codes: Ints
) -> NDArray[np.float64]:
    """(units,) what each adds to the lead of the first system over the second, to first order."""
    _, by_d, by_tie = predict_outcomes(fitted.model, fitted.parameters, design)
    direction = fitted.covariance[systems[0]] - fitted.covariance[systems[1]]
    scores = (design.weights @ direction)[:, None] * by_d
    if design.tie is not None:
        scores = scores + direction[design.tie] * by_tie
    removable = codes >= 0
    parts = scores.ravel()[played.code] * played.weights
    return np.bincount(codes[removable], weights=parts[removable]).astype(np.float64)


def _number_units(codes: Ints) -> Ints:
    """Codes from 0 on without gaps; votes that stay keep -1."""
    numbers = np.full(len(codes), -1)
    numbers[codes >= 0] = np.unique(codes[codes >= 0], return_inverse=True)[1]
    return numbers
