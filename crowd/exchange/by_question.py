"""The votes of a study with several questions as its files have them: one row a question, and the comments apart.

A round, a place among the k and a standing belong to the rater's visit to the pair, so every row of it has the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from seedvote.dialogue.records import Comment, Vote

Judged = tuple[Any, sa.Row[Any]]  # a vote as it would be without further questions, and its row of the store


def rows_by_question(judged: Sequence[Judged]) -> list[Vote]:
    """One vote a question that was answered; a vote of a study with one question stays what it is."""
    return [row for vote, stored in judged for row in _rows(vote, stored.answers)]


def _rows(vote: Vote, answers: str | None) -> Iterator[Vote]:
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
