"""One toy dialogue under construction: its words, its annotation in the form of MultiWOZ 2.1, its random generator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from seedvote.dialogue.corpora.toy import phrases as toy_phrases
from seedvote.dialogue.corpora.toy.phrases import COMFORTS, WHAT, as_written, count_things, facts_asked, price_adjective

T = TypeVar("T")
JsonActs = dict[str, list[list[str]]]

# Slot -> its name in dialogue acts.
ACT_SLOTS = {
    "area": "Area",
    "pricerange": "Price",
    "food": "Food",
    "name": "Name",
    "type": "Type",
    "stars": "Stars",
    "internet": "Internet",
    "parking": "Parking",
    "day": "Day",
    "people": "People",
    "stay": "Stay",
    "time": "Time",
    "departure": "Depart",
    "destination": "Dest",
    "leaveAt": "Leave",
    "arriveBy": "Arrive",
    "department": "Department",
    "phone": "Phone",
    "address": "Addr",
    "postcode": "Post",
    "entrance fee": "Fee",
    "duration": "Time",
    "price": "Ticket",
    "trainID": "Id",
    "reference": "Ref",
    "choice": "Choice",
    "car": "Car",
}
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
        self._acts: JsonActs = {}

    @property
    def speaking(self) -> bool:
        """Whether something is said in the turn under construction."""
        return bool(self._words)

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.rng.random() < share

    def say(self, key: str, /, **values: str) -> None:
        """Add a sentence to the turn under construction."""
        self._words.append(toy_phrases.say_phrase(key, rng=self.rng, **values))

    def act(self, act: str, values: Mapping[str, str] | None = None) -> None:
        """Add a dialogue act to the turn under construction; values are by slot, none makes the empty act."""
        pairs = [[ACT_SLOTS[slot], value] for slot, value in (values or {}).items()] or [["none", "none"]]
        known = self._acts.setdefault(act, [])
        known.extend(pair for pair in pairs if pair not in known)

    def heard(self, values: Mapping[str, str]) -> dict[str, str]:
        """Those of the values that the turn under construction speaks of."""
        spoken = " ".join(self._words).lower()
        words = {slot: COMFORTS.get(slot) or count_things(slot, value).lower() for slot, value in values.items()}
        return {slot: value for slot, value in values.items() if words[slot] in spoken}

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
        """Note a completed booking with the belief."""
        old = self.state[domain]
        self.state = {**self.state, domain: {**old, "book": {**old["book"], "booked": [dict(what)]}}}

    def value(self, domain: str, slot: str) -> str:
        """The believed value, or nothing."""
        sections = self.state[domain]
        stored: str = sections["book"].get(slot) or sections["semi"].get(slot) or ""
        return "" if stored == "not mentioned" else stored

    def believe(self, domain: str, values: Mapping[str, str]) -> None:
        """The user has given the values: the belief takes them up and the act tells them."""
        if values:
            self.fill(domain, values)
            self.act(f"{domain.capitalize()}-Inform", values)

    def tell(self, domain: str, values: Mapping[str, str], *, same: Sequence[str] = ()) -> None:
        """The user states each value in a sentence; those in `same` as the same as before."""
        for slot, value in values.items():
            if slot in same:
                self.say(f"user.same.{slot}")
            elif value == "dontcare":
                self.say("user.any.need" if slot in ("internet", "parking") else "user.any", what=WHAT.get(slot, slot))
            else:
                self.say(
                    _telling_key(domain, slot), **{slot: count_things(slot, value), "priced": price_adjective(value)}
                )
        self.believe(domain, values)

    def greet_first(self) -> None:
        """A greeting before the first wish, at times."""
        if not self.log and self.chance(0.25):
            self.say("user.hello")
            self.act("general-greet")

    def open_topic(self, thing: str) -> None:
        """The user says what is looked for, in a way that fits what the system said last."""
        self.greet_first()
        was_asked = self.log and "general-reqmore" in self.log[-1]["dialog_act"]
        key = "user.open.yes" if was_asked else "user.open" if self.state is BLANK else "user.open.next"
        self.say(key, thing=thing)

    def reqmore(self) -> None:
        """The system asks whether there is more to do."""
        self.say("system.reqmore")
        self.act("general-reqmore")

    def offer_booking(self) -> None:
        """The system offers to book."""
        self.say("system.offerbook")
        self.act("Booking-Inform")

    def answer(self, domain: str, row: Mapping[str, str], slots: Sequence[str], *, ask_more: bool) -> None:
        """The user asks for facts, the system tells them."""
        self.say("user.ask" if len(slots) == 1 else "user.ask.more", facts=facts_asked(slots, rng=self.rng))
        self.act(f"{domain.capitalize()}-Request", dict.fromkeys(slots, "?"))
        self.end_turn()
        for slot in slots:
            key = {"entrance fee": "fee.free" if row[slot] == "free" else "fee"}.get(slot, slot)
            self.say(
                f"system.fact.{key}",
                **{slot.removeprefix("entrance "): as_written(slot, row[slot]), "priced": price_adjective(row[slot])},
            )
            self.act(f"{domain.capitalize()}-Inform", {slot: row[slot]})
        if ask_more and self.chance(0.6):
            self.reqmore()
        self.end_turn()

    def end_turn(self) -> None:
        """Close the turn: the user speaks first, then both in turn."""
        system = len(self.log) % 2 == 1
        text = " ".join(self._words)
        self.log.append({"text": text, "metadata": self.state if system else {}, "dialog_act": self._acts})
        self._words, self._acts = [], {}


def _telling_key(domain: str, slot: str) -> str:
    """The key of the sentences that tell a slot."""
    return "user.tell.day.journey" if slot == "day" and domain in ("train", "bus") else f"user.tell.{slot}"
