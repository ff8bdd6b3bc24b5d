"""Whole conversations as files have them: any form of `dialogue.corpora`, with who held each of them and about what.

A line may also say which system spoke (`model`), under which training seed (`seed`), from which checkpoint
(`checkpoint`) and on which goal or topic (`goal`, `topic`, ...). Speakers are user and system, as everywhere here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora.plain_text import LISTS, NO_TURN, SYSTEMS, is_plain_text, read_plain_text
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.sources import File, expect_form, open_source
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.chat_messages import ToolCalls, merge_turns, needs_parts, read_message, role_of
from seedvote.dialogue.records import Candidate, Part, Utterance
from seedvote.dialogue.validity import written_out

FIELDS: Mapping[str, tuple[str, ...]] = {
    "system": ("model", "model_name", "model_id"),
    "goal": ("goal", "goal_id", "topic", "topic_id", "task_id", "scenario"),
    "seed": ("seed",),
    "checkpoint": ("checkpoint",),
}

NamedTurns = tuple[str, Sequence[Utterance]]  # a conversation's id, and what was said


@dataclass(frozen=True, slots=True)
class RatedConversation:
    """One conversation that a system held, and which of its speakers the system is."""

    where: str
    name: str
    turns: Sequence[Utterance]
    speaker: str
    system: str
    seed: int | None = None
    checkpoint: str = "unknown"
    goal: str = ""

    def as_side(self) -> Candidate:
        """One side of a pair."""
        return Candidate(written_out(self.turns), self.system, self.seed, self.checkpoint, self.turns, self.speaker)


def read_conversations(
    path: Path, system: str = "", *, stated: Mapping[str, str], judged: str, tool_calls: ToolCalls = "drop"
) -> list[RatedConversation]:
    """Every conversation of a file or folder; `system` is who held them all; else the lines say it, or the file's name.

    `stated` names fields (goal -> the file's name for it), `judged` is the speaker that the system is.
    """
    if unknown := [name for name in stated if name not in FIELDS]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(FIELDS)}.")
    return [
        _make_conversation(where, line, turns, system, path.stem.partition(".")[0], stated=stated, judged=judged)
        for where, line, turns in _read_dialogues(path, tool_calls)
    ]


def _read_dialogues(path: Path, tool_calls: ToolCalls) -> Iterator[tuple[str, Mapping[str, Any], NamedTurns]]:
    """The place, the line as it stands and what was said; a published corpus has ids for lines."""
    files = open_source(path)
    texts = [(file, lines) for file in files if (lines := _read_lines(file))]
    if not texts:
        for dialogue in read_corpus(path).dialogues:
            turns = [Utterance(turn.speaker, turn.text) for turn in dialogue.turns]
            yield f"{path}, dialogue {dialogue.dialogue}", {"id": dialogue.dialogue}, (dialogue.dialogue, turns)
    folder = path if path.is_dir() else path.parent
    for file, lines in texts:
        rewritten = [(where, *_read_tools(line, where, folder, tool_calls)) for where, line in lines]
        _, dialogues = read_plain_text([(file, [(where, line) for where, line, _ in rewritten])])
        for (where, line), (_, _, parts), dialogue in zip(lines, rewritten, dialogues, strict=True):
            parts_of_turns = parts or [None] * len(dialogue.turns)
            pairs = zip(dialogue.turns, parts_of_turns, strict=True)
            turns = [Utterance(turn.speaker, turn.text, parts) for turn, parts in pairs]
            yield where, line if isinstance(line, dict) else {}, (dialogue.dialogue, turns)


def _read_tools(
    line: Any, where: str, folder: Path, tool_calls: ToolCalls
) -> tuple[Any, Sequence[Sequence[Part] | None]]:
    """A conversation in which tools were called: its turns as plain messages, and their parts; others as they are."""
    key = next((name for name in LISTS if isinstance(line.get(name), list)), "") if isinstance(line, dict) else ""
    messages = line[key] if key else line
    if not any(isinstance(message, dict) and needs_parts(message) for message in messages):
        return line, ()
    with expect_form("conversations", where):
        roles = [role_of(message) or str(message.get("name", "")) for message in messages]
    has_assistant = any(role.lower() in SYSTEMS for role in roles)
    spoken: list[Utterance] = []
    for message, role in zip(messages, roles, strict=True):
        if role.lower() == "developer" or (has_assistant and role.lower() == "system"):
            continue
        known = {**message, "role": "assistant" if role.lower() in SYSTEMS else role}
        contents = read_message(known, where, folder, tool_calls)
        spoken += [
            Utterance(speaker, content.text, content.parts)
            for speaker, content in contents
            if content.text and speaker.lower() not in NO_TURN
        ]
    turns = merge_turns(spoken)
    plain = [{"role": turn.speaker, "content": turn.text} for turn in turns]
    return {**(line if key else {}), key or "messages": plain}, [turn.parts for turn in turns]


def _read_lines(file: File) -> list[tuple[str, Any]]:
    """The conversations of a file as text; none where it holds something else."""
    if file.base.endswith(".jsonl"):
        lines = list(file.json_lines(lists=True))
    elif file.base.endswith(".json") and isinstance(value := file.json(), list):
        lines = [(f"{file.where}, conversation {number}", conversation) for number, conversation in enumerate(value, 1)]
    else:
        return []
    if not lines or not is_plain_text(lines[0][1]):
        return []
    for where, line in lines:
        if not is_plain_text(line):
            raise InputError(f"{where} is no conversation: no list of turns (messages, conversations, dialogue, ...).")
    return lines


def _make_conversation(
    where: str,
    line: Mapping[str, Any],
    named_turns: NamedTurns,
    system: str,
    of_file: str,
    *,
    stated: Mapping[str, str],
    judged: str,
) -> RatedConversation:
    name, turns = named_turns
    speakers = list(dict.fromkeys(turn.speaker for turn in turns))
    if judged not in speakers:
        raise InputError(
            f"{where}: {judged} says nothing, so there is nobody to judge (speakers: {', '.join(speakers) or 'none'}). "
            "Leave the conversation out, or name who is judged: --judge."
        )
    fields = {field: _read_field(where, line, field, stated) for field in FIELDS}
    if fields["seed"] is not None and type(fields["seed"]) is not int:
        raise InputError(f"{where}: seed is {fields['seed']!r}, which is not a whole number.")
    return RatedConversation(
        where,
        name,
        tuple(turns),
        judged,
        system or _read_name(where, "system", fields["system"]) or of_file,
        fields["seed"],
        _read_name(where, "checkpoint", fields["checkpoint"]) or "unknown",
        _read_name(where, "goal", fields["goal"]),
    )


def _read_field(where: str, line: Mapping[str, Any], name: str, stated: Mapping[str, str]) -> Any:
    if name in stated:
        if stated[name] not in line:
            raise InputError(f"{where} has no {stated[name]}, which --columns names for {name}.")
        return line[stated[name]]
    return next((line[field] for field in FIELDS[name] if field in line), None)


def _read_name(where: str, name: str, value: object) -> str:
    """A name, or a number that serves as one; anything else is no name."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise InputError(
        f"{where}: {name} is {str(value)[:40]!r}, which is no name. Name another field: --columns {name}=..."
    )
