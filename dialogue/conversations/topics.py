"""Topics for live conversations: read from a file, and made into pairs of systems that nobody has talked to yet.

A topic is a line of text, or a line of JSON with `topic` and, if wanted, `item`, `dialogue` and `context` (what was
said before the rater begins; where the rater's own side speaks last, the systems answer that first).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from seedvote.dialogue.conversations.reading import RatedConversation
from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.records import Candidate, Pair, Utterance
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import sort_off_topic
from seedvote.dialogue.validity import from_json, written_out

KEYS = ("topic", "item", "dialogue", "context")
KIND = "off-topic"
NEAREST = 4  # the wrong replies of a check are drawn from this part of all, those that have least to do with the topic


@dataclass(frozen=True, slots=True)
class Topic:
    """What raters are asked to talk about."""

    item: str
    topic: str
    dialogue: str
    context: tuple[Utterance, ...] = ()


def read_topics(path: Path) -> list[Topic]:
    """The topics of a file of text or JSON Lines, each with an item of its own."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    topics = [
        _read_topic(line, f"{path}:{number}", number, is_json=path.suffix == ".jsonl")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    items = [topic.item for topic in topics]
    if twice := [item for item in items if items.count(item) > 1]:
        raise InputError(f"{path}: item {twice[0]} occurs twice; give every topic an item of its own, or none.")
    if not topics:
        raise InputError(f"{path} holds no topic: write one on each line.")
    return topics


def _read_topic(line: str, where: str, number: int, *, is_json: bool) -> Topic:
    item = f"topic-{number}"
    if not is_json:
        return Topic(item, line.strip(), item)
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: this is no JSON ({error}).") from error
    texts = {name: value.get(name, "") for name in KEYS[:3]} if isinstance(value, Mapping) else {}
    if not texts or not all(isinstance(text, str) for text in texts.values()):
        raise InputError(f"{where} is {value_in_short(value)}; a topic has {', '.join(KEYS)}.")
    context = tuple(_read_utterance(turn, where) for turn in value.get("context") or ())
    if not texts["topic"].strip() and not context:
        raise InputError(f"{where} has neither a topic nor a context.")
    item = texts["item"] or item
    return Topic(item, texts["topic"].strip(), texts["dialogue"] or item, context)


def _read_utterance(turn: Any, where: str) -> Utterance:
    if not isinstance(turn, Mapping):
        raise InputError(
            f'{where}: context holds {value_in_short(turn)}; each turn is {{"speaker": ..., "text": ...}}.'
        )
    return from_json(Utterance, turn, where)


def topic_pairs(topics: Sequence[Topic], systems: Sequence[str], most: int | None = None, *, seed: int) -> list[Pair]:
    """Every two systems on every topic, or at most `most` pairs, with each contrast as often as any other."""
    ranked = []
    for contrast in combinations(systems, 2):
        order = child_random(seed, "topics", *contrast).sample(list(topics), len(topics))
        ranked += [(rank, contrast, topic) for rank, topic in enumerate(order)]
    ranked.sort(key=lambda row: row[:2])
    return [_make_pair(topic, *contrast, seed=seed) for _, contrast, topic in ranked[:most]]


def _make_pair(topic: Topic, first: str, second: str, *, seed: int) -> Pair:
    name = f"{child_seed(seed, 'pair', 'live', first, second, topic.item):016x}"
    names = (first, second) if child_random(seed, "sides", name).random() < 0.5 else (second, first)
    a, b = (Candidate("", system) for system in names)
    extra = {"topic": topic.topic} if topic.topic else {}
    return Pair(
        name, topic.item, topic.context, a, b, dialogue=topic.dialogue, contrast=f"{first}-{second}", extra=extra
    )


def topic_checks(
    topics: Sequence[Topic], conversations: Sequence[RatedConversation], system: str, n: int, turns: int, *, seed: int
) -> list[Pair]:
    """Checks: a system next to a side that says what was said elsewhere, of another subject, whatever it is asked."""
    texts = sorted({turn.text for talk in conversations for turn in talk.turns if turn.speaker == talk.speaker})
    if len(texts) < turns:
        raise InputError(f"The conversations for checks hold {len(texts)} replies; a check needs {turns}.")
    rng = child_random(seed, "checks")
    order = rng.sample(list(topics), len(topics))
    length = sorted(len(text.split()) for text in texts)[len(texts) // 2]
    checks = []
    for number in range(n):
        topic = order[number % len(order)]
        about = " ".join([topic.topic, *(turn.text for turn in topic.context)])
        away = sort_off_topic(texts, about, length)[: max(turns, len(texts) // NEAREST)]
        said = tuple(Utterance("system", text) for text in rng.sample(away, turns))
        wrong = Candidate(written_out(said), KIND, None, "check", said, "system")
        good, right = Candidate("", system), "ab"[number % 2]
        a, b = (good, wrong) if right == "a" else (wrong, good)
        pair = replace(_make_pair(topic, system, f"{KIND}-{number}", seed=seed), a=a, b=b, kind="check", contrast=KIND)
        checks.append(replace(pair, answer="a" if right == "a" else "b"))
    return checks
