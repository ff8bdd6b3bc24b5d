"""Which pairs and votes stand behind the numbers, and what the votes say in every slice of the pairs.

The votes are those that `preference` and `agreement` count, and every interval is theirs. Nobody's name is kept: a
judgement has its choice, its round, its time and its comment, not its rater.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.words import count
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.net_preference import net_interval
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, voters
from seedvote.analysis.votes.clusters import clusters_of, without_interval
from seedvote.analysis.votes.passages import Passages
from seedvote.analysis.votes.systems import (
    Contrast,
    Matches,
    contrasts,
    fixed_sides,
    key_of,
    match,
    named_sides,
    placed,
    system_names,
)
from seedvote.analysis.votes.votes import Votes, net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import HeldConversation, Pair
from seedvote.dialogue.signature import signature

MOST_VALUES = 12  # of a further field of pairs.jsonl, e.g. `domain`
TURNS = ((1, "0-1"), (3, "2-3"), (7, "4-7"))  # utterances before, up to which
SLICED = 6  # pairs of systems up to which every slice of each is shown
NO_TEXTS = "No pairs.jsonl holds these pairs, so their texts are not known: give --pairs."
MANY_LOOKS = (
    "Nobody planned these {looks}: about one interval in twenty misses its truth by chance. Take a difference between "
    "slices for a hint, and test it on new votes."
)


@dataclass(frozen=True, slots=True)
class CastVote:
    """One counted vote, without its rater."""

    choice: str  # a, b or tie
    left: str  # which response stood on the left: a, b, or empty where not known
    seconds: float | None
    automatic: bool  # recorded for identical responses: nobody gave it
    comment: str
    talk: HeldConversation | None = None  # what the vote is about, where raters talked to both systems themselves


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """One pair as the page shows it; `texts` is None where only the votes are known."""

    pair: str
    source: Pair | None
    kind: str
    systems: tuple[str, str]
    votes: tuple[CastVote, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Votes for a, for b, and ties."""
        choices = Counter(vote.choice for vote in self.votes)
        return choices["a"], choices["b"], choices["tie"]

    @property
    def agreement(self) -> str:
        """How far the raters of this pair agree: all, most (more than half), split, or single (fewer than two)."""
        choices = Counter(vote.choice for vote in self.votes if not vote.automatic)
        if choices.total() < 2:
            return "single"
        most = max(choices.values())
        return "all" if most == choices.total() else "most" if 2 * most > choices.total() else "split"

    @property
    def winner(self) -> str:
        """What has more votes than anything else: a, b or tie; empty where nothing has."""
        (first, most), (_, next_most), _ = Counter(dict(zip(("a", "b", "tie"), self.counts, strict=True))).most_common()
        return first if most > next_most else ""


@dataclass(frozen=True, slots=True)
class PairSlice:
    """One way to part the pairs: `values` as (key, words); `codes` has the place of every pair's value, or -1."""

    name: str
    title: str
    values: tuple[tuple[str, str], ...]
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SliceNet:
    """What the votes on two systems say in one slice of the pairs; the whole has no slice."""

    first: str
    second: str
    slice: str
    value: str
    pairs: int
    counts: tuple[int, int, int]  # for the first, for the second, ties
    net: Interval | None
    reason: str  # why there is no interval

    @property
    def votes(self) -> int:
        """All of them."""
        return sum(self.counts)


@dataclass(frozen=True, eq=False)
class BrowseAnswer:
    """Every pair in the order of the file, the slices, and the numbers of each."""

    systems: tuple[str, ...]
    pairs: tuple[JudgedPair, ...]
    slices: tuple[PairSlice, ...]
    nets: tuple[SliceNet, ...]
    voters: Voters
    notes: tuple[str, ...]
    signature: str
    passages: Passages | None = None
    """What raters marked, where they were asked to."""


Talks = Mapping[tuple[str, str], HeldConversation]
"""Pair and rater -> what was said."""


