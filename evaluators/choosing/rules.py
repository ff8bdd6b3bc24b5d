"""Choosers that fit nothing: shared words, length and likelihood; and how a choice is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import check_texts, read_texts_hash
from seedvote.dialogue.records import Question

# What chooses without having learnt anything: TF-IDF, length, shared words.
#
# Words are what stands between blanks, in lower case. TF-IDF weighs a word by log((1 + N) / (1 + n)) + 1, where n of
# the N texts (every context and every option) hold it, and compares by the cosine.

Floats = NDArray[np.float64]


def lexical_scores(questions: Sequence[Question]) -> dict[str, list[Floats]]:
    """Rule -> the scores of every question's options."""
    length = [np.array([float(len(words_of(option.text))) for option in question.options]) for question in questions]
    return {
        "shortest": [-lengths for lengths in length],
        "longest": length,
        "overlap": [_count_overlap(question) for question in questions],
        "tfidf": tfidf_scores(questions),
    }


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return text.lower().split()


def context_text(question: Question) -> str:
    """All that was said before."""
    return " ".join(turn.text for turn in question.context)


def _count_overlap(question: Question) -> Floats:
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


# Likelihoods of options as answers to questions, by three rules; the ranks themselves are never one number.
#
# `log p` is the sum over an option's tokens, which favours short options; `log p a token` their mean; `PMI` takes off
# what the option gets after a context that says nothing, which favours what this context makes likelier.

NEEDED = ("question", "option", "model", "seed", "checkpoint", "logprob", "tokens", "logprob_alone")
NUMBERS = ("logprob", "tokens", "logprob_alone")


@dataclass(frozen=True, slots=True, eq=False)
class Chooser:
    """Whoever or whatever gives every option of every question a score; NaN where it has none."""

    model: str
    seed: int | None
    checkpoint: str
    rater: str  # the rule, or the head with its seed
    scores: Sequence[Floats]
    baseline: bool = False
    head: int | None = None  # seed of a head on frozen states, of which each model has several


@dataclass(frozen=True, slots=True)
class Ranks:
    """All choosers by likelihood, and the share of unknown words in true and in false options of each model."""

    choosers: tuple[Chooser, ...]
    unknown: Mapping[str, tuple[float, float]]


