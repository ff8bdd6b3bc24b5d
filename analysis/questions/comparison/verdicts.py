"""What a comparison of people and evaluators may claim, and what it may not, in sentences from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from seedvote.analysis.questions.comparison.answer import WAYS, ComparisonAnswer, Order, SpreadRanking
from seedvote.analysis.showing.words import chance, count, part_of, warn_of_few_seeds
from seedvote.analysis.stats.spread import seed_range, seed_spread
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Method

NAMED = 6  # longer lists are counted
NAMED_EVALUATORS = 3  # in one sentence


def verdicts(answer: ComparisonAnswer) -> list[str]:
    """Spreads that can be told apart and that cannot, orders that a re-run would keep, and what is not known."""
    trained, orders = answer.trained, [row.order for row in answer.trained_orders]
    sentences = [
        *map(_rank_spread, answer.rankings),
        *_differing_seeds(answer),
        *_few_seeds(trained),
        *_single_seeds(trained),
        *_no_better_than_chance(answer),
        *order_verdicts(orders, trained),
    ]
    if orders:
        return [*sentences, *warn_of_few_seeds(seed_range(method.values) for method in trained)]
    if trained:
        name = min(method.model for method in trained)
        sentences.append(f"Only one architecture ({name}) was judged, so architectures cannot be compared.")
    return sentences


def _rank_spread(ranking: SpreadRanking) -> str:
    """People's spread over the seeds of one architecture against that of the other methods."""
    ratios, median = ranking.ratios, ranking.median
    person = ranking.person
    text = (
        f"Over {count(len(person.seeds), 'seed')} of {person.model}, people's SD is "
        f"{_format_ratio(median.value)} times the "
        + ("median of " if len(ratios) > 1 else "SD of ")
        + f"{count(len(ratios), 'other method')} "
        f"(95 % interval {_format_ratio(median.low)} to {_format_ratio(median.high)})"
    )
    lower, higher = sum(ratio.low > 1 for ratio in ratios), sum(ratio.high < 1 for ratio in ratios)
    return f"{text}. {_differing_spreads(lower, higher, len(ratios))}."


def _differing_spreads(lower: int, higher: int, total: int) -> str:
    """How many of the other methods' SDs lie surely below or above people's, each tested by itself."""
    if not lower + higher:
        return "No method's SD is shown to differ from it"
    if lower + higher == 1:
        side = "lower" if lower else "higher"
        return f"{'One method' if total > 1 else 'That'} is shown to be {side}"
    sides = [f"{n} {word}" for n, word in ((lower, "lower"), (higher, "higher")) if n]
    return f"{lower + higher} of them are shown to differ, each tested by itself: {' and '.join(sides)}"


def _format_ratio(ratio: float) -> str:
    """A ratio to two digits, never as a power of ten.

    >>> _format_ratio(0.3141), _format_ratio(204.6)
    ('0.31', '205')
    """
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def _differing_seeds(answer: ComparisonAnswer) -> Iterator[str]:
    """For how many methods and architectures the seeds differ more than equal seeds would."""
    trained = [row for row in answer.methods if row.method.checkpoint != UNSEEN]
    for kind, scale in zip(answer.kinds, answer.scales, strict=True):
        name, case = scale.group, "an architecture" if kind == PEOPLE else "a task on an architecture"
        cases = [
            (row.method, row.reliability)
            for row in trained
            if row.method.kind == kind and row.reliability is not None and math.isfinite(row.reliability.value)
        ]
        differing = sum(share.low > 0 for _, share in cases)
        if len(cases) == 1:
            ((method, share),) = cases
            verb = "differ" if differing else "are not shown to differ"
            ends = f"{share.value:.2f}, 95 % interval {share.low:.2f} to {share.high:.2f}"
            yield f"By {name}, the seeds of {method.model} {verb} (E rho^2 {ends})."
        elif cases:
            yield (
                f"By {name}, seeds differ in {differing:,} of {len(cases):,} cases, each {case} (95 % interval of "
                "E rho^2 above 0, not corrected)."
            )


def _few_seeds(trained: Sequence[Method]) -> list[str]:
    sizes = sorted({len(method.seeds) for method in trained if method.several and method.over_seeds.few})
    if not sizes:
        return []
    spread = seed_spread(range(sizes[0]))  # the factors hang on the number of seeds alone, so any values will do
    return [
        f"An SD over {count(sizes[0], 'seed')} is uncertain: the true SD may be {spread.low / spread.sd:.1f} to "
        f"{spread.high / spread.sd:.1f} times as large. Read the interval, not the SD."
    ]


def _single_seeds(trained: Sequence[Method]) -> list[str]:
    names = sorted({method.model for method in trained} - {method.model for method in trained if method.several})
    if not names:
        return []
    if len(names) > 1:
        list_of_names = ", ".join(names) if len(names) <= NAMED else count(len(names), "architecture")
        return [f"One seed each of {list_of_names}: the effect of a new training run is unknown."]
    return [f"One seed of {names[0]}: the effect of a new training run is unknown."]


