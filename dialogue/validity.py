"""What a record may not say although each of its fields is of the right type: one sentence, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dialogue.records import (
    Candidate,
    OptionChoice,
    Pair,
    Question,
    Rater,
    Response,
    ResponseRating,
    ResponseSet,
    Utterance,
    Verdict,
)
from dialogue.tokens import normalize

LONGEST_REPLY = 2000  # characters of a judge's reply
LONGEST_ANSWER = 80  # characters of an answer about the rater: more is free text, which may name somebody
ROUNDING = 2e-3  # three probabilities may each be rounded to three digits


def complaint(record: Any) -> str:
    """The first thing that is wrong with the record, with what is legal; empty if nothing is.

    >>> complaint(Verdict("p1", "gpt-x", "ab", "a", probability={"a": 0.9, "b": 0.9, "tie": 0.0}))
    'probability adds to 1.8; those of a, b and tie must add to 1. Write null where the judge gave none.'
    """
    rule = RULES.get(type(record))
    return "" if rule is None else next(rule(record), "")


def _verdict(one: Verdict) -> Iterator[str]:
    yield from _empty(pair=one.pair, judge=one.judge)
    yield from _negative(draw=one.draw, tokens_in=one.tokens_in, tokens_out=one.tokens_out, seconds=one.seconds)
    if one.probability is not None:
        yield from _probability(one.probability)
    if len(one.reply) > LONGEST_REPLY:
        yield f"reply has {len(one.reply):,} characters; keep the first {LONGEST_REPLY:,}."


def _probability(found: Mapping[str, float]) -> Iterator[str]:
    step = "Write null where the judge gave none."
    if set(found) != {"a", "b", "tie"}:
        yield f"probability has {', '.join(found) or 'nothing'}; it needs a, b and tie, and nothing else. {step}"
        return
    for name, value in found.items():
        if not 0 <= value <= 1:
            yield f"probability.{name} is {value:g}; a probability is between 0 and 1. {step}"
    if abs((total := math.fsum(found.values())) - 1) > ROUNDING:
        yield f"probability adds to {total:.4g}; those of a, b and tie must add to 1. {step}"


def _question(one: Question) -> Iterator[str]:
    yield from _empty(question=one.question, item=one.item)
    if (options := len(one.options)) < 2:
        found = "1 option" if options == 1 else "no options"
        yield f"the question has {found}; it needs two or more. Leave the question out."
    yield from _alike([option.text for option in one.options])
    if not 0 <= one.answer < options:
        yield f"answer is {one.answer}; it is the index of the true option, here 0 to {options - 1}."
    if one.version < 1:
        yield f"version is {one.version}; versions count from 1."


def _alike(texts: Sequence[str]) -> Iterator[str]:
    """Options that nobody could tell apart, or that show nothing."""
    seen: dict[str, int] = {}
    for place, text in enumerate(texts):
        if not (plain := normalize(text)):
            yield f"options[{place}].text is empty; every option needs a text. Draw another one."
        elif (first := seen.setdefault(plain, place)) != place:
            yield f"options {first} and {place} read the same ({text[:40]!r}), so two are right. Draw another one."


def _choice(one: OptionChoice) -> Iterator[str]:
    yield from _empty(question=one.question, rater=one.rater)
    yield from _negative(first=one.first, second=one.second, round=one.round, seconds=one.seconds)
    if one.first is None and one.second is not None:
        yield f"second is {one.second} and first is null; write the only choice as first."
    if one.first is not None and one.first == one.second:
        yield f"first and second are both {one.first}; they are two different options, or second is null."
    if one.shown:
        yield from _shown(one)


def _shown(one: OptionChoice) -> Iterator[str]:
    """The places of the options: every index from 0 once, and those that were chosen among them."""
    found = option_order(one.shown)
    if len(found) < 2 or sorted(found) != sorted(map(str, range(len(found)))):
        yield f"shown is {one.shown!r}; it names every option once, e.g. 20413 for five, with commas if more than ten."
        return
    for name, index in (("first", one.first), ("second", one.second)):
        if index is not None and index >= len(found):
            yield f"{name} is {index}, and only options 0 to {len(found) - 1} were shown ({one.shown})."


def option_order(shown: str) -> list[str]:
    """The indices of the options in the order in which they were shown.

    >>> option_order("201"), option_order("10,2,0")
    (['2', '0', '1'], ['10', '2', '0'])
    """
    return shown.split(",") if "," in shown else list(shown)


def _rater(one: Rater) -> Iterator[str]:
    for name, answer in one.profile.items():
        yield from _empty(**{f"profile.{name}": answer} if name.strip() else {"the name of an answer of profile": ""})
        if len(answer) > LONGEST_ANSWER:
            yield (
                f"profile.{name} has {len(answer)} characters; it is an answer chosen from a list (at most "
                f"{LONGEST_ANSWER}), never free text, which may name somebody."
            )


def _response(one: Response) -> Iterator[str]:
    for domain, slots in (one.state or {}).items():
        if not domain.strip() or not all(slot.strip() for slot in slots):
            yield f"state has a {'slot' if domain.strip() else 'domain'} without a name; write domain -> slot -> value."
    if any(not domain.strip() for domain in one.domains or ()):
        yield "domains has an empty name; leave it out."


def written_out(turns: Sequence[Utterance]) -> str:
    """A conversation in one text, for whatever knows a pair's texts alone.

    >>> written_out([Utterance("user", "Hi."), Utterance("system", "Hello.")])
    'user: Hi.\\nsystem: Hello.'
    """
    return "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)


def _candidate(one: Candidate) -> Iterator[str]:
    if one.turns is None:
        if one.speaker:
            yield f"speaker is {one.speaker!r} and turns is missing; a response alone has no speaker."
        return
    if not one.turns:
        yield "turns is empty; a conversation has one turn or more. Leave the pair out."
    if one.speaker not in (names := list(dict.fromkeys(turn.speaker for turn in one.turns))):
        yield f"speaker is {one.speaker!r}, who says nothing in turns; those who speak are: {', '.join(names)}."
    if one.text != written_out(one.turns):
        yield "text is not what turns say; it has one line for each of them: `speaker: text`."


def _pair(one: Pair) -> Iterator[str]:
    for name, side in (("a", one.a), ("b", one.b)):
        yield from (f"{name}: {wrong}" for wrong in _candidate(side))
    if (one.a.turns is None) != (one.b.turns is None):
        whole, other = ("a", "b") if one.b.turns is None else ("b", "a")
        yield f"{whole} is a whole conversation and {other} is not; compare two of one kind."


def claims_of(responses: int) -> list[str]:
    """Everything that a check of so many responses may ask.

    >>> claims_of(1), len(claims_of(2))
    (['low:0', 'high:0'], 10)
    """
    words = ("best", "worst", "low", "high") if responses > 1 else ("low", "high")
    each = [f"{word}:{one}" for one in range(responses) for word in words]
    return each + [f"{one}>{other}" for one in range(responses) for other in range(responses) if one != other]


def _response_set(one: ResponseSet) -> Iterator[str]:
    yield from _empty(set=one.set, item=one.item)
    if not one.responses:
        yield "responses is empty; it needs one or more."
    if (said := len({response.text for response in one.responses}) == 1 < len(one.responses)) != one.identical:
        yield f"identical is {str(one.identical).lower()}, and the texts are {'all' if said else 'not all'} the same."
    asked = {**({"answer": one.answer} if one.answer else {}), **{f"answers.{k}": v for k, v in one.answers.items()}}
    if one.kind != "check" and asked:
        yield f"{next(iter(asked))} is given, and the set is no check (kind is {one.kind})."
    if one.kind == "check" and not asked:
        yield "a check needs answer: what must hold, such as best:0, 0>1, low:0 or high:0."
    for name, claim in asked.items():
        if claim not in claims_of(len(one.responses)):
            legal = "best:0, worst:0, 0>1, low:0, high:0" if one.responses[1:] else "low:0, high:0"
            yield f"{name} is {claim!r}; of {len(one.responses)} it may be like {legal}, with responses counted from 0."


def _rating(one: ResponseRating) -> Iterator[str]:
    yield from _empty(set=one.set, rater=one.rater, question=one.question, system=one.system)
    yield from _negative(score=one.score, round=one.round, seconds=one.seconds)
    if (one.score is None) == (one.rank is None):
        yield "score and rank are both given, or none of them is; a scale gives a score, a ranking a rank."
    if one.rank is not None and not 1 <= one.rank <= one.of:
        yield f"rank is {one.rank:g}, which is not between 1 and {one.of}, the number of responses."


def _empty(**texts: str) -> Iterator[str]:
    for name, text in texts.items():
        if not text.strip():
            yield f"{name} is empty; write a text."


def _negative(**numbers: float | None) -> Iterator[str]:
    for name, value in numbers.items():
        if value is not None and not 0 <= value < math.inf:
            yield f"{name} is {value:g}; it is a number from 0 on, or null."


RULES: dict[type, Callable[[Any], Iterator[str]]] = {
    Verdict: _verdict, Question: _question, OptionChoice: _choice, Rater: _rater, Response: _response,
    Candidate: _candidate, Pair: _pair,
    ResponseSet: _response_set, ResponseRating: _rating,
}  # fmt: skip
