"""Toy conversations about a restaurant, a hotel or an attraction: search, offer, facts, booking."""

from __future__ import annotations

from collections.abc import Mapping

from dialogue.corpora import toy_world as world
from dialogue.corpora.toy_goals import INFO, Goal
from dialogue.corpora.toy_talk import Talk
from dialogue.corpora.toy_wording import PLURALS, WHAT, counted, details, facts, instead, place, priced, thing

BOOKING_REFUSALS = ("people", "day", "stay", "time")


def visit(talk: Talk, goal: Goal) -> None:
    """From the user's first wish to the system's last answer about one place; closes a system turn at the end."""
    row = _named(talk, goal) if "name" in goal.info else _search(talk, goal)
    talk.fill(goal.domain, {"name": row["name"]}) if talk.chance(0.9) else None
    to_ask, to_book = list(goal.reqt), bool(goal.book)
    while to_ask or to_book:
        if to_ask and (not to_book or talk.chance(0.5)):
            asked = [to_ask.pop() for _ in range(min(len(to_ask), talk.rng.randint(1, 2)))]
            answer(talk, goal.domain, row, asked, more=not to_ask and not to_book)
        else:
            book(talk, goal, row)
            to_book = False
    if not goal.reqt and not goal.book:
        talk.say("user.accept")
        talk.act(f"{_title(goal)}-Inform", {"name": row["name"]})
        talk.end_turn()
        reqmore(talk)
        talk.end_turn()


def _title(goal: Goal) -> str:
    return goal.domain.capitalize()


def tell(talk: Talk, domain: str, values: Mapping[str, str]) -> None:
    """The user states values, each as a sentence, and the belief takes them up."""
    for slot, value in values.items():
        if value == "dontcare":
            talk.say("user.any", what=WHAT.get(slot, slot))
            continue
        key = f"user.tell.{slot}.{value}" if slot in ("internet", "parking") else f"user.tell.{slot}"
        talk.say(key, **{slot: counted(slot, value), "priced": priced(value)})
    _believe(talk, domain, values)


def _believe(talk: Talk, domain: str, values: Mapping[str, str]) -> None:
    talk.fill(domain, values)
    talk.act(f"{domain.capitalize()}-Inform", values)


def opening(talk: Talk, domain: str, values: Mapping[str, str]) -> None:
    """The user opens a topic with some of the wishes."""
    key = "user.open.next" if talk.log else "user.open"
    talk.say(key, thing=thing(domain, values, rng=talk.rng))
    _believe(talk, domain, values)


def _named(talk: Talk, goal: Goal) -> world.Row:
    kind = {"restaurant": "restaurant", "hotel": "hotel", "attraction": "place"}[goal.domain]
    talk.say("user.open.name", name=place(goal.info["name"]), kind=kind)
    _believe(talk, goal.domain, goal.info)
    talk.end_turn()
    row = world.matches(goal.domain, goal.info)[0]
    _about(talk, goal, row)
    talk.end_turn()
    return row


def _search(talk: Talk, goal: Goal) -> world.Row:
    wishes = dict(goal.fail_info or goal.info)
    first = talk.rng.sample(sorted(wishes), talk.rng.randint(1, min(3, len(wishes))))
    pending = {slot: wishes[slot] for slot in wishes if slot not in first}
    opening(talk, goal.domain, {slot: wishes[slot] for slot in wishes if slot in first})
    talk.end_turn()
    questions = 0
    while True:
        found = world.matches(goal.domain, _wanted(talk, goal))
        open_slots = [slot for slot in INFO[goal.domain] if not talk.value(goal.domain, slot)]
        if not found:
            _refuse(talk, goal)
        elif open_slots and questions < 3 and talk.chance(_urge(len(found))):
            questions += 1
            _ask_slot(talk, goal, talk.one_of(open_slots), len(found), pending)
        elif pending:
            _offer(talk, goal, found)
            slot = talk.one_of(sorted(pending))
            tell(talk, goal.domain, {slot: pending.pop(slot)})
            talk.end_turn()
        else:
            return _offer(talk, goal, found)


def _urge(found: int) -> float:
    """How likely a question is before an offer."""
    return 0.8 if found > 7 else 0.5 if found > 3 else 0.25 if found > 1 else 0.0


def _wanted(talk: Talk, goal: Goal) -> dict[str, str]:
    values = {slot: talk.value(goal.domain, slot) for slot in INFO[goal.domain]}
    return {slot: value for slot, value in values.items() if value}


def _refuse(talk: Talk, goal: Goal) -> None:
    """Nothing fits: the system says so, the user takes the value that can be had."""
    wanted = _wanted(talk, goal)
    wrong = next((slot for slot in wanted if slot in goal.info and goal.info[slot] != wanted[slot]), None)
    slot = wrong or talk.one_of(sorted(slot for slot in wanted if slot not in goal.info))
    bare = thing(goal.domain, wanted, rng=talk.rng, with_article=False)
    talk.say(
        "system.nooffer",
        thing=bare,
        thing_a=f"any {bare}" if bare.endswith("s") else thing(goal.domain, wanted, rng=talk.rng),
    )
    talk.act(f"{_title(goal)}-NoOffer", wanted)
    if talk.chance(0.6):
        talk.say("system.nooffer.ask", what=WHAT.get(slot, slot))
        talk.act(f"{_title(goal)}-Request", {slot: "?"})
    talk.end_turn()
    value = goal.info.get(slot, "dontcare")
    if value == "dontcare":
        tell(talk, goal.domain, {slot: value})
    else:
        talk.say("user.instead", value=instead(slot, value))
        _believe(talk, goal.domain, {slot: value})
    talk.end_turn()


