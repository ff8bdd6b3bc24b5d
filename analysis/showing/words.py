"""Numbers as JSON can hold them (what is not finite becomes null) and as tables show them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Plain values, however deep: numpy's scalars and arrays become Python's, NaN and infinity None.

    >>> plain({"low": np.float64("nan"), "ranks": np.array([1, 2])})
    {'low': None, 'ranks': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def number(value: float | None, digits: int = 3) -> str:
    """A number of a table; what is not defined is a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def p_equals(value: float) -> str:
    """A p value within a sentence: `p = 0.0213`, `p < .0001`."""
    return "p < .0001" if value < 0.0001 else f"p = {value:.4f}"


def p_value(value: float | None) -> str:
    """A p value as a table shows it, never as zero."""
    return "-" if value is None else "<.0001" if value < 0.0001 else f"{value:.4f}"
