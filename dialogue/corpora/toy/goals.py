"""What the user of a toy dialogue wants: one to three domains, some values that fail first, some carried along."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.wording import COMFORTS

PLANS = (
    *[("restaurant",), ("hotel",), ("attraction",), ("train",)] * 6,
    *[("hospital",), ("bus",), ("taxi",)] * 3,
    *[("restaurant", "hotel"), ("hotel", "attraction"), ("attraction", "restaurant"), ("train", "hotel")] * 3,
    *[("train", "restaurant"), ("train", "attraction")] * 2,
    ("hotel", "train"),
    ("restaurant", "train"),
    ("bus", "attraction"),
    ("hotel", "bus"),
    ("train", "bus"),
    *[("restaurant", "hotel", "taxi"), ("attraction", "restaurant", "taxi"), ("hotel", "attraction", "taxi")] * 2,
    ("train", "hotel", "attraction"),
    ("restaurant", "hotel", "train"),
    ("attraction", "hotel", "bus"),
    ("hotel", "restaurant", "attraction", "taxi"),
    ("train", "hotel", "restaurant", "taxi"),
)
INFO = {
    "restaurant": ("area", "pricerange", "food"),
    "hotel": ("area", "pricerange", "stars", "internet", "parking", "type"),
    "attraction": ("area", "type"),
}
ASKED = {
    "restaurant": ("phone", "address", "postcode", "food", "area", "pricerange"),
    "hotel": ("phone", "address", "postcode", "stars", "area", "pricerange"),
    "attraction": ("phone", "address", "postcode", "entrance fee", "area"),
    "train": ("duration", "price"),
    "bus": ("duration", "price"),
    "taxi": (),
    "hospital": (),
}


@dataclass
class Goal:
    """One domain of a dialogue: constraints, facts to ask for, booking details; `fail_*` is tried first
    and fails, `slip` is said by mistake and corrected, `same` is said as the same as before."""

    domain: str
    info: dict[str, str]
    reqt: list[str] = field(default_factory=list)
    book: dict[str, str] = field(default_factory=dict)
    fail_info: dict[str, str] = field(default_factory=dict)
    fail_book: dict[str, str] = field(default_factory=dict)
    slip: dict[str, str] = field(default_factory=dict)
    same: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The domain as dialogue acts write it."""
        return self.domain.capitalize()


def draw_goals(*, rng: random.Random) -> list[Goal]:
    """The goals of one dialogue, in the order in which they are pursued."""
    goals: list[Goal] = []
    for domain in rng.choice(PLANS):
        goals.append(_DRAW[domain](domain, goals, rng))
    return goals


def _search_goal(domain: str, before: Sequence[Goal], rng: random.Random) -> Goal:
    row = rng.choice(world.make_databases()[domain])
    if rng.random() < 0.15:
        goal = Goal(domain, {"name": row["name"]})
    else:
        slots = rng.sample(INFO[domain], rng.randint(1, min(4, len(INFO[domain]))))
        goal = Goal(domain, {slot: row[slot] for slot in INFO[domain] if slot in slots and row[slot] != "no"})
        goal.info = goal.info or {"area": row["area"]}
        goal.fail_info = _fail_constraint(goal, rng) if rng.random() < 0.25 else {}
        if not goal.fail_info and rng.random() < 0.12:
            goal.slip = _draw_slip(goal, rng)
    open_facts = [slot for slot in ASKED[domain] if slot not in goal.info]
    goal.reqt = rng.sample(open_facts, rng.choice((0, 1, 1, 2)))
    if domain != "attraction" and rng.random() < 0.65:
        _add_booking(goal, before, rng)
    return goal


def _draw_slip(goal: Goal, rng: random.Random) -> dict[str, str]:
    """A value said by mistake, for which there are places too."""
    slots = sorted(goal.info.keys() - COMFORTS.keys())
    if not slots:
        return {}
    slot = rng.choice(slots)
    rows = world.find_matches(goal.domain, {name: value for name, value in goal.info.items() if name != slot})
    values = sorted({row[slot] for row in rows} - {goal.info[slot]})
    return {slot: rng.choice(values)} if values else {}


