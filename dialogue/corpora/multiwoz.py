"""MultiWOZ 2.0 to 2.4 as they are read, and 2.1 as it is written.

2.0, 2.1, 2.3 and 2.4 are `data.json` with lists of the valid and test dialogues, or one file a split. A dialogue is
`{"goal": ..., "log": [turn, ...]}`; turns alternate user and system. The belief state after a user turn stands in the
`metadata` of the system turn that follows it; here it is moved to the user turn. Acts stand in each turn (`dialog_act`,
2.1 and later) or, for the system alone, in `dialogue_acts.json` (2.0) or `system_acts.json` (2.1).

2.2 is shards `train/dialogues_001.json`, ... in the schema-guided form, with a `dialog_acts.json`. A user turn's frames
hold the belief state by service; slots are renamed to those of the other releases, so that `hotel-bookday` reads
`hotel-book-day` and `train-leaveat` reads `train-semi-leaveAt`. A slot's value is the first of its list.

What is written is read back equal: texts, states, acts, bookings, goals, splits. Turns must alternate, the user first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora.sources import File, expect_form, plain_id, split_of, text_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, write_json
from seedvote.dialogue.records import Dialogue, Turn

EMPTY = ("", "not mentioned", "none")
_CAPITALS = {"leaveat": "leaveAt", "arriveby": "arriveBy"}
LISTS = {"valid": "valListFile", "test": "testListFile"}
ACT_FILES = ("dialogue_acts.json", "system_acts.json")
Acts = Mapping[str, Sequence[tuple[str, str]]]


def is_multiwoz(value: Any) -> bool:
    """Whether a JSON document is id -> `{"log": [...]}`."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    return isinstance(first, dict) and "log" in first


