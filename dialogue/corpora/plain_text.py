"""Task-oriented dialogues as text alone: JSON Lines, `{"split": ..., "id": ..., "turns": [text, ...]}`, no labels.

Turns alternate user and system. Square brackets round slot values, which some copies of MultiWOZ 2.2 carry, go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dialogue.corpora.sources import File, expecting, text_of
from dialogue.corpora.splits import plain_id, split_named, split_of
from dialogue.records import Dialogue, Turn

JsonLine = tuple[str, dict[str, Any]]
NO_BRACKETS = str.maketrans("", "", "[]")
TURN_ORDER = ("user", "system")


def is_plain_text(line: dict[str, Any]) -> bool:
    """Whether a line holds turns and no persona."""
    return "turns" in line and not {"self", "partner"} & line.keys()


def read_plain_text(parts: Sequence[tuple[File, list[JsonLine]]]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues; an id that is missing or stands twice is replaced by split and position."""
    uses = Counter(plain_id(str(line.get("id"))) for _, lines in parts for _, line in lines)
    position: Counter[str] = Counter()
    dialogues = []
    for file, lines in parts:
        for where, line in lines:
            split = split_named(line["split"], where) if "split" in line else split_of(file)
            name = plain_id(str(line.get("id")))
            if not line.get("id") or uses[name] > 1:
                name = f"{split}-{position[split]}"
            position[split] += 1
            dialogues.append(Dialogue(name, split, _turns(line["turns"], where)))
    return "text", dialogues


def _turns(texts: Any, where: str) -> tuple[Turn, ...]:
    with expecting("dialogues as text", where):
        plain = [text_of(text).translate(NO_BRACKETS) for text in texts]
    return tuple(Turn(TURN_ORDER[n % 2], text) for n, text in enumerate(plain))
