"""One toy dialogue under construction: its words, its annotation in the form of MultiWOZ 2.1, its random generator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dialogue.corpora import toy_phrases

T = TypeVar("T")
Acts = dict[str, list[list[str]]]

# Slot -> its name in dialogue acts.
ACT_SLOTS = {
    "area": "Area", "pricerange": "Price", "food": "Food", "name": "Name", "type": "Type", "stars": "Stars",
    "internet": "Internet", "parking": "Parking", "day": "Day", "people": "People", "stay": "Stay", "time": "Time",
    "departure": "Depart", "destination": "Dest", "leaveAt": "Leave", "arriveBy": "Arrive", "department": "Department",
    "phone": "Phone", "address": "Addr", "postcode": "Post", "entrance fee": "Fee", "duration": "Time",
    "price": "Ticket", "trainID": "Id", "reference": "Ref", "choice": "Choice", "car": "Car",
}  # fmt: skip
SEMI = {
    "taxi": ("leaveAt", "destination", "departure", "arriveBy"),
    "police": (),
    "restaurant": ("food", "pricerange", "name", "area"),
    "bus": ("leaveAt", "destination", "day", "arriveBy", "departure"),
    "hospital": ("department",),
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "attraction": ("type", "name", "area"),
    "train": ("leaveAt", "destination", "day", "arriveBy", "departure"),
}
BOOK = {
    "restaurant": ("people", "day", "time"),
    "bus": ("people",),
    "hotel": ("people", "day", "stay"),
    "train": ("people",),
}
BLANK: dict[str, Any] = {
    domain: {"book": {"booked": [], **dict.fromkeys(BOOK.get(domain, ()), "")}, "semi": dict.fromkeys(slots, "")}
    for domain, slots in SEMI.items()
}


class Talk:
    """Collects turns; the belief state that a user turn leaves behind is stored with the next system turn."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.log: list[dict[str, Any]] = []
        self.state = BLANK
        self._words: list[str] = []
        self._acts: Acts = {}

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.rng.random() < share

    def say(self, key: str, /, **values: str) -> None:
        """Add a sentence to the turn under construction."""
        self._words.append(toy_phrases.say(key, rng=self.rng, **values))

    def act(self, act: str, values: Mapping[str, str] | None = None) -> None:
        """Add a dialogue act to the turn under construction; values are by slot, none makes the empty act."""
        pairs = [[ACT_SLOTS[slot], value] for slot, value in (values or {}).items()] or [["none", "none"]]
        known = self._acts.setdefault(act, [])
        known.extend(pair for pair in pairs if pair not in known)

    def fill(self, domain: str, values: Mapping[str, str]) -> None:
        """Put values into the belief state."""
        old = self.state[domain]
        book = {slot: value for slot, value in values.items() if slot in BOOK.get(domain, ())}
        semi = {slot: value for slot, value in values.items() if slot in SEMI[domain] and slot not in book}
        before = old["semi"] if self.active(domain) else dict.fromkeys(old["semi"], "not mentioned")
        new = {"book": {**old["book"], **book}, "semi": {**before, **semi}}
        self.state = {**self.state, domain: new}

    def active(self, domain: str) -> bool:
        """True once a value of the domain was given."""
        return any(value for section in self.state[domain].values() for value in section.values())

    def booked(self, domain: str, what: Mapping[str, str]) -> None:
        """Note a completed booking beside the belief."""
        old = self.state[domain]
        self.state = {**self.state, domain: {**old, "book": {**old["book"], "booked": [dict(what)]}}}

    def value(self, domain: str, slot: str) -> str:
        """The believed value, or nothing."""
        sections = self.state[domain]
        found: str = sections["book"].get(slot) or sections["semi"].get(slot) or ""
        return "" if found == "not mentioned" else found

    def end_turn(self) -> None:
        """Close the turn: the user speaks first, then both in turn."""
        system = len(self.log) % 2 == 1
        text = " ".join(self._words)
        self.log.append({"text": text, "metadata": self.state if system else {}, "dialog_act": self._acts})
        self._words, self._acts = [], {}
