"""Toy conversations: what a user wants, and a function a topic in which it is talked over.

A user has one to three domains, some values that fail first and some carried along. A taxi takes its ends from earlier
topics. In a plan two things are wanted, and the first one named comes first: both stand in the user's first turn, so
that only their order tells which of them the system asks about.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.phrases import (
    COMFORTS,
    PLACE_PLURALS,
    WHAT,
    count_things,
    describe_booking,
    describe_thing,
    say_instead,
    with_article,
)
from seedvote.dialogue.corpora.toy.talk import Talk

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


Rows = Sequence[world.DatabaseRow]


def visit_place(talk: Talk, goal: Goal) -> None:
    """From the user's first wish to the system's last answer about one place."""
    row = _ask_by_name(talk, goal) if "name" in goal.info else _search_place(talk, goal)
    if talk.chance(0.9):
        talk.fill(goal.domain, {"name": row["name"]})
    to_ask, to_book = list(goal.reqt), bool(goal.book)
    if not to_ask and not to_book:
        if not talk.speaking:
            talk.say("user.accept.attraction" if goal.domain == "attraction" else "user.accept")
        talk.act(f"{goal.title}-Inform", {"name": row["name"]})
        talk.end_turn()
        talk.reqmore()
        talk.end_turn()
    while to_ask or to_book:
        if to_ask and (not to_book or talk.chance(0.5)):
            questions = [to_ask.pop() for _ in range(min(len(to_ask), talk.rng.randint(1, 2)))]
            talk.answer(goal.domain, row, questions, ask_more=not to_ask and not to_book)
        else:
            book_place(talk, goal, row)
            to_book = False


def _ask_by_name(talk: Talk, goal: Goal) -> world.DatabaseRow:
    """The user asks for a place by name."""
    row = world.find_matches(goal.domain, goal.info)[0]
    talk.greet_first()
    talk.say(
        "user.open.name",
        name=row["name"].title(),
        kind="place" if goal.domain == "attraction" else goal.domain,
    )
    talk.believe(goal.domain, goal.info)
    talk.end_turn()
    _tell_facts(talk, goal, row, "system.named")
    talk.end_turn()
    return row


def _search_place(talk: Talk, goal: Goal) -> world.DatabaseRow:
    """The user's wishes come at once or in answer to questions, until a place is agreed on."""
    wishes = {**(goal.fail_info or goal.info), **goal.slip}
    slip = dict.fromkeys(goal.slip)
    first = talk.rng.sample(sorted(wishes), talk.rng.randint(1, min(3, len(wishes))))
    pending = {slot: wishes[slot] for slot in wishes if slot not in first}
    talk.open_topic(describe_thing(goal.domain, {slot: wishes[slot] for slot in wishes if slot in first}, rng=talk.rng))
    talk.believe(goal.domain, {slot: wishes[slot] for slot in wishes if slot in first})
    talk.end_turn()
    questions = 0
    while True:
        wanted = {slot: value for slot in INFO[goal.domain] if (value := talk.value(goal.domain, slot))}
        rows = world.find_matches(goal.domain, wanted)
        unknown = [slot for slot in INFO[goal.domain] if slot not in wanted]
        if not rows:
            _refuse_wish(talk, goal, wanted)
        elif unknown and questions < 3 and talk.chance(_question_chance(len(rows))):
            questions += 1
            _ask_slot(talk, goal, talk.one_of(unknown), len(rows), pending)
        else:
            row, alternatives = _offer_places(talk, goal, rows)
            if not pending and not any(slot in wanted for slot in slip):
                return _agree_on_place(talk, goal, row, alternatives)
            _add_wish(talk, goal, pending, slip)


def _question_chance(number: int) -> float:
    """How likely a question is before an offer."""
    return 0.75 if number > 7 else 0.45 if number > 3 else 0.2 if number > 1 else 0.0


def _add_wish(talk: Talk, goal: Goal, pending: dict[str, str], slip: dict[str, None]) -> None:
    """The user does not take the offer, but corrects a wish or adds one."""
    corrected = next((slot for slot in slip if talk.value(goal.domain, slot)), None)
    if corrected:
        del slip[corrected]
        talk.say("user.correct")
        talk.tell(goal.domain, {corrected: goal.info[corrected]})
    else:
        slot = talk.one_of(sorted(pending))
        talk.tell(goal.domain, {slot: pending.pop(slot)})
    talk.end_turn()


