"""Chat messages as turns: texts, images, recordings and videos and, where it was asked for, calls of tools.

Read are OpenAI's `tool_calls`, `function_call` and messages of the role tool, items of its Responses, and Anthropic's
blocks tool_use and tool_result. All that a system does before somebody else speaks is one turn: else two systems that
call different tools would never answer the same context. Calls of tools and what the tools gave are shown or dropped,
as the user says: neither goes without saying.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seedvote.dialogue.errors import InputError, Unclear, value_in_short
from seedvote.dialogue.media import locate_parts
from seedvote.dialogue.parts import FILES, TEXTS, call_from, parts_from, spell_parts, words_in
from seedvote.dialogue.records import Part, Utterance
from seedvote.dialogue.tables.table import cell_text
from seedvote.dialogue.validity import from_json

ToolCalls = Literal["show", "drop", ""]  # "": not said, so it is asked where a file holds some
_TOOL_PARTS = ("tool_call", "tool_result")


@dataclass(frozen=True, slots=True)
class ReadContent:
    """A text, and its parts where it has more than words."""

    text: str
    parts: Sequence[Part] | None = None


def read_content(value: Any, where: str, folder: Path, tool_calls: ToolCalls = "drop") -> ReadContent:
    """A text as it stands; of a list of parts the texts, and every file, which must lie in the folder.

    >>> read_content(["Hello.", {"type": "text", "text": "And?"}], "x", Path())
    ReadContent(text='Hello.\\nAnd?', parts=None)
    """
    if not isinstance(value, list):
        return ReadContent(cell_text("" if value is None else value).strip())
    raw_parts = list(parts_from(value, where))
    if any(part["type"] in _TOOL_PARTS for part in raw_parts) and not _are_shown(tool_calls, where):
        raw_parts = [part for part in raw_parts if part["type"] in ("text", *FILES)]
    try:
        located = locate_parts(raw_parts, folder)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    parts = tuple(from_json(Part, part, where) for part in located)
    if all(part.type == "text" for part in parts):
        return ReadContent("\n".join(part.text for part in parts).strip())
    return ReadContent(spell_parts(parts), parts)


def _are_shown(tool_calls: ToolCalls, where: str) -> bool:
    """Whether raters see them; asked where nobody has said so."""
    if not tool_calls:
        raise Unclear(
            f"{where}: the answers or prompts hold calls of tools. Raters may see these calls and what the tools gave, "
            "or only what was said.",
            {"--tool-calls": "show"},
            {"--tool-calls": "drop"},
        )
    return tool_calls == "show"


ROLES = ("role", "from", "speaker")
SAID = ("content", "text", "value", "utterance")
SPEAKERS = {"human": "user", "assistant": "system", "bot": "system", "gpt": "system", "ai": "system"}
SYSTEM = "system"
TOOL_ROLES = ("tool", "function")
CALLS = ("tool_calls", "function_call")
CALL_ITEMS = ("function_call", "custom_tool_call")  # of Responses, which have no role
RESULT_ITEMS = ("function_call_output", "custom_tool_call_output")
BLOCKS = ("tool_use", "tool_result", "tool_call")


def role_of(message: Mapping[str, Any]) -> str:
    """Who speaks, as the message says it; of an item of Responses the assistant."""
    if role := next((str(message[name]) for name in ROLES if message.get(name)), ""):
        return role
    return "assistant" if message.get("type") in (*CALL_ITEMS, *RESULT_ITEMS) else ""


def holds_tools(message: Mapping[str, Any]) -> bool:
    """Whether tools were called in this message, or gave something."""
    speech = _said_in(message)
    blocks = speech if isinstance(speech, list) else ()
    return (
        any(message.get(name) for name in CALLS)
        or _is_result(message)
        or message.get("type") in CALL_ITEMS
        or any(isinstance(block, Mapping) and block.get("type") in BLOCKS for block in blocks)
    )


def needs_parts(message: Mapping[str, Any]) -> bool:
    """Whether a plain text does not say all that it holds."""
    return isinstance(_said_in(message), list) or holds_tools(message)


def read_message(
    message: Mapping[str, Any], where: str, folder: Path, tool_calls: ToolCalls
) -> Iterator[tuple[str, ReadContent]]:
    """Who said what in a message; what tools gave belongs to the turn of the system, whoever handed it over."""
    role = role_of(message)
    speaker = SPEAKERS.get(role.lower(), role)
    if _is_result(message):
        given = message.get("output") if message.get("type") in RESULT_ITEMS else _said_in(message)
        yield SYSTEM, read_content(_result_parts(given), where, folder, tool_calls)
        return
    if message.get("type") in CALL_ITEMS:
        yield SYSTEM, read_content([call_from(message)], where, folder, tool_calls)
        return
    content = read_content(add_calls(_said_in(message), message, where), where, folder, tool_calls)
    given_parts = [part for part in content.parts or () if part.type == "tool_result"]
    if speaker != SYSTEM and given_parts:
        yield SYSTEM, ReadContent(spell_parts(given_parts), tuple(given_parts))
        spoken = [part for part in content.parts or () if part.type != "tool_result"]
        is_plain = all(part.type == "text" for part in spoken)
        content = ReadContent(spell_parts(spoken), None if is_plain else tuple(spoken))
    yield speaker, content


def add_calls(said: Any, holder: Mapping[str, Any], where: str) -> Any:
    """What was said, with the calls that stand next to it; as it is where there are none.

    >>> add_calls("Wait.", {"tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]}, "x")
    ['Wait.', {'type': 'tool_call', 'name': 'find', 'arguments': '{}'}]
    """
    calls = holder.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
        raise InputError(f"{where}: tool_calls is {value_in_short(calls)}; a list of calls is expected.")
    if isinstance(legacy := holder.get("function_call"), Mapping):
        calls = [*calls, legacy]
    if not calls:
        return said
    words = said if isinstance(said, list) else [str(said)] if said not in (None, "") else []
    return [*words, *map(call_from, calls)]


def merge_turns(utterances: Iterable[Utterance]) -> tuple[Utterance, ...]:
    """The turns of a conversation: messages of a system that calls tools become one with what follows.

    >>> call = Utterance("system", "[tool call: find()]", (Part("tool_call", name="find"),))
    >>> [turn.text for turn in merge_turns([Utterance("user", "Hi."), call, Utterance("system", "Here.")])]
    ['Hi.', '[tool call: find()]\\nHere.']
    """
    turns: list[Utterance] = []
    for utterance in utterances:
        before = turns[-1] if turns else None
        if before and before.speaker == utterance.speaker == SYSTEM and (_has_tools(before) or _has_tools(utterance)):
            parts = (*_parts_of(before), *_parts_of(utterance))
            turns[-1] = Utterance(SYSTEM, spell_parts(parts), parts)
        else:
            turns.append(utterance)
    return tuple(turns)


def _has_tools(utterance: Utterance) -> bool:
    return any(part.type in _TOOL_PARTS for part in utterance.parts or ())


def _parts_of(utterance: Utterance) -> Sequence[Part]:
    return utterance.parts or (Part("text", utterance.text),)


def _is_result(message: Mapping[str, Any]) -> bool:
    """Whether it is what a tool gave; our own records may have a speaker of that name."""
    is_tool = role_of(message).lower() in TOOL_ROLES and "speaker" not in message
    return is_tool or message.get("type") in RESULT_ITEMS


def _result_parts(given: Any) -> list[Any]:
    """What a tool gave: its words, then its images and recordings."""
    files = [part for part in given if isinstance(part, Mapping)] if isinstance(given, list) else []
    words = [part for part in given if part not in files or part.get("type") in TEXTS] if files else given
    return [
        {"type": "tool_result", "text": words_in(words)},
        *(part for part in files if part.get("type") not in TEXTS),
    ]


def _said_in(message: Mapping[str, Any]) -> Any:
    return next((message[name] for name in SAID if message.get(name) not in (None, "")), None)
