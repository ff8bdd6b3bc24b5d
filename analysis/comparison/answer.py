"""People and every evaluator compared once: spreads over seeds, orders a re-run would keep, what certainty costs.

The command, the notebook and the report all show this answer. Everything is in points (x 100), or in the unit that an
evaluator's card names; what has another unit is held against no number in points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.comparison.choosing_people import ChoosingPeople, choosing_people, people_said
from analysis.comparison.costs import Cost, cost
from analysis.comparison.orders import Generalisability, Order, between_architectures, between_seeds, ordered
from analysis.comparison.published import Published, published
from analysis.comparison.untrained import AboveUntrained, above_untrained
from analysis.stats.spread import Ratio, sd_ratio
from analysis.votes.scores.files import Unused
from analysis.votes.scores.panel import PEOPLE, UNSEEN, Method, Panel, Scale, methods
from analysis.votes.scores.study_panels import Baseline, baselines_beside, compared_panels
from analysis.votes.study import Study
from analysis.votes.voters import Voters, judges_in_recipe
from dialogue.errors import InputError
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
        if self.method.kind == PEOPLE and len(self.panel.models) == 1:
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
    baselines: tuple[Baseline, ...]
    above: tuple[AboveUntrained, ...]  # every probe task: whether training was shown to help
    within: float
    voters: Voters | None
    left_out: tuple[Unused, ...]  # what was read and not compared, and why
    voted: bool  # whether there are votes
    missing: tuple[str, ...]  # sentences on scores that are not there, and on evaluators without a card
    warnings: tuple[str, ...]
    signature: str
    choosing: tuple[ChoosingPeople, ...] = ()  # people on the questions of next-utterance choice, in no panel
    choosing_notes: tuple[str, ...] = ()

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

    @property
    def not_compared(self) -> tuple[Unused, ...]:
        """The same with votes that name no model, and scores that are held against nothing in points."""
        judged = any(one.panel.kind == PEOPLE for one in self.panels)
        votes = [Unused("votes.jsonl", "its pairs compare no two models, or there is no pairs.jsonl")]
        names = dict.fromkeys(one.panel.shown.label for one in self.panels if not one.panel.shown.in_points)
        sizes = (
            [Unused(f"with people's SD, nor counted in seeds: {'; '.join(names)}", "not in points")] if names else []
        )
        return (*self.left_out, *(votes if self.voted and not judged else []), *sizes)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Every evaluator once, as its first method shows it, in the order of the cards."""
        found: dict[str, Scale] = {}
        for one in self.methods:
            found.setdefault(one.method.kind, one.method.shown)
        return tuple(found.values())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The evaluators in the same order."""
        return tuple(dict.fromkeys(one.method.kind for one in self.methods))


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
    panels, left = compared_panels(study, clusters)
    if not panels:
        return None
    made = [(panel, method) for panel in panels for method in methods(panel)]
    between = {id(panel): between_architectures(panel) for panel in panels}
    people = choosing_people(study.choices, clusters)
    return ComparisonAnswer(
        tuple(ComparedPanel(panel, between[id(panel)]) for panel in panels),
        tuple(ComparedMethod(panel, method, between_seeds(panel, method.model)) for panel, method in made),
        tuple(ComparedOrder(panel, order, between[id(panel)]) for panel, order in ordered(panels)),
        rankings([method for _, method in made]),
        tuple(
            cost(method, study, within, an_hour=pay, machine_hour=machine)
            for _, method in made
            if method.shown.in_points
        ),
        tuple(cell for cell in published() if cell.checkpoint == "last") if papers else (),
        baselines_beside(study.scores) if study.scores else (),
        above_untrained(study.scores) if study.scores else (),
        within,
        study.voters,
        tuple(left),
        study.votes is not None,
        (*(study.scores.missing if study.scores else ()), *_without_card(panels), *_too_large(panels)),
        () if study.votes is None else study.votes.warnings,
        signature(
            methods=len(made), interval="chi-square", **_units(panels), level=0.95, **judges_in_recipe(study.voters)
        ),
        people,
        people_said(study.choices, people),
    )


def nothing(study: Study, name: str) -> InputError:
    """Why there is nothing to compare: all that was read and left out, or votes that name no model."""
    left = [] if study.scores is None else compared_panels(study)[1]
    if left:
        return InputError(f"{name} has nothing to compare. {'; '.join(map(str, left))}.")
    return InputError(
        f"{name} has votes without pairs.jsonl and no scores, so it does not say which model was judged; nothing to "
        "compare. `python -m analysis preference` reads votes alone."
    )


def _without_card(panels: Sequence[Panel]) -> list[str]:
    """What is assumed of an evaluator that says nothing of itself."""
    bare = dict.fromkeys((panel.shown.group, panel.shown.unnamed) for panel in panels if not panel.shown.carded)
    return [
        f"{f'The card of {name} has no task {task!r}' if task else f'{name} has no card'}: its scores are shown as "
        "they stand, without unit, chance or direction, the higher first. Bring them with --card (docs/own-metrics.md)."
        for name, task in bare
    ]


def _too_large(panels: Sequence[Panel]) -> list[str]:
    """Shares above 1: percentages that a card takes for shares."""
    return [
        f"{panel.shown.label} reaches {top:,.0f} points, and a share has 100 at most: correct the unit in its card."
        for panel in panels
        if panel.kind != PEOPLE and panel.shown.in_points and panel.shown.factor == 100
        and (top := float(abs(panel.values).max())) > 100.01
    ]  # fmt: skip


def _units(panels: Sequence[Panel]) -> dict[str, str]:
    """What a re-run draws anew beside seeds: of people, and of scores."""
    named = {"people": [p.unit for p in panels if p.kind == PEOPLE],
             "scores": [p.unit for p in panels if p.kind != PEOPLE]}  # fmt: skip
    return {name: units[0] for name, units in named.items() if units}


def median_spread(found: Sequence[Method]) -> MedianSpread:
    """The medians over methods of two seeds or more; there must be one."""
    sd = float(np.median([one.over_seeds.sd for one in found]))
    alike = float(np.median([one.sd_if_alike for one in found]))
    return MedianSpread(sd, alike, len({one.name for one in found}), len({one.model for one in found}))


def rankings(found: Sequence[Method]) -> tuple[SpreadRanking, ...]:
    """People's spread on each architecture against that of every trained method in points on the same, by F's law."""
    trained = [method for method in found if method.checkpoint != UNSEEN and method.shown.in_points]
    ranked = []
    for person in (method for method in trained if method.kind == PEOPLE and method.several):
        others = [m for m in trained if m.kind != PEOPLE and m.model == person.model and m.checkpoint == "last"]
        ratios = [ratio for m in others if (ratio := sd_ratio(person.over_seeds, m.over_seeds)) is not None]
        if ratios:
            ranked.append(SpreadRanking(person, tuple(sorted(ratios, key=lambda ratio: ratio.value))))
    return tuple(ranked)
