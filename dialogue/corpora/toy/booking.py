"""Toy conversations about booking a table or a room: details at once or on request, a refusal, a reference."""

from __future__ import annotations

from collections.abc import Mapping

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.goals import Goal
from seedvote.dialogue.corpora.toy.talk import Talk
from seedvote.dialogue.corpora.toy.wording import WHAT, describe_booking, say_instead


def book_place(talk: Talk, goal: Goal, row: world.DatabaseRow) -> None:
    """From the user's wish to the reference number; the user's turn may have begun with a choice."""
    wanted = goal.fail_book or goal.book
    _ask_details(talk, goal, wanted)
    while missing := [slot for slot in wanted if not talk.value(goal.domain, slot)]:
        _request_slots(talk, goal, missing[: 2 if talk.chance(0.4) else 1], wanted)
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


def _request_slots(talk: Talk, goal: Goal, slots: list[str], wanted: Mapping[str, str]) -> None:
    for slot in slots:
        talk.say(f"system.request.{slot}")
    talk.act("Booking-Request", dict.fromkeys(slots, "?"))
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
