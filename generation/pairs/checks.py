"""Sanity checks: pairs whose right answer is obvious to anyone who reads them.

The good side is a reference that takes up words of its context; the bad side is the same reference with its words
scrambled, or a reference of another dialogue that shares no telling word with this one. They come from the validation
split (the test split where there is none), so no real pair repeats their contexts. A and B are right equally often.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.records import Candidate, Pair
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.tokens import detokenize, tokenize
from seedvote.generation.pairs.pairing import context_shown, reference

SHORTEST_REFERENCE = 6  # tokens of a good side: shorter ones fit anywhere
CHECK_KINDS = ("scrambled", "off-topic")


def sanity_checks(examples: Sequence[Example], n: int, *, seed: int) -> list[Pair]:
    """At most `n` checks, half of either kind, the right answer alternating between a and b."""
    rng = child_random(seed, "checks")
    pool = [e for e in rng.sample(list(examples), len(examples)) if _is_telling(e)]
    pairs: list[Pair] = []
    used: set[str] = set()
    for example in pool:
        if len(pairs) == n:
            break
        if example.dialogue.dialogue in used:
            continue
        # The kind changes with every second pair and the right side with every pair, so each kind has both equally
        # often.
        kind = CHECK_KINDS[(len(pairs) // 2) % 2]
        bad = _scramble(example, rng) if kind == "scrambled" else _choose_off_topic(example, pool, rng)
        if bad is not None:
            used.add(example.dialogue.dialogue)
            pairs.append(_make_check(example, bad, kind, right="ab"[len(pairs) % 2], seed=seed))
    return pairs


def _make_check(example: Example, bad: Candidate, kind: str, *, right: str, seed: int) -> Pair:
    name = f"{child_seed(seed, 'pair', 'check', kind, example.item):016x}"
    good = reference(example)
    pair = Pair(
        name, example.item, context_shown(example), good, bad, "check", False, example.dialogue.dialogue, "a", kind
    )
    return pair if right == "a" else replace(pair, a=bad, b=good, answer="b")


def telling_words(text: str) -> set[str]:
    """Words that say what a text is about: five letters or more, or with a digit."""
    return {w for w in tokenize(text) if len(w) >= 5 or any(c.isdigit() for c in w)}


def _context_words(example: Example) -> set[str]:
    return set().union(*(telling_words(turn.text) for turn in example.context))


def _is_telling(example: Example) -> bool:
    text = example.target.text
    return len(tokenize(text)) >= SHORTEST_REFERENCE and bool(
        telling_words(text) & telling_words(example.context[-1].text)
    )


def _scramble(example: Example, rng: random.Random) -> Candidate | None:
    """The reference in an order in which no two neighbours stay neighbours."""
    words = tokenize(example.target.text)
    neighbours = set(itertools.pairwise(words))
    for _ in range(50):
        order = rng.sample(words, len(words))
        if not neighbours & set(itertools.pairwise(order)):
            return Candidate(detokenize(order), "scrambled", None, "reference")
    return None


def _choose_off_topic(example: Example, pool: Sequence[Example], rng: random.Random) -> Candidate | None:
    """A reference of another dialogue that shares no telling word with this context or its reference."""
    near = _context_words(example) | telling_words(example.target.text)
    for candidate in _draw_elsewhere(example, pool, rng):
        if telling_words(candidate.target.text) and not telling_words(candidate.target.text) & near:
            return Candidate(reference(candidate).text, "off-topic", None, "reference")
    return None


def _draw_elsewhere(example: Example, pool: Sequence[Example], rng: random.Random) -> Iterator[Example]:
    for candidate in rng.sample(list(pool), min(len(pool), 200)):
        if candidate.dialogue is not example.dialogue:
            yield candidate
