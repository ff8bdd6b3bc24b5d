"""Printed numbers beside computed ones: a claim that does not follow from its own parts is marked."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue.errors import InputError

NAMES = ("inform", "success", "bleu", "combined")
ROUNDING = 0.15  # Combined of three numbers printed to .1, itself printed to .1


@dataclass(frozen=True, slots=True)
class Claim:
    """What was printed for one system; nothing where a cell is empty."""

    inform: float | None
    success: float | None
    bleu: float | None
    combined: float | None

    @property
    def follows(self) -> float | None:
        """Combined from the printed parts, where all are printed."""
        if self.inform is None or self.success is None or self.bleu is None:
            return None
        return (self.inform + self.success) / 2 + self.bleu

    @property
    def contradicts_itself(self) -> bool:
        """Whether the printed Combined cannot come from the printed parts."""
        return self.follows is not None and self.combined is not None and abs(self.follows - self.combined) > ROUNDING


def read_claims(path: Path) -> Mapping[str, Claim]:
    """System -> its claim, from CSV with the columns system, inform, success, bleu, combined (any may be missing)."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            rows = list(csv.DictReader(handle))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as claims ({error}). Expected CSV with a column system.") from None
    if not rows or "system" not in rows[0]:
        raise InputError(f"{path} has no column system. Expected: system,{','.join(NAMES)}.")
    return {
        row["system"].strip().lower(): Claim(*(_number(row.get(name), f"{path}:{n}: {name}") for name in NAMES))
        for n, row in enumerate(rows, start=2)
    }


def _number(text: str | None, where: str) -> float | None:
    if text is None or not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} is {text!r}. Expected a number, or nothing.") from None
