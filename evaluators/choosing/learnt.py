"""Heads and dual encoders as choosers; what was fitted once is kept in STUDY/choosers and not fitted again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves
from seedvote.dialogue.jobs import content_key
from seedvote.dialogue.records import Question
from seedvote.evaluators.choosing.bilinear import RECIPE, head_scores
from seedvote.evaluators.choosing.ranks import Chooser
from seedvote.evaluators.choosing.states import EncoderStates, read_question_states, state_files

Floats = NDArray[np.float64]
ENCODER = "encoder"  # the rule's name in tables


def encoder_choosers(
    study: Path, questions: Sequence[Question], texts: str, heads: Sequence[int], tell: Callable[[], object]
) -> Iterator[Chooser]:
    """A chooser for every encoded checkpoint and head's seed."""
    for path in state_files(study):
        states = read_question_states(path, questions, texts)
        for seed in heads:
            key = content_key(RECIPE, states.key, texts, seed)
            scores = kept(study, f"{path.stem}-head-{seed}", key, partial(_head, states, seed))
            yield Chooser(
                states.model, states.seed, states.checkpoint, ENCODER, by_question(scores, questions), head=seed
            )
            tell()


def by_question(scores: Floats, questions: Sequence[Question]) -> list[Floats]:
    """One long row of scores, cut at every question."""
    ends = [0, *accumulate(len(question.options) for question in questions)]
    if len(scores) != ends[-1]:
        raise InputError(f"{len(scores)} scores for {ends[-1]} options; remove STUDY/choosers and choose again.")
    return [scores[a:b] for a, b in pairwise(ends)]


def kept(study: Path, name: str, key: str, make: Callable[[], Floats]) -> Floats:
    """The scores under this key, read or made and written."""
    path = study / "choosers" / f"{name}-{key[:16]}.npy"
    if path.exists():
        return np.asarray(np.load(path), dtype=np.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_halves(path)
    scores = make()
    with atomic(path, "wb") as handle:
        np.save(handle, scores)
    return scores


def dual_encoder_choosers(
    study: Path, corpus: Path, questions: Sequence[Question], texts: str, seeds: Sequence[int], *, paper: bool
) -> list[Chooser]:
    """A dual encoder trained from scratch under each seed: a line to hold models against, not one of them."""
    from seedvote.evaluators.choosing.dual_encoder import PAPER, SMALL, dual_material, train_and_score

    how = PAPER if paper else SMALL
    material = dual_material(read_corpus(corpus), questions, how)
    choosers = []
    for seed in seeds:
        key = content_key("dual encoder", material.digest, texts, how, seed)
        scores = kept(study, f"dual-{seed}", key, partial(train_and_score, material, how, seed))
        choosers.append(Chooser("dual_encoder", seed, "last", "dual encoder", by_question(scores, questions), True))
    return choosers


def _head(states: EncoderStates, seed: int) -> Floats:
    return head_scores(states, seed)[0]
