"""Noun phrases of the toy corpus: slots and values as English words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from seedvote.dialogue.corpora.toy.world import TOWN, TOWNS

HEADS = {
    "restaurant": ("restaurant", "place to eat", "place to dine"),
    "hotel": ("place to stay", "room", "hotel or guesthouse"),
    "attraction": ("place to visit", "place to go", "attraction"),
    "train": ("train",),
    "bus": ("bus",),
}
PLACE_PLURALS = {"restaurant": "restaurants", "hotel": "places to stay", "attraction": "places"}
COMFORTS = {"internet": "wifi", "parking": "parking"}
FACTS = {
    "phone": ("phone number",),
    "address": ("address",),
    "postcode": ("postcode",),
    "entrance fee": ("entrance fee",),
    "area": ("area",),
    "pricerange": ("price range",),
    "food": ("type of food",),
    "stars": ("star rating",),
    "duration": ("travel time", "duration"),
    "price": ("price", "ticket price"),
}
WHAT = {
    "pricerange": "price range",
    "leaveAt": "time",
    "arriveBy": "time",
    "stay": "length of stay",
    "stars": "star rating",
}


def count_things(slot: str, value: str) -> str:
    """The value with its unit.

    >>> count_things("people", "1"), count_things("stay", "3"), count_things("day", "friday")
    ('1 person', '3 nights', 'Friday')
    """
    if slot == "people":
        return "1 person" if value == "1" else f"{value} people"
    if slot == "stay":
        return "1 night" if value == "1" else f"{value} nights"
    return value.title() if slot in ("day", "departure", "destination", "food") else value


def as_written(slot: str, value: str) -> str:
    """The value of a fact as it is written: postcodes in capitals, addresses and kinds of food as names."""
    if slot == "postcode":
        return value.upper()
    return value.title() if slot in ("address", "food") else value


def price_adjective(value: str) -> str:
    """A price range as an adjective."""
    return "moderately priced" if value == "moderate" else value


def add_article(phrase: str) -> str:
    """The phrase with a or an.

    >>> add_article("expensive room"), add_article("Indian place"), add_article("cheap room")
    ('an expensive room', 'an Indian place', 'a cheap room')
    """
    return ("an " if phrase[0] in "aeiouAEIOU" else "a ") + phrase


def joined_with_and(parts: Sequence[str]) -> str:
    """Parts joined with commas and a last `and`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def describe_thing(domain: str, slots: Mapping[str, str], *, rng: random.Random, with_article: bool = True) -> str:
    """What is looked for, e.g. "a cheap hotel in the north with free wifi"."""
    slots = {slot: value for slot, value in slots.items() if value != "dontcare"}
    words = _place_words(domain, slots, rng) if domain in PLACE_PLURALS else _journey_words(domain, slots)
    phrase = " ".join(words)
    return add_article(phrase) if with_article else phrase


def _place_words(domain: str, slots: Mapping[str, str], rng: random.Random) -> list[str]:
    before = [price_adjective(slots["pricerange"])] if "pricerange" in slots else []
    after = []
    if "food" in slots:
        if rng.random() < 0.6:
            before.append(slots["food"].title())
        else:
            after.append(f"serving {slots['food'].title()} food")
    if "stars" in slots:
        if rng.random() < 0.5 or COMFORTS.keys() & slots.keys():
            before.append(f"{slots['stars']} star")
        else:
            after.append(f"with {slots['stars']} stars")
    if "area" in slots:
        after.append(f"in the {slots['area']}")
    after += _list_comforts(slots)
    head = slots.get("type") or rng.choice(HEADS[domain])
    return [*before, head, *after]


def _list_comforts(slots: Mapping[str, str]) -> list[str]:
    wishes = [(word, slots[slot]) for slot, word in COMFORTS.items() if slot in slots]
    words = {"yes": "with", "no": "without"}
    if len(wishes) == 2 and wishes[0][1] == wishes[1][1]:
        return [f"{words[wishes[0][1]]} wifi {'and' if wishes[0][1] == 'yes' else 'or'} parking"]
    return [f"{words[value]} {name}" for name, value in wishes]


def _journey_words(domain: str, slots: Mapping[str, str]) -> list[str]:
    words = [domain]
    for slot, preposition in (("departure", "from"), ("destination", "to"), ("day", "on")):
        if slot in slots:
            words += [preposition, slots[slot].title()]
    if "leaveAt" in slots:
        words += ["leaving after", slots["leaveAt"]]
    if "arriveBy" in slots:
        words += ["arriving by", slots["arriveBy"]]
    return words


def describe_booking(slots: Mapping[str, str]) -> str:
    """Booking details, e.g. "3 people on Friday at 19:00"."""
    words = [count_things(slot, slots[slot]) for slot in ("people", "stay") if slot in slots]
    text = joined_with_and(words) if words else ""
    if "day" in slots:
        text += f" {'from' if 'stay' in slots else 'on'} {slots['day'].title()}"
    if "time" in slots:
        text += f" at {slots['time']}"
    return text.strip().removeprefix("on ").removeprefix("at ")


def facts_asked(slots: Sequence[str], *, rng: random.Random) -> str:
    """The facts asked for, e.g. "the phone number and the address"."""
    return joined_with_and([f"the {rng.choice(FACTS[slot])}" for slot in slots])


def say_instead(slot: str, value: str) -> str:
    """A replacement value as a noun phrase for "how about ... instead?"."""
    if slot in ("people", "stay", "day", "time", "leaveAt", "arriveBy"):
        return count_things(slot, value)
    shapes = {
        "area": f"the {value}",
        "food": f"{value.title()} food",
        "pricerange": f"something {price_adjective(value)}",
        "stars": f"{value} stars",
        "type": add_article(value),
        "internet": "one with wifi" if value == "yes" else "one without wifi",
        "parking": "one with parking" if value == "yes" else "one without parking",
    }
    return shapes.get(slot) or value.title()


def with_article(name: str) -> str:
    """A place with its article, a town without.

    >>> with_article("copper lodge"), with_article("ashmere")
    ('the Copper Lodge', 'Ashmere')
    """
    return name.title() if name in (TOWN, *TOWNS) else f"the {name.title()}"