def _refuse_wish(talk: Talk, goal: Goal, wanted: Mapping[str, str]) -> None:
    """Nothing fits: the system says so, the user takes a value that can be had."""
    slot = next(slot for slot in wanted if wanted[slot] not in ("dontcare", goal.info.get(slot)))
    talk.say("system.nooffer", thing=describe_thing(goal.domain, wanted, rng=talk.rng, with_article=False))
    talk.act(f"{goal.title}-NoOffer", talk.heard(wanted))
    if talk.chance(0.6):
        talk.say("system.nooffer.ask", what=WHAT.get(slot, slot))
        talk.act(f"{goal.title}-Request", {slot: "?"})
    talk.end_turn()
    talk.say("user.instead", value=say_instead(slot, goal.info[slot]))
    talk.believe(goal.domain, {slot: goal.info[slot]})
    talk.end_turn()


def _ask_slot(talk: Talk, goal: Goal, slot: str, number: int, pending: dict[str, str]) -> None:
    """The system asks for a slot; the user answers, at times with one wish more."""
    if talk.chance(0.35):
        talk.say("system.choice", choice=str(number), plural=PLACE_PLURALS[goal.domain])
        talk.act(f"{goal.title}-Inform", {"choice": str(number)})
    talk.say(f"system.request.{slot}")
    talk.act(f"{goal.title}-Request", {slot: "?"})
    talk.end_turn()
    answers = {slot: pending.pop(slot, "dontcare")}
    if pending and talk.chance(0.3):
        extra_slot = talk.one_of(sorted(pending))
        answers[extra_slot] = pending.pop(extra_slot)
    talk.tell(goal.domain, answers)
    talk.end_turn()


def _offer_places(talk: Talk, goal: Goal, rows: Rows) -> tuple[world.DatabaseRow, Rows]:
    """The system names one place, or two to choose from; what it did not name comes back too."""
    row = talk.one_of(rows)
    alternatives = [place for place in rows if place is not row]
    if not alternatives:
        talk.say("system.one", name=row["name"].title())
        talk.act(f"{goal.title}-Inform", {"name": row["name"], "choice": "1"})
    elif talk.chance(0.2):
        second = talk.one_of(alternatives)
        talk.say("system.select", name=row["name"].title(), other=second["name"].title())
        talk.act(f"{goal.title}-Select", {"name": row["name"]})
        talk.act(f"{goal.title}-Select", {"name": second["name"]})
        talk.end_turn()
        return row, [second]
    else:
        talk.say("system.recommend", name=row["name"].title())
        talk.act(f"{goal.title}-Recommend", {"name": row["name"]})
    if talk.chance(0.4):
        _tell_facts(talk, goal, row, "system.about")
    elif goal.domain != "attraction" and talk.chance(0.4):
        talk.offer_booking()
    talk.end_turn()
    return row, alternatives


def _agree_on_place(talk: Talk, goal: Goal, row: world.DatabaseRow, alternatives: Rows) -> world.DatabaseRow:
    """The user picks one of two places, or now and then asks for another one; the turn stays open."""
    if f"{goal.title}-Select" in talk.log[-1]["dialog_act"]:
        talk.say("user.choose", name=row["name"].title())
        talk.act(f"{goal.title}-Inform", {"name": row["name"]})
    elif alternatives and talk.chance(0.15):
        talk.say("user.another")
        talk.act(f"{goal.title}-Request", {"name": "?"})
        talk.end_turn()
        row = talk.one_of(alternatives)
        talk.say("system.another", name=row["name"].title())
        talk.act(f"{goal.title}-Inform", {"name": row["name"]})
        talk.end_turn()
    return row


def _tell_facts(talk: Talk, goal: Goal, row: world.DatabaseRow, key: str) -> None:
    """Two or three facts in a phrase."""
    slots = [
        *talk.rng.sample([slot for slot in INFO[goal.domain] if slot != "type"], 1 + (goal.domain != "attraction"))
    ]
    facts = {slot: row[slot] for slot in INFO[goal.domain] if slot in slots or slot == "type"}
    goal.reqt = [slot for slot in goal.reqt if slot not in facts]
    talk.say(key, name=row["name"].title(), about=describe_thing(goal.domain, facts, rng=talk.rng))
    talk.act(f"{goal.title}-Inform", facts)


