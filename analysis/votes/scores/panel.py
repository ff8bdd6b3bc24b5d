"""One scale's judgement of every trained model, on the axes architecture x seed x item x rater.

People and every other evaluator come to this shape: a value for each model and the covariance of those values over new
items and raters. Everything is in points (x 100), or in the unit that the evaluator's card names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seedvote.analysis.stats.reruns import Replicates, noise_between
from seedvote.analysis.stats.spread import SeedSpread, seed_spread
from seedvote.dialogue.cards import LATE, Better

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
UNSEEN = "untrained"
POINTS = "points"
PEOPLE = "people"
OPTION_DRAWS = "further draws of false options"  # why scores are not compared


@dataclass(frozen=True, slots=True)
class Scale:
    """How one task of one evaluator is shown, from its card."""

    group: str  # the evaluator's title, as within a sentence
    title: str  # the task's
    order: int = LATE
    unit: str = POINTS  # of what is shown; empty for a bare number
    factor: float = 1.0  # from a score to what is shown
    better: Better = "higher"
    chance: float | None = None  # as shown
    carded: bool = True
    unnamed: str = ""  # the task, where the card of its evaluator does not name it

    @property
    def label(self) -> str:
        """`language model: perplexity (lower is better)`: what a table calls it."""
        return f"{self.group}: {self.task}"

    @property
    def task(self) -> str:
        """The task with all about it that is not the usual: its unit, its direction, that it has no card."""
        unit = f"in {self.unit}" if self.unit not in ("", POINTS) else ""
        lower = "lower is better" if self.better == "lower" else ""
        odd = ", ".join(filter(None, [unit, lower, "" if self.carded else "no card"]))
        return self.title + (f" ({odd})" if odd else "")

    @property
    def in_points(self) -> bool:
        """Whether its numbers are points, as people's are: nothing else is held against them."""
        return self.unit == POINTS

    def said(self, value: float, digits: int = 1) -> str:
        """A number of this scale in a table: points with so many digits, other numbers with three that count."""
        if not math.isfinite(value):
            return "-"
        return f"{value:z.{digits}f}" if self.in_points else f"{value:.3g}"

    def beyond_chance(self, value: float) -> bool:
        """Whether a value as shown is on the better side of chance; true where there is no chance to beat."""
        if self.chance is None or self.better == "neither":
            return True
        return value < self.chance if self.better == "lower" else value > self.chance


class System(NamedTuple):
    """One trained model."""

    model: str
    seed: int | None


@dataclass(frozen=True, eq=False)
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
    effective: Mapping[str, float] | None = None  # clusters of unequal size, as so many equal ones; None: `clusters`
    unit: str = "dialogue"  # what is drawn anew, as `dialogue+rater`
    scale: Scale | None = None  # None: shown under its own names, in points
    by_rater: Floats | None = (
        None  # where raters are drawn: (raters, systems, clusters), the mean over raters is `cells`
    )
    by_draw: Floats | None = None  # of several draws of false options: (draws, systems, clusters), the first is `cells`

    @property
    def shown(self) -> Scale:
        """How it is shown."""
        return self.scale or Scale(self.kind, self.name)

    @property
    def models(self) -> tuple[str, ...]:
        """The architectures, in order of name."""
        return tuple(sorted(self._places))

    def of(self, model: str) -> Ints:
        """Places of an architecture's seeds."""
        return self._places[model]

    @cached_property
    def _places(self) -> Mapping[str, Ints]:
        """Every architecture's places: pairs of architectures ask for them, and there are thousands of pairs."""
        by_model: dict[str, list[int]] = {}
        for place, system in enumerate(self.systems):
            by_model.setdefault(system.model, []).append(place)
        return {model: np.array(places) for model, places in by_model.items()}

    @property
    def replicates(self) -> Replicates:
        """The models with what moves their values: what a re-run would show, and whether seeds differ at all."""
        return Replicates(self.values, self.covariance, self.effective or self.clusters)


@dataclass(frozen=True, slots=True)
class Method:
    """One way of judging one architecture at one checkpoint, over its seeds; values and errors in points."""

    kind: str
    name: str
    model: str
    checkpoint: str
    seeds: tuple[int | None, ...]
    values: tuple[float, ...]
    item_se: tuple[float, ...]  # empty where items are not drawn anew
    items: int
    rater_se: tuple[float, ...] = ()  # of people, and of raters that are drawn
    sd_if_alike: float = math.nan  # the SD over seeds to expect, were they all alike: items (and raters) are few
    scale: Scale | None = None

    @property
    def shown(self) -> Scale:
        """How it is shown."""
        return self.scale or Scale(self.kind, self.name)

    @property
    def over_seeds(self) -> SeedSpread:
        """The SD over seeds with its interval; NaN for one seed."""
        return seed_spread(self.values)

    @property
    def several(self) -> bool:
        """Two seeds or more, so that there is a spread to speak of."""
        return len(self.values) > 1


def methods(panel: Panel) -> list[Method]:
    """One for each architecture of the panel."""
    rows = []
    for model in panel.models:
        at = panel.of(model)
        values, by_item, by_rater = (
            tuple(part[at].tolist()) if len(part) else () for part in _values_and_errors(panel)
        )
        # All seeds are judged on the same items, so an error that they share moves them all and is no noise here.
        noise = math.sqrt(max(noise_between(panel.covariance, at), 0.0)) if len(at) > 1 else math.nan
        place = panel.kind, panel.name, model, panel.checkpoint, tuple(panel.systems[k].seed for k in at)
        rows.append(Method(*place, values, by_item, panel.examples[model], by_rater, noise, panel.shown))
    return rows


def _values_and_errors(panel: Panel) -> tuple[Floats, Floats, Floats]:
    """Every model's value and its errors over new items and new raters; empty where nothing is known of them."""
    matrices = [panel.covariance.get(way, np.zeros((0, 0))) for way in ("items", "raters")]
    by_item, by_rater = (np.sqrt(np.maximum(np.diag(part), 0)) for part in matrices)
    return panel.values, by_item, by_rater