def read_ranks(path: Path, questions: Sequence[Question], texts: str) -> Ranks:
    """The ranks of these questions; refused where they were made for other texts."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}). Rank again: python -m generation rank") from None
    if absent := [name for name in NEEDED if name not in table.column_names]:
        raise InputError(f"{path}: column {', '.join(absent)} missing; ranks have {', '.join(NEEDED)}.")
    recipe = (table.schema.metadata or {}).get(b"signature", b"").decode()
    check_texts(path, read_texts_hash({"signature": recipe}), texts)
    places, starts = option_places(questions)
    column = {name: table.column(name).to_pylist() for name in table.column_names}
    groups: dict[tuple[str, int | None, str], list[int]] = {}
    for row, who in enumerate(zip(column["model"], column["seed"], column["checkpoint"], strict=True)):
        groups.setdefault(who, []).append(row)
    choosers, unknown = [], {}
    for who, rows in sorted(
        groups.items(), key=lambda group: (group[0][0], -1 if group[0][1] is None else group[0][1])
    ):
        at = np.array([places.get((column["question"][row], column["option"][row]), -1) for row in rows])
        scores = {}
        for name in (*NUMBERS, *(["unknown"] if "unknown" in column else [])):
            flat = np.full(starts[-1], np.nan)
            flat[at[at >= 0]] = np.array([column[name][row] for row in rows], dtype=float)[at >= 0]
            scores[name] = flat
        for rule, flat in by_rules(*(scores[name] for name in NUMBERS)).items():
            choosers.append(Chooser(*who, rule, [flat[a:b] for a, b in pairwise(starts)]))
        if "unknown" in scores:
            unknown[who[0]] = _share_unknown(scores["unknown"] / scores["tokens"], questions, starts)
    return Ranks(tuple(choosers), unknown)


def by_rules(logprob: Floats, tokens: Floats, alone: Floats) -> dict[str, Floats]:
    """The scores of the three rules.

    >>> {rule: float(score[0]) for rule, score in by_rules(np.array([-6.0]), np.array([3.0]), np.array([-8.0])).items()}
    {'log p': -6.0, 'log p a token': -2.0, 'PMI': 2.0}
    """
    return {"log p": logprob, "log p a token": logprob / tokens, "PMI": logprob - alone}


def option_places(questions: Sequence[Question]) -> tuple[dict[tuple[str, int], int], list[int]]:
    """The place of every option in one long row, and where each question begins in it (and the row's end)."""
    places: dict[tuple[str, int], int] = {}
    starts = [0]
    for question in questions:
        places |= {(question.question, k): starts[-1] + k for k in range(len(question.options))}
        starts.append(starts[-1] + len(question.options))
    return places, starts


def _share_unknown(share: Floats, questions: Sequence[Question], starts: Sequence[int]) -> tuple[float, float]:
    true = np.zeros(len(share), dtype=bool)
    true[[start + question.answer for start, question in zip(starts, questions, strict=False)]] = True
    return float(np.nanmean(share[true])), float(np.nanmean(share[~true]))


# R@k and the reciprocal rank of the true option, where several options may have the same score.
#
# By default a tie is shared: of `better` options above the truth and `tied` equal to it, R@k is the chance that a
# random order of the tied ones puts the truth among the first k. So equal scores for all options give exactly k /
# options. The `middle` rule, which some published numbers follow, ranks the truth in the middle of its ties; it can
# give a rule and its opposite more than they have together by chance, so it is not the default.

Ties = Literal["shared", "middle"]
TIES: tuple[Ties, ...] = get_args(Ties)
CUTS = (1, 2)
EQUAL = 1e-9  # scores nearer than this are ties: sums in another order differ by less


def measure_recall(scores: Floats, answer: int, ties: Ties = "shared") -> tuple[float, float, float]:
    """R@1, R@2 and the reciprocal rank of option `answer` under scores (options,); NaN where a score is missing.

    >>> [round(value, 3) for value in measure_recall(np.zeros(5), 3)]
    [0.2, 0.4, 0.457]
    """
    if np.isnan(scores).any():
        return (float("nan"),) * 3
    # Infinities are equal to themselves, though their difference is no number.
    same = (scores == scores[answer]) | (np.abs(_make_finite(scores) - _make_finite(scores)[answer]) <= EQUAL)
    better, tied = int((~same & (scores > scores[answer])).sum()), int(same.sum())
    if ties == "middle":
        rank = better + (tied - 1) / 2
        return float(rank < CUTS[0]), float(rank < CUTS[1]), 1 / (rank + 1)
    first, second = (min(max((k - better) / tied, 0.0), 1.0) for k in CUTS)
    return first, second, float(np.mean(1 / (better + 1 + np.arange(tied))))


def _make_finite(scores: Floats) -> Floats:
    return np.nan_to_num(scores, posinf=1e300, neginf=-1e300)


def recall_table(scores: Sequence[Floats], answers: Sequence[int], ties: Ties = "shared") -> Floats:
    """R@1, R@2 and the reciprocal rank of every question: (questions, 3)."""
    return np.array([measure_recall(row, answer, ties) for row, answer in zip(scores, answers, strict=True)]).reshape(
        -1, 3
    )


def by_chance(options: Sequence[int]) -> tuple[float, float, float]:
    """What guessing gets on questions of so many options each."""
    rates = np.array([measure_recall(np.zeros(k), 0) for k in sorted(set(options))])
    often = np.array([options.count(k) for k in sorted(set(options))], dtype=float)
    first, second, rank = (rates * (often / often.sum())[:, None]).sum(0).tolist()
    return first, second, rank
