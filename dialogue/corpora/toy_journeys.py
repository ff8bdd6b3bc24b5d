"""Toy conversations about trains, buses, taxis and the hospital."""

from __future__ import annotations

from collections.abc import Sequence

from dialogue.corpora import toy_world as world
from dialogue.corpora.toy_goals import Goal
from dialogue.corpora.toy_places import answer, opening, reqmore, tell
from dialogue.corpora.toy_talk import Talk
from dialogue.corpora.toy_wording import counted, where


def journey(talk: Talk, goal: Goal) -> None:
    """A train or a bus: ends of the journey, day and time, an offer, facts, tickets."""
    wishes = dict(goal.fail_info or goal.info)
    first = talk.rng.sample(sorted(wishes), talk.rng.randint(1, len(wishes)))
    opening(talk, goal.domain, {slot: wishes[slot] for slot in wishes if slot in first and slot not in goal.same})
    _say_same_day(talk, goal, [slot for slot in first if slot in goal.same])
    talk.end_turn()
    _complete(talk, goal, wishes)
    if goal.fail_info:
        _refuse(talk, goal)
    row = _offer(talk, goal)
    if goal.reqt:
        answer(talk, goal.domain, row, goal.reqt, more=not goal.book)
    if goal.book:
        _tickets(talk, goal, row)
    elif not goal.reqt:
        talk.say("user.accept")
        talk.act(f"{goal.domain.capitalize()}-Inform")
        talk.end_turn()
        reqmore(talk)
        talk.end_turn()


def _say_same_day(talk: Talk, goal: Goal, slots: Sequence[str]) -> None:
    if "day" in slots:
        talk.say("user.same.day")
        talk.fill(goal.domain, {"day": goal.info["day"]})
        talk.act(f"{goal.domain.capitalize()}-Inform", {"day": goal.info["day"]})


def _complete(talk: Talk, goal: Goal, wishes: dict[str, str]) -> None:
    """The system asks until it knows enough to look."""
    while missing := [slot for slot in wishes if not talk.value(goal.domain, slot)]:
        slots = missing[: 2 if talk.chance(0.4) else 1]
        for slot in slots:
            talk.say(f"system.request.{slot}")
        talk.act(f"{goal.domain.capitalize()}-Request", dict.fromkeys(slots, "?"))
        talk.end_turn()
        _say_same_day(talk, goal, [slot for slot in slots if slot in goal.same])
        tell(talk, goal.domain, {slot: wishes[slot] for slot in slots if slot not in goal.same})
        talk.end_turn()


def _refuse(talk: Talk, goal: Goal) -> None:
    slot = next(slot for slot in goal.info if goal.fail_info[slot] != goal.info[slot])
    talk.say("system.nooffer.journey", plural={"train": "trains", "bus": "buses"}[goal.domain])
    talk.act(f"{goal.domain.capitalize()}-NoOffer", {slot: goal.fail_info[slot]})
    if talk.chance(0.6):
        talk.say("system.nooffer.ask", what="time")
        talk.act(f"{goal.domain.capitalize()}-Request", {slot: "?"})
    talk.end_turn()
    talk.say("user.instead", value=goal.info[slot])
    talk.fill(goal.domain, {slot: goal.info[slot]})
    talk.act(f"{goal.domain.capitalize()}-Inform", {slot: goal.info[slot]})
    talk.end_turn()


def _offer(talk: Talk, goal: Goal) -> world.Row:
    """The latest that arrives in time or the first that leaves after; at times two to choose from."""
    found = sorted(world.matches(goal.domain, goal.info), key=lambda row: row["leaveAt"])
    row = found[-1] if "arriveBy" in goal.info else found[0]
    times = {"leaveAt": row["leaveAt"], "arriveBy": row["arriveBy"]}
    if goal.domain == "bus":
        talk.say("system.journey.bus", **times)
        talk.act("Bus-Inform", times)
    elif len(found) > 1 and talk.chance(0.2):
        other = found[-2] if "arriveBy" in goal.info else found[1]
        early, late = sorted((row["leaveAt"], other["leaveAt"]))
        talk.say("system.journey.select", leaveAt=early, later=late)
        talk.act("Train-Select", {"leaveAt": early})
        talk.act("Train-Select", {"leaveAt": late})
    else:
        talk.say("system.journey", id=row["trainID"].upper(), **times)
        act = "Train-OfferBook" if talk.chance(0.5) else "Train-Inform"
        talk.act(act, {"trainID": row["trainID"], **times})
        if act == "Train-OfferBook":
            talk.say("system.offerbook")
    talk.end_turn()
    return row


