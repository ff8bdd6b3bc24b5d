"""How difficult a probe task is, as the second probe paper groups its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

RECURRENT = ("seq2seq", "seq2seq_attn", "hred", "bilstm_attn")
EASY, MEDIUM = 50.0, 25.0  # points of the untrained recurrent models above which a task is easy, or medium


def rank_difficulty(untrained: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Each task is easy, medium or hard by the mean of the untrained recurrent models, in points."""
    means = {task: fmean(scores) for task, scores in untrained.items()}
    return {task: "easy" if f1 > EASY else "medium" if f1 >= MEDIUM else "hard" for task, f1 in means.items()}