def read_multiwoz(path: Path, parts: Sequence[tuple[File, Any]], files: Sequence[File]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of the documents in `parts`; `files` are all files of the source."""
    acts = next((_separate_acts(file) for file in files if file.base in ACT_FILES), {})
    splits = _listed_splits(parts, files)
    dialogues = [
        _read_dialogue(file, name, splits.get(plain_id(name)) or split_of(file), raw, acts.get(plain_id(name)))
        for file, value in parts
        for name, raw in value.items()
    ]
    return _guess_version(path, dialogues, parts), dialogues


def _listed_splits(parts: Sequence[tuple[File, Any]], files: Sequence[File]) -> dict[str, str]:
    """Dialogue -> split, where lists go with a data.json."""
    if all(file.base != "data.json" for file, _ in parts):
        return {}
    known = {plain_id(name) for _, value in parts for name in value}
    return {
        name: split
        for split, stem in LISTS.items()
        for file in files
        if file.base.split(".")[0] == stem
        for name in _read_list(file, known)
    }


def _read_list(file: File, known: set[str]) -> list[str]:
    """The ids of a list file: one a line (whatever its suffix says), or a JSON list."""
    text = file.text().strip()
    entries = file.json() if text.startswith("[") else text.split("\n")
    names = [plain_id(str(name).strip()) for name in entries]
    if names in ([], [""]):
        raise InputError(f"{file.where} names no dialogue, so its split would be empty. Restore or remove the file.")
    if absent := [name for name in names if name not in known]:
        raise InputError(
            f"{file.where} names {len(absent)} dialogue(s) that data.json does not hold, e.g. {absent[0]}. "
            "List and data must be of one release."
        )
    return names


def _read_dialogue(file: File, name: str, split: str, raw: Any, acts: Mapping[int, Acts] | None) -> Dialogue:
    with expect_form("MultiWOZ", f"{file.where}: dialogue {name}"):
        log = list(raw["log"])
        turns = tuple(_read_turn(log, n, acts) for n in range(len(log)))
        return Dialogue(plain_id(name), split, turns, goal=_read_goal(raw.get("goal") or {}))


def _read_goal(raw: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The domains that the user had something to do in; texts for the crowd worker and topics are no domain."""
    return {domain: wish for domain, wish in raw.items() if isinstance(wish, dict) and "info" in wish}


def _read_turn(log: Sequence[Mapping[str, Any]], n: int, separate: Mapping[int, Acts] | None) -> Turn:
    turn = log[n]
    text = text_of(turn["text"])
    acts = acts_of(turn["dialog_act"]) if "dialog_act" in turn else None
    if n % 2:
        if acts is None and separate is not None:
            acts = separate.get(n // 2 + 1, {})
        return Turn("system", text, None, acts, _booked_domains(turn.get("metadata")))
    # MultiWOZ keeps the belief state after a user's turn with the system's answer to it.
    following = log[n + 1].get("metadata") if n + 1 < len(log) else None
    return Turn("user", text, filled_slots(following) if following else None, acts)


def _booked_domains(metadata: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """The domains that hold a booking by this system turn."""
    if not metadata:
        return None
    return tuple(domain for domain, sections in metadata.items() if sections.get("book", {}).get("booked"))


def acts_of(raw: Any) -> Acts:
    """Acts as annotated; "No Annotation" (2.0) and the like are no act."""
    if not isinstance(raw, dict):
        return {}
    return {act: tuple((str(slot), str(value)) for slot, value in pairs) for act, pairs in raw.items()}


def _separate_acts(file: File) -> dict[str, dict[int, Acts]]:
    """Dialogue -> number of the system turn, from 1 -> acts."""
    with expect_form("MultiWOZ", file.where):
        return {
            plain_id(name): {int(number): acts_of(acts) for number, acts in turns.items()}
            for name, turns in file.json().items()
        }


def filled_slots(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The filled slots of one `metadata` block, `domain-section-slot` -> value, in its own order.

    A list of values (2.2 converted back to this form) stands for its first.

    >>> filled_slots({"hotel": {"book": {"booked": [], "day": "friday"}, "semi": {"area": "", "type": ["inn"]}}})
    {'hotel-book-day': 'friday', 'hotel-semi-type': 'inn'}
    """
    return {
        f"{domain}-{section}-{slot}": value
        for domain, sections in metadata.items()
        for section, slots in sections.items()
        for slot, filled in slots.items()
        if filled != "" and slot != "booked" and (value := first_value(filled)) not in EMPTY
    }


def first_value(values: Any) -> str:
    """The value, or the first of several."""
    if isinstance(values, list):
        values = values[0] if values else ""
    return "" if values is None else str(values)


def _guess_version(path: Path, dialogues: Sequence[Dialogue], parts: Sequence[tuple[File, Any]]) -> str:
    """From a name such as MultiWOZ_2.1 or MULTIWOZ2.4, else from what is annotated."""
    names = [*(file.name for file, _ in parts), *reversed(path.resolve().parts)]
    for name in names:
        if match := re.search(r"multiwoz[_.-]?2[_.-]?([0-4])(?!\d)", name.lower()):
            return f"2.{match[1]}"
    user = [turn for dialogue in dialogues for turn in dialogue.turns if turn.speaker == "user"]
    return "2.1" if any(turn.acts is not None for turn in user) else "2.0 or 2.1"


def is_multiwoz22(value: Any) -> bool:
    """Whether a JSON document is a list of `{"dialogue_id": ..., "turns": [...]}`."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and {"dialogue_id", "turns"} <= first.keys()


def read_multiwoz22(parts: Sequence[tuple[File, Any]], files: Sequence[File]) -> tuple[str, list[Dialogue]]:
    """Version and dialogues of the shards in `parts`; `files` are all files of the source."""
    acts = next((_read_acts(file) for file in files if file.base == "dialog_acts.json"), {})
    return "2.2", [_read_dialogue_22(file, split_of(file), raw, acts) for file, shard in parts for raw in shard]


def _read_acts(file: File) -> dict[str, dict[str, Acts]]:
    """Dialogue -> turn id -> acts."""
    with expect_form("MultiWOZ 2.2", file.where):
        return {
            plain_id(name): {turn: acts_of(annotation.get("dialog_act")) for turn, annotation in turns.items()}
            for name, turns in file.json().items()
        }


def _read_dialogue_22(file: File, split: str, raw: Any, acts: Mapping[str, Mapping[str, Acts]]) -> Dialogue:
    with expect_form("MultiWOZ 2.2", f"{file.where}: a dialogue"):
        name = plain_id(text_of(raw["dialogue_id"]))
        return Dialogue(name, split, tuple(_read_turn_22(turn, acts.get(name)) for turn in raw["turns"]))


def _read_turn_22(turn: Mapping[str, Any], acts: Mapping[str, Acts] | None) -> Turn:
    own = acts.get(str(turn["turn_id"]), {}) if acts is not None else None
    text = text_of(turn["utterance"])
    if turn["speaker"].lower() == "user":
        return Turn("user", text, _read_belief(turn["frames"]), own)
    return Turn("system", text, None, own)


def _read_belief(frames: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The filled slots of all frames, in their order."""
    filled = {
        _slot_path(slot): first_value(values)
        for frame in frames
        for slot, values in frame.get("state", {}).get("slot_values", {}).items()
    }
    return {slot: value for slot, value in filled.items() if value not in EMPTY}


def _slot_path(slot: str) -> str:
    """A slot of 2.2 as `domain-section-slot`.

    >>> _slot_path("hotel-bookday"), _slot_path("train-leaveat"), _slot_path("hotel-area")
    ('hotel-book-day', 'train-semi-leaveAt', 'hotel-semi-area')
    """
    domain, _, leaf = slot.partition("-")
    booked = re.fullmatch(r"book(day|people|stay|time)", leaf)
    return f"{domain}-book-{booked[1]}" if booked else f"{domain}-semi-{_CAPITALS.get(leaf, leaf)}"


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
