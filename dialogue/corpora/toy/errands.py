"""Toy conversations about a taxi, which takes its ends from earlier topics, and about the hospital."""

from __future__ import annotations

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.goals import Goal
from seedvote.dialogue.corpora.toy.talk import Talk
from seedvote.dialogue.corpora.toy.wording import with_article

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
