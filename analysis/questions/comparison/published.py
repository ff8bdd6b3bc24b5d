"""The papers' own numbers (logistic regression, three seeds), to show a study beside theirs.

Source of `published_scores.csv`: arXiv 2008.10427, Tables 5-7, 10 and 11. They print "F1 +- x" with x = 100 x the
sample variance of F1 in [0, 1] over three seeds. An SD in points is therefore 100 sqrt(x / 100) = 10 sqrt(x): HRED's
"+- 10.39" on UtteranceLoc is an SD of 32.2 points, and "probes barely vary" is partly a matter of units.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from seedvote.dialogue.formulas.difficulty import RECURRENT, rank_difficulty

TABLE = Path(__file__).with_name("published_scores.csv")
CHECKPOINTS = ("untrained", "last", "best_bleu", "best_rouge", "best_meteor", "best_bert")


@dataclass(frozen=True, slots=True)
class Published:
    """One cell of the papers' tables: micro-F1 in points, the printed "+-", and the SD in points that it stands for."""

    corpus: str
    task: str
    model: str
    checkpoint: str
    f1: float
    printed: float

    @property
    def sd(self) -> float:
        """SD over three seeds, in points."""
        return sd_from_printed(self.printed)


@dataclass(frozen=True, slots=True)
class DifficultyGroup:
    """Mean and SD (n-1) across the tasks of one difficulty group, for one model."""

    model: str
    group: str
    tasks: tuple[str, ...]
    mean: float
    sd: float


def sd_from_printed(printed: float) -> float:
    """SD in points from 100 x variance of F1 in [0, 1].

    >>> round(sd_from_printed(10.39), 1)
    32.2
    """
    return 10 * math.sqrt(printed)


def read_published() -> list[Published]:
    """Every cell of the papers' logistic-regression tables."""
    with TABLE.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    return [
        Published(
            row["corpus"], row["task"], row["model"], name, float(row[f"{name}_f1"]), float(row[f"{name}_printed"])
        )
        for row in rows
        for name in CHECKPOINTS
        if row[f"{name}_f1"]
    ]


def difficulty_of_tasks(scores: Sequence[Published]) -> dict[str, str]:
    """Task -> easy, medium or hard, by the mean untrained F1 of the four recurrent models on MultiWOZ."""
    untrained: dict[str, list[float]] = {}
    for score in scores:
        if score.corpus == "multiwoz" and score.checkpoint == "untrained" and score.model in RECURRENT:
            untrained.setdefault(score.task, []).append(score.f1)
    return rank_difficulty(untrained)


def difficulty_groups(scores: Sequence[Published], *, checkpoint: str = "best_bleu") -> list[DifficultyGroup]:
    """The papers' table of difficulty groups from the scores of one checkpoint."""
    group_of = difficulty_of_tasks(scores)
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for score in scores:
        if score.corpus == "multiwoz" and score.checkpoint == checkpoint:
            cells.setdefault((score.model, group_of[score.task]), {})[score.task] = score.f1
    return [
        DifficultyGroup(model, group, tuple(sorted(f1)), fmean(f1.values()), stdev(f1.values()))
        for (model, group), f1 in cells.items()
    ]
