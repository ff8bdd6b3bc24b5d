"""What the options of a question may be: each is refused in a sentence before anything is read; light, for commands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from seedvote.dialogue.errors import InputError


def check_ranges(values: Mapping[str, Any], **ranges: tuple[float, float]) -> None:
    """Refuse a number below the first or not below the second bound given for it; None is no number yet."""
    for name, (least, under) in ranges.items():
        value = values[name]
        if value is not None and not least <= value < under:
            above = "" if under == math.inf else f" and under {under:g}"
            raise InputError(f"--{name.replace('_', '-')} is {value:g}; it must be at least {least:g}{above}.")


def check_margin(margin: float | None) -> None:
    """Refuse a margin of equivalence that is no net preference between 0 and 1; None is no margin stated."""
    if margin is not None and not 0 < margin < 1:
        unit = "point" if margin == 1 else "points"
        points = f" For {margin:g} {unit} write --margin {margin / 100:g}." if 1 <= margin < 100 else ""
        raise InputError(f"--margin is {margin:g}; it is a net preference between 0 and 1.{points}")


def check_help(
    correlation: float | None, unlabelled: int | None, rater_share: float | None, price: float | None,
    verdict_price: float | None,
) -> None:  # fmt: skip
    """Refuse half of what a plan with a judge needs."""
    if (correlation is None) != (unlabelled is None):
        raise InputError("A plan with a judge needs both --judge-correlation R and --unlabelled N.")
    for name, value in (("--rater-share", rater_share), ("--verdict-price", verdict_price)):
        if value is not None and correlation is None:
            raise InputError(f"{name} is about a judge: give --judge-correlation R and --unlabelled N too.")
    if verdict_price is not None and price is None:
        raise InputError("--verdict-price is held against the votes it spares: give their --price DOLLARS too.")
