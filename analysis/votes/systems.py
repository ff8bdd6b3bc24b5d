"""Which system stood behind `a` and `b` of every vote: from pairs.jsonl, or a and b themselves where they are fixed.

In our own studies the sides of a pair are drawn by chance, so that "a" is no system and votes mean nothing without
their pairs; a file from elsewhere may call the same system a throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Pair
from seedvote.dialogue.records import key_of as key_of
from seedvote.dialogue.records import system_names as system_names

Ints = NDArray[np.int64]
SAME, DIFFERENT = "within-seed", "reference-random"
UNKNOWN = (
    "No pairs.jsonl holds these pairs, so a and b are taken to be the same two systems in every pair. For votes from "
    "`crowd`, a and b differ from pair to pair and these numbers would be meaningless: give --pairs."
)


@dataclass(frozen=True, eq=False)
class Matches:
    """The votes on real pairs with the code of the system on either side, and the votes on control pairs."""

    systems: tuple[str, ...]
    votes: Votes
    a: Ints  # (votes,) code of the system that was `a`
    b: Ints
    controls: dict[str, Votes]  # contrast -> votes


@dataclass(frozen=True, eq=False)
class Contrast:
    """The votes on two systems, turned so that choice 0 is the first system and left 0 means that it stood left."""

    first: str
    second: str
    votes: Votes


def fixed_sides(votes: Votes) -> Matches:
    """Every vote compares the two systems `a` and `b`."""
    zeros = np.zeros(len(votes), np.int64)
    return Matches(("a", "b"), votes, zeros, zeros + 1, {})


def named_sides(votes: Votes) -> Matches:
    """The systems that the table of votes names itself."""
    if votes.system_a is None or votes.system_b is None:
        raise InputError("The votes name no systems. Name their columns: --columns system_a=...,system_b=...")
    two = votes.system_a != votes.system_b  # one model against itself compares no two systems
    if not two.any():
        raise InputError("No vote compares two different systems.")
    compared = votes.select(two)
    if compared.ledger is not None and not two.all():
        same_system = {"both systems are the same": int((~two).sum())}
        compared = replace(
            compared, ledger=replace(compared.ledger, dropped={**compared.ledger.dropped, **same_system})
        )
    return Matches(votes.systems, compared, votes.system_a[two], votes.system_b[two], {})


def pairs_of(path: Path) -> dict[str, Pair]:
    """The pairs of pairs.jsonl by their names."""
    return {pair.pair: pair for pair in read_records(path, Pair)}


def match(votes: Votes, path: Path, pairs: Mapping[str, Pair] | None = None) -> Matches:
    """Look every vote's pair up in pairs.jsonl (`pairs`, where it is already read)."""
    pairs = pairs_of(path) if pairs is None else pairs
    if lost := [name for name in votes.pairs if name not in pairs]:
        raise InputError(f"{path} does not hold pair {lost[0]!r} ({len(lost)} such). Give the pairs of these votes.")
    met = [pairs[name] for name in votes.pairs]
    real = np.array([pair.kind == "real" for pair in met])
    names = system_names(met)
    systems = tuple(sorted(set(names.values())))
    codes = np.array(
        [
            [systems.index(names[key_of(p.a)]), systems.index(names[key_of(p.b)])] if r else [-1, -1]
            for p, r in zip(met, real, strict=True)
        ]
    )
    contrast = np.array([pair.contrast for pair in met])
    controls = {
        name: votes.select((contrast == name)[votes.pair] & ~real[votes.pair]) for name in sorted(set(contrast[~real]))
    }
    compared = real & (codes[:, 0] != codes[:, 1])
    chosen = placed(votes, pairs).select(compared[votes.pair])  # one model against itself compares no two systems
    if not len(chosen):
        raise InputError(f"{path}: no vote compares two different systems.")
    return Matches(systems, chosen, codes[chosen.pair, 0], codes[chosen.pair, 1], controls)


def placed(votes: Votes, pairs: Mapping[str, Pair]) -> Votes:
    """The votes with the item of their pairs, and the dialogue where only the pairs name it."""
    met = [pairs.get(name) for name in votes.pairs]
    items = np.unique(["" if pair is None else pair.item for pair in met], return_inverse=True)[1]
    if votes.dialogue is not None or any(pair is not None and pair.dialogue is None for pair in met):
        return replace(votes, item=items[votes.pair])
    names = ["" if pair is None else pair.dialogue or "" for pair in met]
    dialogues, of_pair = np.unique(names, return_inverse=True)
    return replace(votes, item=items[votes.pair], dialogue=of_pair[votes.pair], dialogues=tuple(dialogues.tolist()))


def contrasts(matches: Matches) -> list[Contrast]:
    """The votes by pair of systems, in the order of their names."""
    turned = matches.a > matches.b
    first, second = np.minimum(matches.a, matches.b), np.maximum(matches.a, matches.b)
    votes = matches.votes
    choice = np.where(turned & (votes.choice < 2), 1 - votes.choice, votes.choice)
    sides = None if votes.left is None else np.where(turned & (votes.left >= 0), 1 - votes.left, votes.left)
    votes = replace(votes, choice=choice, left=sides)
    key = first * len(matches.systems) + second
    return [
        Contrast(
            matches.systems[int(k) // len(matches.systems)],
            matches.systems[int(k) % len(matches.systems)],
            votes.select(key == k),
        )
        for k in np.unique(key)
    ]
