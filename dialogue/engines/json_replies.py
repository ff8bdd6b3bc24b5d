"""The JSON object in a model's reply, which may stand in other text or in a fence; never guessed from a broken one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def read_json_reply(reply: str) -> Mapping[str, Any]:
    """The one object of a reply; empty without one, where it is cut or says a key twice, or where others say otherwise.

    >>> read_json_reply('Sure: ```json\\n{"verdict": "A"}\\n``` I hope :}')
    {'verdict': 'A'}
    >>> read_json_reply('{"verdict": "A", "verdict": "B"}'), read_json_reply('{"verdict": "A"} or {"verdict": "B"}')
    ({}, {})
    >>> read_json_reply('{"first try": {"verdict": "A"}, "verdict": "B')
    {}
    """
    objects: list[Mapping[str, Any]] = []
    place = reply.find("{")
    while place >= 0:
        try:
            value, place = _DECODER.raw_decode(reply, place)
        except (ValueError, RecursionError):  # a model that repeats itself nests without end
            return {}  # what is inside an object that is cut off is no answer
        objects.append(value)
        place = reply.find("{", place)
    is_agreed = bool(objects) and all(value == objects[0] for value in objects)
    return objects[0] if is_agreed else {}


def _refuse_doubles(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(items)
    if len(value) < len(items):
        raise ValueError("a key stands twice")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_doubles)
