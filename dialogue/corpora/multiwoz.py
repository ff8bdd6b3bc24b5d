"""MultiWOZ as `data.json` with lists of the valid and test dialogues (2.0, 2.1, 2.3, 2.4), or as one file a split.

A dialogue is `{"goal": ..., "log": [turn, ...]}`; turns alternate user and system. The belief state after a user turn
stands in the `metadata` of the system turn that follows it; here it is moved to the user turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dialogue.corpora.sources import Source
from dialogue.records import Dialogue, Turn

EMPTY = {"", "not mentioned", "none"}
SPLIT_NAMES = {"train": "train", "val": "valid", "valid": "valid", "dev": "valid", "test": "test"}


def split_of(base: str) -> str | None:
    """The split that a file such as `val.json` holds."""
    found = re.fullmatch(r"(train|val|valid|dev|test)\.json", base)
    return SPLIT_NAMES[found[1]] if found else None


def read(source: Source) -> tuple[str, list[Dialogue]]:
    """Version and dialogues."""
    if data := source.find("data.json"):
        splits = {name: split for split in ("valid", "test") for name in _listed(source, split)}
        return "2.1", [_dialogue(name, splits.get(_id(name), "train"), raw) for name, raw in data.json().items()]
    return "2.1", [
        _dialogue(name, split, raw)
        for file in source.files
        if (split := split_of(file.base))
        for name, raw in file.json().items()
    ]


def _listed(source: Source, split: str) -> list[str]:
    stem = {"valid": "valListFile", "test": "testListFile"}[split]
    file = source.find(f"{stem}.txt", f"{stem}.json", stem)
    return [_id(line.strip()) for line in file.text().splitlines() if line.strip()] if file else []


def _id(name: str) -> str:
    return name.removesuffix(".json")


def _dialogue(name: str, split: str, raw: Mapping[str, Any]) -> Dialogue:
    log = raw["log"]
    return Dialogue(_id(name), split, tuple(_turn(log, n) for n in range(len(log))))


def _turn(log: list[dict[str, Any]], n: int) -> Turn:
    turn = log[n]
    following = log[n + 1].get("metadata") if n % 2 == 0 and n + 1 < len(log) else None
    return Turn(
        "system" if n % 2 else "user",
        turn["text"],
        belief(following) if following else None,
        {act: tuple((s, v) for s, v in pairs) for act, pairs in turn["dialog_act"].items()},
    )


def belief(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The filled slots of one `metadata` block, `domain-section-slot` -> value, in its own order.

    >>> belief({"hotel": {"book": {"booked": [], "day": "friday"}, "semi": {"area": "", "type": "none"}}})
    {'hotel-book-day': 'friday'}
    """
    return {
        f"{domain}-{section}-{slot}": value
        for domain, sections in metadata.items()
        for section, slots in sections.items()
        for slot, value in slots.items()
        if slot != "booked" and value not in EMPTY
    }