def _tickets(talk: Talk, goal: Goal, row: world.Row) -> None:
    people, title = goal.book["people"], goal.domain.capitalize()
    if "people" in goal.same:
        talk.say("user.book.bare")
        talk.say("user.same.people")
    else:
        talk.say("user.tickets", people=counted("people", people))
    talk.fill(goal.domain, goal.book)
    talk.act(f"{title}-Inform", goal.book)
    talk.end_turn()
    reference = talk.one_of(world.REFERENCES)
    total = f"{int(people) * int(row['price'].split()[0])} pounds"
    talk.say("system.offerbooked", people=counted("people", people), total=total, ref=reference)
    act = "Train-OfferBooked" if goal.domain == "train" else "Booking-Book"
    talk.act(act, {"people": people, "price": total, "reference": reference})
    talk.booked(goal.domain, {"reference": reference})
    if talk.chance(0.5):
        reqmore(talk)
    talk.end_turn()


def taxi(talk: Talk, goal: Goal) -> None:
    """A taxi, between the places of the dialogue where there are two."""
    named = [(domain, talk.value(domain, "name")) for domain in ("hotel", "restaurant", "attraction")]
    known = [(domain, name) for domain, name in named if name]
    talk.rng.shuffle(known)
    if not goal.info["departure"]:
        _carry(talk, goal, known)
    else:
        talk.say("user.taxi", destination=where(goal.info["destination"]))
        _note(talk, {"destination": goal.info["destination"]})
    talk.end_turn()
    _complete_taxi(talk, goal)
    car, phone = f"{talk.one_of(world.COLOURS)} {talk.one_of(world.CARS)}", f"0179{talk.rng.randint(10, 39)}0"
    talk.say("system.taxi", car=car, phone=phone)
    talk.act("Taxi-Inform", {"car": car, "phone": phone})
    talk.booked("taxi", {"type": car, "phone": phone})
    if talk.chance(0.4):
        reqmore(talk)
    talk.end_turn()


def _note(talk: Talk, values: dict[str, str]) -> None:
    talk.fill("taxi", values)
    talk.act("Taxi-Inform", values)


def _carry(talk: Talk, goal: Goal, known: Sequence[tuple[str, str]]) -> None:
    """Name the places as "the hotel" and "the restaurant"; the belief takes up their names."""
    words = {"hotel": "hotel", "restaurant": "restaurant", "attraction": "attraction"}
    if len(known) >= 2:
        (here, start), (there, end) = known[:2]
        goal.info.update(departure=start, destination=end)
    else:
        here, there = "", known[0][0] if known else ""
        start = talk.one_of(world.databases()["attraction"])["name"]
        goal.info.update(departure=start, destination=known[0][1] if known else talk.one_of(world.TOWNS))
    if here and talk.chance(0.5):
        talk.say("user.taxi.between", here=words[here], there=words[there])
        _note(talk, {slot: goal.info[slot] for slot in ("departure", "destination")})
    else:
        destination = f"the {words[there]}" if there else where(goal.info["destination"])
        talk.say("user.taxi", destination=destination)
        _note(talk, {"destination": goal.info["destination"]})


def _complete_taxi(talk: Talk, goal: Goal) -> None:
    while missing := [slot for slot in goal.info if not talk.value("taxi", slot)]:
        slot = missing[0]
        talk.say(f"system.request.{slot}")
        talk.act("Taxi-Request", {slot: "?"})
        talk.end_turn()
        value = goal.info[slot]
        talk.say(f"user.tell.{slot}", **{slot: where(value) if slot in ("departure", "destination") else value})
        _note(talk, {slot: value})
        talk.end_turn()


def hospital(talk: Talk, goal: Goal) -> None:
    """The hospital's address, or the number of a department."""
    talk.say("user.hospital")
    talk.act("Hospital-Request", {"phone": "?"})
    department = goal.info.get("department")
    if department and talk.chance(0.5):
        tell(talk, "hospital", goal.info)
    talk.end_turn()
    if department and not talk.value("hospital", "department"):
        talk.say("system.request.department")
        talk.act("Hospital-Request", {"department": "?"})
        talk.end_turn()
        tell(talk, "hospital", goal.info)
        talk.end_turn()
    if department:
        phone = world.matches("hospital", goal.info)[0]["phone"]
        talk.say("system.hospital", department=department, phone=phone)
        talk.act("Hospital-Inform", {"department": department, "phone": phone})
    else:
        talk.say("system.hospital.place", **world.HOSPITAL)
        talk.act("Hospital-Inform", world.HOSPITAL)
    talk.end_turn()
