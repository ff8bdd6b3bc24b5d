"""What would make the results more certain, in words: more votes, seeds or raters, each with what it would show.

Every number is a room's or of `analysis/stats/power.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.comparison.costs import seconds_a_vote
from analysis.comparison.orders import Order
from analysis.preference.answer import PreferenceAnswer
from analysis.reading.panel import UNSEEN, Panel, methods
from analysis.reading.study import Study
from analysis.showing.words import count
from analysis.stats.intervals import Interval
from analysis.stats.power import (
    MOST_TIMES,
    POWER,
    Either,
    seeds_for_difference,
    seeds_for_sd,
    smallest_shown,
    votes_or_seeds,
    votes_to_show,
)
from analysis.stats.reruns import between
from analysis.stats.spread import pooled_sd
from dialogue.errors import InputError


def advice(
    study: Study, found: PreferenceAnswer | None, panels: Sequence[Panel], pairs: Sequence[tuple[Panel, Order]]
) -> list[str]:
    """One sentence a claim, the nearest first."""
    sentences = [] if found is None else _difference(study, found)
    trained = [panel for panel in panels if panel.checkpoint != UNSEEN]
    for panel in trained:
        if panel.kind == "people" and study.votes is not None:
            sentences += _either(panel, study)
    return [*sentences, *_orders(pairs), *_spread(trained)]


def _difference(study: Study, found: PreferenceAnswer) -> list[str]:
    """What these votes can show, and votes for the contrast that is nearest to being shown."""
    open_ones = [one for one in found.led if one.net.low <= 0 <= one.net.high and one.net.se > 0]
    spread = [one for one in found.led if one.net.se > 0]
    if not spread:
        return ["All votes of a comparison are the same, so there is no spread to plan with."]
    largest = max(spread, key=lambda one: one.net.n)
    reach = smallest_shown(largest.net)
    sentences = [
        f"The {count(largest.net.n, 'vote')} on {largest.first} against {largest.second} are worth "
        f"{count(round(largest.net.effective_n), 'independent vote')}, {_shown(reach)}. Showing "
        f"{50 * min(reach, 1):.0f} points takes {_more(study, largest.net, min(reach, 1) / 2)}."
    ]
    if open_ones:
        one = max(open_ones, key=lambda one: one.net.value / one.net.se)
        more = votes_to_show(one.net, one.net.value)
        if more:
            sentences.append(
                f"If {one.first} is truly {100 * one.net.value:.1f} points ahead of {one.second}, as in these votes, "
                f"showing it with power .80 takes {_more(study, one.net, one.net.value)}."
            )
    return sentences


def _shown(reach: float) -> str:
    if reach >= 1:  # no net preference is larger than 100 points
        return "too few to show any net preference with power .80"
    return f"enough to show a net preference of {100 * reach:.0f} points with power .80"


def _more(study: Study, net: Interval, difference: float) -> str:
    more = votes_to_show(net, difference)
    if more is None:
        return f"more than {MOST_TIMES} times the votes"
    rounded = round(more, -1) if more > 100 else more
    crowd = ", from proportionally more raters" if "rater" in net.clusters else ""
    return f"{rounded:,} more votes{crowd}{_hours(study, rounded)}"


def _hours(study: Study, votes: int) -> str:
    seconds = seconds_a_vote(study)
    return "" if seconds is None else f" (about {count(max(round(votes * seconds / 3600), 1), 'hour')} of rating)"


def _either(panel: Panel, study: Study) -> list[str]:
    """Whether the seed matters to people: more votes, or more seeds."""
    sentences = []
    for model in panel.models:
        at = panel.of(model)
        if len(at) < 2:
            continue
        observed, noise = between(panel.replicates, at)
        if not observed > noise > 0:
            sentences.append(
                f"People's preference varies over {count(len(at), 'seed')} of {model} no more than items and raters "
                f"explain, so there is no variance over seeds to plan with."
            )
            continue
        sentences += _in_words(
            votes_or_seeds(observed - noise, noise, len(at)), model, len(at), _votes_on(study, model)
        )
    return sentences


def _votes_on(study: Study, model: str) -> int:
    """Votes on pairs between seeds of one architecture."""
    if study.votes is None:
        return 0
    mine = {p.pair for p in study.pairs if p.kind == "real" and p.a.model == model == p.b.model}
    return int(np.isin(np.array(study.votes.pairs), list(mine))[study.votes.pair].sum())


def _in_words(found: Either, model: str, seeds: int, votes: int) -> list[str]:
    if found.power >= POWER:
        return [f"These votes are enough to show an effect of {model}'s seed on people (power {found.power:.2f})."]
    ways = []
    if found.votes is not None and votes:
        ways.append(f"{round((found.votes - 1) * votes, -1):,.0f} more votes")
    if found.seeds is not None:
        ways.append(f"{count(found.seeds - seeds, 'more seed')}, each with as many votes")
    how = " or ".join(ways) if ways else f"more than {MOST_TIMES} times the votes or seeds"
    return [
        f"If the effect of {model}'s seed on people is as large as estimated, showing it with power .80 takes {how} "
        f"(power now {found.power:.2f})."
    ]


def _orders(pairs: Sequence[tuple[Panel, Order]]) -> list[str]:
    """Seeds for the orders of architectures that a re-run could well reverse."""
    sentences = []
    for kind, name in (("token", "token metrics"), ("probe", "probe tasks")):
        needed, shaky, total = [], 0, 0
        for panel, order in (pair for pair in pairs if pair[0].kind == kind):
            seeds = [panel.values[panel.of(model)] for model in (order.first, order.second)]
            flip, total = order.flips["everything"], total + 1
            if flip is not None and flip.p > 0.1 and order.difference > 0 and min(map(len, seeds)) > 1:
                shaky += 1
                needed.append(_seeds(order.difference, pooled_sd(seeds)))
        known = sorted(n for n in needed if n)
        if known:
            reach = f"{known[0]:,} seeds" if known[0] == known[-1] else f"{known[0]:,} to {known[-1]:,} seeds"
            more = f" ({len(needed) - len(known)} need more than 10,000)" if len(known) < len(needed) else ""
            sentences.append(
                f"By {name}, a re-run may well reverse {shaky} of {count(total, 'order')} of two architectures. With "
                f"the SDs seen here, {reach} per architecture would show these orders with power .80{more}."
            )
    return sentences


def _seeds(difference: float, sd: float) -> int | None:
    try:
        return seeds_for_difference(difference, sd) if sd > 0 else None
    except InputError:
        return None


def _spread(trained: Sequence[Panel]) -> list[str]:
    sizes = sorted({len(m.seeds) for panel in trained for m in methods(panel) if m.several})
    if not sizes:
        return []
    wanted = seeds_for_sd(2.0)
    if sizes[0] >= wanted:
        return []
    return [
        f"With {wanted} seeds, the 95 % interval of an SD ends below twice the SD; that is {wanted - sizes[0]} more "
        f"seeds than {'here' if len(sizes) == 1 else 'the smallest number here'}."
    ]
