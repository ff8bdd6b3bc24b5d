"""Rows of prompts and answers, whatever wrote them: fields, chat messages, requests and output of an API's batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.chat_messages import (
    CALL_ITEMS,
    ReadContent,
    ToolCalls,
    add_calls,
    merge_turns,
    read_content,
    read_message,
    role_of,
)
from seedvote.dialogue.parts import call_from
from seedvote.dialogue.records import Part, Utterance
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

IDS = ("custom_id", "id", "item", "item_id", "pair", "pair_id", "question_id", "example_id")
PROMPTS = ("context", "user", "prompt", "question", "input", "conversation", "dialogue_history", "history")
TEXTS = ("text", "response", "output", "reply", "answer", "completion", "generated_text", "prediction")
CHATS = ("messages", "conversations", "conversation")
PROMPTED = ("system", "developer")  # roles that no person said: raters do not see them
LINES = (".jsonl", ".ndjson")
NOTHING = ReadContent("")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of a file: what was asked, what was answered; either may be missing."""

    where: str
    name: str
    context: tuple[Utterance, ...]
    text: str
    parts: Sequence[Part] | None = None
    """Of an answer that holds more than words."""


def read_answer_rows(path: Path, tool_calls: ToolCalls = "drop") -> tuple[list[AnswerRow], int]:
    """The rows of a file, and how many hold an error in place of an answer."""
    rows, failed = [], 0
    for where, line in _read_lines(path):
        if line.get("error") or _status_code(line) not in (None, 200):
            failed += 1
            continue
        context, answer = _split_row(line, where, path.parent, tool_calls)
        name = next((cell_text(line[key]).strip() for key in IDS if line.get(key) not in (None, "")), "")
        rows.append(AnswerRow(where, name, context, answer.text, answer.parts))
    return rows, failed


def _read_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every row with its place; JSON Lines as they stand, since a table would take their objects apart."""
    if not path.name.endswith(LINES):
        yield from read_table(path).rows()
        return
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: no JSON ({error}).") from error
        if not isinstance(value, dict):
            raise InputError(f"{path}:{number}: {line[:40]!r} is no object with a prompt and a response.")
        if "format" in value and "version" in value and not _first_field(value, TEXTS):  # the header of our own files
            continue
        yield f"{path}:{number}", value


def _split_row(
    line: Mapping[str, Any], where: str, folder: Path, tool_calls: ToolCalls
) -> tuple[tuple[Utterance, ...], ReadContent]:
    """Prompt and answer of a row, whatever its form."""
    if isinstance(reply := line.get("response"), dict) and isinstance(body := reply.get("body"), dict):
        return (), read_content(_answer_in_body(body, where), where, folder, tool_calls)
    answered = NOTHING
    if not isinstance(line.get("response"), dict):
        calls = line if isinstance(line.get("tool_calls"), list) else {}  # else a column of that name, e.g. a number
        answered = read_content(add_calls(_first_field(line, TEXTS), calls, where), where, folder, tool_calls)
    body = line.get("body")
    asked = body if isinstance(body, dict) else line
    if isinstance(chat := _first_field(asked, (*CHATS, "input") if asked is body else CHATS), list):
        context = _read_messages(chat, where, folder, tool_calls)
        if asked is body:
            return context, NOTHING
        if answered.text:
            return context, answered
        if not context or context[-1].speaker != "system":  # a prompt that nobody has answered
            return context, NOTHING
        return context[:-1], ReadContent(context[-1].text, context[-1].parts)
    prompt = _first_field(asked, PROMPTS)
    is_chat = isinstance(prompt, list)
    context = _read_messages(prompt, where, folder, tool_calls) if is_chat else _say_as_user(cell_text(prompt or ""))
    return context, NOTHING if asked is body else answered


def _answer_in_body(body: Mapping[str, Any], where: str) -> Any:
    """The answer in a reply of chat completions or of responses: a text, or parts where tools were called."""
    if choices := body.get("choices"):
        message = choices[0].get("message") or {}
        return add_calls(_join_parts(message.get("content") or choices[0].get("text") or ""), message, where)
    items = [item for item in body.get("output") or () if isinstance(item, dict)]
    parts = [
        call_from(item) if item.get("type") in CALL_ITEMS else {"type": "text", "text": _join_parts(item["content"])}
        for item in items
        if item.get("type") in ("message", *CALL_ITEMS)
    ]
    if any(part["type"] != "text" for part in parts):
        return [part for part in parts if part.get("text") != ""]
    if text := _join_parts(parts):
        return text
    raise InputError(f"{where}: the response's body holds no answer (choices or output).")


def _read_messages(messages: Sequence[Any], where: str, folder: Path, tool_calls: ToolCalls) -> tuple[Utterance, ...]:
    """The turns of people and of the system; instructions to the model are none."""
    spoken = []
    for message in messages:
        known = message if isinstance(message, dict) else {}
        if not (role := role_of(known)):
            raise InputError(f"{where}: a message is {str(message)[:40]!r}; role and content are expected.")
        if "speaker" not in known and role.lower() in PROMPTED:
            continue
        contents = read_message(known, where, folder, tool_calls)
        spoken += [Utterance(speaker.lower(), turn.text, turn.parts) for speaker, turn in contents if turn.text]
    return merge_turns(spoken)


def _join_parts(value: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(value, list):
        return "\n".join(_join_parts(part.get("text") if isinstance(part, dict) else part) for part in value).strip()
    return cell_text(value if value is not None else "").strip()


def _say_as_user(text: str) -> tuple[Utterance, ...]:
    return (Utterance("user", text.strip()),) if text.strip() else ()


def _first_field(line: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((line[name] for name in names if line.get(name) not in (None, "")), None)


def _status_code(line: Mapping[str, Any]) -> Any:
    reply = line.get("response")
    return reply.get("status_code") if isinstance(reply, dict) else None
