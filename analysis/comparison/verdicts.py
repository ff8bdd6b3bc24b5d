"""What the comparison of people, metrics and probes may claim, and what it may not, in sentences from its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.comparison.orders import WAYS, Order
from analysis.reading.panel import UNSEEN, Method
from analysis.showing.words import chance, count
from analysis.stats.spread import Ratio, sd_ratio, seed_spread


def verdicts(methods: Sequence[Method], orders: Sequence[Order]) -> list[str]:
    """Spreads that may be ranked and that may not, orders that a re-run would keep, and what cannot be told."""
    trained = [method for method in methods if method.checkpoint != UNSEEN]
    said = [*_ranked(trained), *_few(trained), *_alone(trained)]
    said += order_verdicts([order for order in orders if order.checkpoint != UNSEEN])
    if trained and not orders:
        names = sorted({method.model for method in trained})
        said.append(f"Only one architecture ({names[0]}) was judged, so no order of architectures can be told.")
    return said


def _ranked(trained: Sequence[Method]) -> list[str]:
    """People's spread over seeds against that of every other method of the same architecture, by F's law."""
    said = []
    for person in (method for method in trained if method.kind == "people" and method.several):
        others = [m for m in trained if m.kind != "people" and m.model == person.model and m.checkpoint == "last"]
        ratios = [r for m in others if (r := sd_ratio(person.over_seeds, m.over_seeds)) is not None]
        if ratios:
            said.append(_against(person, ratios))
    return said


def _against(person: Method, ratios: Sequence[Ratio]) -> str:
    """One architecture's people against all else."""
    larger, smaller = sum(ratio.low > 1 for ratio in ratios), sum(ratio.high < 1 for ratio in ratios)
    middle = sorted(ratios, key=lambda ratio: ratio.value)[len(ratios) // 2]
    text = (
        f"Over {count(len(person.seeds), 'seed')} of {person.model}, people's SD in points is {_times(middle.value)} "
        f"times that of the middle one of {count(len(ratios), 'other method')}; the 95 % interval of such a ratio "
        f"reaches from {_times(middle.low)} to {_times(middle.high)}"
    )
    if not larger + smaller:
        return text + ": no spread is ranked above another."
    sides = [f"{n} {word} people's" for n, word in ((larger, "below"), (smaller, "above")) if n]
    return f"{text}. Each taken by itself, {larger + smaller} of {len(ratios)} can be ranked: {' and '.join(sides)}."


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
    over = seed_spread(range(few[0]))  # the factors depend on the number alone
    return [
        f"An SD over {count(few[0], 'seed')} is known to within a factor of {over.low / over.sd:.1f} to "
        f"{over.high / over.sd:.1f} only: read the interval, not the SD."
    ]


def _alone(trained: Sequence[Method]) -> list[str]:
    names = sorted({m.model for m in trained} - {m.model for m in trained if m.several})
    if not names:
        return []
    return (
        [f"One seed each of {', '.join(names)}: nothing here says how far a new training would move them."]
        if len(names) > 1
        else [f"One seed of {names[0]}: nothing here says how far a new training would move it."]
    )


def order_verdicts(found: Sequence[Order]) -> list[str]:
    """How many of the orders a re-run would reverse with a chance above one in ten."""
    said = []
    for kind, name in (("people", "people"), ("token", "token metrics"), ("probe", "probe tasks")):
        mine = [order for order in found if order.kind == kind]
        told = [(order, flip) for order in mine if (flip := order.flips["everything"]) is not None]
        if told:
            shaky = sum(flip.p > 0.1 for _, flip in told)
            weakest, worst = max(told, key=lambda one: one[1].p)
            anew = "seeds, items and raters" if kind == "people" else "seeds and items"
            said.append(
                f"By {name}, a re-run with new {anew} has a chance above 10 % of reversing {shaky} of "
                f"{count(len(told), 'order')} of two architectures; the shakiest is {worst.first} over {worst.second}"
                f"{'' if kind == 'people' else f' by {weakest.name}'}, {chance(worst.p)}."
            )
        elif mine:
            said.append(_without_seeds(mine, name))
    return said


def _without_seeds(mine: Sequence[Order], name: str) -> str:
    """What can be told where an architecture has one seed: new items, new raters."""
    worst = {way: max((flip.p for order in mine if (flip := order.flips[way])), default=math.nan) for way in WAYS}
    parts = [f"new {way} alone {chance(worst[way])}" for way in ("items", "raters") if math.isfinite(worst[way])]
    text = f"By {name}, what new seeds would do to the order of architectures cannot be told (one seed each)"
    return f"{text}; the chance that it is reversed: {', '.join(parts)}." if parts else f"{text}."
