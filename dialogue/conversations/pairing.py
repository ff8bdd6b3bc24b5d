"""Which two conversations are compared, and hidden checks with one right answer.

Pairs are of two systems on one goal, or, where none is named, drawn at random. A conversation meets at most one of
each other system. Several on one goal meet in the order of their seeds, so that systems with the same seeds meet seed
by seed. Which one is `a` is drawn for each pair.

A check is a conversation next to a copy in which the judged speaker says wrong things. What they say was said
elsewhere, in turns as long, so that a check looks like any other pair until it is read. A machine's conversation may
be odd by itself, so the best checks are made of conversations that people held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, Pair, PairKind
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import sort_off_topic
from seedvote.dialogue.validity import written_out

WITHIN = "within-system"
_FEWEST_WORDS = 12  # that the judged speaker says: of less nobody could tell that something is wrong
KIND = "off-topic"
Places = dict[tuple[str, int], RatedConversation]  # (goal, how many of this system on it came before)


def pairs_of_systems(conversations: Sequence[RatedConversation], most: int | None = None, *, seed: int) -> list[Pair]:
    """Every two systems (or, of one system, every two of its seeds), at most `most` pairs in all."""
    systems = _group_by_system(conversations, seed=seed)
    ranked: list[tuple[int, str, Pair]] = []
    for first, second in combinations(systems, 2):
        shared = sorted(systems[first].keys() & systems[second].keys())
        child_random(seed, "places", first, second).shuffle(shared)
        for rank, place in enumerate(shared):
            goal, number = place
            item = (f"{goal}#{number}" if number else goal) if goal else f"conversation-{number}"
            pair = _make_pair(
                item, systems[first][place], systems[second][place], "real", f"{first}-{second}", seed=seed
            )
            ranked.append((rank, pair.contrast, pair))
    if not ranked:
        raise InputError(
            f"No two of the systems ({', '.join(systems)}) have a conversation on the same goal. Name another field "
            "for it (--columns goal=...), or pair at random: --at-random."
        )
    ranked.sort(key=lambda entry: entry[:2])  # every two systems equally often, whatever `most` is
    return [pair for _, _, pair in ranked[:most]]


def within_systems(conversations: Sequence[RatedConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` controls: two conversations of one system under one seed, on one goal where it has two there."""
    by_unit: dict[tuple[str, str], list[RatedConversation]] = {}
    for conversation in child_random(seed, "controls").sample(list(conversations), len(conversations)):
        by_unit.setdefault(
            (conversation.system, "" if conversation.seed is None else f":{conversation.seed}"), []
        ).append(conversation)
    ranked = []
    for _, group in sorted(by_unit.items()):
        group.sort(key=lambda conversation: conversation.goal)  # stable: the draw decides among those on one goal
        met = list(pairwise(group))
        met.sort(key=lambda pair: pair[0].goal != pair[1].goal)
        ranked += [(rank, *pair) for rank, pair in enumerate(met)]
    ranked.sort(key=lambda row: row[0])
    chosen = enumerate(ranked[:n])
    return [
        _make_pair(f"{WITHIN}-{k}", first, second, "control", WITHIN, seed=seed) for k, (_, first, second) in chosen
    ]


def _group_by_system(conversations: Sequence[RatedConversation], *, seed: int) -> Mapping[str, Places]:
    """System -> its conversations by place."""
    if len({bool(conversation.goal) for conversation in conversations}) > 1:
        without = next(conversation for conversation in conversations if not conversation.goal)
        raise InputError(f"{without.where} has no goal, and others have one. Give every conversation its own, or none.")
    names = {conversation.system for conversation in conversations}
    systems: dict[str, list[RatedConversation]] = {}
    for conversation in conversations:
        name = (
            conversation.system
            if len(names) > 1 or conversation.seed is None
            else f"{conversation.system}:{conversation.seed}"
        )
        systems.setdefault(name, []).append(conversation)
    if len(systems) < 2:
        raise InputError(
            f"The conversations are those of one system ({', '.join(systems) or 'none'}); a comparison needs two. Give "
            "a file for each (NAME=FILE ...), or lines that say it: --columns system=..."
        )
    return {name: _order_places(group, seed=child_seed(seed, "order", name)) for name, group in sorted(systems.items())}