def _fail_constraint(goal: Goal, rng: random.Random) -> dict[str, str]:
    """The goal's constraints with one value changed so that no place fits, if there is such a value."""
    slots = sorted(goal.info.keys() - COMFORTS.keys())
    if not slots:
        return {}
    slot = rng.choice(slots)
    values = sorted({row[slot] for row in world.make_databases()[goal.domain]} - {goal.info[slot]})
    rng.shuffle(values)
    tries = ({**goal.info, slot: value} for value in values)
    return next((wanted for wanted in tries if not world.find_matches(goal.domain, wanted)), {})


def _add_booking(goal: Goal, before: Sequence[Goal], rng: random.Random) -> None:
    last = (
        {"stay": str(rng.randint(1, 5))} if goal.domain == "hotel" else {"time": world.time_of_day(rng.randint(46, 82))}
    )
    goal.book = {"people": str(rng.randint(1, 8)), "day": rng.choice(world.DAYS), **last}
    goal.same = _carry_over(goal.book, before, rng)
    if rng.random() < 0.18:
        slot = rng.choice(sorted(set(goal.book) - {"people", *goal.same}))
        goal.fail_book = {**goal.book, slot: _other_value(slot, goal.book[slot], rng)}


def _other_value(slot: str, value: str, rng: random.Random) -> str:
    options = {"day": list(world.DAYS), "time": [world.time_of_day(n) for n in range(46, 83)]}
    return rng.choice([v for v in options.get(slot, [str(n) for n in range(1, 7)]) if v != value])


def _carry_over(book: dict[str, str], before: Sequence[Goal], rng: random.Random) -> tuple[str, ...]:
    """Take people and day over from an earlier domain, mostly."""
    slots = []
    for slot in ("people", "day"):
        earlier = [goal.book.get(slot) or goal.info.get(slot) for goal in before]
        known = [value for value in earlier if value]
        if slot in book and known and rng.random() < 0.6:
            book[slot] = known[-1]
            slots.append(slot)
    return tuple(slots)


def _journey_goal(domain: str, before: Sequence[Goal], rng: random.Random) -> Goal:
    row = rng.choice(world.make_databases()[domain])
    bound = rng.choice(("leaveAt", "arriveBy"))
    info = {slot: row[slot] for slot in ("departure", "destination", "day", bound)}
    same = _carry_over(info, before, rng)
    goal = Goal(domain, info, rng.sample(ASKED[domain], rng.choice((0, 0, 1, 2))), same=same)
    if rng.random() < 0.6:
        goal.book = {"people": str(rng.randint(1, 8))}
        goal.same += _carry_over(goal.book, before, rng)
    if rng.random() < 0.1:
        goal.fail_info = {**info, **({"arriveBy": "05:00"} if bound == "arriveBy" else {"leaveAt": "23:45"})}
    elif rng.random() < 0.1 and "day" not in same:
        goal.slip = {"day": _other_value("day", info["day"], rng)}
    return goal


def _taxi_goal(domain: str, before: Sequence[Goal], rng: random.Random) -> Goal:
    """Between the places of the dialogue where there are two, else between two places of the town."""
    bound = rng.choice(("leaveAt", "arriveBy"))
    ends = ["", ""] if before else [rng.choice(world.make_databases()["attraction"])["name"], rng.choice(world.TOWNS)]
    rng.shuffle(ends)
    return Goal(domain, {"departure": ends[0], "destination": ends[1], bound: world.time_of_day(rng.randint(28, 88))})


def _hospital_goal(domain: str, before: Sequence[Goal], rng: random.Random) -> Goal:
    del before
    return Goal(domain, {"department": rng.choice(world.DEPARTMENTS)} if rng.random() < 0.8 else {})


_DRAW = {
    "restaurant": _search_goal,
    "hotel": _search_goal,
    "attraction": _search_goal,
    "train": _journey_goal,
    "bus": _journey_goal,
    "taxi": _taxi_goal,
    "hospital": _hospital_goal,
}
