"""What a judge's reply says: A, B or Tie, from its first or last line, from JSON, or from its first token's chances.

What says neither is `unusable`. It is never guessed: "Both are good" is no tie, since nobody said that they are equal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

Said = Literal["first", "second", "tie", "unusable"]
THING = r"(?:the\s+)?(?:response|output|answer|option|assistant|verdict|choice|winner)"
ONE = re.compile(rf"(?:{THING}\s*(?:is|:)?\s*)*\(?([ab])\)?(?:\s+is\s+(?:better|more relevant|the better one))?")
TIE = re.compile(rf"(?:{THING}\s*(?:is|:)?\s*)*(?:it(?:\s?s| is)\s+)?(?:an?\s+)?(?:tie|draw|equal)")
KEYS = ("answer", "verdict", "choice", "winner", "preference")


def said_by(reply: str) -> Said:
    """The ruling of a reply, about what stood first and second.

    >>> said_by("B."), said_by("**A**"), said_by("Response A is better"), said_by('{"answer": "Tie"}'), said_by("[[B]]")
    ('second', 'first', 'first', 'tie', 'second')
    >>> said_by("Both are good"), said_by(""), said_by("A or B"), said_by("Antwort B, denn sie passt")
    ('unusable', 'unusable', 'unusable', 'unusable')
    >>> said_by("A is short. B names the train that was asked for.\\nAnswer: B")
    'second'
    """
    lines = [line for line in _from_json(reply).splitlines() if line.strip()]
    for line in (*lines[:1], *lines[-1:]):
        text = " ".join(re.sub(r"[*_`\"'\[\].!#]+", " ", line.casefold()).split())
        if match := ONE.fullmatch(text):
            return "first" if match[1] == "a" else "second"
        if TIE.fullmatch(text):
            return "tie"
    return "unusable"


def _from_json(reply: str) -> str:
    inside = re.search(r"\{.*\}", reply, re.S)
    try:
        value_read = json.loads(inside[0]) if inside else None
    except ValueError:
        return reply
    if isinstance(value_read, Mapping):
        return next((str(value) for key, value in value_read.items() if str(key).casefold() in KEYS), reply)
    return reply


def shares_of_tokens(logprobs: Any) -> tuple[float, float, float] | None:
    """The probabilities of A, B and Tie as the first token, among the three; None where the endpoint gave none."""
    try:
        listed = logprobs["content"][0]["top_logprobs"]
        chances = {"a": 0.0, "b": 0.0, "tie": 0.0}
        for token in listed:
            word = token["token"].strip().casefold()
            if word in ("a", "b", "tie", "t"):
                chances["tie" if word == "t" else word] += math.exp(token["logprob"])
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    total = math.fsum(chances.values())
    return (chances["a"] / total, chances["b"] / total, chances["tie"] / total) if total > 0 else None
