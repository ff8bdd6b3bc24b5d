"""A record out of parsed JSON: every field of the right type, and nothing that a record may not say all the same."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, Literal, TypeVar

from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.parts import complain_of_part, parts_from, spell_parts
from seedvote.dialogue.records import (
    Candidate,
    Choice,
    Comment,
    HeldConversation,
    MarkedPassage,
    OptionChoice,
    Pair,
    Part,
    Question,
    Rater,
    Response,
    ResponseRating,
    ResponseSet,
    Utterance,
    Verdict,
    Vote,
)
from seedvote.dialogue.tokens import normalize

R = TypeVar("R")
FORMATS: dict[type, str] = {
    Response: "responses",
    Pair: "pairs",
    Vote: "votes",
    Rater: "raters",
    Verdict: "verdicts",
    Question: "questions",
    OptionChoice: "choices",
    Comment: "comments",
    HeldConversation: "conversations",
    MarkedPassage: "marks",
    ResponseSet: "response_sets",
    ResponseRating: "ratings",
}
LONGEST_REPLY = 2000  # characters of a judge's reply
LONGEST_ANSWER = 80  # characters of an answer about the rater: more is free text, which may name somebody
ROUNDING = 2e-3  # three probabilities may each be rounded to three digits


def singular(kind: type) -> str:
    """What one record is called, in sentences and in docs/format.md.

    >>> singular(OptionChoice), singular(Pair)
    ('choice', 'pair')
    """
    return FORMATS[kind].removesuffix("s") if kind in FORMATS else kind.__name__.lower()


@cache
def field_names(kind: Any) -> tuple[str, ...]:
    """The fields of a record, in order."""
    return tuple(f.name for f in dataclasses.fields(kind))


@cache
def typed_fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Each field but `extra`, with its type and whether it must be there.

    Cached, because resolving the annotations takes longer than checking a record.
    """
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        f.name: (hints[f.name], f.default is missing and f.default_factory is missing)
        for f in dataclasses.fields(kind)
        if f.name != "extra"
    }


def from_json(kind: type[R], value: Mapping[str, Any], where: str) -> R:
    """Build one record from parsed JSON; every complaint names the place, the field and what is legal."""
    fields = typed_fields(kind)  # type: ignore[arg-type]
    if "parts" in fields and isinstance(value.get("text"), list):
        value = _with_parts(value, f"{where}: text")
    if absent := [name for name, (_, required) in fields.items() if required and name not in value]:
        raise InputError(
            f"{where}: {', '.join(absent)} missing; a {singular(kind)} needs it. "
            f"Found: {', '.join(map(str, value)) or 'nothing'}. See docs/format.md."
        )
    known = {n: make_check(t)(value[n], f"{where}: {n}") for n, (t, _) in fields.items() if n in value}
    if "extra" in field_names(kind):  # type: ignore[arg-type]
        known["extra"] = {name: part for name, part in value.items() if name not in fields}
    record = kind(**known)
    if wrong := complaint(record):
        raise InputError(f"{where}: {wrong}")
    return record