def answer(
    votes: Votes,
    pairs: Sequence[Pair],
    controls: Votes | None = None,
    *,
    clusters: str = "auto",
    talks: Talks | None = None,
) -> BrowseAnswer:
    """Votes on real pairs with the pairs they are about, and those on control pairs, if there are any."""
    pair_by_name = {pair.pair: pair for pair in pairs}
    votes = placed(votes, pair_by_name) if pair_by_name else votes
    judged_pairs = _judged_pairs(votes, pair_by_name, controls, talks or {})
    slices = slices_of([pair.source for pair in judged_pairs])
    matches, why_not = _match_votes(votes, pair_by_name)
    places = {pair.pair: k for k, pair in enumerate(judged_pairs)}
    nets = [] if matches is None else _slice_nets(matches, slices, places, clusters)
    names = {name for pair in judged_pairs for name in pair.systems if name}
    looks = sum(1 for net in nets if net.slice)
    notes = [*([why_not] if why_not else []), *([] if pair_by_name else [NO_TEXTS])]
    notes += [MANY_LOOKS.format(looks=count(looks, "slice"))] if looks else []
    who_voted = voters(votes)
    recipe = signature(
        votes=len(votes),
        pairs=len(judged_pairs),
        clusters="+".join(clusters_of(votes, clusters)) or "vote",
        **judges_in_recipe(who_voted),
    )
    return BrowseAnswer(
        tuple(sorted(names)), judged_pairs, slices, tuple(nets), who_voted, (*votes.warnings, *notes), recipe
    )


def slices_of(pairs: Sequence[Pair | None]) -> tuple[PairSlice, ...]:
    """Length, turn and what pairs.jsonl adds, where they have two values or more.

    A slice is known before anybody votes; how far raters agree is not, and is none.
    """
    fields = dict.fromkeys(name for pair in pairs if pair is not None for name in pair.extra)
    slices = [_length_slice(pairs), _word_slice("turn", "Utterances before", pairs, _turn_words)]
    slices += [_field_slice(pairs, name) for name in fields]
    return tuple(cut for cut in slices if cut is not None and len(cut.values) > 1)


def _length_slice(pairs: Sequence[Pair | None]) -> PairSlice | None:
    """Thirds of the pairs by the words of both responses together."""
    words = [-1 if pair is None else len(pair.a.text.split()) + len(pair.b.text.split()) for pair in pairs]
    lengths = np.array([number for number in words if number >= 0])
    if not lengths.size:
        return None
    low, high = (int(np.quantile(lengths, share, method="lower")) for share in (1 / 3, 2 / 3))
    bounds = (("short", int(lengths.min()), low), ("medium", low + 1, high), ("long", high + 1, int(lengths.max())))
    thirds = [(key, low, high) for key, low, high in bounds if ((lengths >= low) & (lengths <= high)).any()]
    codes = [next((k for k, (_, low, high) in enumerate(thirds) if low <= number <= high), -1) for number in words]
    values = tuple((key, f"{key} ({low} to {high} words)") for key, low, high in thirds)
    return PairSlice("length", "Length of both responses", values, tuple(codes))


def _turn_words(pair: Pair) -> str:
    return next((key for most, key in TURNS if len(pair.context) <= most), "8+")


def _field_slice(pairs: Sequence[Pair | None], name: str) -> PairSlice | None:
    """A further field of pairs.jsonl, if it is a word for each pair and there are few different ones."""
    entries = [pair.extra.get(name) for pair in pairs if pair is not None and pair.extra.get(name) not in (None, "")]
    are_words = all(isinstance(value, str | int | bool) for value in entries)
    if not are_words or len({str(value) for value in entries}) > MOST_VALUES:
        return None
    title = name.replace("_", " ").capitalize()
    return _word_slice(f"field-{name}", title, pairs, lambda pair: str(pair.extra.get(name) or ""))


def _word_slice(name: str, title: str, pairs: Sequence[Pair | None], word_of: Callable[[Pair], str]) -> PairSlice:
    words = ["" if pair is None else word_of(pair) for pair in pairs]
    keys = sorted({*words} - {""})
    return PairSlice(
        name, title, tuple((key, key) for key in keys), tuple(keys.index(word) if word else -1 for word in words)
    )


def _match_votes(votes: Votes, pairs: Mapping[str, Pair]) -> tuple[Matches | None, str]:
    """The votes with the systems behind them, by the rule of `preference`; or why they compare none."""
    try:
        if pairs:
            return match(votes, Path("pairs.jsonl"), pairs), ""
        return (fixed_sides(votes) if votes.system_a is None else named_sides(votes)), ""
    except InputError as error:
        return None, str(error)


