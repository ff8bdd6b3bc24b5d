"""Texts that hold more than words: their parts as chats and tools write them, and the words that stand for them.

A part is read as we write it, as OpenAI's `content` has it (image_url, input_audio, tool_calls), as Inspect does
(`{"type": "image", "image": ...}`) and as Anthropic does (tool_use, `source`). What it names is a file or a `data:`
address: nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.records import Part, PartType

FILES: tuple[PartType, ...] = ("image", "audio", "video")
KINDS: tuple[PartType, ...] = get_args(PartType)
OWN_KEYS = frozenset(Part.__slots__)
TEXTS = ("text", "input_text", "output_text")
RECORDINGS: Mapping[str, PartType] = {"input_audio": "audio", "audio_url": "audio", "video_url": "video"}
IMAGES = ("image_url", "input_image")
UNSAID = ("reasoning", "thinking", "redacted_thinking")  # what a model wrote for itself
WORDS = {"image": "image", "audio": "recording", "video": "video", "tool_call": "tool call", "tool_result": "tool gave"}


def spell_parts(parts: Sequence[Part]) -> str:
    """The text that stands for the parts wherever words are needed: never the name of a file, which may tell whose.

    >>> spell_parts([Part("text", "Here:"), Part("image", file="gpt/1.png", alt="a red bus")])
    'Here:\\n[image: a red bus]'
    """
    return "\n".join(part.text if part.type == "text" else f"[{_describe_part(part)}]" for part in parts)


def _describe_part(part: Part) -> str:
    called = f"{part.name}({part.arguments})" if part.type == "tool_call" else ""
    words = " ".join(filter(None, (called, part.alt, part.caption, part.text)))
    return f"{WORDS[part.type]}: {words}" if words else WORDS[part.type]


def complain_of_part(part: Part) -> Iterator[str]:
    """What a part may not say."""
    if part.type in FILES and not part.file.strip():
        yield f"a part of type {part.type} names no file; give its path from the folder of this file."
    if part.type not in FILES and (part.file or part.captions):
        yield f"a part of type {part.type} names a file; image, audio and video have one."
    if part.captions and part.type == "image":
        yield "captions belong to audio and video; an image has alt and caption."
    if part.type == "tool_call" and not part.name.strip():
        yield "a tool call has no name; write which tool was called."


def parts_from(values: Sequence[Any], where: str) -> tuple[Mapping[str, Any], ...]:
    """A list of parts, each in the spelling of our own files; what a model wrote for itself is left out.

    >>> parts_from([{"type": "image_url", "image_url": {"url": "cat.png"}}, "Look."], "x")
    ({'type': 'image', 'file': 'cat.png'}, {'type': 'text', 'text': 'Look.'})
    """
    return tuple(part for k, value in enumerate(values) for part in _part_from(value, f"{where}[{k}]"))


def _part_from(value: Any, where: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, str):
        yield {"type": "text", "text": value}
        return
    if not isinstance(value, Mapping):
        raise InputError(f"{where} is {value_in_short(value)}; a part is a text or an object with its type.")
    kind: Any = value.get("type") or ("text" if isinstance(value.get("text"), str) else None)
    if kind in UNSAID:
        return
    if kind in KINDS and set(value) <= OWN_KEYS:
        yield value
    elif kind in TEXTS:
        yield {"type": "text", "text": value.get("text", "")}
    elif kind in IMAGES:
        yield {"type": "image", "file": _address_in(value.get("image_url", value.get("url"))), **_words_of(value)}
    elif kind in RECORDINGS:
        yield {"type": RECORDINGS[kind], "file": _address_in(value.get(kind)), **_words_of(value)}
    elif kind in FILES:  # as Inspect and Anthropic have them
        yield {"type": kind, "file": _address_in(value.get(kind) or value.get("source")), **_words_of(value)}
    elif kind in ("tool_use", "function", "tool_call"):
        yield call_from(value)
    elif kind == "tool_result":
        yield {"type": "tool_result", "text": words_in(value.get("content", value.get("text", "")))}
    else:
        raise InputError(f"{where} is of type {value_in_short(kind)}, which is not one of {', '.join(KINDS)}.")


def call_from(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call of a tool, as chats and APIs write it."""
    function = value.get("function", value.get("custom"))
    called: Mapping[str, Any] = function if isinstance(function, Mapping) else value
    name = called.get("name") or (function if isinstance(function, str) else "")
    arguments = called.get("arguments", called.get("input", ""))
    spelled = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"type": "tool_call", "name": str(name), "arguments": spelled}


def words_in(content: Any) -> str:
    """The words of a content that is a text or a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else "" if content is None else json.dumps(content)
    return "\n".join(str(part.get("text", "")) if isinstance(part, Mapping) else str(part) for part in content)


def _address_in(value: Any) -> str:
    """Where a file is: its path, or a `data:` address; of an object, what it calls so."""
    if isinstance(value, Mapping):
        if "data" in value:
            return f"data:{value.get('media_type', '')};base64,{value['data']}"
        value = value.get("url") or value.get("file") or value.get("path")
    return value if isinstance(value, str) else ""


def _words_of(value: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: value[name] for name in ("alt", "caption", "captions") if isinstance(value.get(name), str)}