def _with_parts(value: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """A record whose text is a list of parts: the parts, and the text that is written out of them."""
    parts = list(parts_from(value["text"], where))
    checked = [from_json(Part, part, f"{where}[{place}]") for place, part in enumerate(parts)]
    return {**value, "parts": parts, "text": spell_parts(checked)}


@cache
def make_check(expected: Any) -> Callable[[Any, str], Any]:
    """How a value of this type is checked, and what becomes of it; found once for each type, as it takes longer."""
    origin, options = typing.get_origin(expected), typing.get_args(expected)
    plain = partial(_check_plain, expected)
    if expected is Any:
        return lambda value, _: value
    if origin is Literal:
        return partial(_check_legal, options)
    if origin in (typing.Union, types.UnionType):
        absent, inner = type(None) in options, make_check(options[0])
        return lambda value, where: None if absent and value is None else inner(value, where)
    if origin is tuple:
        return lambda value, where: tuple(value) if isinstance(value, (list, tuple)) else plain(value, where)
    if origin is not None and issubclass(origin, Mapping):
        part_of = make_check(options[1])
        return lambda value, where: (
            {name: part_of(part, f"{where}.{name}") for name, part in value.items()}
            if isinstance(value, dict)
            else plain(value, where)
        )
    if origin is not None and issubclass(origin, Sequence):
        check_part = make_check(options[0])
        return lambda value, where: (
            tuple(check_part(part, f"{where}[{i}]") for i, part in enumerate(value))
            if isinstance(value, list)
            else plain(value, where)
        )
    return plain


def _check_legal(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value not in options:
        ours = where.endswith(": choice") and set(options) == set(typing.get_args(Choice))
        hint = " If the file is from another tool, map it: --values " if ours else ""
        raise InputError(
            f"{where} is {value_in_short(value)}, which is not one of {', '.join(options)}."
            + (f"{hint}a={value},..." if hint else "")
        )
    return value


def _check_plain(expected: Any, value: Any, where: str) -> Any:
    if type(value) is expected:
        return value
    if dataclasses.is_dataclass(expected) and isinstance(value, dict):
        return from_json(expected, value, where)  # type: ignore[arg-type]
    if expected is float and type(value) in (int, float):
        with suppress(OverflowError):  # whole numbers of JSON have no largest one
            return float(value)
    # The type was compared, as True is an int in Python and would pass for a whole number.
    wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}.get(expected, "an object")
    raise InputError(f"{where} is {value_in_short(value)}, which is not {wanted}.")


# What a record may not say


def complaint(record: Any) -> str:
    """The first thing that is wrong with the record, with what is legal; empty if nothing is.

    >>> complaint(Verdict("p1", "gpt-x", "ab", "a", probability={"a": 0.9, "b": 0.9, "tie": 0.0}))
    'probability adds to 1.8; those of a, b and tie must add to 1. Write null where the judge gave none.'
    """
    rule = RULES.get(type(record))
    return "" if rule is None else next(rule(record), "")


def _check_verdict(verdict: Verdict) -> Iterator[str]:
    yield from _check_not_empty(pair=verdict.pair, judge=verdict.judge)
    yield from _check_not_negative(
        draw=verdict.draw, tokens_in=verdict.tokens_in, tokens_out=verdict.tokens_out, seconds=verdict.seconds
    )
    if verdict.probability is not None:
        yield from _check_probability(verdict.probability)
    if len(verdict.reply) > LONGEST_REPLY:
        yield f"reply has {len(verdict.reply):,} characters; keep the first {LONGEST_REPLY:,}."


def _check_probability(probability: Mapping[str, float]) -> Iterator[str]:
    step = "Write null where the judge gave none."
    if set(probability) != {"a", "b", "tie"}:
        yield f"probability has {', '.join(probability) or 'nothing'}; it needs a, b and tie, and nothing else. {step}"
        return
    for name, value in probability.items():
        if not 0 <= value <= 1:
            yield f"probability.{name} is {value:g}; a probability is between 0 and 1. {step}"
    if abs((total := math.fsum(probability.values())) - 1) > ROUNDING:
        yield f"probability adds to {total:.4g}; those of a, b and tie must add to 1. {step}"


def _check_question(question: Question) -> Iterator[str]:
    yield from _check_not_empty(question=question.question, item=question.item)
    if (options := len(question.options)) < 2:
        number = "1 option" if options == 1 else "no options"
        yield f"the question has {number}; it needs two or more. Leave the question out."
    yield from _check_distinct([option.text for option in question.options if not option.parts])
    if not 0 <= question.answer < options:
        yield f"answer is {question.answer}; it is the index of the true option, here 0 to {options - 1}."
    if question.version < 1:
        yield f"version is {question.version}; versions count from 1."


def _check_distinct(texts: Sequence[str]) -> Iterator[str]:
    """Options that nobody could tell apart, or that show nothing."""
    places: dict[str, int] = {}
    for place, text in enumerate(texts):
        if not (plain := normalize(text)):
            yield f"options[{place}].text is empty; every option needs a text. Draw another one."
        elif (first := places.setdefault(plain, place)) != place:
            yield f"options {first} and {place} read the same ({text[:40]!r}), so two are right. Draw another one."


def _check_choice(choice: OptionChoice) -> Iterator[str]:
    yield from _check_not_empty(question=choice.question, rater=choice.rater)
    yield from _check_not_negative(first=choice.first, second=choice.second, round=choice.round, seconds=choice.seconds)
    if choice.first is None and choice.second is not None:
        yield f"second is {choice.second} and first is null; write the only choice as first."
    if choice.first is not None and choice.first == choice.second:
        yield f"first and second are both {choice.first}; they are two different options, or second is null."
    if choice.shown:
        yield from _check_order(choice)


def _check_order(choice: OptionChoice) -> Iterator[str]:
    """The places of the options: every index from 0 once, and those that were chosen among them."""
    order = option_order(choice.shown)
    if len(order) < 2 or sorted(order) != sorted(map(str, range(len(order)))):
        yield (
            f"shown is {choice.shown!r}; it names every option once, e.g. 20413 for five, with commas if more than ten."
        )
        return
    for name, index in (("first", choice.first), ("second", choice.second)):
        if index is not None and index >= len(order):
            yield f"{name} is {index}, and only options 0 to {len(order) - 1} were shown ({choice.shown})."


def option_order(places: str) -> list[str]:
    """The indices of the options in the order in which they were shown.

    >>> option_order("201"), option_order("10,2,0")
    (['2', '0', '1'], ['10', '2', '0'])
    """
    return places.split(",") if "," in places else list(places)


def _check_rater(rater: Rater) -> Iterator[str]:
    for name, answer in rater.profile.items():
        yield from _check_not_empty(
            **{f"profile.{name}": answer} if name.strip() else {"the name of an answer of profile": ""}
        )
        if len(answer) > LONGEST_ANSWER:
            yield (
                f"profile.{name} has {len(answer)} characters; it is an answer chosen from a list (at most "
                f"{LONGEST_ANSWER}), never free text, which may name somebody."
            )


def _check_response(response: Response) -> Iterator[str]:
    for domain, slots in (response.state or {}).items():
        if not domain.strip() or not all(slot.strip() for slot in slots):
            yield f"state has a {'slot' if domain.strip() else 'domain'} without a name; write domain -> slot -> value."
    if any(not domain.strip() for domain in response.domains or ()):
        yield "domains has an empty name; leave it out."


def written_out(turns: Sequence[Utterance]) -> str:
    """A conversation in one text, for whatever knows a pair's texts alone.

    >>> written_out([Utterance("user", "Hi."), Utterance("system", "Hello.")])
    'user: Hi.\\nsystem: Hello.'
    """
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)


