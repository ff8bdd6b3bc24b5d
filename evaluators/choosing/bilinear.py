"""A bilinear head on frozen states: c' M r says how well a reply r fits a context c (Lowe et al. 2015).

Only M is fitted, so an encoder is judged by what its states hold, and an untrained encoder gets a head too. Each
context is to find its reply among those of its batch (softmax; replies of the same state count as one). Adam, until
the loss on the validation pairs has not fallen for three epochs; the penalty on M is that of the least such loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.choosing.states import EncoderStates, PairStates

Floats = NDArray[np.float64]
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
    scale = [_scale(part) for part in (states.train.contexts, states.train.replies)]
    train, valid = (
        PairStates(_scaled(pairs.contexts, *scale[0]), _scaled(pairs.replies, *scale[1]))
        for pairs in (states.train, states.valid)
    )
    head = fit_head(train, valid, seed)
    contexts, options = _scaled(states.contexts, *scale[0]), _scaled(states.options, *scale[1])
    context_rows = np.repeat(np.arange(len(contexts)), states.sizes)
    return np.einsum("ij,ij->i", (contexts @ head.matrix)[context_rows], options), head


def _scale(rows: Floats) -> tuple[Floats, Floats]:
    spread = rows.std(0)
    return rows.mean(0), np.where(spread > 1e-9, spread, 1.0)


def _scaled(rows: Floats, mean: Floats, spread: Floats) -> Floats:
    # Divided by the root of the width, so that a first score is of the size of 1 whatever the encoder.
    return np.asarray((rows - mean) / spread / np.sqrt(rows.shape[1]))


def fit_head(train: PairStates, valid: PairStates, seed: int, penalties: Sequence[float] = PENALTIES) -> FittedHead:
    """The best head over the penalties."""
    return min((_fit(train, valid, seed, penalty) for penalty in penalties), key=lambda fit: fit.loss)


def _fit(train: PairStates, valid: PairStates, seed: int, penalty: float) -> FittedHead:
    random = np.random.default_rng(child_seed(seed, "bilinear head"))
    width = train.contexts.shape[1], train.replies.shape[1]
    matrix = random.normal(0, 0.1, width)
    mean, squares, step = np.zeros(width), np.zeros(width), 0
    best = FittedHead(matrix.copy(), _loss(matrix, valid), 0, penalty)
    same_replies, of_valid = _alike(train.replies), _alike(valid.replies)
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
        loss = _loss(matrix, valid, of_valid)
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


def _alike(rows: Floats) -> NDArray[np.int64]:
    """The same number for rows that are equal."""
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], dtype=np.int64).ravel()


def _loss(matrix: Floats, pairs: PairStates, same_replies: NDArray[np.int64] | None = None) -> float:
    same_replies = _alike(pairs.replies) if same_replies is None else same_replies
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
