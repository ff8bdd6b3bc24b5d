"""Choosers that are fitted: frozen states, a bilinear head on them, and what is kept of every fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, read_json
from seedvote.dialogue.jobs import content_key
from seedvote.dialogue.questions import QUESTION_STATES, check_texts
from seedvote.dialogue.records import Question, States
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.validity import from_json
from seedvote.evaluators.choosing.rules import Chooser

# Frozen encoder states of contexts, replies and options, as `generation encode --questions` writes them.

Floats = NDArray[np.float64]
AGAIN = "Encode again: python -m generation encode STUDY --questions"


@dataclass(frozen=True, eq=False)
class PairStates:
    """Contexts and the replies that they got, row by row."""

    contexts: Floats
    replies: Floats


@dataclass(frozen=True, eq=False)
class EncoderStates:
    """One checkpoint: what a head is fitted on, and the questions (options one after the other)."""

    model: str
    seed: int | None
    checkpoint: str
    key: str
    train: PairStates
    valid: PairStates
    contexts: Floats
    options: Floats
    sizes: tuple[int, ...]  # options of each question


def state_files(study: Path) -> list[Path]:
    """The matrices of a study, by name."""
    return [path for path in sorted((study / QUESTION_STATES).glob("*.npy")) if path.with_suffix(".json").exists()]


def read_question_states(path: Path, questions: Sequence[Question], texts: str) -> EncoderStates:
    """One matrix taken apart; refused where it was made for other questions."""
    sidecar = from_json(States, read_json(path.with_suffix(".json")), str(path.with_suffix(".json")))
    recipe_of_texts = next(
        (
            question.removeprefix("texts:")
            for question in sidecar.extra.get("splits", [])
            if question.startswith("texts:")
        ),
        "",
    )
    check_texts(path, recipe_of_texts or "unknown", texts)
    try:
        matrix = np.load(path).astype(np.float64)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}). {AGAIN}") from None
    rows = {name: k for k, name in enumerate(sidecar.ids)}
    if len(matrix) != len(rows) or not np.isfinite(matrix).all():
        raise InputError(f"{path} is not whole, or holds what is no number. {AGAIN}")
    try:
        contexts = matrix[[rows[f"question/context/{question.question}"] for question in questions]]
        options = matrix[
            [
                rows[f"question/option/{question.question}/{k}"]
                for question in questions
                for k in range(len(question.options))
            ]
        ]
    except KeyError as error:
        raise InputError(f"{path} lacks {error}. {AGAIN}") from None
    parts = {}
    for split in ("train", "valid"):
        items = [name.split("/", 2)[2] for name in rows if name.startswith(f"{split}/context/")]
        parts[split] = PairStates(
            matrix[[rows[f"{split}/context/{item}"] for item in items]],
            matrix[[rows[f"{split}/reply/{item}"] for item in items]],
        )
    key = str(sidecar.extra.get("key", ""))
    return EncoderStates(
        sidecar.model,
        sidecar.seed,
        sidecar.checkpoint,
        key,
        parts["train"],
        parts["valid"],
        contexts,
        options,
        tuple(len(question.options) for question in questions),
    )


# A bilinear head on frozen states: c' M r says how well a reply r fits a context c (Lowe et al. 2015).
#
# Only M is fitted, so an encoder is judged by what its states hold, and an untrained encoder gets a head too. Each
# context is to find its reply among those of its batch (softmax; replies of the same state count as one). Adam, until
# the loss on the validation pairs has not fallen for three epochs; the penalty on M is that of the least such loss.

BATCH = 64
EPOCHS, WAIT = 30, 3
RATE, FADE, FADE_SQUARES = 3e-3, 0.9, 0.999
PENALTIES = (1e-4, 1e-3, 1e-2)
RECIPE = ("bilinear", BATCH, EPOCHS, WAIT, RATE, FADE, FADE_SQUARES, PENALTIES)  # what a head follows from


@dataclass(frozen=True, slots=True, eq=False)
class FittedHead:
    """The matrix with the least loss on validation pairs."""

    matrix: Floats
    loss: float  # nats a context, of finding its reply among those of a batch
    epochs: int
    penalty: float


def head_scores(states: EncoderStates, seed: int) -> tuple[Floats, FittedHead]:
    """Scores of all options under a head with this seed, and the head."""
    scale = [_fit_scale(part) for part in (states.train.contexts, states.train.replies)]
    train, valid = (
        PairStates(_scale_rows(pairs.contexts, *scale[0]), _scale_rows(pairs.replies, *scale[1]))
        for pairs in (states.train, states.valid)
    )
    head = fit_head(train, valid, seed)
    contexts, options = _scale_rows(states.contexts, *scale[0]), _scale_rows(states.options, *scale[1])
    context_rows = np.repeat(np.arange(len(contexts)), states.sizes)
    return np.einsum("ij,ij->i", (contexts @ head.matrix)[context_rows], options), head


def _fit_scale(rows: Floats) -> tuple[Floats, Floats]:
    spread = rows.std(0)
    return rows.mean(0), np.where(spread > 1e-9, spread, 1.0)


def _scale_rows(rows: Floats, mean: Floats, spread: Floats) -> Floats:
    # Divided by the root of the width, so that a first score is of the size of 1 whatever the encoder.
    return np.asarray((rows - mean) / spread / np.sqrt(rows.shape[1]))


def fit_head(train: PairStates, valid: PairStates, seed: int, penalties: Sequence[float] = PENALTIES) -> FittedHead:
    """The best head over the penalties."""
    return min((_fit_head(train, valid, seed, penalty) for penalty in penalties), key=lambda fit: fit.loss)


def _fit_head(train: PairStates, valid: PairStates, seed: int, penalty: float) -> FittedHead:
    random = np.random.default_rng(child_seed(seed, "bilinear head"))
    width = train.contexts.shape[1], train.replies.shape[1]
    matrix = random.normal(0, 0.1, width)
    mean, squares, step = np.zeros(width), np.zeros(width), 0
    best = FittedHead(matrix.copy(), _bilinear_loss(matrix, valid), 0, penalty)
    same_replies, of_valid = _number_equal_rows(train.replies), _number_equal_rows(valid.replies)
    for epoch in range(1, EPOCHS + 1):
        order = random.permutation(len(train.contexts))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            if len(rows) < 2:
                continue
            _, slope = softmax_loss(matrix, train.contexts[rows], train.replies[rows], same_replies[rows])
            slope += penalty * matrix
            step += 1
            mean = FADE * mean + (1 - FADE) * slope
            squares = FADE_SQUARES * squares + (1 - FADE_SQUARES) * slope**2
            matrix -= RATE * (mean / (1 - FADE**step)) / (np.sqrt(squares / (1 - FADE_SQUARES**step)) + 1e-8)
        loss = _bilinear_loss(matrix, valid, of_valid)
        if loss < best.loss:
            best = FittedHead(matrix.copy(), loss, epoch, penalty)
        elif epoch - best.epochs >= WAIT:
            break
    return best


def softmax_loss(
    matrix: Floats, contexts: Floats, replies: Floats, same_replies: NDArray[np.int64]
) -> tuple[float, Floats]:
    """Mean -log p of each context's own reply among those of the batch, and the slope by the matrix."""
    scores = contexts @ matrix @ replies.T
    twin = same_replies[:, None] == same_replies[None, :]
    np.fill_diagonal(twin, val=False)
    scores[twin] = -np.inf  # another row with the same reply is neither right nor wrong
    scores -= scores.max(1, keepdims=True)
    chance = np.exp(scores)
    total = chance.sum(1, keepdims=True)
    loss = float((np.log(total[:, 0]) - np.diag(scores)).mean())
    chance /= total
    chance[np.diag_indices(len(chance))] -= 1
    return loss, np.asarray(contexts.T @ chance @ replies / len(contexts))


