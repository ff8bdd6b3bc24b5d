"""The tables `[[about]]` of hit.toml: what raters are asked about themselves, once, before the pairs or at the end.

Answers are chosen from a list, so they are coarse by construction, and anybody may prefer not to say. A comment is the
exception: free text, at the end only, never needed, and kept and exported apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seedvote.crowd.hit.tables import Legal
from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.validity import LONGEST_ANSWER

MOST = 20
LONGEST_COMMENT = 2000  # characters, as browsers count those of a text box
When = Literal["before", "after"]


class TooLong(Exception):
    """A text is longer than a page allows."""


@dataclass(frozen=True, slots=True)
class AboutQuestion:
    """One question about the rater."""

    name: str
    """As `profile` in raters.jsonl calls it."""
    ask: str
    answers: tuple[str, ...] = ()
    """Of a comment none."""
    when: When = "before"
    kind: Literal["choice", "comment"] = "choice"


KEYS = ("name", "ask", "answers", "when", "kind")
ABOUT = Legal(
    f"up to {MOST} tables of {', '.join(KEYS)}, with name and ask", lambda v: isinstance(v, list) and len(v) <= MOST
)


def about_from(values: Sequence[object], where: str) -> tuple[AboutQuestion, ...]:
    """`[[about]]` as it was written, or as a store keeps it."""
    questions = tuple(_read_question(value, f"{where}: about[{place}]") for place, value in enumerate(values))
    names = [question.name for question in questions]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{where}: about asks for {twice[0]} twice; give each question a name of its own.")
    return questions


def _read_question(value: object, where: str) -> AboutQuestion:
    if not isinstance(value, Mapping) or not {"name", "ask"} <= set(value) <= set(KEYS):
        value_text = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
        raise InputError(f"{where} needs name, ask and answers, and may have when and kind. Found: {value_text}.")
    name, ask, answers = value["name"], value["ask"], value.get("answers", ())
    when, kind = value.get("when", "before"), value.get("kind", "choice")
    if kind == "choice" and "answers" not in value:
        raise InputError(f"{where} needs name, ask and answers; a comment needs no answers.")
    if when not in ("before", "after") or kind not in ("choice", "comment"):
        raise InputError(f"{where}: when is before or after, kind is choice or comment. Found: {when!r}, {kind!r}.")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise InputError(
            f"{where}.name is {value_in_short(name)}, which is not a name of small letters, digits and _, such as age."
        )
    if not isinstance(ask, str) or not 0 < len(ask.strip()) <= 300:
        raise InputError(f"{where}.ask is {value_in_short(ask)}, which is not text of 1 to 300 characters.")
    if kind == "choice":
        _check_answers(answers, where)
    elif answers or when == "before":
        raise InputError(
            f'{where} is a comment: it is asked when = "after" the pairs, and has no answers to choose from.'
        )
    return AboutQuestion(name, ask, tuple(answers), when, kind)


def _check_answers(answers: Any, where: str) -> None:
    fits = isinstance(answers, (list, tuple)) and len(answers) >= 2 and all(map(_is_answer, answers))
    if not fits or len(set(answers)) < len(answers):
        raise InputError(
            f"{where}.answers is {value_in_short(answers)}, which is not a list of two or more different texts of "
            f"up to {LONGEST_ANSWER} characters. That somebody prefers not to say is added by the page."
        )


def _is_answer(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= LONGEST_ANSWER and value.isprintable()


@dataclass(frozen=True, slots=True)
class ToldOfRater:
    """What a rater told about themselves; what was withheld is in neither."""

    answers: Mapping[str, str]
    comments: Mapping[str, str]


def told_of_rater(
    about: Sequence[AboutQuestion], sent: Mapping[str, str], *, leaving: bool = False
) -> ToldOfRater | None:
    """The answers among those that were sent; None where one that is to be chosen is missing.

    Of somebody who is `leaving`, what there is: nobody is there to choose the rest.
    """
    choices = {
        question.name: sent.get(f"about-{question.name}") for question in about
    }  # apart from the other fields of the form
    lacking = [
        question.name
        for question in about
        if question.kind == "choice" and choices[question.name] not in (*question.answers, "")
    ]
    if lacking and not leaving:
        return None
    choices |= dict.fromkeys(lacking, "")
    texts = {
        question.name: as_comment(choices.pop(question.name) or "") for question in about if question.kind == "comment"
    }
    return ToldOfRater(*({name: answer for name, answer in answers.items() if answer} for answers in (choices, texts)))


def as_comment(text: str) -> str:
    r"""What somebody wrote, as it is kept; it is kept whole or not at all.

    >>> as_comment(" first\r\nsecond ")
    'first\nsecond'
    """
    text = text.replace("\0", "").replace("\r\n", "\n")
    if len(text) > LONGEST_COMMENT:
        raise TooLong(f"a text has {len(text)} characters")
    return text.strip()
