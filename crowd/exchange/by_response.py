"""The answers of a study of response sets as its files have them: one row a question and response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from seedvote.dialogue.records import Candidate, ResponseRating, ResponseSet, Vote
from seedvote.dialogue.validity import option_order

SHARED = ("rater", "round", "seconds", "submitted", "source", "rater_status", "counted", "kind", "identical")


def rows_by_response(visit: Vote, row: sa.Row[Any], response_set: ResponseSet) -> Iterator[ResponseRating]:
    """Every rating and every rank that one rater gave to one set; `visit` says what it counts."""
    shared = {name: getattr(visit, name) for name in (*SHARED, "dialogue", "extra")}
    order = option_order(row.left)
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
