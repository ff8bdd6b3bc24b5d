"""People, token metrics and probes compared once: spreads over seeds, orders a re-run would keep, what certainty costs.

The command, the notebook and the report all show this answer; everything is in points (x 100).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.comparison.costs import Cost, cost
from analysis.comparison.methods import panels_of
from analysis.comparison.orders import Generalisability, Order, between_architectures, between_seeds, ordered
from analysis.comparison.published import Published, published
from analysis.reading.panel import UNSEEN, Method, Panel, methods
from analysis.reading.study import Study
from analysis.stats.spread import Ratio, sd_ratio
from dialogue.signature import signature

WITHIN = 2.0  # points to which an architecture's mean should be known, where nothing else is asked


@dataclass(frozen=True, slots=True)
class ComparedMethod:
    """One method on one architecture with how far its order of the seeds would hold (None: one seed)."""

    panel: Panel
    method: Method
    reliability: Generalisability | None

    @property
    def item_se(self) -> float:
        """How far one model's value would move with other items: the root mean square over the seeds."""
        return _root_mean_square(self.method.item_se)

    @property
    def rater_se(self) -> float:
        """The same with other raters; NaN for what no rater judged."""
        return _root_mean_square(self.method.rater_se)

    @property
    def mean(self) -> float:
        """Mean over seeds; exactly 0 for people on one architecture, whose seeds' strengths sum to zero."""
        if self.method.kind == "people" and len(self.panel.models) == 1:
            return 0.0
        return float(np.mean(self.method.values))


def _root_mean_square(errors: Sequence[float]) -> float:
    return math.sqrt(float(np.mean(np.square(errors)))) if errors else math.nan


@dataclass(frozen=True, slots=True)
class ComparedOrder:
    """Two architectures as one method orders them, with how far its order of all of them would hold."""

    panel: Panel
    order: Order
    generalisability: Generalisability | None


@dataclass(frozen=True, slots=True)
class ComparedPanel:
    """One scale, and how far its order of the architectures would hold in a re-run."""

    panel: Panel
    generalisability: Generalisability | None


@dataclass(frozen=True, slots=True)
class SpreadRanking:
    """People's SD over the seeds of one architecture, as ratios to the SD of every other method on it."""

    person: Method
    ratios: tuple[Ratio, ...]  # from the smallest

    @property
    def median(self) -> Ratio:
        """The median ratio (the upper one of two), with its own interval."""
        return self.ratios[len(self.ratios) // 2]


@dataclass(frozen=True, slots=True)
class MedianSpread:
    """How far several methods move with the training seed, in the median: their SD, and that of seeds all alike."""

    sd: float
    sd_if_alike: float
    names: int
    models: int


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """Every number of a comparison; `orders` and `panels` include those before training."""

    panels: tuple[ComparedPanel, ...]
    methods: tuple[ComparedMethod, ...]
    orders: tuple[ComparedOrder, ...]
    rankings: tuple[SpreadRanking, ...]
    costs: tuple[Cost, ...]
    published: tuple[Published, ...]
    within: float
    warnings: tuple[str, ...]
    signature: str

    @property
    def trained(self) -> tuple[Method, ...]:
        """The methods after training, of which alone anything is claimed."""
        return tuple(one.method for one in self.methods if one.method.checkpoint != UNSEEN)

    @property
    def trained_orders(self) -> tuple[ComparedOrder, ...]:
        """The orders after training."""
        return tuple(one for one in self.orders if one.order.checkpoint != UNSEEN)

    @property
    def trained_costs(self) -> tuple[Cost, ...]:
        """Costs of knowing what was trained, where there is a spread to go by."""
        return tuple(one for one in self.costs if one.method.checkpoint != UNSEEN and one.method.several)


def answer(
    study: Study,
    *,
    within: float = WITHIN,
    pay: float | None = None,
    machine: float | None = None,
    papers: bool = False,
    clusters: str = "auto",
) -> ComparisonAnswer | None:
    """Compare every way of judging the study's models; None where it does not say which model was judged."""
    panels = panels_of(study, clusters)
    if not panels:
        return None
    made = [(panel, method) for panel in panels for method in methods(panel)]
    between = {id(panel): between_architectures(panel) for panel in panels}
    return ComparisonAnswer(
        tuple(ComparedPanel(panel, between[id(panel)]) for panel in panels),
        tuple(ComparedMethod(panel, method, between_seeds(panel, method.model)) for panel, method in made),
        tuple(ComparedOrder(panel, order, between[id(panel)]) for panel, order in ordered(panels)),
        rankings([method for _, method in made]),
        tuple(cost(method, study, within, an_hour=pay, machine_hour=machine) for _, method in made),
        tuple(cell for cell in published() if cell.checkpoint == "last") if papers else (),
        within,
        () if study.votes is None else study.votes.warnings,
        signature(methods=len(made), interval="chi-square", **_units(panels), level=0.95),
    )


def _units(panels: Sequence[Panel]) -> dict[str, str]:
    """What a re-run draws anew beside seeds: of people, and of scores."""
    named = {"people": [p.unit for p in panels if p.kind == "people"],
             "scores": [p.unit for p in panels if p.kind != "people"]}  # fmt: skip
    return {name: units[0] for name, units in named.items() if units}


def median_spread(found: Sequence[Method]) -> MedianSpread:
    """The medians over methods of two seeds or more; there must be one."""
    sd = float(np.median([one.over_seeds.sd for one in found]))
    alike = float(np.median([one.sd_if_alike for one in found]))
    return MedianSpread(sd, alike, len({one.name for one in found}), len({one.model for one in found}))


def rankings(found: Sequence[Method]) -> tuple[SpreadRanking, ...]:
    """People's spread on each architecture against every trained method's on the same one, by F's law."""
    trained = [method for method in found if method.checkpoint != UNSEEN]
    ranked = []
    for person in (method for method in trained if method.kind == "people" and method.several):
        others = [m for m in trained if m.kind != "people" and m.model == person.model and m.checkpoint == "last"]
        ratios = [ratio for m in others if (ratio := sd_ratio(person.over_seeds, m.over_seeds)) is not None]
        if ratios:
            ranked.append(SpreadRanking(person, tuple(sorted(ratios, key=lambda ratio: ratio.value))))
    return tuple(ranked)
