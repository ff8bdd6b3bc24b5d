"""What would make the results more certain, in words: more votes, seeds or raters, each with what it would show.

Every number is a room's or of `analysis/stats/power.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seedvote.analysis.questions.comparison.answer import Order, pay_of_a_vote, seconds_a_vote
from seedvote.analysis.questions.preference.answer import PreferenceAnswer
from seedvote.analysis.showing.words import count, part_of
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.power import MOST_TIMES, POWER, smallest_shown, votes_to_show
from seedvote.analysis.stats.reruns import BOTH, drawn_anew, estimate_between
from seedvote.analysis.stats.seed_power import (
    DifferenceError,
    Either,
    items_for_order,
    seeds_for_order,
    seeds_for_sd,
    votes_or_seeds,
)
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Panel, methods
from seedvote.analysis.votes.study import Study


def write_advice(
    study: Study, answer: PreferenceAnswer | None, panels: Sequence[Panel], pairs: Sequence[tuple[Panel, Order]]
) -> list[str]:
    """One sentence a claim, the nearest first."""
    sentences = [] if answer is None else _advise_on_difference(study, answer)
    trained = [panel for panel in panels if panel.checkpoint != UNSEEN]
    for panel in trained:
        if panel.kind == PEOPLE and study.votes is not None:
            sentences += _offer_votes_or_seeds(panel, study)
    return [*sentences, *_advise_on_orders(pairs), *_count_further_seeds(trained)]


def _advise_on_difference(study: Study, answer: PreferenceAnswer) -> list[str]:
    """What these votes can show, and votes for the contrast that is nearest to being shown."""
    open_ones = [
        contrast for contrast in answer.led if contrast.net.low <= 0 <= contrast.net.high and contrast.net.se > 0
    ]
    spread = [contrast for contrast in answer.led if contrast.net.se > 0]
    if not answer.led:
        return ["No two systems were compared in two votes or more, so there is no spread to plan with."]
    if not spread:
        return ["All votes of a comparison are the same, so there is no spread to plan with."]
    largest = max(spread, key=lambda contrast: contrast.net.n)
    reach = smallest_shown(largest.net)
    crowd = ", from proportionally more raters" if "rater" in largest.net.clusters else ""
    sentences = [
        f"The {count(largest.net.n, 'vote')} on {largest.first} against {largest.second} can show "
        f"{_name_shown_difference(reach)}. Showing {50 * min(reach, 1):.0f} points takes "
        f"{_price_more_votes(study, largest.net, min(reach, 1) / 2)}{crowd}."
    ]
    if open_ones:
        contrast = max(open_ones, key=lambda contrast: contrast.net.value / contrast.net.se)
        votes = votes_to_show(contrast.net, contrast.net.value)
        if votes:
            sentences.append(
                f"Showing that {contrast.first} is {100 * contrast.net.value:.1f} points ahead of {contrast.second}, "
                f"as in these votes, takes {_price_more_votes(study, contrast.net, contrast.net.value)}."
            )
    return sentences


def _name_shown_difference(reach: float) -> str:
    if reach >= 1:  # no net preference is larger than 100 points
        return "no net preference with power .80"
    return f"a net preference of {100 * reach:.0f} points with power .80"


def _price_more_votes(study: Study, net: Interval, difference: float) -> str:
    votes = votes_to_show(net, difference)
    if votes is None:
        return f"more than {MOST_TIMES} times the votes"
    rounded = round(votes, -1) if votes > 100 else votes
    return f"{rounded:,} more votes{_estimate_cost(study, rounded)}"


def _estimate_cost(study: Study, votes: int) -> str:
    """Hours of rating and pay, as far as the study's files tell them."""
    seconds, pay = seconds_a_vote(study), pay_of_a_vote(study)
    hours = "" if seconds is None else f"{count(max(round(votes * seconds / 3600), 1), 'hour')} of rating"
    money = "" if pay is None else f"{max(round(votes * pay), 1):,} {study.hit.get('currency', 'USD')} of pay"
    return f" (about {', '.join(filter(None, (hours, money)))})" if hours or money else ""


def _offer_votes_or_seeds(panel: Panel, study: Study) -> list[str]:
    """Whether the seed matters to people: more votes, or more seeds."""
    sentences = []
    for model in panel.models:
        at = panel.of(model)
        if len(at) < 2:
            continue
        observed, noise = estimate_between(panel.replicates, at)
        if not observed > noise > 0:
            sentences.append(
                f"Items and raters explain how people's preference varies over {count(len(at), 'seed')} of {model}, so "
                "there is no variance of seeds to plan with."
            )
            continue
        sentences += _votes_or_seeds_sentences(
            votes_or_seeds(observed - noise, noise, len(at)), model, len(at), _votes_on(study, model)
        )
    return sentences


def _votes_on(study: Study, model: str) -> int:
    """Votes on pairs between seeds of one architecture."""
    if study.votes is None:
        return 0
    pairs = {p.pair for p in study.pairs if p.kind == "real" and p.a.model == model == p.b.model}
    return int(np.isin(np.array(study.votes.pairs), list(pairs))[study.votes.pair].sum())