def _check_candidate(candidate: Candidate) -> Iterator[str]:
    if candidate.turns is None:
        if candidate.speaker:
            yield f"speaker is {candidate.speaker!r} and turns is missing; a response alone has no speaker."
        return
    if not candidate.turns:
        yield "turns is empty; a conversation has one turn or more. Leave the pair out."
    if candidate.speaker not in (names := list(dict.fromkeys(turn.speaker for turn in candidate.turns))):
        yield f"speaker is {candidate.speaker!r}, who says nothing in turns; those who speak are: {', '.join(names)}."
    if candidate.text != written_out(candidate.turns):
        yield "text is not what turns say; it has one line for each of them: `speaker: text`."


def _check_pair(pair: Pair) -> Iterator[str]:
    for name, side in (("a", pair.a), ("b", pair.b)):
        yield from (f"{name}: {wrong}" for wrong in _check_candidate(side))
    # a response without a text is held live: next to it, turns are what is played
    if (pair.a.turns is None) != (pair.b.turns is None) and any(
        side.turns is None and side.text for side in (pair.a, pair.b)
    ):
        conversation, response = ("a", "b") if pair.b.turns is None else ("b", "a")
        yield f"{conversation} is a whole conversation and {response} is not; compare two of one kind."


def claims_of(responses: int) -> list[str]:
    """Everything that a check of so many responses may ask.

    >>> claims_of(1), len(claims_of(2))
    (['low:0', 'high:0'], 10)
    """
    words = ("best", "worst", "low", "high") if responses > 1 else ("low", "high")
    claims = [f"{word}:{response}" for response in range(responses) for word in words]
    return claims + [
        f"{response}>{rival}" for response in range(responses) for rival in range(responses) if response != rival
    ]


