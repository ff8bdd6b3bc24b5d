"""The answers about a set of responses: read by place, turned back into responses, held against what a check asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowd.forms.form import Incomplete, NoAnswer
from crowd.forms.responses import order_of
from crowd.hit.questions import AskedQuestion
from dialogue.records import ResponseSet
from dialogue.validity import option_order

Numbers = Sequence[int]


def read_numbers(question: AskedQuestion, form: Mapping[str, str]) -> dict[str, Any]:
    """What was given to each place: points of a scale, or ranks from 1; the fields are `q-NAME-0`, `q-NAME-1`, ..."""
    given: list[str] = []
    while (value := form.get(f"q-{question.name}-{len(given)}")) is not None:
        given.append(value)
    most = question.points if question.kind == "likert" else len(given)
    if not given or not all(value in {str(number) for number in range(1, most + 1)} for value in given):
        raise Incomplete(f"{question.name} needs a number from 1 to {most} for each response")
    numbers = [int(value) for value in given]
    if question.kind == "likert":
        return {"by_place": numbers, "points": question.points}
    if question.tie == "none" and len(set(numbers)) < len(numbers):
        raise Incomplete(f"{question.name} allows no equal ranks")
    return {"by_place": numbers}


def numbers_turned(answer: Mapping[str, Any], layout: str) -> dict[str, Any]:
    """The same by response: which stood at which place is undone. `choice` has them from the best to the worst.

    >>> numbers_turned({"by_place": [3, 1, 1]}, "201")
    {'choice': '0=1,2', 'ranks': [1, 1, 3]}
    >>> numbers_turned({"by_place": [4, 2], "points": 5}, "10")
    {'choice': '1,0', 'scores': [2, 4], 'points': 5}
    >>> numbers_turned({"by_place": [4], "points": 5}, "0")
    {'choice': '4', 'scores': [4], 'points': 5}
    """
    order, given = option_order(layout), answer["by_place"]
    if len(given) < len(order):
        raise Incomplete("every response needs a number")
    if len(given) > len(order):
        raise NoAnswer("there are fewer responses")
    mine = [given[order.index(str(index))] for index in range(len(order))]
    if "points" not in answer:
        ranks = [1 + sum(other < one for other in mine) for one in mine]  # 1, 1, 2 says what 1, 1, 3 says
        return {"choice": order_of(ranks), "ranks": ranks}
    choice = str(mine[0]) if len(mine) == 1 else order_of([-one for one in mine])
    return {"choice": choice, "scores": mine, "points": answer["points"]}


def numbers_by_place(answer: Mapping[str, Any], layout: str) -> Numbers:
    """What stood at each place, from what is stored of each response: `numbers_turned`, undone.

    >>> numbers_by_place({"scores": [2, 4], "points": 5}, "10")
    [4, 2]
    """
    mine = answer["scores"] if "scores" in answer else answer["ranks"]
    return [mine[int(index)] for index in option_order(layout)]


def holds(answer: Mapping[str, Any], claim: str) -> bool:
    """Whether an answer is as a check asks.

    >>> [holds({"ranks": [1, 2, 2]}, claim) for claim in ("best:0", "worst:1", "0>2", "1>2")]
    [True, False, True, False]
    >>> [holds({"scores": [3], "points": 5}, claim) for claim in ("low:0", "high:0")]
    [False, False]
    """
    if not answer:
        return False
    height = answer["scores"] if "scores" in answer else [-rank for rank in answer["ranks"]]
    word, colon, one = claim.partition(":")
    if not colon:
        above, _, below = claim.partition(">")
        return bool(height[int(above)] > height[int(below)])
    mine = height[int(one)]
    others = [value for index, value in enumerate(height) if index != int(one)]
    if word in ("low", "high"):
        twice_above_middle = 2 * mine - (answer["points"] + 1)
        return bool(twice_above_middle < 0 if word == "low" else twice_above_middle > 0)
    return all(bool(mine > other if word == "best" else mine < other) for other in others)


def wrong_claim(one: ResponseSet, questions: Sequence[AskedQuestion]) -> str:
    """Why this set cannot be asked what hit.toml asks, or a check what it asks; empty if it can."""
    ranked = [question for question in questions if question.kind == "ranking"]
    if ranked and len(one.responses) < 2:
        return f"has one response, and the question {ranked[0].name} ranks several"
    strict = [question.name for question in ranked if question.tie == "none"]
    if strict and len({response.text for response in one.responses}) < len(one.responses):
        return (
            f'has two responses with the same text, and the ranking {strict[0]} allows no equal ranks: set tie = "one" '
            "there, or leave such sets out (generation together --distinct)"
        )
    known = {question.name: question for question in questions if question.makes_votes}
    lead = next(iter(known))
    for name, claim in {**({lead: one.answer} if one.answer else {}), **one.answers}.items():
        if name not in known:
            return f"asks {name!r}, which is no question of hit.toml that is counted ({', '.join(known)})"
        if known[name].kind == "ranking" and claim.startswith(("low:", "high:")):
            return f"asks {claim}, which is of a scale, and the question {name} is a ranking"
    return ""
