"""What a comparison of people and evaluators may claim, and what it may not, in sentences from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from analysis.comparison.answer import ComparisonAnswer, SpreadRanking
from analysis.comparison.orders import WAYS, Order
from analysis.showing.words import chance, count, told_of_few_seeds
from analysis.stats.seed_range import seed_range
from analysis.stats.spread import seed_spread
from analysis.votes.scores.panel import PEOPLE, UNSEEN, Method

NAMED = 6  # longer lists are counted


def verdicts(answer: ComparisonAnswer) -> list[str]:
    """Spreads that can be told apart and that cannot, orders that a re-run would keep, and what is not known."""
    trained, orders = answer.trained, [one.order for one in answer.trained_orders]
    found = [*map(_against, answer.rankings), *_apart(answer), *_few(trained), *_alone(trained)]
    found += _chances(answer)
    found += order_verdicts(orders, trained)
    found += told_of_few_seeds(seed_range(method.values) for method in trained) if orders else []
    if trained and not orders:
        names = sorted({method.model for method in trained})
        found.append(f"Only one architecture ({names[0]}) was judged, so architectures cannot be compared.")
    return found


def _against(ranking: SpreadRanking) -> str:
    """People's spread over the seeds of one architecture against that of the other methods."""
    ratios, median = ranking.ratios, ranking.median
    person = ranking.person
    text = (
        f"Over {count(len(person.seeds), 'seed')} of {person.model}, people's SD is {_times(median.value)} times the "
        + ("median of " if len(ratios) > 1 else "SD of ")
        + f"{count(len(ratios), 'other method')} (95 % interval {_times(median.low)} to {_times(median.high)})"
    )
    lower, higher = sum(ratio.low > 1 for ratio in ratios), sum(ratio.high < 1 for ratio in ratios)
    return f"{text}; {_told_apart(lower, higher, len(ratios))}."


def _told_apart(lower: int, higher: int, total: int) -> str:
    """How many of the other methods' SDs lie surely below or above people's, each tested by itself."""
    if not lower + higher:
        return "no method's SD is shown to differ from it"
    if lower + higher == 1:
        side = "lower" if lower else "higher"
        return f"{'one method' if total > 1 else 'that'} is shown to be {side}"
    sides = [f"{n} {word}" for n, word in ((lower, "lower"), (higher, "higher")) if n]
    return f"{lower + higher} of them are shown to differ, each tested by itself: {' and '.join(sides)}"


def _apart(answer: ComparisonAnswer) -> Iterator[str]:
    """For how many methods and architectures the seeds differ more than seeds that are all alike would."""
    trained = [one for one in answer.methods if one.method.checkpoint != UNSEEN]
    for kind, scale in zip(answer.kinds, answer.scales, strict=True):
        name, case = scale.group, "an architecture" if kind == PEOPLE else "a task on an architecture"
        cases = [(one.method, one.reliability) for one in trained
                 if one.method.kind == kind and one.reliability is not None
                 and math.isfinite(one.reliability.value)]  # fmt: skip
        apart = sum(share.low > 0 for _, share in cases)
        if len(cases) == 1:
            ((method, share),), differ = cases, "differ" if apart else "are not shown to differ"
            ends = f"{share.value:.2f}, 95 % interval {share.low:.2f} to {share.high:.2f}"
            yield f"By {name}, the seeds of {method.model} {differ} (E rho^2 {ends})."
        elif cases:
            yield (
                f"By {name}, seeds differ in {apart:,} of {len(cases):,} cases, each {case} (95 % interval of E rho^2 "
                "above 0, not corrected)."
            )


def _chances(answer: ComparisonAnswer) -> Iterator[str]:
    """Tasks on which an architecture's mean over seeds is no better than chance."""
    for panel in (one.panel for one in answer.panels if one.panel.checkpoint != UNSEEN):
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


def _times(ratio: float) -> str:
    """A ratio to two digits, never as a power of ten.

    >>> _times(0.3141), _times(204.6)
    ('0.31', '205')
    """
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def _few(trained: Sequence[Method]) -> list[str]:
    few = sorted({len(m.seeds) for m in trained if m.several and m.over_seeds.few})
    if not few:
        return []
    over = seed_spread(range(few[0]))  # the factors hang on the number of seeds alone, so any values will do
    return [
        f"An SD over {count(few[0], 'seed')} is uncertain: the true SD may be {over.low / over.sd:.1f} to "
        f"{over.high / over.sd:.1f} times as large. Read the interval, not the SD."
    ]


def _alone(trained: Sequence[Method]) -> list[str]:
    names = sorted({m.model for m in trained} - {m.model for m in trained if m.several})
    if not names:
        return []
    if len(names) > 1:
        told = ", ".join(names) if len(names) <= NAMED else count(len(names), "architecture")
        return [f"One seed each of {told}: the effect of a new training run is unknown."]
    return [f"One seed of {names[0]}: the effect of a new training run is unknown."]


def order_verdicts(found: Sequence[Order], judged: Sequence[Method]) -> list[str]:
    """How many of the orders a re-run would reverse with a chance above one in ten; `judged` says who has seeds."""
    sentences = []
    for kind, name in dict.fromkeys((order.kind, order.scale.group) for order in found):
        mine = [order for order in found if order.kind == kind]
        if any(order.flips["everything"] is not None for order in mine):
            sentences.append(_shaky(mine, name))
        elif mine:
            sentences.append(_without_rerun(mine, name, [method for method in judged if method.kind == kind]))
    return sentences


def _shaky(orders: Sequence[Order], name: str) -> str:
    """The orders of one kind of method whose chance of being reversed can be told."""
    told = [(order, flip) for order in orders if (flip := order.flips["everything"]) is not None]
    shaky = sum(flip.p > 0.1 for _, flip in told)
    order, worst = max(told, key=lambda one: one[1].p)
    people = order.kind == PEOPLE
    by_raters = people or any(one.flips.get("raters") is not None for one, _ in told)
    by = "" if people else f" by {order.scale.title}"
    return (
        f"By {name}, {shaky:,} of {count(len(told), 'order')} of two architectures could flip in a re-run with new "
        f"{'seeds, items and raters' if by_raters else 'seeds and items'} (chance above 10 %). The least certain is "
        f"{worst.first} over {worst.second}{by} ({chance(worst.p)})."
    )


def _without_rerun(orders: Sequence[Order], name: str, judged: Sequence[Method]) -> str:
    """What can be told where not everything can be new: an architecture has one seed, or there is one item."""
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
    return f"{text}; the chance that it is reversed: {', '.join(parts)}." if parts else f"{text}."
