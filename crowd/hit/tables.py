"""The tables of hit.toml, `[exclude]`, `[adaptive]`, `[marks]` and `[panel]`: their keys, legal values and meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any, get_args
from urllib.parse import urlsplit

from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.formulas.allocation import FLOOR, AimKind


@dataclass(frozen=True, slots=True)
class Legal:
    """What a key may hold, in words and as a test."""

    says: str
    holds: Callable[[Any], bool]


def whole_number(low: int, high: int) -> Legal:
    """A whole number between two others."""
    return Legal(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1


@dataclass(frozen=True)
class Exclusion:
    """The table `[exclude]`: each field is a rule that is off while it is None; `raters` names people outright."""

    after: int = 20
    """Judgements that a rater has given before any rule speaks."""
    seconds: float | None = None
    """The median time of a judgement is below this."""
    same: int | None = None
    """The same button so many times in a row."""
    left: float | None = None
    """So many left, among the answers that are no ties, have at most this probability for a fair coin."""
    ties: float | None = None
    """So many ties have at most this probability at the share of ties of all other raters."""
    agreement: float | None = None
    """The share of other raters' answers to the same pairs that are the same is below this."""
    raters: tuple[str, ...] = ()
    """Ids as the raters came with them, or hashes as in votes.jsonl."""


EXCLUDE_KEYS: Mapping[str, Legal] = {
    "after": whole_number(1, 1_000_000),
    "seconds": Legal("a number above 0", lambda v: type(v) in (int, float) and 0 < v <= 86_400),
    "same": whole_number(2, 1_000_000),
    "left": Legal("a probability between 0 and 1", _is_share),
    "ties": Legal("a probability between 0 and 1", _is_share),
    "agreement": Legal("a share between 0 and 1", _is_share),
    "raters": Legal("a list of ids", lambda v: isinstance(v, list) and all(isinstance(name, str) for name in v)),
}
EXCLUDE = Legal(
    f"a table of {', '.join(EXCLUDE_KEYS)}",
    lambda value: isinstance(value, Mapping) and bool(value) and set(value) <= set(EXCLUDE_KEYS),
)


@dataclass(frozen=True)
class AdaptiveRule:
    """The table `[adaptive]`: which question the votes are given out for, and within which limits."""

    question: AimKind = "best"
    """`best` (which system is best), `ranking` (of all), `better` or `alike` (about the two of `systems`)."""
    systems: tuple[str, ...] = ()
    """Two, by the names that the analysis gives them."""
    margin: float = 0.1
    """Of `alike`: the net preference within which the two count as equivalent."""
    votes: int | None = None
    """The most votes that are given out on real pairs; as many as the fixed assignment takes, where it is not said."""
    fewest: int = 2
    """Votes that a pair gets when it comes up."""
    most: int = 7
    """Votes that a pair gets at most, where its raters differ and no fresh pair is left."""
    floor: float = FLOOR
    """The part of each batch that all comparisons share alike."""
    batch: int | None = None
    """Votes in a batch; a twentieth of all, but 200 at most, where it is not said."""
    judge: str = ""
    """A file of verdicts in the study's folder; empty: no judge is asked where the answer is clear."""


def _is_pair_of_names(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) for v in value) and len(set(value)) == 2
    )


ADAPTIVE_KEYS: Mapping[str, Legal] = {
    "question": Legal("one of best, ranking, better, alike", lambda v: v in get_args(AimKind)),
    "systems": Legal("a list of two names", _is_pair_of_names),
    "margin": Legal("a net preference between 0 and 1", _is_share),
    "votes": whole_number(1, 10_000_000),
    "fewest": whole_number(1, 100),
    "most": whole_number(1, 100),
    "floor": Legal("a part above 0 and at most 1", lambda v: type(v) in (int, float) and 0 < v <= 1),
    "batch": whole_number(1, 1_000_000),
    "judge": Legal("the name of a file in the study's folder", lambda v: isinstance(v, str) and Path(v).name == v),
}
ADAPTIVE = Legal(
    f"a table of {', '.join(ADAPTIVE_KEYS)}",
    lambda value: isinstance(value, Mapping) and set(value) <= set(ADAPTIVE_KEYS),
)


def adaptive_from(values: Mapping[str, Any], where: str) -> AdaptiveRule:
    """`[adaptive]` as it was written, or as a store keeps it."""
    stated = {name: value for name, value in values.items() if value is not None and value not in ((), [], "")}
    check_keys("adaptive", ADAPTIVE_KEYS, {**stated, **_listed(stated)}, where)
    rule = AdaptiveRule(**{**stated, "systems": tuple(stated.get("systems", ()))})
    if (rule.question in ("better", "alike")) != bool(rule.systems):
        raise InputError(
            f"{where}: adaptive.systems names two systems for better and alike, and for no other question."
        )
    if rule.most < rule.fewest:
        raise InputError(f"{where}: adaptive.most is {rule.most}, which is less than adaptive.fewest ({rule.fewest}).")
    return rule


def _listed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"systems": list(values["systems"])} if "systems" in values else {}


@dataclass(frozen=True)
class MarksRule:
    """The table `[marks]`: raters may mark passages of the responses, each with a category."""

    categories: tuple[str, ...]
    """What may be wrong, in the words that raters read."""
    ask: str = ""
    """What is asked; empty: "Mark what is wrong", in the language of the page."""


def _are_categories(value: Any) -> bool:
    are_texts = isinstance(value, (list, tuple)) and 1 <= len(value) <= 12 and all(isinstance(v, str) for v in value)
    return are_texts and all(v.strip() and len(v) <= 40 for v in value) and len(set(value)) == len(value)


