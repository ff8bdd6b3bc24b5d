"""Hidden checks with one right answer: a conversation next to a copy in which the judged speaker says wrong things.

What they say was said elsewhere, in turns as long, so that a check looks like any other pair until it is read. A
machine's conversation may be odd by itself, so the best checks are made of conversations that people held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import sort_off_topic
from seedvote.dialogue.validity import written_out

FEWEST_WORDS = 12  # that the judged speaker says: of less nobody could tell that something is wrong
KIND = "off-topic"


def conversation_checks(conversations: Sequence[RatedConversation], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    candidates = [
        conversation
        for conversation in rng.sample(list(conversations), len(conversations))
        if len(_own_words(conversation)) >= FEWEST_WORDS and _is_of_words(conversation)
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