def _no_better_than_chance(answer: ComparisonAnswer) -> Iterator[str]:
    """Tasks on which an architecture's mean over seeds is no better than chance."""
    for panel in answer.trained_panels:
        means = {model: float(panel.values[panel.of(model)].mean()) for model in panel.models}
        short = [model for model, mean in means.items() if not panel.shown.beyond_chance(mean)]
        if not short:
            continue
        who = f"the mean of {', '.join(short)} is"
        if len(short) == len(means) or len(short) > NAMED:
            many = f"{len(short)} of" if len(short) < len(means) else "all"
            who = f"the means of {many} {count(len(means), 'architecture')} are" if len(means) > 2 else who
            who = "the means of both architectures are" if len(means) == 2 else who
        place = "" if panel.checkpoint == "last" else f", {panel.checkpoint}"
        side = "above" if panel.shown.better == "lower" else "below"
        yield f"By {panel.shown.label}{place}, {who} no better than chance: at or {side} {panel.shown.chance:g}."


def order_verdicts(orders: Sequence[Order], judged: Sequence[Method]) -> list[str]:
    """How many of the orders a re-run would reverse with a chance above one in ten; `judged` says who has seeds."""
    sentences = []
    for kind, name in dict.fromkeys((order.kind, order.scale.group) for order in orders):
        of_kind = [order for order in orders if order.kind == kind]
        if any(order.flips["everything"] is not None for order in of_kind):
            sentences.append(_unsure_orders(of_kind, name))
        else:
            sentences.append(_without_rerun(of_kind, name, [method for method in judged if method.kind == kind]))
    return sentences


def _unsure_orders(orders: Sequence[Order], name: str) -> str:
    """The orders of one kind of method whose chance of being reversed is known."""
    flipping = [(order, flip) for order in orders if (flip := order.flips["everything"]) is not None]
    unsure = sum(flip.p > 0.1 for _, flip in flipping)
    order, worst = max(flipping, key=lambda pair: pair[1].p)
    by_people = order.kind == PEOPLE
    by_raters = by_people or any(order.flips.get("raters") is not None for order, _ in flipping)
    task = "" if by_people else f" by {order.scale.title}"
    return (
        f"By {name}, {part_of(unsure, len(flipping), 'order')} of two architectures could flip in a "
        f"re-run with new {'seeds, items and raters' if by_raters else 'seeds and items'} (chance above 10 %). The "
        f"least certain is {worst.first} over {worst.second}{task} ({chance(worst.p)})."
    )


def _without_rerun(orders: Sequence[Order], name: str, judged: Sequence[Method]) -> str:
    """What is known where not everything can be new: an architecture has one seed, or there is one item."""
    worst = {way: max((flip.p for order in orders if (flip := order.flips[way])), default=math.nan) for way in WAYS}
    known = [way for way in WAYS[:3] if math.isfinite(worst[way])]
    parts = [f"new {way} alone {chance(worst[way])}" for way in known]
    if "seeds" in known:  # so it is the items or raters that are too few
        why, new = "what was judged is too little", "items" + " and raters" * (orders[0].kind == PEOPLE)
    elif all(method.several for method in judged):
        why, new = "the values do not vary", "seeds"
    else:
        why = f"{'some' if any(method.several for method in judged) else 'each'} architecture has one seed"
        new = "seeds"
    text = f"By {name}, {why}, so the effect of new {new} on their order is unknown"
    return f"{text}. The chance that it is reversed: {', '.join(parts)}." if parts else f"{text}."


def find_spreads(methods: Sequence[Method]) -> str:
    """The finding on spreads: people's SD over seeds, else the evaluators' medians; nothing where none has seeds."""
    people = [method for method in methods if method.kind == PEOPLE and method.several]
    evaluators = [
        method
        for method in methods
        if method.kind != PEOPLE and method.checkpoint == "last" and method.several and method.shown.in_points
    ]
    if not evaluators:
        return ""
    if not people:
        return _median_spreads(evaluators)
    judged = {method.model for method in evaluators}
    person = next((method for method in people if method.model in judged), people[0])
    spread, on_model = person.over_seeds, [method for method in evaluators if method.model == person.model]
    text = (
        f"Over {count(len(person.seeds), 'seed')} of {person.model}, the SD of people's preference is "
        f"{spread.sd:.1f} points (95 % interval {spread.low:.1f} to {spread.high:.1f}); equal seeds would give "
        f"{person.sd_if_alike:.1f}."
    )
    if not on_model:  # other architectures' scores tell nothing about the seeds of this one
        return f"{text} {_median_spreads(evaluators)}"
    names = count(len(_by_group(on_model)), "other evaluator")
    return text + (f" These are too few seeds to rank the SDs of people and {names}." if spread.few else "")


def _by_group(methods: Sequence[Method]) -> dict[str, list[Method]]:
    """The methods of each evaluator under its title, in the order of the cards."""
    groups: dict[str, list[Method]] = {}
    for method in methods:
        groups.setdefault(method.shown.group, []).append(method)
    return groups


def _median_spreads(methods: Sequence[Method]) -> str:
    groups = _by_group(methods)
    text = ", ".join(
        f"{_find_median([method.over_seeds.sd for method in group]):.1f} points for {name} "
        f"({_find_median([method.sd_if_alike for method in group]):.1f} if the seeds were equal)"
        for name, group in [*groups.items()][:NAMED_EVALUATORS]
    )
    return f"The median SD over training seeds is {text}{count_further(len(groups) - NAMED_EVALUATORS)}."


def _find_median(values: Sequence[float]) -> float:
    return float(np.median(values))


def count_further(evaluators: int) -> str:
    """That other evaluators are not in the sentence."""
    if evaluators < 1:
        return ""
    return f"; {count(evaluators, 'more evaluator')} {'is' if evaluators == 1 else 'are'} in the table"
