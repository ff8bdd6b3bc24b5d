"""Which two conversations are compared: those of two systems on one goal, or, where none is named, drawn at random.

A conversation meets at most one of each other system. Several on one goal meet in the order of their seeds, so that
systems with the same seeds meet seed by seed. Which one is `a` is drawn for each pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from dialogue.conversations.reading import HeldConversation
from dialogue.errors import InputError
from dialogue.records import Candidate, Pair, PairKind
from dialogue.seeds import child_random, child_seed

WITHIN = "within-system"
Places = dict[tuple[str, int], HeldConversation]  # (goal, how many of this system on it came before)


def pairs_of_systems(held: Sequence[HeldConversation], most: int | None = None, *, seed: int) -> list[Pair]:
    """Every two systems (or, of one system, every two of its seeds), at most `most` pairs in all."""
    systems = _systems(held, seed=seed)
    ranked: list[tuple[int, str, Pair]] = []
    for one, two in combinations(systems, 2):
        shared = sorted(systems[one].keys() & systems[two].keys())
        child_random(seed, "places", one, two).shuffle(shared)
        for rank, place in enumerate(shared):
            goal, number = place
            item = (f"{goal}#{number}" if number else goal) if goal else f"conversation-{number}"
            pair = _pair(item, systems[one][place], systems[two][place], "real", f"{one}-{two}", seed=seed)
            ranked.append((rank, pair.contrast, pair))
    if not ranked:
        raise InputError(
            f"No two of the systems ({', '.join(systems)}) have a conversation on the same goal. Name another field "
            "for it (--columns goal=...), or pair at random: --at-random."
        )
    ranked.sort(key=lambda found: found[:2])  # every two systems equally often, whatever `most` is
    return [pair for _, _, pair in ranked[:most]]


def within_systems(held: Sequence[HeldConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` controls: two conversations of one system under one seed, on one goal where it has two there."""
    by_unit: dict[tuple[str, str], list[HeldConversation]] = {}
    for one in child_random(seed, "controls").sample(list(held), len(held)):
        by_unit.setdefault((one.system, "" if one.seed is None else f":{one.seed}"), []).append(one)
    found = []
    for _, mine in sorted(by_unit.items()):
        mine.sort(key=lambda one: one.goal)  # stable: the draw decides among those on one goal
        met = list(pairwise(mine))
        met.sort(key=lambda two: two[0].goal != two[1].goal)
        found += [(rank, *two) for rank, two in enumerate(met)]
    found.sort(key=lambda row: row[0])
    chosen = enumerate(found[:n])
    return [_pair(f"{WITHIN}-{k}", one, two, "control", WITHIN, seed=seed) for k, (_, one, two) in chosen]


def _systems(held: Sequence[HeldConversation], *, seed: int) -> Mapping[str, Places]:
    """System -> its conversations by place."""
    if len({bool(one.goal) for one in held}) > 1:
        without = next(one for one in held if not one.goal)
        raise InputError(f"{without.where} has no goal, and others have one. Give every conversation its own, or none.")
    names = {one.system for one in held}
    systems: dict[str, list[HeldConversation]] = {}
    for one in held:
        name = one.system if len(names) > 1 or one.seed is None else f"{one.system}:{one.seed}"
        systems.setdefault(name, []).append(one)
    if len(systems) < 2:
        raise InputError(
            f"The conversations are those of one system ({', '.join(systems) or 'none'}); a comparison needs two. Give "
            "a file for each (NAME=FILE ...), or lines that say it: --columns system=..."
        )
    return {name: _places(mine, seed=child_seed(seed, "order", name)) for name, mine in sorted(systems.items())}


def _places(mine: Sequence[HeldConversation], *, seed: int) -> Places:
    """In random order, the seeds in turn: of the first k, every seed has held its share."""
    shuffled = child_random(seed, "conversations").sample(list(mine), len(mine))
    met: dict[tuple[str, int | None], int] = {}
    turns: list[tuple[str, int, int, int, HeldConversation]] = []
    for one in shuffled:
        met[one.goal, one.seed] = turn = met.get((one.goal, one.seed), -1) + 1
        turns.append((one.goal, turn, -1 if one.seed is None else one.seed, len(turns), one))
    found: Places = {}
    counts: dict[str, int] = {}
    for goal, _, _, _, one in sorted(turns, key=lambda row: row[:4]):
        found[goal, counts.get(goal, 0)] = one
        counts[goal] = counts.get(goal, 0) + 1
    return found


def _pair(item: str, one: HeldConversation, two: HeldConversation, kind: PairKind, contrast: str, *, seed: int) -> Pair:
    ident = f"{child_seed(seed, 'pair', kind, contrast, item):016x}"
    first, second = (one, two) if child_random(seed, "sides", ident).random() < 0.5 else (two, one)
    a, b = first.as_side(), second.as_side()
    cluster = one.goal if one.goal and one.goal == two.goal else item
    return Pair(ident, item, (), a, b, kind, _alike(a, b), cluster, None, contrast)


def _alike(a: Candidate, b: Candidate) -> bool:
    return (a.turns, a.speaker) == (b.turns, b.speaker)
