"""Stored answers as the files have them: one row a question, for a set of responses one a response; comments apart.

A round, a place among the k and a standing belong to the rater's visit to the pair, so every row of it has the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.form import HitForm
from seedvote.dialogue.records import Candidate, Comment, MarkedPassage, ResponseRating, ResponseSet, Vote
from seedvote.dialogue.validity import option_order

Judged = tuple[Any, sa.Row[Any]]  # a vote as it would be without further questions, and its row of the store


def rows_by_question(judged: Sequence[Judged]) -> list[Vote]:
    """One vote a question that was answered; a vote of a study with one question stays what it is."""
    return [row for vote, stored in judged for row in _split_by_question(vote, stored.answers)]


def _split_by_question(vote: Vote, answers: str | None) -> Iterator[Vote]:
    if answers is None:
        yield vote
        return
    for name, answer in json.loads(answers).items():
        if "text" not in answer:
            yield replace(vote, question=name, **answer)


def comments_of(judged: Iterable[Judged]) -> Iterator[Comment]:
    """What raters wrote, in the order in which it came."""
    for vote, stored in judged:
        for name, answer in json.loads(stored.answers or "{}").items():
            if "text" in answer:
                yield Comment(stored.pair, vote.rater, name, answer["text"], vote.counted)


def passages_of(judged: Iterable[Judged], records: Mapping[str, Any], form: HitForm) -> Iterator[MarkedPassage]:
    """What raters marked, in the order in which they answered."""
    for vote, stored in judged:
        passages = json.loads(stored.marks or "[]")
        texts = dict(form.responses_by_place(records[stored.pair], stored.left)) if passages else {}
        for passage in passages:
            words = texts[passage["response"]].text[passage["start"] : passage["end"]]
            yield MarkedPassage(stored.pair, vote.rater, **passage, text=words, counted=vote.counted)


VIEW = ("device", "turns", "turns_seen", "context_seconds")
SHARED = ("rater", "round", "seconds", "submitted", "source", "rater_status", "counted", "kind", "identical")


def rows_by_response(visit: Vote, row: sa.Row[Any], response_set: ResponseSet) -> Iterator[ResponseRating]:
    """Every rating and every rank that one rater gave to one set; `visit` says what it counts."""
    shared = {name: getattr(visit, name) for name in (*SHARED, *VIEW, "dialogue", "extra")}
    order = option_order(row.left)
    marked = None if row.marks is None else json.loads(row.marks)
    for question, answer in json.loads(row.answers).items():
        ranks = mid_ranks(answer["ranks"]) if "ranks" in answer else None
        for index, response in enumerate(response_set.responses) if "text" not in answer else ():
            yield ResponseRating(
                set=row.pair,
                question=question,
                system=system_of(response),
                item=response_set.item,
                response=index,
                score=None if ranks else answer["scores"][index],
                rank=ranks[index] if ranks else None,
                place=order.index(str(index)) + 1,
                of=len(order),
                marks=None if marked is None else sum(one["response"] == str(index) for one in marked),
                **shared,
            )


def system_of(response: Candidate) -> str:
    """Who wrote it, as tables name it; the last checkpoint goes without saying."""
    name = response.model if response.seed is None else f"{response.model}-{response.seed}"
    return name if response.checkpoint in ("last", "unknown", "reference") else f"{name}@{response.checkpoint}"


def mid_ranks(ranks: list[int]) -> list[float]:
    """Equals share the mean of the ranks that they take up.

    >>> mid_ranks([1, 1, 3, 4])
    [1.5, 1.5, 3.0, 4.0]
    """
    return [sum(r < own for r in ranks) + (1 + sum(r == own for r in ranks)) / 2 for own in ranks]