def _order_places(conversations: Sequence[RatedConversation], *, seed: int) -> Places:
    """In random order, the seeds in turn: of the first k, every seed has held its share."""
    shuffled = child_random(seed, "conversations").sample(list(conversations), len(conversations))
    met: dict[tuple[str, int | None], int] = {}
    turns: list[tuple[str, int, int, int, RatedConversation]] = []
    for conversation in shuffled:
        met[conversation.goal, conversation.seed] = turn = met.get((conversation.goal, conversation.seed), -1) + 1
        turns.append(
            (conversation.goal, turn, -1 if conversation.seed is None else conversation.seed, len(turns), conversation)
        )
    places: Places = {}
    counts: dict[str, int] = {}
    for goal, _, _, _, conversation in sorted(turns, key=lambda row: row[:4]):
        places[goal, counts.get(goal, 0)] = conversation
        counts[goal] = counts.get(goal, 0) + 1
    return places


def _make_pair(
    item: str, first: RatedConversation, second: RatedConversation, kind: PairKind, contrast: str, *, seed: int
) -> Pair:
    ident = f"{child_seed(seed, 'pair', kind, contrast, item):016x}"
    side_a, side_b = (first, second) if child_random(seed, "sides", ident).random() < 0.5 else (second, first)
    a, b = side_a.as_side(), side_b.as_side()
    cluster = first.goal if first.goal and first.goal == second.goal else item
    return Pair(ident, item, (), a, b, kind, (a.turns, a.speaker) == (b.turns, b.speaker), cluster, None, contrast)


def conversation_checks(conversations: Sequence[RatedConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    candidates = [
        conversation
        for conversation in rng.sample(list(conversations), len(conversations))
        if len(_own_words(conversation)) >= _FEWEST_WORDS and _is_of_words(conversation)
    ]
    pairs: list[Pair] = []
    for conversation in candidates:
        if len(pairs) == n:
            break
        if (texts := _take_from_elsewhere(conversation, candidates)) is not None:
            bad = _replace_texts(conversation, texts)
            pairs.append(_make_check(conversation, bad, right="ab"[len(pairs) % 2], seed=seed))
    return pairs


def _is_of_words(conversation: RatedConversation) -> bool:
    """Whether the judged speaker said words alone: calls of tools and images cannot be replaced by others."""
    return not any(turn.parts for turn in conversation.turns if turn.speaker == conversation.speaker)


def _own_texts(conversation: RatedConversation) -> list[str]:
    return [turn.text for turn in conversation.turns if turn.speaker == conversation.speaker]


def _own_words(conversation: RatedConversation) -> list[str]:
    return " ".join(_own_texts(conversation)).split()


def _take_from_elsewhere(conversation: RatedConversation, candidates: Sequence[RatedConversation]) -> list[str] | None:
    """For each turn, one from a conversation on another goal: it shares no telling word with this one, and is as long.

    Where every turn shares some, those that share the fewest.
    """
    elsewhere = [
        text
        for candidate in candidates
        if candidate is not conversation and not (conversation.goal and conversation.goal == candidate.goal)
        for text in _own_texts(candidate)
    ]
    topic = " ".join(turn.text for turn in conversation.turns)
    texts: list[str] = []
    for own in _own_texts(conversation):
        said = {turn.text for turn in conversation.turns}.union(texts)
        if not (new := [text for text in elsewhere if text not in said]):
            return None
        texts.append(sort_off_topic(new, topic, len(own.split()))[0])
    return texts


def _replace_texts(conversation: RatedConversation, texts: Sequence[str]) -> Candidate:
    """The same conversation in which the judged speaker says something else."""
    new = iter(texts)
    turns = tuple(
        replace(turn, text=next(new)) if turn.speaker == conversation.speaker else turn for turn in conversation.turns
    )
    return Candidate(written_out(turns), KIND, None, "check", turns, conversation.speaker)


def _make_check(conversation: RatedConversation, bad: Candidate, *, right: str, seed: int) -> Pair:
    good = conversation.as_side()
    who = conversation.system, conversation.seed, conversation.name
    name = f"{child_seed(seed, 'pair', 'check', KIND, *who, good.text):016x}"
    a, b = (good, bad) if right == "a" else (bad, good)
    return Pair(
        name, conversation.name, (), a, b, "check", False, conversation.goal or None, "a" if right == "a" else "b", KIND
    )
