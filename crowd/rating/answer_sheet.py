"""All answers of a rater about one pair, where hit.toml asks several questions: read, turned back into a and b, judged.

Those about a set of responses are numbers by place, which have functions of their own at the end.

Pure functions: what a form holds becomes a sheet or is refused whole, so that nothing stores half of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seedvote.crowd.forms.form import Incomplete, NoAnswer
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.forms.responses import order_of
from seedvote.crowd.hit.about import as_comment
from seedvote.crowd.hit.questions import AskedQuestion
from seedvote.dialogue.records import Pair, ResponseSet
from seedvote.dialogue.validity import option_order

Numbers = Sequence[int]
Sheet = Mapping[str, Mapping[str, Any]]
"""Question -> what was answered: choice, strength, tie_kind, score_a, score_b, scores, ranks, text: as its kind has."""
Given = str | Sheet
CHOSEN = ""
"""In a sheet of a form that has its own answer, where only comments are asked beside it: that answer."""
SIDES = FORMS["pairs"]  # whose answers are those of each pairwise question
TIES = {"one": ("tie",), "split": ("good", "poor"), "none": ()}


def buttons_of(question: AskedQuestion) -> list[str]:
    """What the buttons of a pairwise question stand for, in the order in which they are shown.

    >>> buttons_of(AskedQuestion("q", "?", strength=("slightly", "clearly"), tie="split"))
    ['left-2', 'left-1', 'good', 'poor', 'right-1', 'right-2']
    >>> buttons_of(AskedQuestion("q", "?"))
    ['left', 'right', 'tie']
    """
    ties = TIES[question.tie]
    if not question.strength:
        return ["left", "right", *ties]
    steps = range(1, len(question.strength) + 1)
    return [*(f"left-{n}" for n in reversed(steps)), *ties, *(f"right-{n}" for n in steps)]


def read_sheet(questions: Sequence[AskedQuestion], form: Mapping[str, str], *, of_sets: bool = False) -> Sheet:
    """The answers of a form, by the place on the page (`of_sets`: of any number of responses).

    A comment that is left empty is no answer.
    """
    answers = {
        question.name: (read_numbers if of_sets and question.makes_votes else _read_answer)(question, form)
        for question in questions
    }
    return {name: answer for name, answer in answers.items() if answer}


def _read_answer(question: AskedQuestion, form: Mapping[str, str]) -> dict[str, Any]:
    name = f"q-{question.name}"
    if question.kind == "comment":
        text = as_comment(form.get(name, ""))
        if question.required and not text:
            raise Incomplete(f"{question.name} needs a text")
        return {"text": text} if text else {}
    if question.kind == "likert":
        legal = [str(point) for point in range(1, question.points + 1)]
        return {side: int(_read_choice(f"{name}-{side}", legal, form)) for side in ("left", "right")}
    return _split_button(_read_choice(name, buttons_of(question), form))


def _read_choice(name: str, legal: Sequence[str], form: Mapping[str, str]) -> str:
    if (value := form.get(name, "")) not in legal:
        raise Incomplete(f"{name} is none of {', '.join(legal)}")
    return value


def _split_button(value: str) -> dict[str, Any]:
    side, _, step = value.partition("-")
    if side in ("good", "poor"):
        return {"choice": "tie", "tie_kind": side}
    return {"choice": side, **({"strength": int(step)} if step else {})}


def turned_back(sheet: Sheet, layout: str) -> Sheet:
    """The same by response: which of a and b was on the left is undone.

    >>> turned_back({"q": {"left": 4, "right": 2}, "r": {"choice": "right", "strength": 1}}, layout="b")
    {'q': {'choice': 'b', 'score_a': 2, 'score_b': 4}, 'r': {'choice': 'a', 'strength': 1}}
    """
    return {name: _turn_back(answer, layout) for name, answer in sheet.items()}


def _turn_back(answer: Mapping[str, Any], layout: str) -> dict[str, Any]:
    if "by_place" in answer:
        return numbers_turned(answer, layout)
    if "left" in answer:
        left_score, right_score = answer["left"], answer["right"]
        higher = "tie" if left_score == right_score else "left" if left_score > right_score else "right"
        a, b = (left_score, right_score) if layout == "a" else (right_score, left_score)
        return {"choice": SIDES.answer_of(higher, layout), "score_a": a, "score_b": b}
    if "choice" in answer:
        return {**answer, "choice": SIDES.answer_of(answer["choice"], layout)}
    return dict(answer)


def as_sent(sheet: Sheet, layout: str) -> dict[str, str]:
    """The form that held these answers where this layout was shown: `read_sheet` and `turned_back`, undone.

    >>> as_sent({"q": {"choice": "b", "score_a": 2, "score_b": 4}, "r": {"choice": "tie", "tie_kind": "good"}}, "b")
    {'q-q-left': '4', 'q-q-right': '2', 'q-r': 'good'}
    >>> as_sent({"order": {"choice": "0=1,2", "ranks": [1, 1, 3]}, "why": {"text": "So."}}, "201")
    {'q-order-0': '3', 'q-order-1': '1', 'q-order-2': '1', 'q-why': 'So.'}
    """
    fields: dict[str, str] = {}
    for name, answer in sheet.items():
        if "scores" in answer or "ranks" in answer:
            fields |= {
                f"q-{name}-{place}": str(number) for place, number in enumerate(numbers_by_place(answer, layout))
            }
        elif "score_a" in answer:
            sides = ("left", "right") if layout == "a" else ("right", "left")
            fields |= {
                f"q-{name}-{side}": str(answer[f"score_{response}"]) for side, response in zip(sides, "ab", strict=True)
            }
        elif "text" in answer:
            fields[f"q-{name}"] = answer["text"]
        else:
            steps = f"-{answer['strength']}" if "strength" in answer else ""
            fields[f"q-{name}"] = answer.get("tie_kind") or SIDES.first_button(answer["choice"], layout) + steps
    return {name: fields[name] for name in sorted(fields)}


def right_answers(pair: Pair | ResponseSet, lead: str, mended: str | None = None) -> dict[str, str]:
    """What a check asks: `answer` is that of the leading question, `answers` of others; none where it is void."""
    if mended == "void":
        return {}
    answer: Any = mended or pair.answer
    return {**({lead: answer} if answer else {}), **{k: v for k, v in pair.answers.items() if k != lead or not answer}}


def is_failed(answers: Sheet, right: Mapping[str, str]) -> bool:
    """Whether any question of a check was answered otherwise; of a scale, which response was to be rated higher."""
    return any(not _meets_claim(answers.get(name, {}), claim) for name, claim in right.items())


def _meets_claim(answer: Mapping[str, Any], claim: str) -> bool:
    if "scores" in answer or "ranks" in answer:
        return holds(answer, claim)
    return bool(answer.get("choice") == claim)


def wrong_key(pair: Pair | ResponseSet, questions: Sequence[AskedQuestion]) -> str:
    """Why this check cannot ask what it asks, or this set be shown with these questions; empty if it can."""
    if isinstance(pair, ResponseSet):
        return wrong_claim(pair, questions)
    if pair.kind != "check":
        return ""
    known = {question.name: question for question in questions if question.makes_votes}
    for name, choice in right_answers(pair, next(iter(known), "")).items():
        if questions and name not in known:
            return f"asks {name!r}, which is no question of hit.toml that makes votes ({', '.join(known)})"
        if questions and choice == "tie" and known[name].kind == "pairwise" and known[name].tie == "none":
            return f"wants a tie, which the question {name} does not offer"
    return "has answers by question, and hit.toml has no [[questions]]" if pair.answers and not questions else ""


def read_numbers(question: AskedQuestion, form: Mapping[str, str]) -> dict[str, Any]:
    """What was given to each place: points of a scale, or ranks from 1; the fields are `q-NAME-0`, `q-NAME-1`, ..."""
    texts: list[str] = []
    while (value := form.get(f"q-{question.name}-{len(texts)}")) is not None:
        texts.append(value)
    most = question.points if question.kind == "likert" else len(texts)
    if not texts or not all(value in {str(number) for number in range(1, most + 1)} for value in texts):
        raise Incomplete(f"{question.name} needs a number from 1 to {most} for each response")
    numbers = [int(value) for value in texts]
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
    order, by_place = option_order(layout), answer["by_place"]
    if len(by_place) < len(order):
        raise Incomplete("every response needs a number")
    if len(by_place) > len(order):
        raise NoAnswer("there are fewer responses")
    by_response = [by_place[order.index(str(index))] for index in range(len(order))]
    if "points" not in answer:
        # 1, 1, 2 says what 1, 1, 3 says
        ranks = [1 + sum(other_number < number for other_number in by_response) for number in by_response]
        return {"choice": order_of(ranks), "ranks": ranks}
    choice = str(by_response[0]) if len(by_response) == 1 else order_of([-number for number in by_response])
    return {"choice": choice, "scores": by_response, "points": answer["points"]}


def numbers_by_place(answer: Mapping[str, Any], layout: str) -> Numbers:
    """What stood at each place, from what is stored of each response: `numbers_turned`, undone.

    >>> numbers_by_place({"scores": [2, 4], "points": 5}, "10")
    [4, 2]
    """
    by_response = answer["scores"] if "scores" in answer else answer["ranks"]
    return [by_response[int(index)] for index in option_order(layout)]


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
    word, colon, response = claim.partition(":")
    if not colon:
        above, _, below = claim.partition(">")
        return bool(height[int(above)] > height[int(below)])
    own_height = height[int(response)]
    other_heights = [value for index, value in enumerate(height) if index != int(response)]
    if word in ("low", "high"):
        twice_above_middle = 2 * own_height - (answer["points"] + 1)
        return bool(twice_above_middle < 0 if word == "low" else twice_above_middle > 0)
    return all(
        bool(own_height > other_height if word == "best" else own_height < other_height)
        for other_height in other_heights
    )


def wrong_claim(response_set: ResponseSet, questions: Sequence[AskedQuestion]) -> str:
    """Why this set cannot be asked what hit.toml asks, or a check what it asks; empty if it can."""
    ranked = [question for question in questions if question.kind == "ranking"]
    if ranked and len(response_set.responses) < 2:
        return f"has one response, and the question {ranked[0].name} ranks several"
    strict = [question.name for question in ranked if question.tie == "none"]
    if strict and len({response.text for response in response_set.responses}) < len(response_set.responses):
        return (
            f'has two responses with the same text, and the ranking {strict[0]} allows no equal ranks: set tie = "one" '
            "there, or leave such sets out (generation together --distinct)"
        )
    known = {question.name: question for question in questions if question.makes_votes}
    lead = next(iter(known))
    for name, claim in {**({lead: response_set.answer} if response_set.answer else {}), **response_set.answers}.items():
        if name not in known:
            return f"asks {name!r}, which is no question of hit.toml that is counted ({', '.join(known)})"
        if known[name].kind == "ranking" and claim.startswith(("low:", "high:")):
            return f"asks {claim}, which is of a scale, and the question {name} is a ranking"
    return ""
