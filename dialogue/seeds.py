"""Named child seeds: every random act of a study follows from one number and the name of the act.

The child of (seed, names) is the first 63 bits of a SHA-256 over their text, so streams with different names are
independent, adding a stream changes no other, and seed 0 is a seed like any other.
"""

from __future__ import annotations

import hashlib
import random


def child_seed(seed: int, *names: object) -> int:
    """A seed in [0, 2**63) for the act that `names` describes, e.g. ``child_seed(0, "pairs", "order")``."""
    # A separator that no name holds: ("a", "b") and ("ab",) must differ. Not hash(): Python salts it in every process.
    text = "\x1f".join([str(int(seed)), *map(str, names)])
    # 63 bits fit the signed 64-bit integers of Parquet, SQL and torch.
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def child_random(seed: int, *names: object) -> random.Random:
    """A standard-library generator for the named act."""
    return random.Random(child_seed(seed, *names))


def parse_seeds(text: str) -> list[int]:
    """Read a list of seeds as people write it.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(f"{part.strip()!r} is not a whole number")
        seeds.extend(range(int(first), int(last or first) + 1))
    if not seeds or len(set(seeds)) != len(seeds):
        raise ValueError(f"{text!r} names no seed, or names a seed twice")
    return seeds