MARKS_KEYS: Mapping[str, Legal] = {
    "categories": Legal("a list of 1 to 12 different texts of up to 40 characters", _are_categories),
    "ask": Legal("text of 1 to 200 characters", lambda v: isinstance(v, str) and bool(v.strip()) and len(v) <= 200),
}
MARKS = Legal(
    f"a table of {', '.join(MARKS_KEYS)}, with categories",
    lambda value: isinstance(value, Mapping) and "categories" in value and set(value) <= set(MARKS_KEYS),
)


def marks_from(values: Mapping[str, Any], where: str) -> MarksRule:
    """`[marks]` as it was written, or as a store keeps it."""
    stated = {name: value for name, value in values.items() if value != ""}
    check_keys("marks", MARKS_KEYS, stated, where)
    return MarksRule(**{**stated, "categories": tuple(stated["categories"])})


@dataclass(frozen=True)
class PanelDoor:
    """The table `[panel]`: who sends people with an id in the address, and where they go afterwards.

    Each way back is an https:// address, in which {person} and {visit} stand for the ids, or a code that is shown.
    """

    complete: str
    """For who has worked."""
    name: str = "the panel"
    """As raters know it."""
    person: str = "person"
    """The parameter of the address that holds the id of the person."""
    visit: str = ""
    """The parameter that holds the id of this visit; empty: a person has one visit."""
    screened_out: str = ""
    """For who gets no further work; empty: as `complete`."""
    full: str = ""
    """For who came when nothing was left; empty: they are told, and close the page."""
    declined: str = ""
    """For who does not consent; empty: as `full`."""


_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
TAKEN = {"seat", "rater", "sitting", "source", "invite", "selftest", "last", "note"}  # parameters of our own
OTHERS = {"workerId", "worker_id", "PROLIFIC_PID"}  # by which other marketplaces' people are known
# What a market is known to send (docs/panels.md); `market = "connect"` stands for these.
MARKETS: Mapping[str, Mapping[str, str]] = {
    "connect": {"name": "CloudResearch Connect", "person": "participantId", "visit": "assignmentId"},
}


def _is_parameter(value: Any) -> bool:
    return isinstance(value, str) and bool(_PARAMETER.fullmatch(value)) and value not in TAKEN


def _is_way(value: Any) -> bool:
    """An address of https with no placeholder but {person} and {visit}, or a code."""
    if not isinstance(value, str) or not 0 < len(value) <= 2000 or not value.isprintable():
        return False
    if "://" not in value:
        return len(value) <= 100 and bool(value.strip())
    try:
        names = {name for _, name, spec, kind in Formatter().parse(value) if name is not None and not spec and not kind}
        host = urlsplit(value).hostname
        odd = [spec or kind for _, name, spec, kind in Formatter().parse(value) if name is not None and (spec or kind)]
    except ValueError:
        return False
    inside = re.search(r"[{}]", urlsplit(value).netloc)
    return value.startswith("https://") and bool(host) and not odd and not inside and names <= {"person", "visit"}


_WAY = Legal("an https:// address, with {person} and {visit} for the ids, or a code of up to 100 characters", _is_way)
_NAME = Legal("text of 1 to 60 characters", lambda v: isinstance(v, str) and bool(v.strip()) and len(v) <= 60)
_OWN = f"the name of a parameter of the address, and none of ours ({', '.join(sorted(TAKEN))})"
PANEL_KEYS: Mapping[str, Legal] = {
    "market": Legal(f"one of {', '.join(MARKETS)}", lambda value: value in MARKETS),
    "name": _NAME,
    "person": Legal(f"{_OWN} or of another marketplace", lambda value: _is_parameter(value) and value not in OTHERS),
    "visit": Legal(_OWN, lambda value: value == "" or _is_parameter(value)),
    **dict.fromkeys(("complete", "screened_out", "full", "declined"), _WAY),
}
PANEL = Legal(
    f"a table of {', '.join(PANEL_KEYS)}, with complete",
    lambda value: isinstance(value, Mapping) and "complete" in value and set(value) <= set(PANEL_KEYS),
)


# one file by its whole address: what stands in a content security policy may hold no space, comma or semicolon
MARKET_SCRIPT = Legal(
    "the https:// address of one script, without a query",
    lambda v: (
        isinstance(v, str) and (v == "" or bool(re.fullmatch(r"https://[a-z0-9.-]+(:\d+)?/[\w./~%@-]+", v, re.A)))
    ),
)


def check_keys(table: str, keys: Mapping[str, Legal], values: Mapping[str, Any], where: str) -> None:
    """Refuse what one key of a table cannot hold."""
    for name, value in values.items():
        if not keys[name].holds(value):
            raise InputError(f"{where}: {table}.{name} is {value_in_short(value)}, which is not {keys[name].says}.")


def exclusion_from(values: Mapping[str, Any], where: str) -> Exclusion:
    """`[exclude]` as it was written, or as a store keeps it."""
    stated = {name: value for name, value in values.items() if value is not None}
    check_keys("exclude", EXCLUDE_KEYS, stated, where)
    return Exclusion(**{**stated, "raters": tuple(stated.get("raters", ()))})


def panel_from(values: Mapping[str, Any], where: str) -> PanelDoor:
    """`[panel]` as it was written, or as a store keeps it."""
    stated = {name: value for name, value in values.items() if value != ""}
    check_keys("panel", PANEL_KEYS, stated, where)
    panel = PanelDoor(**{**MARKETS.get(stated.pop("market", ""), {}), **stated})
    ways = (panel.complete, panel.screened_out, panel.full, panel.declined)
    if not panel.visit and any("{visit}" in way for way in ways):
        raise InputError(f"{where}: panel has {{visit}} in an address, but names no parameter for it: visit = ...")
    if panel.visit == panel.person:
        raise InputError(f"{where}: panel.visit and panel.person are the same parameter, {panel.person}.")
    return panel