def book_place(talk: Talk, goal: Goal, row: world.DatabaseRow) -> None:
    """From the user's wish to the reference number; the user's turn may have begun with a choice."""
    wanted = goal.fail_book or goal.book
    _ask_details(talk, goal, wanted)
    while missing := [slot for slot in wanted if not talk.value(goal.domain, slot)]:
        _request_slots(talk, goal, "Booking", missing[: 2 if talk.chance(0.4) else 1], wanted)
    for slot in (slot for slot in wanted if wanted[slot] != goal.book[slot]):
        _refuse_detail(talk, goal, slot)
    confirm_booking(talk, goal, row)


def confirm_booking(talk: Talk, goal: Goal, row: world.DatabaseRow) -> None:
    """The system has booked."""
    reference = talk.one_of(world.REFERENCES)
    talk.say("system.booked", ref=reference.upper())
    talk.act("Booking-Book", {"reference": reference})
    talk.booked(goal.domain, {"name": row["name"], "reference": reference})
    if talk.chance(0.5):
        talk.reqmore()
    talk.end_turn()


def _ask_details(talk: Talk, goal: Goal, wanted: Mapping[str, str]) -> None:
    """All details in most cases, else some or none."""
    slots = talk.rng.sample(sorted(wanted), talk.one_of((0, 2, 3, 3)))
    details_given = {slot: wanted[slot] for slot in wanted if slot in slots}
    plain = {slot: value for slot, value in details_given.items() if slot not in goal.same}
    if plain:
        talk.say("user.book", details=describe_booking(plain))
    else:
        talk.say("user.book.bare")
    for slot in (slot for slot in details_given if slot in goal.same):
        talk.say(f"user.same.{slot}")
    if details_given:
        talk.believe(goal.domain, details_given)
    else:
        talk.act(f"{goal.title}-Inform")
    talk.end_turn()


def _request_slots(talk: Talk, goal: Goal, title: str, slots: list[str], wanted: Mapping[str, str]) -> None:
    for slot in slots:
        talk.say(f"system.request.{slot}")
    talk.act(f"{title}-Request", dict.fromkeys(slots, "?"))
    talk.end_turn()
    talk.tell(goal.domain, {slot: wanted[slot] for slot in slots}, same=goal.same)
    talk.end_turn()


def _refuse_detail(talk: Talk, goal: Goal, slot: str) -> None:
    """The booking fails over one detail, and the user changes it."""
    talk.say("system.nobook")
    talk.act("Booking-NoBook")
    if talk.chance(0.6):
        talk.say("system.nobook.ask", what=WHAT.get(slot, slot))
        talk.act("Booking-Request", {slot: "?"})
    talk.end_turn()
    talk.say("user.instead", value=say_instead(slot, goal.book[slot]))
    talk.believe(goal.domain, {slot: goal.book[slot]})
    talk.end_turn()


VEHICLE_PLURALS = {"train": "trains", "bus": "buses"}


def plan_journey(talk: Talk, goal: Goal) -> None:
    """Ends of the journey, day and time, an offer, facts, tickets."""
    wishes = {**(goal.fail_info or goal.info), **goal.slip}
    _open_journey(talk, goal, wishes)
    while missing := [slot for slot in wishes if not talk.value(goal.domain, slot)]:
        _request_slots(talk, goal, goal.title, missing[: 2 if talk.chance(0.4) else 1], wishes)
    if goal.fail_info:
        _refuse_journey(talk, goal)
    row = _offer_journey(talk, goal, {**goal.info, **goal.slip})
    for slot in goal.slip:
        talk.say("user.correct")
        talk.tell(goal.domain, {slot: goal.info[slot]})
        talk.end_turn()
        row = _offer_journey(talk, goal, goal.info)
    if f"{goal.title}-Select" in talk.log[-1]["dialog_act"]:
        talk.say("user.choose.time", leaveAt=row["leaveAt"])
        talk.act(f"{goal.title}-Inform", {"leaveAt": row["leaveAt"]})
    if goal.reqt:
        talk.answer(goal.domain, row, goal.reqt, ask_more=not goal.book)
    if goal.book:
        _book_tickets(talk, goal, row)
    elif not goal.reqt:
        talk.say("user.accept")
        talk.act(f"{goal.title}-Inform")
        talk.end_turn()
        talk.reqmore()
        talk.end_turn()


