"""Hidden checks with one right answer: a conversation next to a copy in which the judged speaker says wrong things.

Half of them have the speaker's words in another order, half have what the same speaker said elsewhere. A machine's
conversation may be odd by itself, so the best checks are made of conversations that people held.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice, pairwise

from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.validity import written_out

FEWEST_WORDS = 12  # that the judged speaker says: of less nobody could tell that something is wrong
TRIES = 50


def conversation_checks(conversations: Sequence[RatedConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, half of either kind, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    candidates = [
        conversation
        for conversation in rng.sample(list(conversations), len(conversations))
        if len(_own_words(conversation)) >= FEWEST_WORDS
    ]
    pairs: list[Pair] = []
    for conversation in candidates:
        if len(pairs) == n:
            break
        # The kind changes with every second pair and the right side with every pair: each kind has both equally often.
        kind = tuple(SPOILING)[(len(pairs) // 2) % 2]
        if (texts := SPOILING[kind](conversation, candidates, rng)) is not None:
            pairs.append(
                _make_check(
                    conversation, _replace_texts(conversation, texts, kind), kind, right="ab"[len(pairs) % 2], seed=seed
                )
            )
    return pairs


def _own_texts(conversation: RatedConversation) -> list[str]:
    return [turn.text for turn in conversation.turns if turn.speaker == conversation.speaker]


def _own_words(conversation: RatedConversation) -> list[str]:
    return " ".join(_own_texts(conversation)).split()


def _scramble_turns(
    conversation: RatedConversation, candidates: Sequence[RatedConversation], rng: random.Random
) -> list[str] | None:
    """Each turn in an order in which few neighbours stay neighbours; none where that leaves it as it was."""
    del candidates
    texts = [" ".join(_separate_neighbours(text.split(), rng)) for text in _own_texts(conversation)]
    return texts if texts != [" ".join(text.split()) for text in _own_texts(conversation)] else None


def _separate_neighbours(words: list[str], rng: random.Random) -> list[str]:
    neighbours = set(pairwise(words))
    orders = (rng.sample(words, len(words)) for _ in range(TRIES))
    return min(orders, key=lambda order: sum(pair in neighbours for pair in pairwise(order)))


def _take_from_elsewhere(
    conversation: RatedConversation, candidates: Sequence[RatedConversation], rng: random.Random
) -> list[str] | None:
    """What was said in a conversation on another goal that shares no sentence with this one."""
    own = _own_texts(conversation)
    for candidate in rng.sample(list(candidates), len(candidates)):
        texts = _own_texts(candidate)
        elsewhere = candidate is not conversation and not (conversation.goal and conversation.goal == candidate.goal)
        if elsewhere and not set(texts) & set(own):
            return list(islice(cycle(texts), len(own)))
    return None


SPOILING: Mapping[str, Callable[[RatedConversation, Sequence[RatedConversation], random.Random], list[str] | None]] = {
    "scrambled": _scramble_turns,
    "off-topic": _take_from_elsewhere,
}


def _replace_texts(conversation: RatedConversation, texts: Sequence[str], kind: str) -> Candidate:
    """The same conversation in which the judged speaker says something else."""
    new = iter(texts)
    turns = tuple(
        replace(turn, text=next(new)) if turn.speaker == conversation.speaker else turn for turn in conversation.turns
    )
    return Candidate(written_out(turns), kind, None, "check", turns, conversation.speaker)


def _make_check(conversation: RatedConversation, bad: Candidate, kind: str, *, right: str, seed: int) -> Pair:
    good = conversation.as_side()
    who = conversation.system, conversation.seed, conversation.name
    name = f"{child_seed(seed, 'pair', 'check', kind, *who, good.text):016x}"
    a, b = (good, bad) if right == "a" else (bad, good)
    return Pair(
        name, conversation.name, (), a, b, "check", False, conversation.goal or None, "a" if right == "a" else "b", kind
    )