def _ask_slot(talk: Talk, goal: Goal, slot: str, found: int, pending: dict[str, str]) -> None:
    """The system asks for a slot; the user answers, at times with one wish more."""
    if talk.chance(0.35):
        talk.say("system.choice", choice=str(found), plural=PLURALS[goal.domain])
        talk.act(f"{_title(goal)}-Inform", {"choice": str(found)})
    talk.say(f"system.request.{slot}")
    talk.act(f"{_title(goal)}-Request", {slot: "?"})
    talk.end_turn()
    told = {slot: pending.pop(slot, "dontcare")}
    if pending and talk.chance(0.3):
        more = talk.one_of(sorted(pending))
        told[more] = pending.pop(more)
    tell(talk, goal.domain, told)
    talk.end_turn()


def _offer(talk: Talk, goal: Goal, found: list[world.Row]) -> world.Row:
    """The system names a place, alone or beside another."""
    row = talk.rng.choice(found)
    if len(found) == 1:
        talk.say("system.one", name=place(row["name"]))
        talk.act(f"{_title(goal)}-Inform", {"name": row["name"], "choice": "1"})
    elif talk.chance(0.2):
        other = talk.rng.choice([r for r in found if r is not row])
        talk.say("system.select", name=place(row["name"]), other=place(other["name"]))
        talk.act(f"{_title(goal)}-Select", {"name": row["name"]})
        talk.act(f"{_title(goal)}-Select", {"name": other["name"]})
        talk.end_turn()
        return row
    else:
        talk.say("system.recommend", name=place(row["name"]))
        talk.act(f"{_title(goal)}-Recommend", {"name": row["name"]})
    if talk.chance(0.4):
        _about(talk, goal, row)
    elif goal.domain != "attraction" and talk.chance(0.4):
        talk.say("system.offerbook")
        talk.act("Booking-Inform")
    talk.end_turn()
    return row


def _about(talk: Talk, goal: Goal, row: world.Row) -> None:
    slots = talk.rng.sample(INFO[goal.domain], 2)
    shown = {slot: row[slot] for slot in INFO[goal.domain] if slot in slots}
    talk.say("system.about", about=thing(goal.domain, shown, rng=talk.rng))
    talk.act(f"{_title(goal)}-Inform", shown)


def answer(talk: Talk, domain: str, row: world.Row, asked: list[str], *, more: bool) -> None:
    """The user asks for facts, the system tells them."""
    title = domain.capitalize()
    talk.say("user.ask", facts=facts(asked, rng=talk.rng))
    talk.act(f"{title}-Request", dict.fromkeys(asked, "?"))
    talk.end_turn()
    for slot in asked:
        key = {"entrance fee": "fee.free" if row.get(slot) == "free" else "fee"}.get(slot, slot)
        talk.say(f"system.fact.{key}", **{slot.removeprefix("entrance "): row[slot]})
        talk.act(f"{title}-Inform", {slot: row[slot]})
    if more and talk.chance(0.6):
        reqmore(talk)
    talk.end_turn()


def reqmore(talk: Talk) -> None:
    """The system asks whether there is more to do."""
    talk.say("system.reqmore")
    talk.act("general-reqmore")


def book(talk: Talk, goal: Goal, row: world.Row) -> None:
    """The user gives the details at once or on request, the system books, or fails first."""
    wanted = dict(goal.fail_book or goal.book)
    first = sorted(
        talk.rng.sample(sorted(wanted), talk.rng.choice((0, len(wanted), len(wanted), 2))), key=list(wanted).index
    )
    _ask_booking(talk, goal, {slot: wanted[slot] for slot in first})
    while missing := [slot for slot in wanted if not talk.value(goal.domain, slot)]:
        _request_details(talk, goal, missing[: 2 if talk.chance(0.4) else 1], wanted)
    if changed := {slot: goal.book[slot] for slot in wanted if wanted[slot] != goal.book[slot]}:
        _fail_booking(talk, goal, changed)
    reference = talk.one_of(world.REFERENCES)
    talk.say("system.booked", ref=reference)
    talk.act("Booking-Book", {"reference": reference})
    talk.booked(goal.domain, {"name": row["name"], "reference": reference})
    if talk.chance(0.5):
        reqmore(talk)
    talk.end_turn()


def _ask_booking(talk: Talk, goal: Goal, given: dict[str, str]) -> None:
    plain = {slot: value for slot, value in given.items() if slot not in goal.same}
    talk.say("user.book", details=details(plain)) if plain else talk.say("user.book.bare")
    for slot in given:
        if slot in goal.same:
            talk.say(f"user.same.{slot}")
    _believe(talk, goal.domain, given)
    talk.end_turn()


def _request_details(talk: Talk, goal: Goal, slots: list[str], wanted: Mapping[str, str]) -> None:
    for slot in slots:
        talk.say(f"system.request.{slot}")
    talk.act("Booking-Request", dict.fromkeys(slots, "?"))
    talk.end_turn()
    for slot in slots:
        if slot in goal.same:
            talk.say(f"user.same.{slot}")
            _believe(talk, goal.domain, {slot: wanted[slot]})
        else:
            tell(talk, goal.domain, {slot: wanted[slot]})
    talk.end_turn()


def _fail_booking(talk: Talk, goal: Goal, changed: dict[str, str]) -> None:
    slot = next(iter(changed))
    talk.say("system.nobook")
    talk.act("Booking-NoBook", {slot: talk.value(goal.domain, slot)})
    if talk.chance(0.6):
        talk.say("system.nobook.ask", what=WHAT.get(slot, slot))
        talk.act("Booking-Request", {slot: "?"})
    talk.end_turn()
    for slot, value in changed.items():
        talk.say("user.instead", value=instead(slot, value))
    _believe(talk, goal.domain, changed)
    talk.end_turn()
