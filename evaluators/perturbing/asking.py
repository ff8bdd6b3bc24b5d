"""Paraphrases by people (a file) or by a language model (an endpoint); the one that loses a value is not taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dialogue.engines.chat import Call, Endpoint, ask_all
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from evaluators.perturbing.material import UserTurn
from evaluators.perturbing.protecting import intact

ASKED_AGAIN = 2  # times, after a rewrite that lost a value
TASK = (
    "Say what the user says in other words. Keep the meaning, and keep these words exactly as they are: {held}. "
    "Answer with the new sentence alone.\n\n{text}"
)


def read_rewrites(path: Path) -> dict[str, str]:
    """Item -> text, from JSON Lines with `item` and `text`."""
    found: dict[str, str] = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from None
    for n, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            item, text = row["item"], row["text"]
            if not (isinstance(item, str) and isinstance(text, str)):
                raise TypeError("item and text must be texts")
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f'{path}:{n}: expected {{"item": "sng0073:1", "text": "..."}} ({error!r}).') from None
        found[item] = text
    if not found:
        raise InputError(f"{path} holds no rewrite.")
    return found


def rewrites_of(
    endpoint: Endpoint, turns: Sequence[UserTurn], journal: Path, tell: Callable[[], object], *, seed: int
) -> Mapping[str, str]:
    """Item -> what the model made of the turn; where a value was lost, it is asked up to twice more."""
    found: dict[str, str] = {}
    left = list(turns)
    for again in range(1 + ASKED_AGAIN):
        calls = [_call(one, child_seed(seed, "paraphrase", one.item, again) % 2**31) for one in left]
        replies = ask_all(endpoint, calls, journal, tell).replies
        for one, reply in zip(left, replies, strict=True):
            if reply is not None and not reply.empty:
                found[one.item] = " ".join(reply.spoken.split())
        left = [one for one in left if one.item not in found or not intact(one.pieces, found[one.item])]
        if not left:
            break
    return found


def _call(one: UserTurn, seed: int) -> Call:
    held = ", ".join(dict.fromkeys(piece.text for piece in one.pieces if piece.held)) or "none"
    told = TASK.format(held=held, text=one.turn.text)
    return Call([{"role": "user", "content": told}], {"seed": seed, "temperature": 0.7, "max_tokens": 120})
