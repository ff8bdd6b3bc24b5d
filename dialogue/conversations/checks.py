"""Hidden checks with one right answer: a conversation beside itself, with what the judged speaker says made wrong.

Half of them have the speaker's words in another order, half have what the same speaker said elsewhere. A machine's
conversation may be odd by itself, so the best checks are made of conversations that people held.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice, pairwise

from dialogue.conversations.reading import HeldConversation
from dialogue.records import Candidate, Pair
from dialogue.seeds import child_random, child_seed
from dialogue.validity import written_out

FEWEST_WORDS = 12  # that the judged speaker says: of less nobody could tell that something is wrong
TRIES = 50


def conversation_checks(held: Sequence[HeldConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, half of either kind, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    drawn = [one for one in rng.sample(list(held), len(held)) if len(_words(one)) >= FEWEST_WORDS]
    pairs: list[Pair] = []
    for one in drawn:
        if len(pairs) == n:
            break
        # The kind changes with every second pair and the right side with every pair: each kind has both equally often.
        kind = tuple(SPOILING)[(len(pairs) // 2) % 2]
        if (said := SPOILING[kind](one, drawn, rng)) is not None:
            pairs.append(_check(one, _saying(one, said, kind), kind, right="ab"[len(pairs) % 2], seed=seed))
    return pairs


def _own(one: HeldConversation) -> list[str]:
    return [turn.text for turn in one.turns if turn.speaker == one.speaker]


def _words(one: HeldConversation) -> list[str]:
    return " ".join(_own(one)).split()


def _scrambled(one: HeldConversation, others: Sequence[HeldConversation], rng: random.Random) -> list[str] | None:
    """Each turn in an order in which few neighbours stay neighbours; none where that leaves it as it was."""
    del others
    said = [" ".join(_apart(text.split(), rng)) for text in _own(one)]
    return said if said != [" ".join(text.split()) for text in _own(one)] else None


def _apart(words: list[str], rng: random.Random) -> list[str]:
    neighbours = set(pairwise(words))
    drawn = (rng.sample(words, len(words)) for _ in range(TRIES))
    return min(drawn, key=lambda order: sum(two in neighbours for two in pairwise(order)))


def _from_elsewhere(one: HeldConversation, others: Sequence[HeldConversation], rng: random.Random) -> list[str] | None:
    """What was said in a conversation on another goal that shares no sentence with this one."""
    own = _own(one)
    for other in rng.sample(list(others), len(others)):
        said = _own(other)
        elsewhere = other is not one and not (one.goal and one.goal == other.goal)
        if elsewhere and not set(said) & set(own):
            return list(islice(cycle(said), len(own)))
    return None


SPOILING: Mapping[
    str, Callable[[HeldConversation, Sequence[HeldConversation], random.Random], list[str] | None]
] = {"scrambled": _scrambled, "off-topic": _from_elsewhere}  # fmt: skip


def _saying(one: HeldConversation, said: Sequence[str], kind: str) -> Candidate:
    """The same conversation in which the judged speaker says something else."""
    new = iter(said)
    turns = tuple(replace(turn, text=next(new)) if turn.speaker == one.speaker else turn for turn in one.turns)
    return Candidate(written_out(turns), kind, None, "check", turns, one.speaker)


def _check(one: HeldConversation, bad: Candidate, kind: str, *, right: str, seed: int) -> Pair:
    good = one.as_side()
    name = f"{child_seed(seed, 'pair', 'check', kind, one.system, one.seed, one.name, good.text):016x}"
    a, b = (good, bad) if right == "a" else (bad, good)
    return Pair(name, one.name, (), a, b, "check", False, one.goal or None, "a" if right == "a" else "b", kind)
