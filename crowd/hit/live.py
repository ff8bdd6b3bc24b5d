"""The table `[live]` of hit.toml: which systems talk to raters, where they are asked, for how long and for how much.

A key is never written here: `key` names the environment variable of the server that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from seedvote.crowd.hit.tables import Legal, check_keys, whole_number
from seedvote.dialogue.errors import InputError, value_in_short

Reveal = Literal["together", "each"]
TOPIC = "{topic}"  # in a prompt: what the rater is asked to talk about


@dataclass(frozen=True, slots=True)
class LiveSystem:
    """One endpoint of the chat-completions protocol, as `[[live.systems]]` names it."""

    name: str
    """As `model` in pairs.jsonl; raters never see it."""
    url: str
    model: str
    key: str = ""
    """The environment variable with the key; empty: no key is sent."""
    prompt: str = ""
    """The system's own instructions, before the conversation; empty: those of `[live]`."""
    temperature: float | None = None
    price_in: float = 0.0
    """Of a million tokens that are sent."""
    price_out: float = 0.0
    """Of a million tokens that come back."""
    concurrency: int = 4
    """Calls at a time, of each server process."""


@dataclass(frozen=True, slots=True)
class LiveRule:
    """How raters talk to two systems at once."""

    systems: tuple[LiveSystem, ...]
    turns: tuple[int, int] = (2, 6)
    """The fewest messages of a rater before the vote, and the most."""
    characters: int = 1000
    """Of one message."""
    reply_tokens: int = 400
    """Of one reply, at most."""
    timeout: int = 60
    """Seconds for one call."""
    reveal: Reveal = "together"
    """`together`: both replies are shown once both are there; `each`: one by one."""
    budget: float | None = None
    """The most that all calls of the study may cost, at the systems' prices."""
    prompt: str = field(default="")

    def system(self, name: str) -> LiveSystem | None:
        """The system of this name."""
        return next((system for system in self.systems if system.name == name), None)


def _is_text(longest: int, *, empty: bool = False) -> Legal:
    says = f"text of {0 if empty else 1} to {longest} characters"
    return Legal(says, lambda v: isinstance(v, str) and len(v) <= longest and (empty or bool(v.strip())))


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(type(number) is int for number in value)
        and 1 <= value[0] <= value[1] <= 50
    )


_PRICE = Legal("a price from 0 to 10000 for a million tokens", lambda v: type(v) in (int, float) and 0 <= v <= 10_000)
SYSTEM_KEYS: Mapping[str, Legal] = {
    "name": _is_text(200),
    "url": Legal(
        "an address such as https://host/v1",
        lambda v: isinstance(v, str) and bool(re.fullmatch(r"https?://[^\s?#@]+", v)),
    ),
    "model": _is_text(200),
    "key": Legal(
        "the name of an environment variable, such as OURS_KEY (never the key itself)",
        lambda v: isinstance(v, str) and bool(re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,99})?", v, re.ASCII)),
    ),
    "prompt": _is_text(20_000, empty=True),
    "temperature": Legal("a number from 0 to 2", lambda v: type(v) in (int, float) and 0 <= v <= 2),
    "price_in": _PRICE,
    "price_out": _PRICE,
    "concurrency": whole_number(1, 100),
}
LIVE_KEYS: Mapping[str, Legal] = {
    "systems": Legal("a list of two tables [[live.systems]] or more", lambda v: isinstance(v, list | tuple)),
    "turns": Legal("two whole numbers, the fewest and the most messages of a rater (1 to 50)", _is_range),
    "characters": whole_number(10, 10_000),
    "reply_tokens": whole_number(1, 100_000),
    "timeout": whole_number(1, 600),
    "reveal": Legal("one of together, each", lambda v: v in ("together", "each")),
    "budget": Legal("an amount of money above 0", lambda v: type(v) in (int, float) and 0 < v <= 1e9),
    "prompt": _is_text(20_000, empty=True),
}
LIVE = Legal(
    f"a table of {', '.join(LIVE_KEYS)}, with systems",
    lambda value: isinstance(value, Mapping) and "systems" in value and set(value) <= set(LIVE_KEYS),
)
MAY_CHANGE = ("budget", "timeout")  # once raters have talked; of a system:
SYSTEM_MAY_CHANGE = ("url", "key", "price_in", "price_out", "concurrency")


def live_from(values: Mapping[str, Any], where: str) -> LiveRule:
    """`[live]` as it was written, or as a store keeps it."""
    stated = {name: value for name, value in values.items() if value is not None}
    check_keys("live", LIVE_KEYS, stated, where)
    systems = tuple(_system_from(value, f"{where}: live.systems[{n}]") for n, value in enumerate(stated["systems"]))
    rule = LiveRule(**{**stated, "systems": systems, "turns": tuple(stated.get("turns", (2, 6)))})
    names = [system.name for system in systems]
    if len(names) < 2:
        raise InputError(f"{where}: live.systems names {len(names)}; a comparison needs two or more.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{where}: live.systems names {twice[0]} twice; give every system a name of its own.")
    if rule.budget is None and (priced := [system.name for system in systems if system.price_in or system.price_out]):
        raise InputError(f"{where}: {priced[0]} has a price, so live.budget must say what the study may cost.")
    return rule


def _system_from(value: object, where: str) -> LiveSystem:
    if not isinstance(value, Mapping) or not {"name", "url", "model"} <= set(value) <= set(SYSTEM_KEYS):
        contents = ", ".join(map(str, value)) if isinstance(value, Mapping) else value_in_short(value)
        raise InputError(
            f"{where} needs name, url and model, and may have {', '.join([*SYSTEM_KEYS][3:])}. Found: {contents}."
        )
    stated = {name: content for name, content in value.items() if content is not None}
    for name, content in stated.items():
        if not SYSTEM_KEYS[name].holds(content):
            shown = "a text that is none" if name == "key" else value_in_short(content)  # perhaps the key itself
            raise InputError(f"{where}.{name} is {shown}, which is not {SYSTEM_KEYS[name].says}.")
    return LiveSystem(**stated)


def fixed_part(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """What of `[live]`, as a store keeps it, may not change once raters have talked: by system, and for all."""
    if not values:
        return {}
    systems = {
        system["name"]: {name: value for name, value in system.items() if name not in SYSTEM_MAY_CHANGE}
        for system in values["systems"]
    }
    kept = {key.name: values.get(key.name) for key in fields(LiveRule) if key.name not in MAY_CHANGE}
    return {**kept, "systems": systems}
