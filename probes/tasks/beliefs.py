"""The belief state of an example: the slots filled after the user turn that the target answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from seedvote.dialogue.corpora.examples import Example


def states(example: Example) -> Iterator[Mapping[str, str]]:
    """The belief state after each user turn of the context, oldest first."""
    for turn in example.context:
        if turn.speaker == "user":
            yield turn.belief or {}


def state(example: Example) -> Mapping[str, str]:
    """The belief state after the last user turn: slot path -> value."""
    *_, last = [{}, *states(example)]
    return last


def news(example: Example) -> Iterator[dict[str, str]]:
    """After each user turn, the slots that no earlier state had filled, in the annotation's order."""
    past: set[str] = set()
    for filled in states(example):
        yield {path: value for path, value in filled.items() if path not in past}
        past.update(filled)


def recent(example: Example) -> dict[str, str]:
    """The slots first filled in the last user turn."""
    *_, last = [{}, *news(example)]
    return last


def domain(path: str) -> str:
    """`hotel` of `hotel-semi-area`."""
    return path.split("-", 1)[0]


def leaf(path: str) -> str:
    """`area` of `hotel-semi-area`."""
    return path.rsplit("-", 1)[-1]
