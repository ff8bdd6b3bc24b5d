"""The tables `[[about]]` of hit.toml: what raters are asked about themselves, once, before the first worked example.

Answers are chosen from a list, so they are coarse by construction, and anybody may prefer not to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crowd.hit_tables import Legal, value_in_short
from dialogue.errors import InputError
from dialogue.validity import LONGEST_ANSWER

MOST = 20


@dataclass(frozen=True, slots=True)
class AboutQuestion:
    """One question about the rater."""

    name: str
    """As `profile` in raters.jsonl calls it."""
    ask: str
    answers: tuple[str, ...]


ABOUT = Legal(f"up to {MOST} tables of name, ask, answers", lambda v: isinstance(v, list) and len(v) <= MOST)


def about_from(values: Sequence[object], where: str) -> tuple[AboutQuestion, ...]:
    """`[[about]]` as it was written, or as a store keeps it."""
    found = tuple(_question(value, f"{where}: about[{place}]") for place, value in enumerate(values))
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{where}: about asks for {twice[0]} twice; give each question a name of its own.")
    return found


def _question(value: object, where: str) -> AboutQuestion:
    if not isinstance(value, Mapping) or set(value) != {"name", "ask", "answers"}:
        found = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
        raise InputError(f"{where} needs name, ask and answers, and nothing else. Found: {found}.")
    name, ask, answers = value["name"], value["ask"], value["answers"]
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise InputError(
            f"{where}.name is {value_in_short(name)}, which is not a name of small letters, digits and _, such as age."
        )
    if not isinstance(ask, str) or not 0 < len(ask.strip()) <= 300:
        raise InputError(f"{where}.ask is {value_in_short(ask)}, which is not text of 1 to 300 characters.")
    _check_answers(answers, where)
    return AboutQuestion(name, ask, tuple(answers))


def _check_answers(answers: Any, where: str) -> None:
    fits = isinstance(answers, (list, tuple)) and len(answers) >= 2 and all(map(_is_answer, answers))
    if not fits or len(set(answers)) < len(answers):
        raise InputError(
            f"{where}.answers is {value_in_short(answers)}, which is not a list of two or more different texts of "
            f"up to {LONGEST_ANSWER} characters. That somebody prefers not to say is added by the page."
        )


def _is_answer(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= LONGEST_ANSWER and value.isprintable()


def told_of_rater(about: Sequence[AboutQuestion], sent: Mapping[str, str]) -> dict[str, str] | None:
    """The answers among those that were sent, without those that were withheld; None where one is missing."""
    told = {one.name: sent.get(f"about-{one.name}") for one in about}  # apart from the other fields of the form
    if any(told[one.name] not in (*one.answers, "") for one in about):
        return None
    return {name: answer for name, answer in told.items() if answer}
