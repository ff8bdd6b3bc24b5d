"""Dialogues as text alone, in the common forms, without labels: JSON Lines, one JSON list, or a folder of `datasets`.

A dialogue is a list of turns, or an object that holds one under `turns`, `messages`, `conversations` (ShareGPT),
`conversation`, `dialogue`, `dialog` or `utterances`, with `split` and `id` as it likes. A turn is a text, or an object
with the speaker under `role`, `from`, `speaker` or `name` and the text under `content`, `value`, `text` or `utterance`.
Plain texts alternate user and system; of two named speakers nobody knows, the first one is the user. What an operator
tells a model and what tools give back is no turn of a dialogue: it is left out, counted, and said in the version.
Square brackets round slot values, which some copies of MultiWOZ 2.2 carry, go from plain texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from seedvote.dialogue.corpora.sources import File, expect_form, plain_id, split_named, split_of, text_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn

JsonLine = tuple[str, Any]
NO_BRACKETS = str.maketrans("", "", "[]")
TURN_ORDER = ("user", "system")
LISTS = ("turns", "messages", "conversations", "conversation", "dialogue", "dialog", "utterances")
IDS = ("id", "dialogue_id", "conversation_id", "conv_id")
SPEAKERS, TEXTS = ("role", "from", "speaker", "name"), ("content", "value", "text", "utterance")
USERS = {"user", "human", "customer", "prompter"}
SYSTEMS = {"assistant", "gpt", "chatgpt", "bing", "bard", "bot", "model", "agent", "chatbot"}
NO_TURN = {"tool", "function", "developer"}  # and `system` where there is an assistant


def is_plain_text(line: Any) -> bool:
    """Whether it is a dialogue of these forms; one with personas or with frames is another corpus's."""
    if isinstance(line, Mapping):
        turns = next((line[name] for name in LISTS if isinstance(line.get(name), list)), None)
        return turns is not None and not {"self", "partner", "personality"} & line.keys() and _are_turns(turns)
    return isinstance(line, list) and bool(line) and isinstance(line[0], str | Mapping) and _are_turns(line)


def _are_turns(turns: Sequence[Any]) -> bool:
    first = turns[0] if turns else ""
    if isinstance(first, Mapping):
        return (
            any(name in first for name in SPEAKERS) and any(name in first for name in TEXTS) and "frames" not in first
        )
    return True  # one that is no text is refused with its place


def read_plain_text(parts: Sequence[tuple[File, Sequence[JsonLine]]]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues; an id that is missing or stands twice is replaced by split and position."""
    entries = [
        (file, where, line if isinstance(line, dict) else {"turns": line})
        for file, lines in parts
        for where, line in lines
    ]
    uses = Counter(_read_id(line) for _, _, line in entries)
    position: Counter[str] = Counter()
    dialogues, left_out = [], 0
    for file, where, line in entries:
        split = split_named(line["split"], where) if "split" in line else split_of(file)
        name = _read_id(line)
        if not name or uses[name] > 1:
            name = f"{split}-{position[split]}"
        position[split] += 1
        with expect_form("dialogues as text", where):
            raw = next(line[key] for key in LISTS if key in line)
            turns = _read_turns(raw, where)
        left_out += len(raw) - len(turns)
        dialogues.append(Dialogue(name, split, turns))
    return f"text, {left_out} messages of operators and tools left out" if left_out else "text", dialogues


def _read_id(line: Mapping[str, Any]) -> str:
    return plain_id(str(next((line[key] for key in IDS if line.get(key)), "")))


def _read_turns(raw: Sequence[Any], where: str) -> tuple[Turn, ...]:
    with expect_form("dialogues as text", where):
        if not any(isinstance(turn, Mapping) for turn in raw):
            return tuple(Turn(TURN_ORDER[n % 2], text_of(text).translate(NO_BRACKETS)) for n, text in enumerate(raw))
        roles = [_first_text(turn, SPEAKERS).strip() for turn in raw]
        skip = NO_TURN | ({"system"} if SYSTEMS & {role.lower() for role in roles} else set())
        spoken = [
            (role, _first_text(turn, TEXTS)) for role, turn in zip(roles, raw, strict=True) if role.lower() not in skip
        ]
    who = _assign_sides([role for role, _ in spoken], where)
    return tuple(Turn(who[role], text) for role, text in spoken)


def _first_text(turn: Mapping[str, Any], names: Sequence[str]) -> str:
    return text_of(next((turn[name] for name in names if name in turn), None))


def _assign_sides(names: Sequence[str], where: str) -> dict[str, str]:
    """Which speaker is the user and which the system."""
    sides: dict[str, str] = {}
    for name in dict.fromkeys(names):
        if name.lower() in USERS:
            sides[name] = "user"
        elif name.lower() in SYSTEMS | {"system"}:
            sides[name] = "system"
    for name in (speaker for speaker in dict.fromkeys(names) if speaker not in sides):
        free = [side for side in TURN_ORDER if side not in sides.values()]
        if not free:
            raise InputError(f"{where}: a third speaker, {name!r}, after {', '.join(map(repr, sides))}. Two are read.")
        sides[name] = free[0]
    return sides
