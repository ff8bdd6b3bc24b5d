"""Replies with placeholders for their values: `[hotel_name] has [hotel_choice] rooms`, from the annotated acts.

A value is replaced wherever it stands in the reply as whole words, the longest first; what the annotator wrote
otherwise than the reply stays. A value that is a word of every day ("yes", "?", "none") is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from seedvote.dialogue.records import Turn

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