def _votes_or_seeds_sentences(needs: Either, model: str, seeds: int, votes: int) -> list[str]:
    if needs.power >= POWER:
        return [f"These votes are enough to show an effect of {model}'s seed on people (power {needs.power:.2f})."]
    ways = []
    if needs.votes is not None and votes:
        more_votes = f"{round((needs.votes - 1) * votes, -1):,.0f} more votes"
        ways.append(f"{more_votes} on more items and from more raters")
    if needs.seeds is not None:
        ways.append(f"{count(needs.seeds - seeds, 'more seed')}, each with as many votes")
    how = " or ".join(ways) if ways else f"more than {MOST_TIMES} times the votes or seeds"
    return [f"Showing that the seed of {model} matters to people takes {how} (power now {needs.power:.2f})."]


def _advise_on_orders(pairs: Sequence[tuple[Panel, Order]]) -> list[str]:
    """Seeds or items for the orders of architectures that a re-run could well reverse."""
    sentences = []
    for kind, name in dict.fromkeys((panel.kind, panel.shown.group) for panel, _ in pairs if panel.kind != PEOPLE):
        orders = [(panel, order) for panel, order in pairs if panel.kind == kind]
        unsure_orders = [unsure_order for pair in orders if (unsure_order := _unsure_order(*pair)) is not None]
        if sentence := _ways_out([_way_out(*unsure_order) for unsure_order in unsure_orders]):
            sentences.append(
                f"By {name}, {part_of(len(unsure_orders), len(orders), 'order')} of two architectures "
                f"could flip in a re-run. {sentence}"
            )
    return sentences


def _unsure_order(panel: Panel, order: Order) -> tuple[float, DifferenceError, int] | None:
    """The difference of an order that a re-run may well reverse, its errors, and the seeds; None for a safe one."""
    seeds = min(len(panel.of(model)) for model in (order.first, order.second))
    flip = order.flips["everything"]
    if flip is None or flip.p <= 0.1 or not order.difference or seeds < 2:
        return None
    error = error_of_order(panel, order)
    return None if error is None else (abs(order.difference), error, seeds)


def error_of_order(panel: Panel, order: Order) -> DifferenceError | None:
    """The variance of a difference, apart: over seeds, each seed's own noise of items, and what all seeds share."""
    weights, per_seed, over_seeds, own = np.zeros(len(panel.systems)), 0.0, 0.0, 0.0
    for model, sign in ((order.first, 1.0), (order.second, -1.0)):
        at = panel.of(model)
        weights[at] = sign / len(at)
        observed, noise = estimate_between(panel.replicates, at)
        over_seeds, own = over_seeds + max(observed - noise, 0.0), own + noise
        per_seed += noise / len(at)
    variance = drawn_anew(panel.replicates, weights, BOTH)
    return None if variance is None else DifferenceError(over_seeds, own, max(variance[0] - per_seed, 0.0), variance[1])


def _way_out(difference: float, error: DifferenceError, seeds: int) -> tuple[int | None, float | None]:
    """Seeds that show the order on the same items; failing them, times the items that show it with the same seeds."""
    enough = seeds_for_order(difference, error, seeds)
    return enough, items_for_order(difference, error, seeds) if enough is None else None


def _ways_out(needs: Sequence[tuple[int | None, float | None]]) -> str:
    """What it takes for power .80; seeds are named only where they are enough: all of them share the items."""
    seeds = sorted(n for n, _ in needs if n is not None)
    items = sorted(times for _, times in needs if times is not None)
    ways = []
    if seeds:
        ways.append(f"{_count_needs(len(seeds), len(needs))} {_from_to(seeds)} seeds per architecture.")
    if items:
        ways.append(
            f"{_count_needs(len(items), len(needs))} {_from_to(items)} times the items: more seeds would not help, "
            "because all seeds share the items."
        )
    if out_of_reach := len(needs) - len(seeds) - len(items):
        ways.append(f"{_count_needs(out_of_reach, len(needs))} more than {MOST_TIMES} times the seeds or items.")
    return " ".join(ways)


def _count_needs(orders: int, total: int) -> str:
    if orders == total > 1:
        return "Each needs"
    return f"{orders} {'needs' if orders == 1 else 'need'}"


def _from_to(values: Sequence[float]) -> str:
    return f"{values[0]:,g}" if values[0] == values[-1] else f"{values[0]:,g} to {values[-1]:,g}"


def _count_further_seeds(trained: Sequence[Panel]) -> list[str]:
    sizes = sorted({len(m.seeds) for panel in trained for m in methods(panel) if m.several})
    if not sizes:
        return []
    wanted = seeds_for_sd(2.0)
    if sizes[0] >= wanted:
        return []
    return [
        f"{count(wanted - sizes[0], 'more seed')}{'' if len(sizes) == 1 else ' where they are fewest'} would bring the "
        "95 % interval of an SD below twice the SD."
    ]
