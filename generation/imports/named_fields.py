"""Intents, acts and states that a model names with its reply, where the user asks for them: tables of task success.

The system message then asks for one JSON object with the fields and the reply, and lists the names that the corpus
annotates outside the answered split. A reply that keeps to no such form stands as it is and names nothing, which counts
as wrong: otherwise a model would be scored on the turns alone in which it obeyed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.corpora.sources import SPLITS
from seedvote.dialogue.domains.spelling import state_of
from seedvote.dialogue.engines.chat import read_json_reply
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue

FIELDS = ("intents", "acts", "state")
REPLY = "response"
ASKS = {
    "intents": "what the user wants in the last turn, a list of names out of: {names}",
    "acts": "what your reply does, a list of names out of: {names}",
    "state": "all that the user has asked for so far, domain -> slot -> value, with the slots: {names}",
}


@dataclass(frozen=True, slots=True)
class NamedReply:
    """What a model says to the user, and the fields that it names."""

    text: str
    fields: Mapping[str, Any]
    is_read: bool  # whether it kept to the form
    unknown: tuple[str, ...] = ()  # names that were not on the list


@dataclass(frozen=True)
class FieldRequest:
    """The fields that are asked for, each with its legal names."""

    names: Mapping[str, Sequence[str]]

    @property
    def words(self) -> str:
        """What the system message asks for."""
        lines = [f'"{field}": {ASKS[field].format(names=", ".join(names))}' for field, names in self.names.items()]
        lines.append(f'"{REPLY}": your reply to the user')
        return "Answer with one JSON object and nothing else. Its keys:\n" + "\n".join(lines)

    def read(self, reply: str) -> NamedReply:
        """The reply apart from its fields."""
        value = read_json_reply(reply)
        text, fields = value.get(REPLY), {field: _read_field(field, value.get(field)) for field in self.names}
        if not isinstance(text, str) or not text.strip() or None in fields.values():
            nothing: dict[str, Any] = {field: {} if field == "state" else [] for field in self.names}
            return NamedReply(reply, nothing, is_read=False)
        known = {field: {name.lower() for name in names} for field, names in self.names.items()}
        unknown = [name for field, its in fields.items() for name in _names_in(its) if name.lower() not in known[field]]
        return NamedReply(text.strip(), fields, is_read=True, unknown=tuple(unknown))


def request_fields(words: str, corpus: Corpus, split: str) -> FieldRequest:
    """The fields of `intents,acts`, with the names that other splits of the corpus annotate."""
    fields = [word.strip() for word in words.split(",") if word.strip()]
    if not fields or not set(fields) <= set(FIELDS):
        raise InputError(f"--name-fields is {words!r}; write some of {', '.join(FIELDS)}, separated by commas.")
    others = [dialogue for name in SPLITS if name != split for dialogue in corpus.split(name)]
    names = {field: sorted(set(_annotated_names(field, others))) for field in FIELDS if field in fields}
    if bare := next((field for field, its in names.items() if not its), None):
        raise InputError(f"The corpus annotates no {bare} outside its {split} split, so no names can be listed.")
    return FieldRequest(names)


def _annotated_names(field: str, dialogues: Iterable[Dialogue]) -> Iterable[str]:
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if field == "state":
                state = state_of(turn.belief or {})
                yield from (f"{domain}-{slot}" for domain, slots in state.items() for slot in slots)
            elif (turn.speaker == "user") == (field == "intents"):
                yield from turn.acts or ()


def _read_field(field: str, value: Any) -> Any:
    """A list of names, or domain -> slot -> value; None for anything else."""
    if field == "state":
        if not isinstance(value, Mapping) or not all(isinstance(slots, Mapping) for slots in value.values()):
            return None
        values = [its for slots in value.values() for its in slots.values()]
        if not all(isinstance(its, str | int | float) and not isinstance(its, bool) for its in values):
            return None
        return {domain: {slot: _spell(its) for slot, its in slots.items()} for domain, slots in value.items()}
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        return None
    return sorted({name.strip() for name in names})


def _spell(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _names_in(field: Any) -> list[str]:
    if isinstance(field, Mapping):
        return [f"{domain}-{slot}" for domain, slots in field.items() for slot in slots]
    return list(field)


def describe_names(replies: Sequence[NamedReply], fields: Iterable[str]) -> list[str]:
    """How many replies kept to the form, and which names nobody knows."""
    sentences, many = [], len(replies)
    if loose := sum(not reply.is_read for reply in replies):
        sentences.append(
            f"{loose} of {many} replies are no JSON object with {', '.join([*fields, REPLY])}: they stand as they are, "
            "and name nothing, which counts as wrong."
        )
    if unknown := sorted({name for reply in replies for name in reply.unknown}):
        strange = sum(bool(reply.unknown) for reply in replies)
        listed = ", ".join(unknown[:5]) + ", ..." * (len(unknown) > 5)
        sentences.append(f"{strange} of {many} replies name what the corpus does not know: {listed}.")
    return sentences
