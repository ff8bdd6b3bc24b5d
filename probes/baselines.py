"""What a probe must beat: features that need no trained model, put through the same classifier.

Each is a representation like any other, and whatever it must choose (its words, its axes) comes from the fitted
examples alone. `majority` is the exception: it has no features and always answers the most frequent set of labels of
the fitted examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.records import Turn
from seedvote.dialogue.tokens import EOU, LONGEST_CONTEXT, OTHER, SELF, newest_words
from seedvote.probes.tasks.catalogue import tokenize_words
from seedvote.probes.tasks.labels import Labels

WORDS, AXES, EXAMPLES_AN_AXIS = 1000, 256, 4
TURNS, STEP = 10, 5
POSITION, NARROW = "_position", "_narrow"  # how the names of a bag's other forms end

FeatureMaker = Callable[[Sequence[Example], Sequence[Example]], np.ndarray]


def constant_feature(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
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
    counts = [sum(len(turn.text.split()) + 1 for turn in example.context) for example in examples]
    steps = [min(count, LONGEST_CONTEXT - 1) // STEP for count in counts]
    return np.eye(LONGEST_CONTEXT // STEP, dtype=np.float32)[steps]


def bag_of_words(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words of the whole context without their order (`examples` begins with the fitted ones)."""
    return _leading_axes(fit, np.log1p(_count_words(_frequent_words(fit), examples)))


def bag_of_last_turn(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words of the turn that is to be answered."""
    return _make_bag(fit, examples, lambda example: _turn_words(example.context[-1:]))


def bag_of_two_turns(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words of the last two turns."""
    return _make_bag(fit, examples, lambda example: _turn_words(example.context[-2:]))


def bag_of_window(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words among the newest 100 tokens, which are all that our encoders see."""
    return _make_bag(fit, examples, words_in_window)


def words_in_window(example: Example) -> list[str]:
    """The words among the newest 100 tokens, where every turn has two more for its speaker and its end."""
    read = newest_words(example.context, example.target.speaker)
    return tokenize_words(" ".join(word for word in read if word not in (OTHER, SELF, EOU)))


def _turn_words(turns: Iterable[Turn]) -> list[str]:
    return [word for turn in turns for word in tokenize_words(turn.text)]


def _frequent_words(fit: Sequence[Example]) -> dict[str, int]:
    """The 1,000 most frequent words of the fitted dialogues, each with its column."""
    spoken = (word for example in fit for word in _turn_words(example.context[-2:]))
    return {word: index for index, (word, _) in enumerate(Counter(spoken).most_common(WORDS))}


def _make_bag(
    fit: Sequence[Example], examples: Sequence[Example], words: Callable[[Example], Iterable[str]]
) -> np.ndarray:
    column = _frequent_words(fit)
    counts = np.zeros((len(examples), len(column)), np.float32)
    for row, example in enumerate(examples):
        for word in words(example):
            if word in column:
                counts[row, column[word]] += 1
    return _leading_axes(fit, np.log1p(counts))


def tfidf_words(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The words of the whole context, each the rarer the weightier."""
    return _leading_axes(fit, weigh_terms(fit, examples, 1))


def tfidf_bigrams(fit: Sequence[Example], examples: Sequence[Example]) -> np.ndarray:
    """The same with pairs of neighbouring words of a turn."""
    return _leading_axes(fit, weigh_terms(fit, examples, 2))


def weigh_terms(fit: Sequence[Example], examples: Sequence[Example], longest: int) -> np.ndarray:
    """TF-IDF of the most frequent 1,000 terms of the fitted contexts, 2,000 with pairs; rows of length one.

    As scikit-learn has it by default: count times log((1 + n) / (1 + contexts that hold it)) + 1.
    """
    spoken = (term for example in fit for term in _terms(example, longest))
    column = {term: k for k, (term, _) in enumerate(Counter(spoken).most_common(WORDS * longest))}
    counts = np.zeros((len(examples), len(column)), np.float32)
    for row, example in enumerate(examples):
        for term in _terms(example, longest):
            if term in column:
                counts[row, column[term]] += 1
    rarity = np.log((1 + len(fit)) / (1 + (counts[: len(fit)] > 0).sum(0))) + 1
    weighted = counts * rarity.astype(np.float32)
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    return np.asarray(weighted / np.where(lengths > 0, lengths, 1))


def _terms(example: Example, longest: int) -> Iterator[str]:
    for turn in example.context:
        words = tokenize_words(turn.text)
        yield from words
        if longest > 1:
            yield from map(" ".join, pairwise(words))


def _leading_axes(fit: Sequence[Example], features: np.ndarray) -> np.ndarray:
    """On the leading principal axes of the fitted examples, the leading one first: 256 at most.

    There are no more than one for four of them: the classifier scales every axis the same, and those of little or no
    variance, of which few examples have many, would then be noise that drowns the words.
    """
    centred = features - features[: len(fit)].mean(0)
    # eigh of words by words, not an SVD of examples by words: the examples are many times more.
    _, axes = np.linalg.eigh(centred[: len(fit)].T @ centred[: len(fit)])
    return np.asarray(centred @ axes[:, ::-1][:, : min(AXES, max(1, len(fit) // EXAMPLES_AN_AXIS))])


def _count_words(column: Mapping[str, int], examples: Sequence[Example]) -> np.ndarray:
    """How often each word occurs in each context; a context that continues the one before it adds its new turns."""
    counts = np.zeros((len(examples), len(column)), np.float32)
    before: Example | None = None
    for row, example in enumerate(examples):
        known = before.n if before and before.dialogue is example.dialogue and before.n < example.n else 0
        counts[row] = counts[row - 1] if known else 0
        for word in _turn_words(example.context[known:]):
            if word in column:
                counts[row, column[word]] += 1
        before = example
    return counts


PLAIN: dict[str, FeatureMaker] = {
    "constant": constant_feature,
    "majority": constant_feature,
    "turn_index": turn_index,
    "context_length": context_length,
}
BAGS: dict[str, FeatureMaker] = {
    "bag_of_words": bag_of_words,
    "bag_of_last_turn": bag_of_last_turn,
    "bag_of_two_turns": bag_of_two_turns,
    "bag_of_window": bag_of_window,
}


TERMS: dict[str, FeatureMaker] = {"tfidf_words": tfidf_words, "tfidf_bigrams": tfidf_bigrams}


def baseline_features(
    fit: Sequence[Example], examples: Sequence[Example], *, width: int = AXES, terms: bool = False
) -> Iterator[tuple[str, np.ndarray]]:
    """The features of every baseline: the plain ones, then every bag in three forms, and `terms` by TF-IDF.

    As it is, with the turn index added, and, where states are narrower, with no more columns than the `width` of
    the widest: fewer columns overfit less, so neither form is always the stronger.
    """
    for name, builder in (PLAIN | TERMS if terms else PLAIN).items():
        yield name, builder(fit, examples)
    position = turn_index(fit, examples)
    for name, builder in BAGS.items():
        bag = builder(fit, examples)
        yield name, bag
        yield name + POSITION, np.hstack([bag, position])
        if width < bag.shape[1]:
            yield name + NARROW, bag[:, :width]


def always_the_most_frequent(fitted: Labels, rows: int) -> np.ndarray:
    """Predictions (rows x labels): the set of labels that most fitted examples have; of equals the first met."""
    sets = Counter(tuple(sorted(part)) for part in np.split(fitted.columns, fitted.starts[1:-1]))
    predicted = np.zeros((rows, len(fitted.classes)), bool)
    predicted[:, sets.most_common(1)[0][0]] = True
    return predicted