def shown_key(content: Any) -> tuple[Any, ...]:
    """What a rater is shown of a record with a text: equal where two show the same, whatever their words alone say."""
    return content.text, *(content.parts or ())


def _check_response_set(group: ResponseSet) -> Iterator[str]:
    yield from _check_not_empty(set=group.set, item=group.item)
    if not group.responses:
        yield "responses is empty; it needs one or more."
    is_identical = len({shown_key(response) for response in group.responses}) == 1 < len(group.responses)
    if is_identical != group.identical:
        words = "all" if is_identical else "not all"
        yield f"identical is {str(group.identical).lower()}, and the texts are {words} the same."
    claims = {
        **({"answer": group.answer} if group.answer else {}),
        **{f"answers.{k}": v for k, v in group.answers.items()},
    }
    if group.kind != "check" and claims:
        yield f"{next(iter(claims))} is given, and the set is no check (kind is {group.kind})."
    if group.kind == "check" and not claims:
        yield "a check needs answer: what must hold, such as best:0, 0>1, low:0 or high:0."
    for name, claim in claims.items():
        if claim not in claims_of(len(group.responses)):
            legal = "best:0, worst:0, 0>1, low:0, high:0" if group.responses[1:] else "low:0, high:0"
            many = len(group.responses)
            yield f"{name} is {claim!r}; of {many} it may be like {legal}, with responses counted from 0."


def _check_rating(rating: ResponseRating) -> Iterator[str]:
    yield from _check_not_empty(set=rating.set, rater=rating.rater, question=rating.question, system=rating.system)
    yield from _check_not_negative(score=rating.score, round=rating.round, seconds=rating.seconds)
    if (rating.score is None) == (rating.rank is None):
        yield "score and rank are both given, or none of them is; a scale gives a score, a ranking a rank."
    if rating.rank is not None and not 1 <= rating.rank <= rating.of:
        yield f"rank is {rating.rank:g}, which is not between 1 and {rating.of}, the number of responses."


def _check_not_empty(**texts: str) -> Iterator[str]:
    for name, text in texts.items():
        if not text.strip():
            yield f"{name} is empty; write a text."


def _check_not_negative(**numbers: float | None) -> Iterator[str]:
    for name, value in numbers.items():
        if value is not None and not 0 <= value < math.inf:
            yield f"{name} is {value:g}; it is a number from 0 on, or null."


def _check_passage(passage: MarkedPassage) -> Iterator[str]:
    yield from _check_not_empty(pair=passage.pair, rater=passage.rater, category=passage.category)
    if not 0 <= passage.start < passage.end:
        yield f"start is {passage.start} and end is {passage.end}; a passage has one character or more."


RULES: dict[type, Callable[[Any], Iterator[str]]] = {
    Part: complain_of_part,
    MarkedPassage: _check_passage,
    Verdict: _check_verdict,
    Question: _check_question,
    OptionChoice: _check_choice,
    Rater: _check_rater,
    Response: _check_response,
    Candidate: _check_candidate,
    Pair: _check_pair,
    ResponseSet: _check_response_set,
    ResponseRating: _check_rating,
}
