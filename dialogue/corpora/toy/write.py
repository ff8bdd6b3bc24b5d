"""Writes a corpus of generated dialogues in the form of MultiWOZ 2.1: goals, belief states, acts, databases.

Dialogue n follows from the seed and n alone, so a longer corpus begins with the shorter one. Every tenth dialogue is
valid, every tenth test. What is generated, and what it can not stand for: docs/corpora.md.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora.sources import SPLITS
from seedvote.dialogue.corpora.toy import world as world
from seedvote.dialogue.corpora.toy.conversations import (
    Goal,
    ask_hospital,
    draw_goals,
    follow_plan,
    make_plan,
    order_taxi,
    plan_journey,
    visit_place,
)
from seedvote.dialogue.corpora.toy.persona import persona_chat
from seedvote.dialogue.corpora.toy.talk import SEMI, Talk
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, read_json, write_json
from seedvote.dialogue.seeds import child_random
from seedvote.dialogue.signature import signature

CONVERSE = {
    "restaurant": visit_place,
    "hotel": visit_place,
    "attraction": visit_place,
    "train": plan_journey,
    "bus": plan_journey,
    "taxi": order_taxi,
    "hospital": ask_hospital,
}
CHATS = ("weather", "birthday", "first", "bot")
TENTH = {4: "valid", 9: "test"}


def split_of_number(number: int) -> str:
    """The split of dialogue `number`."""
    return TENTH.get(number % 10, "train")


def dialogue_id(number: int) -> str:
    """The id of dialogue `number`."""
    return f"TOY{number:05d}"


def write_toy(out: str | Path, dialogues: int, *, seed: int, kind: str = "multiwoz") -> bool:
    """Write a corpus of `kind` multiwoz, plans or personachat into `out`; false where it is there already."""
    if dialogues < 10:
        raise InputError(f"{dialogues} dialogues would leave a split empty; write 10 or more.")
    out = Path(out)
    recipe = signature(corpus="toy", kind=kind, dialogues=dialogues, seed=seed)
    if _is_written(out, recipe):
        return False
    write_json(out / "recipe.json", {"signature": recipe, "complete": False})
    if kind == "personachat":
        _write_chats(out, dialogues, seed=seed)
    else:
        _write_multiwoz(out, dialogues, seed=seed, kind=kind)
    write_json(out / "recipe.json", {"signature": recipe, "complete": True})
    return True


def _is_written(out: Path, recipe: str) -> bool:
    """Whether the corpus of this recipe is in the folder, whole; nothing else that is there is ever written over."""
    if not out.exists() or not any(out.iterdir()):
        return False
    if not (out / "recipe.json").exists():
        raise InputError(f"{out} holds files that are no generated corpus. Give a new or empty folder.")
    record = read_json(out / "recipe.json")
    if record.get("signature") != recipe:
        raise InputError(f"{out} holds another corpus ({record.get('signature')}). Remove it or give a new folder.")
    return bool(record.get("complete"))


def _write_multiwoz(out: Path, dialogues: int, *, seed: int, kind: str) -> None:
    with atomic(out / "data.json") as handle:
        for number, raw in enumerate(generate_dialogues(dialogues, seed=seed, kind=kind)):
            handle.write(("{" if number == 0 else ",") + f'\n"{dialogue_id(number)}": {json.dumps(raw)}')
        handle.write("\n}\n")
    for split, name in (("valid", "valListFile.txt"), ("test", "testListFile.txt")):
        with atomic(out / name) as handle:
            handle.writelines(f"{dialogue_id(n)}\n" for n in range(dialogues) if split_of_number(n) == split)
    for domain, rows in world.make_databases().items():
        write_json(out / "db" / f"{domain}_db.json", rows)


def _write_chats(out: Path, dialogues: int, *, seed: int) -> None:
    for split in SPLITS:
        with atomic(out / f"{split}.jsonl") as handle:
            for number in range(dialogues):
                if split_of_number(number) == split:
                    chat = persona_chat(rng=child_random(seed, "persona chat", number))
                    handle.write(json.dumps({"split": split, **chat}) + "\n")


def generate_dialogues(dialogues: int, *, seed: int, kind: str = "multiwoz") -> Iterator[dict[str, Any]]:
    """Dialogues in the form of MultiWOZ 2.1: `{"goal": ..., "log": [turn, ...]}`."""
    generate = generate_plan if kind == "plans" else generate_one
    for number in range(dialogues):
        yield generate(rng=child_random(seed, "toy", number))


def generate_one(*, rng: random.Random) -> dict[str, Any]:
    """One dialogue."""
    goals = draw_goals(rng=rng)
    talk = Talk(rng)
    if talk.chance(0.15):
        _add_greeting(talk)
    chat_after = rng.randint(1, len(goals)) if talk.chance(0.15) else 0
    for number, goal in enumerate(goals, 1):
        CONVERSE[goal.domain](talk, goal)
        if number == chat_after:
            _add_chat(talk)
    _say_goodbye(talk)
    return {"goal": _goal_json(goals), "log": talk.log}


def generate_plan(*, rng: random.Random) -> dict[str, Any]:
    """One dialogue in which the order of two wishes decides."""
    goals, talk = make_plan(rng=rng), Talk(rng)
    follow_plan(talk, *goals)
    return {"goal": _goal_json([*goals]), "log": talk.log}


def _add_greeting(talk: Talk) -> None:
    for who in ("user", "system"):
        talk.say(f"{who}.greet")
        talk.act("general-greet")
        talk.end_turn()


def _add_chat(talk: Talk) -> None:
    subject = talk.one_of(CHATS)
    for who in ("user", "system"):
        talk.say(f"{who}.chat.{subject}")
        talk.act("general-greet")
        if who == "system" and talk.chance(0.5):
            talk.reqmore()
        talk.end_turn()


def _say_goodbye(talk: Talk) -> None:
    talk.say("user.thanks.no" if "general-reqmore" in talk.log[-1]["dialog_act"] else "user.thanks")
    talk.act("general-thank")
    talk.end_turn()
    acts = talk.one_of((("welcome",), ("bye",), ("welcome", "bye")))
    for act in acts:
        talk.say(f"system.{act}")
        talk.act(f"general-{act}")
    talk.end_turn()


def _goal_json(goals: list[Goal]) -> dict[str, Any]:
    by_domain: dict[str, Any] = {domain: {} for domain in SEMI}
    for goal in goals:
        parts = ("info", "fail_info", "book", "fail_book", "reqt")
        by_domain[goal.domain] = {part: getattr(goal, part) for part in parts}
    return by_domain
