"""People and every evaluator compared once: spreads over seeds, orders a re-run would keep, what certainty costs.

Everything is in points (x 100), or in the unit that an evaluator's card names. What has another unit is compared with
no number in points. An architecture's value is the mean over its seeds; `analysis/stats/reruns.py` says what a re-run
with new seeds, items or raters does to the difference of two.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import fdtri, stdtrit

from seedvote.analysis.questions.comparison.untrained import (
    AboveUntrained,
    BaselineAbove,
    above_untrained,
    baselines_above,
)
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.reruns import (
    BOTH,
    EVERYTHING,
    Error,
    Flip,
    Replicates,
    difference_errors,
    drawn_anew,
    estimate_between,
    predict_flips,
)
from seedvote.analysis.stats.spread import Ratio, sd_ratio
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe
from seedvote.analysis.votes.choices import FIRST, SECOND, Choices, hits_interval, told_of_sources
from seedvote.analysis.votes.scores.files import Unused
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Floats, Ints, Method, Panel, Scale, methods
from seedvote.analysis.votes.scores.study_panels import Baseline, baselines_beside, compared_panels
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.signature import signature

WITHIN = 2.0  # points to which an architecture's mean should be known, where nothing else is asked
WAYS = ("seeds", "items", "raters", "everything")
SEEDS_TRIED = 100_000
PAIRS_A_SITTING = 20  # the default of hit.toml
CHOSEN = (
    "People's shares are over the questions that they answered, by the interval of `analysis choose`; people less each "
    "model on the very same questions: python -m analysis choose STUDY. No answer of people enters a model's line."
)
BARE = "A share without brackets is of one rater, or its answers have no clusters of the kind that was asked for."
TABLE = Path(__file__).with_name("published_scores.csv")
CHECKPOINTS = ("untrained", "last", "best_bleu", "best_rouge", "best_meteor", "best_bert")


@dataclass(frozen=True, slots=True)
class Order:
    """Two architectures as one method orders them, the better first; a flip that the study does not show is None.

    The higher is the better one unless the evaluator's card says that lower is better.
    """

    kind: str
    name: str
    checkpoint: str
    first: str
    second: str
    difference: float  # the first less the second, in the unit shown: below 0 where lower is better
    flips: Mapping[str, Flip | None]
    scale: Scale

    @property
    def sign(self) -> str:
        """`>` between the two, `<` where the lower value is the better one, `=` where neither is better."""
        if self.difference == 0:
            return "="
        return "<" if self.scale.better == "lower" else ">"


@dataclass(frozen=True, slots=True)
class Generalisability:
    """E rho^2: the share of the variance between the things compared that a re-run would show again; with its F."""

    value: float
    low: float
    high: float
    f: float
    freedom: tuple[float, float]


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
class Cost:
    """What it takes to know an architecture's mean to within `margin` points; None for what the study does not show.

    The seeds are the fewest for which half the 95 % t interval of the mean, t_{.975, n-1} sd / sqrt(n), is at most the
    margin, with every seed judged as thoroughly as in this study. Hours are measured: seconds between showing and
    answering from the votes, seconds of training from the models' logs.
    """

    method: Method
    margin: float
    seeds: int | None
    seeds_low: int | None  # with the SD at the ends of its interval
    seeds_high: int | None
    rater_hours: float | None
    machine_hours: float | None
    money: float | None


@dataclass(frozen=True, slots=True)
class ChoosingPeople:
    """All people on the questions of one corpus by one metric, in points.

    They have no architecture and no seed, so they are in no panel: nothing pools them with a model, orders them among
    architectures or counts them in seeds. The interval is that of `analysis choose`.
    """

    corpus: str
    metric: str
    value: float
    low: float | None  # None for one rater
    high: float | None
    answers: int
    questions: int
    raters: int
    chance: float


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
    below: tuple[BaselineAbove, ...]  # the same tasks: whether a baseline was shown to do better
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
        return tuple(row.method for row in self.methods if row.method.checkpoint != UNSEEN)

    @property
    def trained_panels(self) -> tuple[Panel, ...]:
        """The scales after training."""
        return tuple(row.panel for row in self.panels if row.panel.checkpoint != UNSEEN)

    @property
    def trained_orders(self) -> tuple[ComparedOrder, ...]:
        """The orders after training."""
        return tuple(row for row in self.orders if row.order.checkpoint != UNSEEN)

    @property
    def trained_costs(self) -> tuple[Cost, ...]:
        """Costs of knowing what was trained, where there is a spread to go by."""
        return tuple(cost for cost in self.costs if cost.method.checkpoint != UNSEEN and cost.method.several)

    @property
    def not_compared(self) -> tuple[Unused, ...]:
        """The same with votes that name no model, and scores that are held against nothing in points."""
        judged = any(row.panel.kind == PEOPLE for row in self.panels)
        votes = [Unused("votes.jsonl", "its pairs compare no two models, or there is no pairs.jsonl")]
        names = dict.fromkeys(row.panel.shown.label for row in self.panels if not row.panel.shown.in_points)
        sizes = (
            [Unused(f"with people's SD, nor counted in seeds: {'; '.join(names)}", "not in points")] if names else []
        )
        return (*self.left_out, *(votes if self.voted and not judged else []), *sizes)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """Every evaluator once, as its first method shows it, in the order of the cards."""
        scale_of: dict[str, Scale] = {}
        for row in self.methods:
            scale_of.setdefault(row.method.kind, row.method.shown)
        return tuple(scale_of.values())

    @property
    def kinds(self) -> tuple[str, ...]:
        """The evaluators in the same order."""
        return tuple(dict.fromkeys(row.method.kind for row in self.methods))


def answer(
    study: Study,
    *,
    within: float = WITHIN,
    pay: float | None = None,
    machine: float | None = None,
    papers: bool = False,
    clusters: str = "auto",
) -> ComparisonAnswer | None:
    """Compare people and all evaluators on the study's models; None where it does not say which model was judged."""
    panels, unused = compared_panels(study, clusters)
    if not panels:
        return None
    rows = [(panel, method) for panel in panels for method in methods(panel)]
    shares = {id(panel): between_architectures(panel) for panel in panels}
    people = tuple(_hit_shares(study.choices, clusters)) if study.choices is not None else ()
    return ComparisonAnswer(
        tuple(ComparedPanel(panel, shares[id(panel)]) for panel in panels),
        tuple(ComparedMethod(panel, method, between_seeds(panel, method.model)) for panel, method in rows),
        tuple(ComparedOrder(panel, order, shares[id(panel)]) for panel, order in ordered(panels)),
        rank_spreads([method for _, method in rows]),
        tuple(
            find_cost(method, study, within, an_hour=pay, machine_hour=machine)
            for _, method in rows
            if method.shown.in_points
        ),
        tuple(cell for cell in read_published() if cell.checkpoint == "last") if papers else (),
        baselines_beside(study.scores) if study.scores else (),
        above_untrained(study.scores) if study.scores else (),
        baselines_above(study.scores) if study.scores else (),
        within,
        study.voters,
        tuple(unused),
        study.votes is not None,
        (*(study.scores.missing if study.scores else ()), *_without_card(panels), *_too_large(panels)),
        () if study.votes is None else study.votes.warnings,
        signature(
            methods=len(rows),
            interval="chi-square",
            **_name_units(panels),
            level=0.95,
            **judges_in_recipe(study.voters),
        ),
        people,
        _choosing_notes(study.choices, people),
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
    shares = [panel for panel in panels if panel.kind != PEOPLE and panel.shown.in_points and panel.shown.factor == 100]
    return [
        f"{panel.shown.label} reaches {top:,.0f} points, and a share has 100 at most: correct the unit in its card."
        for panel in shares
        if (top := float(abs(panel.values).max())) > 100.01
    ]


def _name_units(panels: Sequence[Panel]) -> dict[str, str]:
    """What a re-run draws anew apart from seeds: of people, and of scores."""
    units = {
        "people": [panel.unit for panel in panels if panel.kind == PEOPLE],
        "scores": [panel.unit for panel in panels if panel.kind != PEOPLE],
    }
    return {name: names[0] for name, names in units.items() if names}


def rank_spreads(compared: Sequence[Method]) -> tuple[SpreadRanking, ...]:
    """People's spread on each architecture against that of every trained method in points on the same, by F's law."""
    trained = [method for method in compared if method.checkpoint != UNSEEN and method.shown.in_points]
    rankings = []
    for person in (method for method in trained if method.kind == PEOPLE and method.several):
        evaluators = [
            method
            for method in trained
            if method.kind != PEOPLE and method.model == person.model and method.checkpoint == "last"
        ]
        ratios = [
            ratio for method in evaluators if (ratio := sd_ratio(person.over_seeds, method.over_seeds)) is not None
        ]
        if ratios:
            rankings.append(SpreadRanking(person, tuple(sorted(ratios, key=lambda ratio: ratio.value))))
    return tuple(rankings)


def orders(panel: Panel) -> list[Order]:
    """Every pair of architectures of the panel."""
    return [_compare_order(panel, *pair) for pair in combinations(panel.models, 2)]


def ordered(panels: Iterable[Panel]) -> list[tuple[Panel, Order]]:
    """Every order of every panel, with its panel."""
    return [(panel, order) for panel in panels for order in orders(panel)]


def _compare_order(panel: Panel, *pair: str) -> Order:
    mean = {model: float(panel.values[panel.of(model)].mean()) for model in pair}
    upwards = 1 if panel.shown.better == "lower" else -1
    first, second = sorted(pair, key=lambda model: (upwards * mean[model], model))
    flip_of = predict_flips(panel.replicates, (first, panel.of(first)), (second, panel.of(second)))
    return Order(
        panel.kind,
        panel.name,
        panel.checkpoint,
        first,
        second,
        mean[first] - mean[second],
        {way: flip_of.get(way) for way in WAYS},
        panel.shown,
    )


def between_architectures(panel: Panel) -> Generalisability | None:
    """How far the order of the architectures would hold in a re-run with everything new; None for one architecture.

    The error is the average architecture's, as in `analysis variance`, which cuts components off at zero one by one:
    where none is below zero the two are equal. With one seed each, only items and raters are new.
    """
    replicates, places = panel.replicates, [panel.of(model) for model in panel.models]
    errors = [
        (pair, error)
        for pair in combinations(places, 2)
        if (error := _error_of_difference(replicates, *pair)) is not None
    ]
    if not errors:
        return None
    excesses = [_seed_variance(replicates, at) / len(at) for at in places if len(at) > 1]
    beyond = max(float(np.mean(excesses)), 0.0) if excesses else 0.0
    noise = float(np.mean([variance for _, (variance, _) in errors])) / 2
    freedom = min((difference_errors(replicates, *pair)[EVERYTHING] or error)[1] for pair, error in errors)
    means = np.array([replicates.values[at].mean() for at in places])
    return _estimate_share(float(means.var(ddof=1)), noise + beyond, len(places) - 1, freedom)


def _seed_variance(replicates: Replicates, at: Ints) -> float:
    """The variance over seeds less what would be there if they were all equal."""
    observed, noise = estimate_between(replicates, at)
    return observed - noise


def _error_of_difference(replicates: Replicates, first: Ints, second: Ints) -> Error | None:
    """The error of a difference of two means over new items and raters."""
    weights = np.zeros(len(replicates.values))
    weights[first], weights[second] = 1 / len(first), -1 / len(second)
    return drawn_anew(replicates, weights, BOTH)


def between_seeds(panel: Panel, model: str) -> Generalisability | None:
    """How far the order of one architecture's seeds would hold with new items and raters; None for one seed."""
    at = panel.of(model)
    levels = min(panel.replicates.clusters.values())
    if len(at) < 2 or levels < 2:
        return None
    observed, noise = estimate_between(panel.replicates, at)
    above = len(at) - 1
    return _estimate_share(observed, noise, above, above * (levels - 1))


def _estimate_share(observed: float, error: float, above: float, below: float) -> Generalisability:
    """1 - 1/F for F = observed / error, with the interval that F's law gives (as for an intraclass correlation)."""
    if not (error > 0 and observed > 0):  # values that happen to be equal tell nothing, not that the seeds are equal
        return Generalisability(math.nan, 0.0, 1.0, math.nan, (above, below))
    ratio = observed / error
    tails = [float(fdtri(above, below, p)) for p in (0.975, 0.5, 0.025)]
    if ratio <= tails[2]:  # nearer to each other than such an error allows: it is not known, rather than 0 for sure
        return Generalisability(0.0, 0.0, 1.0, ratio, (above, below))
    value, low, high = (float(np.clip(1 - part / ratio, 0, 1)) for part in (1.0, tails[0], tails[2]))
    return Generalisability(value, low, high, ratio, (above, below))


def find_cost(
    method: Method, study: Study, margin: float, *, an_hour: float | None, machine_hour: float | None
) -> Cost:
    """What it takes to know this method's mean for this architecture to within `margin` points."""
    spread = method.over_seeds
    seeds, low, high = (seeds_needed(sd, margin) for sd in (spread.sd, spread.low, spread.high))
    training = training_seconds(study.folder).get(method.model)
    vote = seconds_a_vote(study)
    rater_hours = machine_hours = None
    if seeds is not None and method.kind == PEOPLE and study.votes is not None and vote is not None:
        rater_hours = len(study.votes) / len(method.seeds) * seeds * vote / 3600
    if seeds is not None and training is not None:
        machine_hours = seeds * training / 3600
    parts = [(rater_hours, an_hour), (machine_hours, machine_hour)]
    prices = [hours * price for hours, price in parts if hours is not None and price is not None]
    return Cost(method, margin, seeds, low, high, rater_hours, machine_hours, sum(prices) if prices else None)


def seeds_needed(sd: float, margin: float, *, level: float = 0.95) -> int | None:
    """The smallest number of seeds, two or more, whose t interval is narrow enough.

    >>> seeds_needed(1.0, 1.0)
    7
    """
    if not math.isfinite(sd) or margin <= 0:
        return None
    enough = np.flatnonzero(_half_widths(level) * sd <= margin)
    return int(enough[0]) + 2 if len(enough) else None


@cache
def _half_widths(level: float) -> Floats:
    """Half the t interval of a mean in SDs, for 2, 3, ... seeds."""
    counts = np.arange(2, SEEDS_TRIED)
    return np.asarray(stdtrit(counts - 1, (1 + level) / 2) / np.sqrt(counts))


def seconds_a_vote(study: Study) -> float | None:
    """Median seconds between showing and answering."""
    seconds = None if study.votes is None else study.votes.seconds
    if seconds is None or not np.isfinite(seconds).any():
        return None
    return float(np.nanmedian(seconds))  # the median: a rater who leaves the page open would rule a mean


def pay_of_a_vote(study: Study) -> float | None:
    """What hit.toml pays for a vote on a real pair; None where it names no pay."""
    pay = float(study.hit.get("pay_per_sitting", 0))
    return pay / int(study.hit.get("pairs_per_sitting", PAIRS_A_SITTING)) if pay else None


def training_seconds(folder: Path) -> Mapping[str, float]:
    """Architecture -> mean seconds of training a seed, from models/*/log.jsonl."""
    seconds_of: dict[str, list[float]] = {}
    for log in sorted(folder.glob("models/*/log.jsonl")):
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
        seconds = sum(line.get("seconds", 0.0) for line in lines)
        seconds_of.setdefault(log.parent.name.rpartition("-")[0], []).append(seconds)
    return {model: float(np.mean(values)) for model, values in seconds_of.items()}


def _hit_shares(choices: Choices, clusters: str) -> Iterator[ChoosingPeople]:
    """R@1 of every corpus, and R@2 where somebody was asked for the second best."""
    for corpus in dict.fromkeys(question.corpus for question in choices.questions):
        part = choices.select(choices.corpus(corpus))
        questions = np.unique(part.pair)
        sizes = np.array([len(choices.questions[k].options) for k in questions])
        for place, metric in enumerate((FIRST, SECOND)[: 1 + choices.second] if len(part) else (), 1):
            interval = _hits_interval(part, metric, clusters)
            yield ChoosingPeople(
                corpus,
                metric,
                100 * float(part.hits[metric].mean()),
                None if interval is None else 100 * interval.low,
                None if interval is None else 100 * interval.high,
                len(part),
                len(questions),
                len(np.unique(part.rater)),
                100 * float(np.minimum(place / sizes, 1).mean()),
            )


def _hits_interval(part: Choices, metric: str, clusters: str) -> Interval | None:
    """None too where votes have clusters that answers lack: the comparison of the models stands without it."""
    try:
        return hits_interval(part, metric, clusters)
    except InputError:
        return None


def _choosing_notes(choices: Choices | None, people: Sequence[ChoosingPeople]) -> tuple[str, ...]:
    """What the table of people says and what it cannot, and what was left out of the answers."""
    if choices is None:
        return ()
    bare = [BARE] if any(row.low is None for row in people) else []
    return (CHOSEN, *bare, *told_of_sources(choices.sources), *choices.notes)


@dataclass(frozen=True, slots=True)
class Published:
    """One cell of the papers' tables (arXiv 2008.10427, 5-7, 10 and 11): micro-F1 in points and the printed "+-".

    That is 100 x the sample variance of F1 in [0, 1] over three seeds. HRED's "+- 10.39" on UtteranceLoc is an SD of
    32.2 points, and "probes barely vary" is partly a matter of units.
    """

    corpus: str
    task: str
    model: str
    checkpoint: str
    f1: float
    printed: float

    @property
    def sd(self) -> float:
        """SD over three seeds, in points."""
        return 10 * math.sqrt(self.printed)


def read_published() -> list[Published]:
    """Every cell of the papers' logistic-regression tables."""
    with TABLE.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [
        Published(
            row["corpus"], row["task"], row["model"], name, float(row[f"{name}_f1"]), float(row[f"{name}_printed"])
        )
        for row in rows
        for name in CHECKPOINTS
        if row[f"{name}_f1"]
    ]
