"""The tables `[[questions]]` of hit.toml: what is asked of one pair beside, or instead of, "which is more relevant?".

Kinds: `pairwise` (A, B or a tie, in steps of strength if wanted, and a tie parted into both good and both poor),
`likert` (each response on a scale of its own), `ranking` (all responses of a set, from the best to the worst) and
`comment` (free text, optional unless it is required).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.hit.tables import Legal, check_keys, whole_number
from seedvote.dialogue.errors import InputError

AskedKind = Literal["pairwise", "likert", "ranking", "comment"]
KINDS: tuple[AskedKind, ...] = ("pairwise", "likert", "ranking", "comment")
MOST = 12


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question that a rater answers about each pair."""

    name: str
    """As votes.jsonl and `--question` call it."""
    ask: str
    """As the rater reads it."""
    kind: AskedKind = "pairwise"
    tie: Literal["one", "split", "none"] = "one"
    """pairwise: one tie, parted into both good and both poor, or none; ranking: whether equal ranks are allowed."""
    strength: tuple[str, ...] = ()
    """pairwise: the steps from slight to strong, in words; empty: A or B alone."""
    points: int = 5
    """likert: the points of the scale."""
    labels: tuple[str, ...] = ()
    """likert: the words of the two ends, or of every point; empty: numbers alone."""
    required: bool = False
    """comment: whether the page insists on a text."""

    @property
    def makes_votes(self) -> bool:
        """Whether it says anything of the responses that can be counted."""
        return self.kind != "comment"


def _legal_texts(low: int, high: int, longest: int) -> Legal:
    def are_texts(value: Any) -> bool:
        return (
            isinstance(value, (list, tuple))
            and low <= len(value) <= high
            and all(map(_legal_word(longest).holds, value))
        )

    return Legal(f"a list of {low} to {high} texts of up to {longest} characters", are_texts)


def _legal_word(longest: int) -> Legal:
    fits = lambda value: isinstance(value, str) and bool(value.strip()) and len(value) <= longest  # noqa: E731
    return Legal(f"text of 1 to {longest} characters", fits)


def _legal_choice(*words: str) -> Legal:
    return Legal("one of " + ", ".join(words), lambda value: value in words)


_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
QUESTION_KEYS: Mapping[str, Legal] = {
    "name": Legal(
        "a name of small letters, digits and _, such as fluency",
        lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)),
    ),
    "ask": _legal_word(300),
    "kind": _legal_choice(*KINDS),
    "tie": _legal_choice("one", "split", "none"),
    "strength": _legal_texts(1, 4, 40),
    "points": whole_number(2, 10),
    "labels": _legal_texts(2, 10, 60),
    "required": Legal("true or false", lambda value: type(value) is bool),
}
OF_KIND: Mapping[str, tuple[AskedKind, ...]] = {
    "tie": ("pairwise", "ranking"),
    "strength": ("pairwise",),
    "points": ("likert",),
    "labels": ("likert",),
    "required": ("comment",),
}
QUESTIONS = Legal(
    f"1 to {MOST} tables of {', '.join(QUESTION_KEYS)}, with name and ask",
    lambda value: isinstance(value, (list, tuple)) and 0 < len(value) <= MOST and all(map(_is_table, value)),
)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and {"name", "ask"} <= set(value) <= set(QUESTION_KEYS)


def questions_from(values: Sequence[Mapping[str, Any]], where: str) -> tuple[AskedQuestion, ...]:
    """`[[questions]]` as it was written, checked one by one and together."""
    questions = tuple(_question_from(value, f"questions[{place}]", where) for place, value in enumerate(values))
    names = [question.name for question in questions]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{where}: two questions are called {twice[0]}; give each a name of its own.")
    return questions


def questions_from_kept(values: Sequence[Mapping[str, Any]]) -> tuple[AskedQuestion, ...]:
    """The same as a store keeps it, every key of every kind with its value."""
    lists = ("strength", "labels")
    options: list[dict[str, Any]] = [{k: tuple(v) if k in lists else v for k, v in option.items()} for option in values]
    return tuple(AskedQuestion(**option) for option in options)


def _question_from(value: Mapping[str, Any], table: str, where: str) -> AskedQuestion:
    check_keys(table, QUESTION_KEYS, value, where)
    kind = value.get("kind", "pairwise")
    if strange := [key for key in value if kind not in OF_KIND.get(key, (kind,))]:
        kinds = " or ".join(OF_KIND[strange[0]])
        raise InputError(f"{where}: {table}.{strange[0]} is for kind {kinds}, and this one is {kind}.")
    if kind == "ranking" and value.get("tie") == "split":
        raise InputError(f"{where}: {table}.tie is 'split'; a ranking has equal ranks (one) or none (none).")
    (question,) = questions_from_kept([value])
    if question.labels and len(question.labels) not in (2, question.points):
        raise InputError(
            f"{where}: {table}.labels has {len(question.labels)} words; give the 2 ends, or one for each of the "
            f"{question.points} points."
        )
    return question


def check_kinds(questions: Sequence[AskedQuestion], form: FormName, where: str) -> None:
    """Refuse what this form cannot show, and comments alone where no other answer is there to be counted."""
    kinds_of_form = FORMS[form].question_kinds
    if strange := [question for question in questions if question.kind not in kinds_of_form]:
        raise InputError(
            f"{where}: the question {strange[0].name} is of kind {strange[0].kind}, which the form {form} does not "
            f"show. It may be {', '.join(kinds_of_form)}; sets of responses are ranked (form = 'responses'), pairs "
            "compared (form = 'pairs'), and beside the pick of an option (form = 'choice') only comments are asked for."
        )
    if questions and kinds_of_form != ("comment",) and not any(question.makes_votes for question in questions):
        raise InputError(f"{where}: questions holds comments alone; ask one that is counted beside them.")