def _open_journey(talk: Talk, goal: Goal, wishes: Mapping[str, str]) -> None:
    slots = talk.rng.sample(sorted(wishes), talk.rng.randint(2, len(wishes)))
    wishes_said = {slot: wishes[slot] for slot in wishes if slot in slots and slot not in goal.same}
    talk.open_topic(describe_thing(goal.domain, wishes_said, rng=talk.rng))
    talk.believe(goal.domain, wishes_said)
    talk.tell(goal.domain, {slot: wishes[slot] for slot in slots if slot in goal.same}, same=goal.same)
    talk.end_turn()


def _refuse_journey(talk: Talk, goal: Goal) -> None:
    slot = next(slot for slot in goal.info if goal.fail_info[slot] != goal.info[slot])
    talk.say("system.nooffer.journey", plural=VEHICLE_PLURALS[goal.domain])
    talk.act(f"{goal.title}-NoOffer")
    if talk.chance(0.6):
        talk.say("system.nooffer.ask", what="time")
        talk.act(f"{goal.title}-Request", {slot: "?"})
    talk.end_turn()
    talk.say("user.instead", value=goal.info[slot])
    talk.believe(goal.domain, {slot: goal.info[slot]})
    talk.end_turn()


def _offer_journey(talk: Talk, goal: Goal, wanted: Mapping[str, str]) -> world.DatabaseRow:
    """The latest that arrives in time or the first that leaves after; at times two to choose from."""
    rows = sorted(world.find_matches(goal.domain, wanted), key=lambda row: row["leaveAt"])
    if "arriveBy" in wanted:
        rows.reverse()
    row = rows[0]
    times = {"leaveAt": row["leaveAt"], "arriveBy": row["arriveBy"]}
    if goal.domain == "bus":
        talk.say("system.journey.bus", **times)
        talk.act("Bus-Inform", talk.heard(times))
    elif len(rows) > 1 and talk.chance(0.2):
        early, late = sorted((row["leaveAt"], rows[1]["leaveAt"]))
        talk.say("system.journey.select", leaveAt=early, later=late)
        talk.act("Train-Select", {"leaveAt": early})
        talk.act("Train-Select", {"leaveAt": late})
    else:
        talk.say("system.journey", id=row["trainID"].upper(), **times)
        offered = talk.chance(0.5)
        talk.act("Train-OfferBook" if offered else "Train-Inform", talk.heard({"trainID": row["trainID"], **times}))
        if offered:
            talk.say("system.offerbook")
    talk.end_turn()
    return row


def _book_tickets(talk: Talk, goal: Goal, row: world.DatabaseRow) -> None:
    people = goal.book["people"]
    if "people" in goal.same:
        talk.say("user.book.bare")
        talk.say("user.same.people")
    else:
        talk.say("user.tickets", people=count_things("people", people))
    talk.believe(goal.domain, goal.book)
    talk.end_turn()
    reference = talk.one_of(world.REFERENCES)
    total = f"{int(people) * int(row['price'].split()[0])} pounds"
    talk.say("system.offerbooked", people=count_things("people", people), total=total, ref=reference.upper())
    act = "Train-OfferBooked" if goal.domain == "train" else "Booking-Book"
    talk.act(act, talk.heard({"people": people, "price": total, "reference": reference}))
    talk.booked(goal.domain, {"reference": reference})
    if talk.chance(0.5):
        talk.reqmore()
    talk.end_turn()


PLACE_DOMAINS = ("hotel", "restaurant", "attraction")


def order_taxi(talk: Talk, goal: Goal) -> None:
    """A taxi: both ends, a time, car and number."""
    wishes = _fill_ends(talk, goal)
    _open_errand(talk, wishes)
    while missing := [slot for slot in wishes if not talk.value("taxi", slot)]:
        talk.say(f"system.request.{missing[0]}")
        talk.act("Taxi-Request", {missing[0]: "?"})
        talk.end_turn()
        _tell_slot(talk, missing[0], wishes[missing[0]])
        talk.end_turn()
    car = f"{talk.one_of(world.CAR_COLOURS)} {talk.one_of(world.CARS)}"
    phone = f"0179{talk.rng.randint(10, 39)}0"
    talk.say("system.taxi", car=car, phone=phone)
    talk.act("Taxi-Inform", {"car": car, "phone": phone})
    talk.booked("taxi", {"type": car, "phone": phone})
    if talk.chance(0.4):
        talk.reqmore()
    talk.end_turn()


