"""Toy dialogues in which the order of words decides: two things are wanted, and the first one named comes first.

Both things stand in the user's first turn, so that only their order tells which of them the system asks about.
"""

from __future__ import annotations

import random

from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.goals import Goal
from seedvote.dialogue.corpora.toy.talk import Talk

PLANNED = ("restaurant", "hotel", "train", "bus")
ASKED = {"restaurant": "food", "hotel": "pricerange", "train": "destination", "bus": "destination"}


def make_plan(*, rng: random.Random) -> tuple[Goal, Goal]:
    """The thing wanted first and the one wanted after it, for so many people on one day."""
    first, second = rng.sample(PLANNED, 2)
    shared = {"people": str(rng.randint(2, 8)), "day": rng.choice(world.DAYS)}
    wanted = rng.choice(world.make_databases()[first])[ASKED[first]]
    return Goal(first, {ASKED[first]: wanted}, book=shared), Goal(second, {}, book=shared)


def follow_plan(talk: Talk, first: Goal, second: Goal) -> None:
    """The plan, a question about its first part, the answer and what is found."""
    slot = ASKED[first.domain]
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
