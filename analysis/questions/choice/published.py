"""The people's half of Table 2 of Lowe et al. (2016), with the number of answers that each cell implies.

They print a share with 1.96 sqrt(p (1 - p) / n) and a star where n min(p, 1 - p) < 5, too few for that formula. So
n = 1.96^2 p (1 - p) / h^2 follows from the cell, and the star from n.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("published_choice.csv")
Z = 1.96
FEWEST = 5  # of the rarer outcome, below which the formula is starred


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """One cell: a share in parts of one, its half-width, and whether it has the star in print."""

    group: str
    corpus: str
    metric: str
    share: float
    half: float
    starred: bool

    @property
    def implied(self) -> int:
        """The number of answers from which the half-width follows."""
        return round(Z**2 * self.share * (1 - self.share) / self.half**2)


def published_cells() -> tuple[PublishedCell, ...]:
    """The cells in the order of the paper."""
    with TABLE.open(encoding="utf-8") as file:
        return tuple(
            PublishedCell(
                row["group"],
                row["corpus"],
                row["metric"],
                float(row["percent"]) / 100,
                float(row["half_width"]) / 100,
                row["starred"] == "1",
            )
            for row in csv.DictReader(file)
        )


def half_width(share: float, n: int) -> float:
    """The paper's half-width of a share."""
    return Z * math.sqrt(share * (1 - share) / n)


def too_few(share: float, n: int) -> bool:
    """The paper's star: the rarer outcome is expected fewer than five times.

    >>> too_few(0.94, 80), too_few(0.884, 80)
    (True, False)
    """
    return n * min(share, 1 - share) < FEWEST


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n independent answers; it never leaves 0 to 1.

    >>> tuple(round(end, 3) for end in wilson(0.984, 83))
    (0.929, 0.997)
    """
    centre, reach = share + Z**2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n * n))
    low, high = (centre - reach) / (1 + Z**2 / n), (centre + reach) / (1 + Z**2 / n)
    return max(low, 0.0), min(high, 1.0)
