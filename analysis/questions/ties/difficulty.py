"""Where ties are: on long contexts, on responses that are nearly the same, where the other raters disagree.

Every trait of a pair (of a vote, for the agreement of the others) parts the votes into thirds. The share of ties of the
highest third over that of the lowest is a risk ratio, whose interval allows for the clusters as that of the share does.
Traits go together, so a ratio describes these votes and names no cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Row, RowFigure
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_value, percent
from seedvote.analysis.stats.disparity import ShareRatio, share_ratio
from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.stats.sign_tests import TIE
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.records import Pair

Floats = NDArray[np.float64]
THIRDS = ("low", "middle", "high")
LEAST_VOTES = 30  # of the lowest and of the highest third
CLOSENESS, CONTEXT = "closeness of the texts", "words in the context"
AGREEMENT = "agreement of the other raters"
ENDS = {  # how votes are called whose trait is high, and low
    CONTEXT: ("on long contexts", "on short ones"),
    CLOSENESS: ("on texts that share most words", "on those that share fewest"),
    AGREEMENT: ("where the other raters agree", "where they differ"),
}


@dataclass(frozen=True, slots=True)
class Third:
    """The votes where a trait is low, middling or high."""

    name: str
    least: float  # of the trait
    most: float
    votes: int
    ties: Interval


@dataclass(frozen=True, slots=True)
class TieTrait:
    """One trait: ties by thirds, and the highest third against the lowest."""

    name: str
    thirds: tuple[Third, ...]
    ratio: ShareRatio
    p_holm: float


def tie_traits(votes: Votes, pairs: Mapping[str, Pair], clusters: str) -> tuple[TieTrait, ...]:
    """Every trait that these votes and pairs have, with enough votes where it is low and where it is high."""
    traits = []
    for name, values in _list_traits(votes, pairs):
        if (trait := _measure_trait(name, values, votes, clusters)) is not None:
            traits.append(trait)
    adjusted = adjust_by_holm(np.array([ratio.p for _, _, ratio in traits]))
    return tuple(TieTrait(*trait, float(p)) for trait, p in zip(traits, adjusted, strict=True))


def _list_traits(votes: Votes, pairs: Mapping[str, Pair]) -> list[tuple[str, Floats]]:
    """Name and value by vote; NaN where it is not known."""
    met = [pairs.get(name) for name in votes.pairs]

    def by_pair(value: Callable[[Pair], float]) -> Floats:
        return np.array([np.nan if pair is None else value(pair) for pair in met])[votes.pair]

    def by_column(name: str) -> Floats:
        return by_pair(lambda pair: _read_number(pair.extra.get(name)))

    own = sorted(
        {name for pair in met if pair for name, value in pair.extra.items() if np.isfinite(_read_number(value))}
    )
    return [
        (CONTEXT, by_pair(lambda pair: float(sum(len(turn.text.split()) for turn in pair.context)))),
        (CLOSENESS, by_pair(lambda pair: closeness(pair.a.text, pair.b.text))),
        (AGREEMENT, _agreement_of_others(votes)),
        *((name, by_column(name)) for name in own),
    ]


def _read_number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


def closeness(first: str, second: str) -> float:
    """The part of all words that both texts share (Dice), 0 to 1.

    >>> closeness("the train leaves at five", "the train leaves soon")
    0.6666666666666666
    """
    counts = Counter(first.lower().split()), Counter(second.lower().split())
    words = counts[0].total() + counts[1].total()
    return 2 * (counts[0] & counts[1]).total() / words if words else 1.0


def _agreement_of_others(votes: Votes) -> Floats:
    """1 where the other decisive votes on the pair all agree, 0 where they differ; NaN for fewer than two of them."""
    decisive = votes.choice != TIE
    counts = np.stack(
        [np.bincount(votes.pair[votes.choice == side], minlength=len(votes.pairs)) for side in (0, 1)], axis=1
    )[votes.pair]
    own = np.stack([(votes.choice == side) & decisive for side in (0, 1)], axis=1)
    others = counts - own
    agreed = (others == 0).any(axis=1).astype(float)
    agreed[others.sum(axis=1) < 2] = np.nan
    return np.asarray(agreed)


def _measure_trait(
    name: str, values: Floats, votes: Votes, clusters: str
) -> tuple[str, tuple[Third, ...], ShareRatio] | None:
    known = np.isfinite(values)
    if not known.any() or len(np.unique(values[known])) < 2:
        return None
    low, high = np.quantile(values[known], [1 / 3, 2 / 3])
    if low == values[known].min() and not (values[known] < high).any():  # most votes share the lowest value
        high = values[known & (values > low)].min()
    lowest = known & (values <= low) & (values < values[known].max())
    highest = known & ~lowest & (values >= high)
    if min(lowest.sum(), highest.sum()) < LEAST_VOTES:
        return None
    ends = votes.select(lowest | highest)
    ratio = share_ratio(ends.tie, highest[lowest | highest], clusters_of(ends, clusters, part=True))
    parts = [(THIRDS[0], lowest), (THIRDS[1], known & ~lowest & ~highest), (THIRDS[2], highest)]
    try:
        thirds = tuple(_third(third, mask, values, votes, clusters) for third, mask in parts if mask.sum() > 1)
    except InputError:  # all of a third in one cluster
        return None
    return None if ratio is None else (name, thirds, ratio)


def _third(name: str, mask: NDArray[np.bool_], values: Floats, votes: Votes, clusters: str) -> Third:
    part = votes.select(mask)
    ties = mean_interval(part.tie, by=clusters_of(part, clusters, part=True), share=True)
    return Third(name, float(values[mask].min()), float(values[mask].max()), len(part), ties)


def trait_parts(traits: Sequence[TieTrait]) -> list[Table | str]:
    """The table and what it shows."""
    return [*trait_tables(traits), *trait_findings(traits)] if traits else []


def trait_tables(traits: Sequence[TieTrait]) -> list[Table]:
    """Every trait with its lowest and its highest third."""
    if not traits:
        return []
    head = ("trait", "lowest third", "ties", "highest third", "ties", "ratio", "95 % interval", "p (Holm)")
    rows = []
    for trait in traits:
        low, high = trait.thirds[0], trait.thirds[-1]
        rows.append(
            (
                trait.name,
                _spell_range(low),
                percent(low.ties.value),
                _spell_range(high),
                percent(high.ties.value),
                f"{trait.ratio.value:.2f}",
                f"{trait.ratio.low:.2f} to {trait.ratio.high:.2f}",
                p_value(trait.p_holm),
            )
        )
    return [Table(head, rows, "Ties where a trait of the pair is low and where it is high")]


def trait_findings(traits: Sequence[TieTrait]) -> list[str]:
    """The traits with which ties are shown to go, after the correction for their number."""
    traits_shown = [trait for trait in traits if trait.p_holm < 0.05]
    if not traits_shown:
        names = ", ".join(trait.name for trait in traits)
        if len(traits) == 1:
            return [f"Ties are not shown to go with this trait: {names}."]
        return [f"Ties are not shown to go with any of {count(len(traits), 'trait')} ({names})."]
    return [_describe_ratio(trait) for trait in traits_shown]


def _describe_ratio(trait: TieTrait) -> str:
    high, low = ENDS.get(trait.name, (f"where {trait.name} is high", "where it is low"))
    ends = f"95 % interval {trait.ratio.low:.2f} to {trait.ratio.high:.2f}"
    return f"Ties are {trait.ratio.value:.2f} times as frequent {high} as {low} ({ends})."


def _spell_range(third: Third) -> str:
    ends = dict.fromkeys(f"{end:.3g}" for end in (third.least, third.most))
    return " to ".join(ends)


def traits_figure(traits: Sequence[TieTrait]) -> RowFigure:
    """The share of ties in every third, with its interval."""
    ends = [end for trait in traits for third in trait.thirds for end in (third.ties.low, third.ties.high)]
    axis = Axis(max(min(ends) - 0.03, 0.0), min(max(ends) + 0.03, 1.0))
    rows = tuple(
        Row(
            f"{trait.name}: {third.name}",
            f"{percent(third.ties.value)} ({percent(third.ties.low)} to {percent(third.ties.high)})",
            axis.interval(third.ties.low, third.ties.value, third.ties.high),
            described=f"{percent(third.ties.value)} of {count(third.votes, 'vote')}, {_spell_range(third)}",
        )
        for trait in traits
        for third in trait.thirds
    )
    return RowFigure(
        "Ties by traits of the pair, in thirds",
        rows,
        axis.round_ticks("{:.0%}"),
        "share of ties",
        note_head="ties (95 % interval)",
        name="tie-traits",
    )
