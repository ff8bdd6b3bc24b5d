"""What a text gives away: a response that names its own model is not judged blind.

A name counts where it stands as a word or words of its own, whatever its case and whatever joins its parts: a model
`seq2seq-attn` is named by "Seq2Seq attn". Names of one or two letters are left alone; they are words by chance. So are
the corpus's own responses, whose "model" is a word for what they are: "your reference number" gives nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from dialogue.records import Candidate, Pair

SHORTEST = 3
CORPUS = "reference"  # the checkpoint of a response that no model wrote
AROUND = 30  # characters shown before and after


@dataclass(frozen=True, slots=True)
class Leak:
    """A response that names its model."""

    pair: str
    model: str
    excerpt: str


def leaks(pairs: Iterable[Pair]) -> Iterator[Leak]:
    """Every response whose text contains the name of the model that wrote it."""
    for pair in pairs:
        for one in (pair.a, pair.b):
            if one.checkpoint != CORPUS and (excerpt := _excerpt(one)):
                yield Leak(pair.pair, one.model, excerpt)


def warning(found: Sequence[Leak]) -> str:
    """One sentence on what was found, with an example."""
    one, many = found[0], "1 response names its" if len(found) == 1 else f"{len(found)} responses name their"
    example = f"e.g. in pair {one.pair} ({one.model}): {one.excerpt}."
    return f"warning: {many} own model, {example} Raters would not judge blind."


def _excerpt(one: Candidate) -> str:
    text = one.text if one.turns is None else "\n".join(turn.text for turn in one.turns)  # names are not shown
    found = _pattern(one.model).search(text) if len(one.model) >= SHORTEST else None
    if found is None:
        return ""
    return " ".join(text[max(0, found.start() - AROUND) : found.end() + AROUND].split())


@cache
def _pattern(model: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in re.split(r"[\W_]+", model) if part] or [re.escape(model)]
    name = r"[\W_]*".join(parts)
    return re.compile(rf"(?<![^\W_]){name}(?![^\W_])", re.IGNORECASE)
