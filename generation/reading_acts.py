"""What a reply does, read from its words: the dialogue acts of the most similar training reply.

Similarity is the cosine of word counts (log(1 + count) times the inverse document frequency); of equals, the first
counts. It is no understanding: `accuracy` on references says how far it may be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.tokens import tokenize

ROWS_AT_ONCE = 256


class ActReader:
    """Training replies with their acts; `read` gives the acts of others."""

    def __init__(self, train: Sequence[Example]) -> None:
        known = {example.target.text: acts_named(example) for example in reversed(train)}
        texts = [tokenize(text) for text in known]
        self._acts = list(known.values())
        self._column = {word: n for n, word in enumerate(dict.fromkeys(word for text in texts for word in text))}
        self._rarity = np.ones(len(self._column))
        frequency = np.maximum(np.bincount(self._counts(texts).indices, minlength=len(self._column)), 1)
        self._rarity = np.log1p(len(texts) / frequency)
        self._known = self._counts(texts)

    def read(self, texts: Sequence[str]) -> list[str]:
        """The acts of each text, by name and comma-separated."""
        acts: list[str] = []
        for start in range(0, len(texts), ROWS_AT_ONCE):
            counts = self._counts([tokenize(text) for text in texts[start : start + ROWS_AT_ONCE]])
            acts += [self._acts[place] for place in (counts @ self._known.T).toarray().argmax(1)]
        return acts

    def accuracy(self, held_out: Sequence[Example]) -> float:
        """The share of other replies where it reads exactly the annotated acts."""
        acts = self.read([example.target.text for example in held_out])
        return float(np.mean([act == acts_named(example) for act, example in zip(acts, held_out, strict=True)]))

    def _counts(self, texts: Sequence[Sequence[str]]) -> csr_array:
        """One row a text, of length one."""
        rows, columns, values = [], [], []
        for row, text in enumerate(texts):
            places, counts = np.unique(
                [self._column[word] for word in text if word in self._column], return_counts=True
            )
            weights = np.log1p(counts) * self._rarity[places.astype(int)]
            rows += [row] * len(places)
            columns += places.astype(int).tolist()
            values += (weights / max(float(np.linalg.norm(weights)), 1e-12)).tolist()
        return csr_array((values, (rows, columns)), (len(texts), len(self._column)))


def acts_named(example: Example) -> str:
    """The annotated acts of the target, sorted by name."""
    return ",".join(sorted(example.target.acts or ()))


def act_reader(train: Sequence[Example]) -> ActReader | None:
    """A reader taught by the training replies that have acts; None where none has."""
    annotated = [example for example in train if example.target.acts is not None]
    return ActReader(annotated) if annotated else None
