"""What a chat message or an answer holds: a text, or a list of parts of which some are images, recordings or videos.

Calls of tools and what the tools gave are shown or dropped, as the user says: neither goes without saying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.media import locate_parts
from seedvote.dialogue.parts import FILES, parts_from, spell_parts
from seedvote.dialogue.records import Part
from seedvote.dialogue.tables.table import cell_text
from seedvote.dialogue.validity import from_json

ToolCalls = Literal["show", "drop", ""]  # "": not said, so it is asked where a file holds some
TOOL_PARTS = ("tool_call", "tool_result")


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
    if any(part["type"] in TOOL_PARTS for part in raw_parts) and not _are_shown(tool_calls, where):
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
