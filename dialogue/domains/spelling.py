"""One spelling for what systems and annotators write in many: placeholders, slots, values, times and whole states.

Published predictions were made with half a dozen ways of delexicalising. A placeholder is brought to what it means
(`[restaurant_phone]`, `[value_phone]` and `[phone]` are PHONE), a value to the database's spelling. The tables are
in spellings.toml; values of the database pass through the same function, so that both sides are spelt the same way.

Corpora have no placeholders: `delexicalize_turn` puts them in, from the annotated acts. A value is replaced wherever it
stands in the reply as whole words, the longest first; what the annotator wrote otherwise than the reply stays. A value
that is a word of every day ("yes", "?", "none") is never replaced.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from seedvote.dialogue.records import Turn

NO_MATTER = frozenset({"dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"})
PLACEHOLDER = re.compile(r"\[([\w\s]+)\](?:-?e?s\b)?")
NAMES = ("name", "destination", "departure")
TIMES = ("arrive", "leave", "time")
CLOCK = re.compile(r"\d\d:\d\d")


@cache
def read_spellings() -> Mapping[str, Mapping[str, str]]:
    """The tables of spellings.toml, each from a spelling to the one meant."""
    with (Path(__file__).parent / "spellings.toml").open("rb") as handle:
        raw = tomllib.load(handle)
    return {
        name: {spelling: meant for meant, spellings in rows.items() for spelling in spellings}
        for name, rows in raw.items()
    }


def placeholder_kind(name: str) -> str:
    """The kind of a placeholder, in capitals; "" for one that no table knows.

    >>> placeholder_kind("restaurant_phone"), placeholder_kind("value_id"), placeholder_kind("hotel_smell")
    ('PHONE', 'TRAINID', '')
    """
    domain, kind = _split_name(name)
    if kind == "id" and domain not in ("", "train", "bus"):
        return "ID"
    return read_spellings()["placeholder"].get(kind, "")


def placeholder_domain(name: str) -> str:
    """The domain that a placeholder names, "" for none.

    >>> placeholder_domain("restaurant_phone"), placeholder_domain("value_phone")
    ('restaurant', '')
    """
    return _split_name(name)[0]


def _split_name(name: str) -> tuple[str, str]:
    """Domain ("" for none, or for `value`) and the rest, in small letters without blanks and underscores."""
    head, _, tail = name.strip().lower().partition("_")
    if not tail or head not in (*read_spellings()["domain"], "value"):
        head, tail = "", name.strip().lower()
    return "" if head == "value" else head, tail.replace(" ", "").replace("_", "")


def spell_slot(name: str) -> str:
    """A slot of a state or a database: no blanks, no capitals, `arrive` and `leave` for the times of a journey."""
    name = name.lower().replace(" ", "").removeprefix("book-").removeprefix("semi-")
    return {"arriveby": "arrive", "leaveat": "leave"}.get(name, name)


def spell_value(name: str, text: str) -> str:
    """A value of that slot as the database would spell it."""
    text = text.strip().lower()
    if name in NAMES:
        tidy = text.replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
        return read_spellings()["name"].get(tidy, tidy)
    if name in TIMES:
        return spell_time(text)
    if name in ("parking", "internet"):
        return "yes" if text == "free" else text
    return read_spellings()[name].get(text, text) if name in ("type", "food") else text


def spell_time(text: str) -> str:
    """A time of day as HH:MM where it can be read, else what was found.

    Twelve hours are added to every "pm", also to 12 and to 17: published numbers rest on that.

    >>> [spell_time(text) for text in ("after 5 pm", "9:15", "1745", "noon", "7:30am", "by 08:00", "soon")]
    ['17:00', '09:15', '17:45', '12:00', '07:30', '08:00', 'soon']
    """
    text = text.strip().lower()
    if text in read_spellings()["time"]:
        return read_spellings()["time"][text]
    text = re.sub(r"^(?:by|after|afer)\s*", "", text)
    half = re.search(r"\s*(?:a\.?m|(p)\.?m)\.?$", text)
    digits = re.sub(r"[.,?]$", "", text[: half.start()] if half else text)
    parts = re.fullmatch(r"(\d\d)(\d\d)|(\d{1,2})(?:\s*:\s*(\d\d))?", digits)
    if parts is None:
        return text or "00:00"
    hour = int(parts[1] or parts[3]) + (12 if half and half[1] else 0)
    return f"{hour:02}:{parts[2] or parts[4] or '00'}"


def count_minutes(clock: str) -> int:
    """Minutes since midnight of HH:MM; 0 for what is no time, as the published rule has it."""
    return int(clock[:2]) * 60 + int(clock[3:5]) if CLOCK.match(clock) else 0


State = Mapping[str, Mapping[str, str]]


def state_of(belief: Mapping[str, str]) -> State:
    """A belief as a corpus has it, `domain-section-slot` -> value, as domain -> slot -> value."""
    state: dict[str, dict[str, str]] = {}
    for key, meant in belief.items():
        domain, _, tail = key.partition("-")
        name = spell_slot(tail)
        state.setdefault(domain, {})[name] = spell_value(name, meant)
    return state


# The acts' words for slots -> the word in a placeholder.
SLOTS = {
    "addr": "address",
    "arrive": "arrive",
    "area": "area",
    "car": "car",
    "choice": "choice",
    "day": "day",
    "depart": "departure",
    "department": "department",
    "dest": "destination",
    "fee": "fee",
    "food": "food",
    "id": "id",
    "leave": "leave",
    "name": "name",
    "people": "people",
    "phone": "phone",
    "post": "postcode",
    "price": "pricerange",
    "ref": "reference",
    "stars": "stars",
    "stay": "stay",
    "ticket": "price",
    "time": "duration",
    "type": "type",
}
NOT_VALUES = frozenset({"", "?", "none", "yes", "no", "free", "dontcare", "not mentioned"})


def delexicalize_turn(turn: Turn, domain: str = "") -> str:
    """The reply in small letters with a placeholder for each annotated value; `domain` stands in for "Booking".

    >>> acts = {"Hotel-Inform": [("Name", "acorn guest house"), ("Choice", "two"), ("Area", "north")]}
    >>> delexicalize_turn(Turn("system", "The Acorn Guest House has two rooms.", None, acts))
    'the [hotel_name] has [hotel_choice] rooms.'
    """
    names = dict(_annotated_values(turn.acts or {}, domain))
    text = turn.text.lower()
    if not names:
        return text
    longest = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    return pattern.sub(lambda match: f"[{names[match[0]]}]", text)


def _annotated_values(acts: Mapping[str, Sequence[tuple[str, str]]], domain: str) -> Iterator[tuple[str, str]]:
    for act, pairs in acts.items():
        topic = act.partition("-")[0].lower()
        topic = domain if topic == "booking" else topic
        for slot, text in pairs:
            word, text = SLOTS.get(slot.lower()), text.strip().lower()
            if word and text not in NOT_VALUES:
                yield text, f"{topic}_{word}" if topic else word
