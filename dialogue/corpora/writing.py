"""Writes task-oriented dialogues in the form of MultiWOZ 2.1, so that every command reads them as any other corpus.

What is written is read back equal: texts, states, acts, bookings, goals, splits. Turns must alternate, the user first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, write_json
from seedvote.dialogue.records import Dialogue, Turn


def write_multiwoz(folder: Path, dialogues: Sequence[Dialogue], databases: Mapping[str, Any]) -> None:
    """Write data.json, the lists of valid and test dialogues, and db/."""
    with atomic(folder / "data.json") as handle:
        for number, dialogue in enumerate(dialogues):
            raw = {"goal": dict(dialogue.goal), "log": _write_log(dialogue)}
            name = json.dumps(dialogue.dialogue)
            handle.write(("{" if number == 0 else ",") + f"\n{name}: {json.dumps(raw, default=dict)}")
        handle.write("\n}\n")
    for split, file in (("valid", "valListFile.txt"), ("test", "testListFile.txt")):
        if names := [dialogue.dialogue for dialogue in dialogues if dialogue.split == split]:
            with atomic(folder / file) as handle:
                handle.writelines(f"{name}\n" for name in names)
    for domain, rows in databases.items():
        write_json(folder / "db" / f"{domain}_db.json", rows)


def _write_log(dialogue: Dialogue) -> list[dict[str, Any]]:
    log = []
    for n, turn in enumerate(dialogue.turns):
        if (turn.speaker == "user") != (n % 2 == 0):
            raise InputError(f"Dialogue {dialogue.dialogue}: user and system must take turns, the user first.")
        log.append(_write_turn(turn, dialogue.turns[n - 1] if n % 2 else None))
    return log


def _write_turn(turn: Turn, user_turn: Turn | None) -> dict[str, Any]:
    """A turn of the log; a system turn keeps the state after the user's turn before it, and what is booked."""
    written: dict[str, Any] = {"text": turn.text}
    if turn.acts is not None:
        written["dialog_act"] = {act: [list(pair) for pair in pairs] for act, pairs in turn.acts.items()}
    if user_turn is not None and (user_turn.belief is not None or turn.booked is not None):
        written["metadata"] = _write_metadata(user_turn.belief or {}, turn.booked or ())
    return written


def _write_metadata(belief: Mapping[str, str], booked: Sequence[str]) -> dict[str, Any]:
    """Never empty: an empty one would be read as no annotation."""
    metadata: dict[str, Any] = {}
    for name, value in belief.items():
        domain, section, slot = name.split("-", 2)
        metadata.setdefault(domain, {}).setdefault(section, {})[slot] = value
    for domain in booked:
        metadata.setdefault(domain, {}).setdefault("book", {})["booked"] = [{"name": "", "reference": ""}]
    return metadata or {"taxi": {"book": {"booked": []}, "semi": {}}}
