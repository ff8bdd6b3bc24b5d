"""Toy conversations about a restaurant, a hotel or an attraction: search, offer, facts, and the booking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.goals import INFO, Goal
from seedvote.dialogue.corpora.toy.talk import Talk
from seedvote.dialogue.corpora.toy.wording import (
    PLACE_PLURALS,
    WHAT,
    capitalise_name,
    describe_booking,
    describe_thing,
    say_instead,
)

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
        name=capitalise_name(row["name"]),
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
        talk.say("system.one", name=capitalise_name(row["name"]))
        talk.act(f"{goal.title}-Inform", {"name": row["name"], "choice": "1"})
    elif talk.chance(0.2):
        second = talk.one_of(alternatives)
        talk.say("system.select", name=capitalise_name(row["name"]), other=capitalise_name(second["name"]))
        talk.act(f"{goal.title}-Select", {"name": row["name"]})
        talk.act(f"{goal.title}-Select", {"name": second["name"]})
        talk.end_turn()
        return row, [second]
    else:
        talk.say("system.recommend", name=capitalise_name(row["name"]))
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
        talk.say("user.choose", name=capitalise_name(row["name"]))
        talk.act(f"{goal.title}-Inform", {"name": row["name"]})
    elif alternatives and talk.chance(0.15):
        talk.say("user.another")
        talk.act(f"{goal.title}-Request", {"name": "?"})
        talk.end_turn()
        row = talk.one_of(alternatives)
        talk.say("system.another", name=capitalise_name(row["name"]))
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
    talk.say(key, name=capitalise_name(row["name"]), about=describe_thing(goal.domain, facts, rng=talk.rng))
    talk.act(f"{goal.title}-Inform", facts)


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
