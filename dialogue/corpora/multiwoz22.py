"""MultiWOZ 2.2: shards `train/dialogues_001.json`, ... in the schema-guided form, with a `dialog_acts.json`.

A user turn's frames hold the belief state by service; slots are renamed to those of the other releases, so that
`hotel-bookday` reads `hotel-book-day` and `train-leaveat` reads `train-semi-leaveAt`. A slot's value is the first of
its list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from seedvote.dialogue.corpora.multiwoz import EMPTY, Acts, acts_of, first_value
from seedvote.dialogue.corpora.sources import File, expect_form, text_of
from seedvote.dialogue.corpora.splits import plain_id, split_of
from seedvote.dialogue.records import Dialogue, Turn

CAPITALS = {"leaveat": "leaveAt", "arriveby": "arriveBy"}


def is_multiwoz22(value: Any) -> bool:
    """Whether a JSON document is a list of `{"dialogue_id": ..., "turns": [...]}`."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and {"dialogue_id", "turns"} <= first.keys()


def read_multiwoz22(parts: Sequence[tuple[File, Any]], files: Sequence[File]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of the shards in `parts`; `files` are all files of the source."""
    acts = next((_read_acts(file) for file in files if file.base == "dialog_acts.json"), {})
    return "2.2", [_read_dialogue(file, split_of(file), raw, acts) for file, shard in parts for raw in shard]


def _read_acts(file: File) -> dict[str, dict[str, Acts]]:
    """Dialogue -> turn id -> acts."""
    with expect_form("MultiWOZ 2.2", file.where):
        return {
            plain_id(name): {turn: acts_of(annotation.get("dialog_act")) for turn, annotation in turns.items()}
            for name, turns in file.json().items()
        }


def _read_dialogue(file: File, split: str, raw: Any, acts: Mapping[str, Mapping[str, Acts]]) -> Dialogue:
    with expect_form("MultiWOZ 2.2", f"{file.where}: a dialogue"):
        name = plain_id(text_of(raw["dialogue_id"]))
        return Dialogue(name, split, tuple(_read_turn(turn, acts.get(name)) for turn in raw["turns"]))


def _read_turn(turn: Mapping[str, Any], acts: Mapping[str, Acts] | None) -> Turn:
    own = acts.get(str(turn["turn_id"]), {}) if acts is not None else None
    text = text_of(turn["utterance"])
    if turn["speaker"].lower() == "user":
        return Turn("user", text, _read_belief(turn["frames"]), own)
    return Turn("system", text, None, own)


def _read_belief(frames: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The filled slots of all frames, in their order."""
    filled = {
        slot_path(slot): first_value(values)
        for frame in frames
        for slot, values in frame.get("state", {}).get("slot_values", {}).items()
    }
    return {slot: value for slot, value in filled.items() if value not in EMPTY}


def slot_path(slot: str) -> str:
    """A slot of 2.2 as `domain-section-slot`.

    >>> slot_path("hotel-bookday"), slot_path("train-leaveat"), slot_path("hotel-area")
    ('hotel-book-day', 'train-semi-leaveAt', 'hotel-semi-area')
    """
    domain, _, leaf = slot.partition("-")
    booked = re.fullmatch(r"book(day|people|stay|time)", leaf)
    return f"{domain}-book-{booked[1]}" if booked else f"{domain}-semi-{CAPITALS.get(leaf, leaf)}"
