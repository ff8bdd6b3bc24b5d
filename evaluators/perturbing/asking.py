"""Paraphrases by people (a file) or by a language model (an endpoint); the one that loses a value is not taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seedvote.dialogue.engines.chat import Call, Endpoint, ask_all
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.perturbing.material import UserTurn
from seedvote.evaluators.perturbing.protecting import intact

ASKED_AGAIN = 2  # times, after a rewrite that lost a value
TASK = (
    "Say what the user says in other words. Keep the meaning, and keep these words exactly as they are: {held}. "
    "Answer with the new sentence alone.\n\n{text}"
)


def read_rewrites(path: Path) -> dict[str, str]:
    """Item -> text, from JSON Lines with `item` and `text`."""
    rewrites: dict[str, str] = {}
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
        rewrites[item] = text
    if not rewrites:
        raise InputError(f"{path} holds no rewrite.")
    return rewrites


def rewrites_of(
    endpoint: Endpoint, turns: Sequence[UserTurn], journal: Path, tell: Callable[[], object], *, seed: int
) -> Mapping[str, str]:
    """Item -> what the model made of the turn; where a value was lost, it is asked up to twice more."""
    rewrites: dict[str, str] = {}
    left = list(turns)
    for again in range(1 + ASKED_AGAIN):
        calls = [_call(user_turn, child_seed(seed, "paraphrase", user_turn.item, again) % 2**31) for user_turn in left]
        replies = ask_all(endpoint, calls, journal, tell).replies
        for user_turn, reply in zip(left, replies, strict=True):
            if reply is not None and not reply.empty:
                rewrites[user_turn.item] = " ".join(reply.spoken.split())
        left = [
            user_turn
            for user_turn in left
            if user_turn.item not in rewrites or not intact(user_turn.pieces, rewrites[user_turn.item])
        ]
        if not left:
            break
    return rewrites


def _call(user_turn: UserTurn, seed: int) -> Call:
    values = ", ".join(dict.fromkeys(piece.text for piece in user_turn.pieces if piece.held)) or "none"
    instruction = TASK.format(held=values, text=user_turn.turn.text)
    return Call([{"role": "user", "content": instruction}], {"seed": seed, "temperature": 0.7, "max_tokens": 120})