def _judged_pairs(
    votes: Votes, pairs: Mapping[str, Pair], controls: Votes | None, talks: Talks
) -> tuple[JudgedPair, ...]:
    """Real and control pairs of the file, judged or not; then pairs that only the votes name."""
    names = system_names(pairs.values())
    votes_by_pair = _votes_by_pair(votes, talks) | ({} if controls is None else _votes_by_pair(controls, talks))
    sides = {} if pairs else _sides_in_table(votes)
    listed = [
        JudgedPair(pair.pair, pair, pair.kind, _side_names(pair, names), tuple(votes_by_pair.pop(pair.pair, ())))
        for pair in pairs.values()
        if pair.kind != "check"
    ]
    unlisted = [
        JudgedPair(name, None, "real", sides.get(name, ("a", "b")), tuple(pair_votes))
        for name, pair_votes in votes_by_pair.items()
    ]
    return (*listed, *unlisted)


def _side_names(pair: Pair, names: Mapping[tuple[str, int | None, str], str]) -> tuple[str, str]:
    a, b = (names.get(key_of(side), side.model) for side in (pair.a, pair.b))
    return a, b


def _sides_in_table(votes: Votes) -> dict[str, tuple[str, str]]:
    """The systems of each pair where the table of votes names them."""
    if votes.system_a is None or votes.system_b is None:
        return {}
    first = np.unique(votes.pair, return_index=True)[1].tolist()
    return {
        votes.pairs[votes.pair[row]]: (votes.systems[votes.system_a[row]], votes.systems[votes.system_b[row]])
        for row in first
    }


def _votes_by_pair(votes: Votes, talks: Talks) -> dict[str, list[CastVote]]:
    """Pair -> its votes in the order of the table."""
    by_pair: dict[str, list[CastVote]] = {}
    comments: NDArray[Any] | None = votes.also.get("comment")
    for row in range(len(votes)):
        side = -1 if votes.left is None else int(votes.left[row])
        pair, rater = votes.pairs[votes.pair[row]], "" if votes.rater is None else votes.raters[votes.rater[row]]
        seconds = float("nan") if votes.seconds is None else float(votes.seconds[row])
        vote = CastVote(
            choice=votes.labels[votes.choice[row]],
            left=("a", "b", "")[side],
            seconds=None if seconds != seconds else seconds,
            automatic=votes.auto is not None and bool(votes.auto[row]),
            comment="" if comments is None else (comments[row] or "").strip(),
            talk=talks.get((pair, rater)),
        )
        by_pair.setdefault(pair, []).append(vote)
    return by_pair


def _slice_nets(
    matches: Matches, slices: Sequence[PairSlice], place: Mapping[str, int], clusters: str
) -> list[SliceNet]:
    """Every two systems over all pairs, and in every slice where the systems are few."""
    ways, compared = list(clusters_of(matches.votes, clusters)), contrasts(matches)
    at = np.array([place[name] for name in matches.votes.pairs])
    nets = []
    for contrast in compared:
        nets.append(_slice_net(contrast, contrast.votes, "", "", ways, clusters))
        for cut in slices if len(compared) <= SLICED else ():
            codes = np.array(cut.codes)[at][contrast.votes.pair]
            parts = ((value, contrast.votes.select(codes == code)) for code, (value, _) in enumerate(cut.values))
            nets += [_slice_net(contrast, part, cut.name, value, ways, clusters) for value, part in parts if len(part)]
    return nets


def _slice_net(contrast: Contrast, votes: Votes, name: str, value: str, ways: Sequence[str], clusters: str) -> SliceNet:
    reason = without_interval(votes, ways)
    counts = np.bincount(votes.choice, minlength=3).tolist()
    return SliceNet(
        contrast.first,
        contrast.second,
        name,
        value,
        len(np.unique(votes.pair)),
        (counts[0], counts[1], counts[2]),
        None if reason else net_interval(net_scores(votes.choice), by=clusters_of(votes, clusters, part=True)),
        reason,
    )
