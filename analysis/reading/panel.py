"""One scale's judgement of every trained model, on the axes architecture x seed x item x rater.

People, token metrics and probes all come to this shape: a value for each model and the covariance of those values over
new items and raters. Everything is in points (x 100).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.stats.spread import SeedSpread, seed_spread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UNSEEN = "untrained"


class System(NamedTuple):
    """One trained model."""

    model: str
    seed: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One scale: every model's value (systems,) in points, and the values' covariance over new items or raters."""

    kind: str
    name: str
    checkpoint: str
    systems: tuple[System, ...]
    values: Floats
    covariance: Mapping[str, Floats]  # "items", for votes "raters", and "both"; (systems, systems)
    clusters: Mapping[str, int]
    examples: Mapping[str, int]  # of every architecture
    cells: Floats | None = None  # scores only: every model's value on each dialogue, mean = its value

    @property
    def models(self) -> tuple[str, ...]:
        """The architectures, in order of name."""
        return tuple(sorted({system.model for system in self.systems}))

    def of(self, model: str) -> Ints:
        """Places of an architecture's seeds."""
        return np.array([k for k, system in enumerate(self.systems) if system.model == model])


@dataclass(frozen=True, slots=True)
class Method:
    """One way of judging one architecture at one checkpoint, over its seeds; values and errors in points."""

    kind: str
    name: str
    model: str
    checkpoint: str
    seeds: tuple[int | None, ...]
    values: tuple[float, ...]
    item_se: tuple[float, ...]
    items: int
    rater_se: tuple[float, ...] = ()  # people only

    @property
    def over_seeds(self) -> SeedSpread:
        """The SD over seeds with its interval; NaN for one seed."""
        return seed_spread(self.values)

    @property
    def noise(self) -> float:
        """Root mean square of the item errors: the SD over seeds that identical models would show."""
        return math.sqrt(float(np.mean(np.square(self.item_se))))

    @property
    def several(self) -> bool:
        """Two seeds or more, so that there is a spread to speak of."""
        return len(self.values) > 1


def methods(panel: Panel) -> list[Method]:
    """One for each architecture of the panel."""
    errors = {way: np.sqrt(np.maximum(np.diag(found), 0)) for way, found in panel.covariance.items()}
    made = []
    for model in panel.models:
        at = panel.of(model)
        seeds = tuple(panel.systems[k].seed for k in at)
        values, by_item = (tuple(part[at].tolist()) for part in (panel.values, errors["items"]))
        by_rater = tuple(errors["raters"][at].tolist()) if "raters" in errors else ()
        place = panel.kind, panel.name, model, panel.checkpoint
        made.append(Method(*place, seeds, values, by_item, panel.examples[model], by_rater))
    return made
