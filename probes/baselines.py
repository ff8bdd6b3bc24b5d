"""What a probe must beat: features that know little or nothing of the text, put through the same classifier.

Each is a representation like any other. `majority` is the exception: it has no features and always answers the most
frequent set of labels of the fitted examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dialogue.corpora.examples import Example
from probes.tasks.labels import Labels
from probes.tasks.words import tokens

WORDS, AXES = 1000, 256
TURNS, SEEN, STEP = 10, 100, 5


def constant(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """One feature that never varies: the classifier is left with its intercept."""
    del fit
    return np.zeros((len(examples), 1), np.float32)


def turn_index(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """How often the other has spoken before: one column for each number up to 10, so that any function of it fits."""
    del fit
    before = [min(example.n // 2, TURNS) for example in examples]
    return np.eye(TURNS + 1, dtype=np.float32)[before]


def context_length(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """How many words and ends of turns the context has, up to the 100 that a model sees: one column for each 5."""
    del fit
    tokens = [sum(len(turn.text.split()) + 1 for turn in example.context) for example in examples]
    return np.eye(SEEN // STEP, dtype=np.float32)[[min(number, SEEN - 1) // STEP for number in tokens]]


def bag_of_words(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words of the context without their order (`examples` begins with the fitted ones).

    It is log(1 + count) of the 1,000 most frequent words of the fitted
    dialogues, on their 256 leading principal axes, so that it is about as wide as the states.
    """
    spoken = (turn.text for example in fit for turn in example.context[-2:])
    frequent = Counter(word for text in spoken for word in tokens(text)).most_common(WORDS)
    column = {word: index for index, (word, _) in enumerate(frequent)}
    counts = np.log1p(_counts(column, examples))
    centred = counts - counts[: len(fit)].mean(0)
    # eigh of words by words, not an SVD of examples by words: the examples are many times more.
    _, axes = np.linalg.eigh(centred[: len(fit)].T @ centred[: len(fit)])
    return np.asarray(centred @ axes[:, ::-1][:, :AXES])


def _counts(column: Mapping[str, int], examples: Sequence[Example]) -> np.ndarray:
    """How often each word occurs in each context; a context that continues the one before it adds its new turns."""
    counts = np.zeros((len(examples), len(column)), np.float32)
    before: Example | None = None
    for row, example in enumerate(examples):
        known = before.n if before and before.dialogue is example.dialogue and before.n < example.n else 0
        counts[row] = counts[row - 1] if known else 0
        for turn in example.context[known:]:
            for word in tokens(turn.text):
                if word in column:
                    counts[row, column[word]] += 1
        before = example
    return counts


BASELINES: dict[str, Callable[[Sequence[Example], Sequence[Example]], np.ndarray]] = {
    "constant": constant,
    "majority": constant,
    "turn_index": turn_index,
    "context_length": context_length,
    "bag_of_words": bag_of_words,
}


def always_the_most_frequent(fitted: Labels, rows: int) -> np.ndarray:
    """Predictions (rows x labels): the set of labels that most fitted examples have; of equals the first met."""
    sets = Counter(tuple(sorted(part)) for part in np.split(fitted.columns, fitted.starts[1:-1]))
    predicted = np.zeros((rows, len(fitted.classes)), bool)
    predicted[:, sets.most_common(1)[0][0]] = True
    return predicted