def _fill_ends(talk: Talk, goal: Goal) -> dict[str, str]:
    """The goal, its open ends filled from the places that the dialogue has named, else by chance."""
    known = [name for domain in PLACE_DOMAINS if (name := talk.value(domain, "name"))]
    talk.rng.shuffle(known)
    strange = [row["name"] for row in world.make_databases()["attraction"] if row["name"] not in known]
    ends = (known + talk.rng.sample(strange, 2))[:2]
    open_ends = {"destination": ends[0], "departure": ends[1]}
    return {slot: value or open_ends[slot] for slot, value in goal.info.items()}


def _name_place(talk: Talk, name: str) -> str:
    """A place that was talked about is called by its kind: "the hotel"."""
    kind = next((domain for domain in PLACE_DOMAINS if talk.value(domain, "name") == name), None)
    return f"the {kind}" if kind else with_article(name)


def _open_errand(talk: Talk, wishes: dict[str, str]) -> None:
    departure, destination = _name_place(talk, wishes["departure"]), _name_place(talk, wishes["destination"])
    if talk.chance(0.4):
        talk.say("user.taxi.between", here=departure, there=destination)
        talk.believe("taxi", {slot: wishes[slot] for slot in ("departure", "destination")})
    else:
        talk.say("user.taxi", there=destination)
        talk.believe("taxi", {"destination": wishes["destination"]})
    if talk.chance(0.4):
        slot = "leaveAt" if "leaveAt" in wishes else "arriveBy"
        _tell_slot(talk, slot, wishes[slot])
    talk.end_turn()


def _tell_slot(talk: Talk, slot: str, value: str) -> None:
    words = _name_place(talk, value) if slot in ("departure", "destination") else value
    talk.say(f"user.tell.{slot}", **{slot: words})
    talk.believe("taxi", {slot: value})


def ask_hospital(talk: Talk, goal: Goal) -> None:
    """The hospital's address, or the number of a department."""
    department = goal.info.get("department")
    talk.say("user.hospital")
    talk.act("Hospital-Request", {"phone": "?"})
    if department and talk.chance(0.5):
        talk.tell("hospital", goal.info)
    talk.end_turn()
    if department and not talk.value("hospital", "department"):
        talk.say("system.request.department")
        talk.act("Hospital-Request", {"department": "?"})
        talk.end_turn()
        talk.tell("hospital", goal.info)
        talk.end_turn()
    if department:
        phone = world.find_matches("hospital", goal.info)[0]["phone"]
        talk.say("system.hospital", department=department, phone=phone)
        talk.act("Hospital-Inform", {"department": department, "phone": phone})
    else:
        talk.say(
            "system.hospital.place", address=world.HOSPITAL["address"], postcode=world.HOSPITAL["postcode"].upper()
        )
        talk.act("Hospital-Inform", world.HOSPITAL)
    talk.end_turn()


PLANNED = ("restaurant", "hotel", "train", "bus")
ASKED_FIRST = {"restaurant": "food", "hotel": "pricerange", "train": "destination", "bus": "destination"}


def make_plan(*, rng: random.Random) -> tuple[Goal, Goal]:
    """The thing wanted first and the one wanted after it, for so many people on one day."""
    first, second = rng.sample(PLANNED, 2)
    shared = {"people": str(rng.randint(2, 8)), "day": rng.choice(world.DAYS)}
    wanted = rng.choice(world.make_databases()[first])[ASKED_FIRST[first]]
    return Goal(first, {ASKED_FIRST[first]: wanted}, book=shared), Goal(second, {}, book=shared)


def follow_plan(talk: Talk, first: Goal, second: Goal) -> None:
    """The plan, a question about its first part, the answer and what is found."""
    slot = ASKED_FIRST[first.domain]
    wanted = first.info[slot]
    talk.say("user.plan.for", people=first.book["people"], day=first.book["day"].capitalize())
    talk.say("user.plan", first=first.domain, second=second.domain)
    talk.say("user.plan.help")
    talk.believe(first.domain, first.book)
    talk.end_turn()
    talk.say(f"system.plan.{slot}", domain=first.domain)
    talk.act(f"{first.title}-Request", {slot: "?"})
    talk.end_turn()
    talk.say(f"user.plan.{slot}", wanted=wanted.capitalize() if slot != "pricerange" else wanted)
    talk.believe(first.domain, {slot: wanted})
    talk.end_turn()
    reference = talk.one_of(world.REFERENCES)
    talk.say("system.plan.booked", domain=first.domain, ref=reference.upper())
    talk.act(f"{first.title}-Inform", {"reference": reference})
    talk.say("system.plan.next", second=second.domain)
    talk.act("general-reqmore")
    talk.end_turn()
