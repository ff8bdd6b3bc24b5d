"""A state as words and back: `hotel area north ; hotel stars 4`, slots in alphabetical order.

An agent writes what has changed since its last turn, so that it need not write again what it believed already; a slot
that is believed no more has the value `none`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seedvote.dialogue.domains.states import State
from seedvote.dialogue.tokens import detokenize, tokenize

NEXT, NO_MORE = ";", "none"


def belief_words(state: State) -> list[str]:
    """The words of a state.

    >>> " ".join(belief_words({"train": {"leave": "16:15"}, "hotel": {"area": "north"}}))
    'hotel area north ; train leave 16:15'
    """
    words: list[str] = []
    for domain, name, value in sorted((d, name, value) for d, slots in state.items() for name, value in slots.items()):
        words += [*([NEXT] if words else []), domain, name, *tokenize(value)]
    return words


def believed(words: Iterable[str]) -> dict[str, dict[str, str]]:
    """The state that words tell; what is not domain, slot and value is no part of it, and a slot's last value counts.

    >>> believed("hotel area north ; hotel ; hotel name lemon inn".split())
    {'hotel': {'area': 'north', 'name': 'lemon inn'}}
    """
    state: dict[str, dict[str, str]] = {}
    for domain, name, *value in (piece for piece in _pieces(words) if len(piece) > 2):
        state.setdefault(domain, {})[name] = detokenize(value)
    return state


def changes(before: State, now: State) -> dict[str, dict[str, str]]:
    """What `now` has otherwise than `before`.

    >>> changes({"hotel": {"area": "north", "stars": "4"}}, {"hotel": {"stars": "3"}, "taxi": {"leave": "16:15"}})
    {'hotel': {'stars': '3', 'area': 'none'}, 'taxi': {'leave': '16:15'}}
    """
    old, new = _flat(before), _flat(now)
    differences: dict[str, dict[str, str]] = {}
    for (domain, name), value in [*new.items(), *((key, NO_MORE) for key in old if key not in new)]:
        if old.get((domain, name)) != value:
            differences.setdefault(domain, {})[name] = value
    return differences


def changed(before: State, written: State) -> dict[str, dict[str, str]]:
    """The state after what was written.

    >>> changed({"hotel": {"area": "north", "stars": "4"}}, {"hotel": {"stars": "3", "area": "none"}})
    {'hotel': {'stars': '3'}}
    """
    state: dict[str, dict[str, str]] = {}
    for (domain, name), value in {**_flat(before), **_flat(written)}.items():
        if value != NO_MORE:
            state.setdefault(domain, {})[name] = value
    return state


def _flat(state: State) -> dict[tuple[str, str], str]:
    return {(domain, name): value for domain, slots in state.items() for name, value in slots.items()}


def _pieces(words: Iterable[str]) -> Sequence[Sequence[str]]:
    pieces: list[list[str]] = [[]]
    for word in words:
        if word == NEXT:
            pieces.append([])
        else:
            pieces[-1].append(word)
    return pieces
