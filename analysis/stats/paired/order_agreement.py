"""Whether two ways of comparing systems on pairs put them in the same order: Kendall's tau of their strengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_SYSTEMS = 4  # three can be in the same order by chance once in six times


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """Two orders of the same systems."""

    systems: int
    tau: float  # Kendall's tau-b
    alike: int  # of all two systems, those that both put in the same order
    compared: int  # of all two systems, those that neither puts level


def order_agreement(first: Ints, second: Ints, first_values: Floats, second_values: Floats) -> OrderAgreement | None:
    """Of pairs (n,) of systems `first` and `second` with two net preferences each; None for fewer than four systems.

    A system's strength is the least-squares fit of the net preferences by differences, so who met whom does not matter.
    """
    names, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    if len(names) < LEAST_SYSTEMS:
        return None
    design = np.zeros((len(first), len(names)))
    rows = np.arange(len(first))
    design[rows, codes[: len(first)]], design[rows, codes[len(first) :]] = 1.0, -1.0
    strengths = [np.linalg.lstsq(design, values, rcond=None)[0].round(9) for values in (first_values, second_values)]
    if any(np.ptp(values) == 0 for values in strengths):
        return None
    gaps = [np.sign(values[:, None] - values)[np.triu_indices(len(names), 1)] for values in strengths]
    product = gaps[0] * gaps[1]
    differing = [np.count_nonzero(gap) for gap in gaps]
    tau = float(product.sum() / np.sqrt(differing[0] * differing[1]))
    return OrderAgreement(len(names), tau, int((product > 0).sum()), int(np.count_nonzero(product)))
