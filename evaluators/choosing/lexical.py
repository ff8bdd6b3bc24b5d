"""What chooses without having learnt anything: TF-IDF, length, shared words.

Words are what stands between blanks, in lower case. TF-IDF weighs a word by log((1 + N) / (1 + n)) + 1, where n of the
N texts (every context and every option) hold it, and compares by the cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seedvote.dialogue.records import Question

Floats = NDArray[np.float64]


def lexical_scores(questions: Sequence[Question]) -> dict[str, list[Floats]]:
    """Rule -> the scores of every question's options."""
    length = [np.array([float(len(words_of(option.text))) for option in question.options]) for question in questions]
    return {
        "shortest": [-lengths for lengths in length],
        "longest": length,
        "overlap": [_overlap(question) for question in questions],
        "tfidf": tfidf_scores(questions),
    }


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return text.lower().split()


def context_text(question: Question) -> str:
    """All that was said before."""
    return " ".join(turn.text for turn in question.context)


def _overlap(question: Question) -> Floats:
    """How many different words of an option stand in the context."""
    context_words = set(words_of(context_text(question)))
    return np.array([float(len(context_words & set(words_of(option.text)))) for option in question.options])


def tfidf_scores(questions: Sequence[Question]) -> list[Floats]:
    """The cosine of every option with its context."""
    contexts = [context_text(question) for question in questions]
    options = [option.text for question in questions for option in question.options]
    rows = tfidf_rows([*contexts, *options])
    sizes = [len(question.options) for question in questions]
    ends = [0, *accumulate(sizes)]
    of_context = rows[np.repeat(np.arange(len(questions)), sizes)]
    cosine = np.asarray(of_context.multiply(rows[len(questions) :]).sum(1), dtype=np.float64).ravel()
    return [cosine[ends[k] : ends[k + 1]] for k in range(len(questions))]


def tfidf_rows(texts: Sequence[str]) -> sparse.csr_matrix:
    """TF-IDF of every text, each row of length 1 (0 for a text without words)."""
    words: dict[str, int] = {}
    columns = [[words.setdefault(word, len(words)) for word in words_of(text)] for text in texts]
    ends = np.array([0, *accumulate(map(len, columns))])
    flat = np.array([column for row in columns for column in row], dtype=np.int64)
    counts = sparse.csr_matrix((np.ones(len(flat)), flat, ends), shape=(len(texts), max(len(words), 1)))
    counts.sum_duplicates()
    holding = np.bincount(counts.indices, minlength=counts.shape[1])
    weighed = counts @ sparse.diags_array(np.log((1 + len(texts)) / (1 + holding)) + 1)
    lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(1))).ravel()
    return sparse.csr_matrix(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ weighed)
