"""Passages of responses that raters marked as wrong: read from a page, checked, and turned into ranges of the texts.

A page sends `[[place, start, end, category], ...]`: the place of the response, the first character and the one after
the last, and the number of the category. Characters are those of the text as it stands in the file. Where no script
runs, nothing is sent and the question was not asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from seedvote.crowd.forms.form import Content, NoAnswer
from seedvote.crowd.hit.tables import MarksRule

MOST = 60  # of one page
Passage = Mapping[str, Any]
"""response, start, end, category."""
Responses = Sequence[tuple[str, Content]]


def read_marks(sent: str, rule: MarksRule, responses: Responses) -> list[Passage] | None:
    """The passages that a page sent, by response; None where it was not asked.

    >>> rule, shown = MarksRule(("wrong",)), [("b", Content("No way.")), ("a", Content("Yes."))]
    >>> read_marks("[[0, 0, 2, 0]]", rule, shown)
    [{'response': 'b', 'start': 0, 'end': 2, 'category': 'wrong'}]
    """
    if not sent:
        return None
    try:
        values = json.loads(sent)
    except (ValueError, RecursionError) as error:
        raise NoAnswer("marks are no JSON") from error
    if not isinstance(values, list) or len(values) > MOST:
        raise NoAnswer(f"marks are no list of up to {MOST}")
    passages = [_read_passage(value, rule, responses) for value in values]
    if len({tuple(passage.values()) for passage in passages}) < len(passages):
        raise NoAnswer("a passage is marked twice in the same way")
    return sorted(passages, key=lambda passage: tuple(map(str, passage.values())))


def _read_passage(value: Any, rule: MarksRule, responses: Responses) -> Passage:
    if not isinstance(value, list) or len(value) != 4 or not all(type(number) is int for number in value):
        raise NoAnswer("a mark is four whole numbers")
    place, start, end, category = value
    if not 0 <= place < len(responses) or not 0 <= category < len(rule.categories):
        raise NoAnswer("there is no such response or category")
    name, content = responses[place]
    if content.parts or not 0 <= start < end <= len(content.text.replace("\r\n", "\n")):
        raise NoAnswer("a mark is outside of its response")
    first, last = (_place_in_file(content.text, shown) for shown in (start, end))
    return {"response": name, "start": first, "end": last, "category": rule.categories[category]}


def _place_in_file(text: str, shown: int) -> int:
    """Where a character of a page stands in the file: a page shows the two characters of a line's end as one.

    >>> _place_in_file("a\\r\\nb", 2)
    3
    """
    place, end = shown, -1
    for line in text.split("\r\n")[:-1]:
        end += len(line) + 1
        if end >= shown:
            break
        place += 1
    return place


def marks_as_sent(passages: Sequence[Passage], rule: MarksRule, responses: Responses) -> str:
    """What a page sends of them: `read_marks`, undone."""
    places = {name: place for place, (name, _) in enumerate(responses)}
    texts = dict(responses)

    def number(passage: Passage, end: str) -> int:
        return len(texts[passage["response"]].text[: passage[end]].replace("\r\n", "\n"))

    return json.dumps(
        [
            [
                places[passage["response"]],
                number(passage, "start"),
                number(passage, "end"),
                rule.categories.index(passage["category"]),
            ]
            for passage in passages
        ]
    )