def _number_equal_rows(rows: Floats) -> NDArray[np.int64]:
    """The same number for rows that are equal."""
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], dtype=np.int64).ravel()


def _bilinear_loss(matrix: Floats, pairs: PairStates, same_replies: NDArray[np.int64] | None = None) -> float:
    same_replies = _number_equal_rows(pairs.replies) if same_replies is None else same_replies
    starts = range(0, max(len(pairs.contexts) - 1, 1), BATCH)
    parts = [
        (
            len(pairs.contexts[a : a + BATCH]),
            softmax_loss(
                matrix, pairs.contexts[a : a + BATCH], pairs.replies[a : a + BATCH], same_replies[a : a + BATCH]
            )[0],
        )
        for a in starts
    ]
    return sum(n * loss for n, loss in parts) / sum(n for n, _ in parts)


# Heads and dual encoders as choosers; what was fitted once is kept in STUDY/choosers and not fitted again.

ENCODER = "encoder"  # the rule's name in tables


def encoder_choosers(
    study: Path, questions: Sequence[Question], texts: str, heads: Sequence[int], tell: Callable[[], object]
) -> Iterator[Chooser]:
    """A chooser for every encoded checkpoint and head's seed."""
    for path in state_files(study):
        states = read_question_states(path, questions, texts)
        for seed in heads:
            key = content_key(RECIPE, states.key, texts, seed)
            scores = keep_scores(study, f"{path.stem}-head-{seed}", key, partial(_score_with_head, states, seed))
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


def keep_scores(study: Path, name: str, key: str, make: Callable[[], Floats]) -> Floats:
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
        scores = keep_scores(study, f"dual-{seed}", key, partial(train_and_score, material, how, seed))
        choosers.append(Chooser("dual_encoder", seed, "last", "dual encoder", by_question(scores, questions), True))
    return choosers


def _score_with_head(states: EncoderStates, seed: int) -> Floats:
    return head_scores(states, seed)[0]
