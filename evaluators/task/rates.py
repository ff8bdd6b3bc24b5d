"""Rates of a whole system with their intervals: dialogues are drawn anew, since the turns of one hang together.

Every rate is a function of sums over dialogues, so 2,000 draws cost one product of a matrix of weights with these sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seedvote.evaluators.task.bleu import bleu4
from seedvote.evaluators.task.outcomes import DialogueOutcome
from seedvote.evaluators.task.states import Tracked

Floats = NDArray[np.float64]
DRAWS = 2_000
TITLES = {
    "inform": "Inform",
    "success": "Success",
    "bleu": "BLEU",
    "combined": "Combined",
    "reach": "(Inform + Success) / 2",
    "jga": "JGA",
    "jga_fuzzy": "JGA, values alike",
    "jga_dontcare_as_none": "JGA, dontcare as none",
    "jga_without_booking": "JGA without booking",
    "slot_f1": "Slot F1",
    "slot_accuracy": "Slot accuracy",
    "goal_accuracy": "Goal accuracy",
}


@dataclass(frozen=True)
class Rate:
    """One rate in per cent with its 95 % interval, and all its draws."""

    value: float
    low: float
    high: float
    draws: Floats = field(repr=False)


def weights(dialogues: int, *, generator: np.random.Generator, draws: int = DRAWS) -> Floats:
    """How often each dialogue is drawn in each draw, `(draws, dialogues)`."""
    return generator.multinomial(dialogues, np.full(dialogues, 1 / dialogues), size=draws).astype(np.float64)


def rates(outcomes: Sequence[DialogueOutcome], draws: Floats, *, slots: int) -> dict[str, Rate]:
    """Every rate that these outcomes allow; `slots` is how many slots the corpus has."""
    rows = {name: (sums, rule) for name, (sums, rule) in _parts(outcomes, slots).items() if sums.size}
    return {name: _rate(sums, rule, draws) for name, (sums, rule) in rows.items()}


def _rate(sums: Floats, rule: Callable[[Floats], Floats], draws: Floats) -> Rate:
    rates_drawn = rule(draws @ sums)
    low, high = np.nanquantile(rates_drawn, (0.025, 0.975))
    return Rate(float(rule(sums.sum(0))), float(low), float(high), rates_drawn)


def _parts(outcomes: Sequence[DialogueOutcome], slots: int) -> dict[str, tuple[Floats, Callable[[Floats], Floats]]]:
    """Rate -> sums of each dialogue `(dialogues, k)`, and the rule that makes a rate of summed rows."""
    parts: dict[str, tuple[Floats, Callable[[Floats], Floats]]] = {}
    met = [outcome.reached for outcome in outcomes]
    goals = np.array([(met_goal.inform, met_goal.success, 1) for met_goal in met if met_goal is not None], np.float64)
    text = (
        np.array([outcome.bleu.sum(0) for outcome in outcomes])
        if any(len(met_goal.bleu) for met_goal in outcomes)
        else np.empty(0)
    )
    if len(goals) == len(outcomes):
        parts["inform"] = (goals[:, [0, 2]], _share)
        parts["success"] = (goals[:, [1, 2]], _share)
        parts["reach"] = (np.column_stack([goals[:, 0] + goals[:, 1], 2 * goals[:, 2]]), _share)
    if text.size:
        parts["bleu"] = (text, bleu4)
    if "inform" in parts and text.size:
        parts["combined"] = (np.hstack([goals, text]), _combined)
    if any(outcome.tracked for outcome in outcomes):
        parts |= _tracking(outcomes, slots)
    return parts


def _tracking(outcomes: Sequence[DialogueOutcome], slots: int) -> dict[str, tuple[Floats, Callable[[Floats], Floats]]]:
    def summed(of: Callable[[Tracked], tuple[float, ...]]) -> Floats:
        return np.array(
            [np.sum([of(turn) for turn in outcome.tracked] or [(0.0,) * 8], 0) for outcome in outcomes], np.float64
        )

    exact = summed(lambda t: (t.joint, t.fuzzy, t.dontcare_as_none, t.without_booking, 1, t.wrong, 0, 0))
    goals = summed(lambda t: (t.tp, t.fp, t.fn, t.goal_accuracy or 0.0, t.wanted > 0, 0, 0, 0))
    names = ("jga", "jga_fuzzy", "jga_dontcare_as_none", "jga_without_booking")
    return {
        **{name: (exact[:, [n, 4]], _share) for n, name in enumerate(names)},
        "slot_f1": (goals[:, :3], _f1),
        "slot_accuracy": (exact[:, [5, 4]], lambda sums: 100 - _share(sums) / slots),
        "goal_accuracy": (goals[:, 3:5], _share),
    }


def _share(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * sums[..., 0] / sums[..., 1])


def _f1(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(200 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2]))


def _combined(sums: Floats) -> Floats:
    """(Inform + Success) / 2 + BLEU, always from its parts."""
    return 100 * (sums[..., 0] + sums[..., 1]) / (2 * sums[..., 2]) + bleu4(sums[..., 3:])
