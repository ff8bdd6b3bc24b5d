"""Toy conversations about trains and buses."""

from __future__ import annotations

from collections.abc import Mapping

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.goals import Goal
from seedvote.dialogue.corpora.toy.talk import Talk
from seedvote.dialogue.corpora.toy.wording import count_things, describe_thing

VEHICLE_PLURALS = {"train": "trains", "bus": "buses"}


def plan_journey(talk: Talk, goal: Goal) -> None:
    """Ends of the journey, day and time, an offer, facts, tickets."""
    wishes = {**(goal.fail_info or goal.info), **goal.slip}
    _open_journey(talk, goal, wishes)
    while missing := [slot for slot in wishes if not talk.value(goal.domain, slot)]:
        _request_slots(talk, goal, missing[: 2 if talk.chance(0.4) else 1], wishes)
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


def _request_slots(talk: Talk, goal: Goal, slots: list[str], wishes: Mapping[str, str]) -> None:
    for slot in slots:
        talk.say(f"system.request.{slot}")
    talk.act(f"{goal.title}-Request", dict.fromkeys(slots, "?"))
    talk.end_turn()
    talk.tell(goal.domain, {slot: wishes[slot] for slot in slots}, same=goal.same)
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
