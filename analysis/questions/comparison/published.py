"""The papers' own numbers (logistic regression, three seeds), to show a study beside theirs.

Source of `published_scores.csv`: arXiv 2008.10427, Tables 5-7, 10 and 11. They print "F1 +- x" with x = 100 x the
sample variance of F1 in [0, 1] over three seeds. An SD in points is therefore 100 sqrt(x / 100) = 10 sqrt(x): HRED's
"+- 10.39" on UtteranceLoc is an SD of 32.2 points, and "probes barely vary" is partly a matter of units.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

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
        return 10 * math.sqrt(self.printed)


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
