"""The sentences of the first screen: what a study found, what it cannot tell, and what would make it more certain.

More votes, seeds or raters are named each with what they would show. Every number is a room's or of
`analysis/stats/power.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from seedvote.analysis.questions.agreement import showing as agreement
from seedvote.analysis.questions.comparison.answer import Order, pay_of_a_vote, seconds_a_vote
from seedvote.analysis.questions.comparison.untrained import AboveUntrained, BaselineAbove, probe_claims
from seedvote.analysis.questions.comparison.verdicts import find_spreads
from seedvote.analysis.questions.preference import showing as preference
from seedvote.analysis.questions.preference.answer import PreferenceAnswer
from seedvote.analysis.questions.ratings.showing import find_headline
from seedvote.analysis.questions.ties import showing as ties
from seedvote.analysis.report.answers import VotesAnswers
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
from seedvote.analysis.votes.cautions import SAME_PAIRS
from seedvote.analysis.votes.ratings import RatingsTable
from seedvote.analysis.votes.scores.panel import PEOPLE, UNSEEN, Method, Panel, methods
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.importing.reading import Reading

MANY_RATERS = 60
SEED_NAME = re.compile(r"(.+?)(?:[-_./ ]s|[-_./ ]?seed[-_=. ]?)\d+", re.IGNORECASE)
NO_SEEDS = "The table names systems and no training seeds, so it is unknown what other seeds would show."
ONE_SEED = "The table names one training seed of each system, so it is unknown what other seeds would show."
SEEDS_AS_SYSTEMS = (
    "Every seed is a system of its own here, so the intervals are about these seeds and not about new ones."
)


def list_findings(
    votes: VotesAnswers, methods: Sequence[Method], above: Sequence[AboveUntrained], below: Sequence[BaselineAbove]
) -> list[str]:
    """The findings, the verdict on the study's question first."""
    if votes.rated is not None:
        return [find_headline(votes.rated)]
    probes, has_shown = " ".join(probe_claims(above, below)), any(task.shown_as_trained for task in above)
    parts = [
        *(preference.findings(votes.preference) if votes.preference else ()),
        " ".join(ties.findings(votes.ties)) if votes.ties else "",
        probes if has_shown else "",
        *(agreement.findings(votes.agreement) if votes.agreement else ()),
        find_spreads(methods),
        "" if has_shown else probes,
    ]
    return [part for part in parts if part]


def list_limitations(study: Study, methods: Sequence[Method]) -> list[str]:
    """What the design cannot tell, from its own numbers."""
    if study.ratings is not None:
        return [*_of_ratings(study.ratings)]
    return [*_of_votes(study), *_of_models(study, methods)]


def _of_ratings(table: RatingsTable) -> Iterator[str]:
    if table.simulated:
        yield f"{table.not_of_people[0][:-1]}: they say nothing about the models."
    if table.people is None:
        whose = f"correlated {table.noun}s of one person"
        yield f"The {table.noun}s do not name their raters, so no interval allows for {whose}."
    elif table.people < MANY_RATERS:
        yield f"With {count(table.people, 'rater')}, the spread between raters is itself uncertain."
    if table.ranks:
        yield "Ranks say which response is better, and not by how much, or whether any of them is good."
    else:
        yield (
            "Ratings do not say what a person would have chosen with both responses in view. A difference too small "
            "for a step of the scale shows as equal."
        )
    if "seed" not in table.ledger.columns:
        yield _say_seeds(table.ledger, table.systems)


def _of_votes(study: Study) -> list[str]:
    votes = study.votes
    if votes is None:
        return ["There are no votes here: everything comes from classifiers and metrics."]
    sentences = []
    programs = 0 if study.voters is None else study.voters.simulated
    if programs:
        predicate = "was cast by a program and says" if programs == 1 else "were cast by programs and say"
        sentences.append(f"{part_of(programs, len(votes), 'vote').capitalize()} {predicate} nothing about the models.")
    if len(votes.rounds) > 1:
        sentences.append(SAME_PAIRS)
    if votes.rater is None:
        sentences.append("The votes do not name their raters, so no interval allows for correlated votes of one rater.")
    elif (raters := votes.voters or 0) < MANY_RATERS:
        sentences.append(f"With {count(raters, 'rater')}, the spread between raters is itself uncertain.")
    if study.controls is None:
        sentences.append(
            "No control pairs were judged (a seed against itself, or a clearly worse answer). How these raters judge "
            "pairs with a known answer is unknown."
        )
    if votes.left is None:
        sentences.append(
            "The votes do not say which response stood on the left, so a preference for one side cannot be detected."
        )
    return sentences


def _say_seeds(ledger: Reading | None, systems: Sequence[str]) -> str:
    """What a table says of training seeds: by columns that were read, by one that was not, or by the systems' names."""
    if ledger is not None and "seed_a" in ledger.columns:
        return SEEDS_AS_SYSTEMS
    unread = () if ledger is None else ledger.unread
    if {"seed_a", "seed_b"} <= set(map(plain_name, unread)):
        return ONE_SEED
    if column := next((name for name in unread if "seed" in plain_name(name).split("_")), None):
        return (
            f"The column {column} was not read: it does not say whose seed it is, as seed_a and seed_b do. What other "
            "seeds would show is unknown."
        )
    stems: dict[str, list[str]] = {}
    for name in systems:
        if seed := SEED_NAME.fullmatch(name):
            stems.setdefault(seed[1], []).append(name)
    if several := next((names for names in stems.values() if len(names) > 1), None):
        return f"By their names, {several[0]} and {several[1]} are seeds of one model. {SEEDS_AS_SYSTEMS}"
    return NO_SEEDS


def _of_models(study: Study, methods: Sequence[Method]) -> list[str]:
    trained, sentences = [m for m in methods if m.checkpoint != UNSEEN], []
    if study.votes is not None and not study.pairs:
        has_pairs = study.table is not None and (study.table.parent / "pairs.jsonl").exists()
        sentences.append(
            "Of a table, pairs.jsonl beside it tells the names of the systems alone; controls, models and seeds are "
            "read in a study folder."
            if has_pairs
            else "There is no pairs.jsonl, so the votes cannot be traced to models and seeds."
            if study.votes.system_a is None
            else _say_seeds(study.votes.ledger, study.votes.systems)
        )
    if len({m.model for m in trained}) == 1:
        sentences.append(f"One architecture ({trained[0].model}): these results say nothing about other architectures.")
    if study.scores is None:
        sentences.append("There are no scores of evaluators to compare the votes with.")
    elif any("fit=valid" in key.condition for key in study.scores.values):
        sentences.append("The probes were fit on the validation split, which is not the official protocol.")
    return sentences


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
