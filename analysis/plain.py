"""Numbers as JSON can hold them: what is not a finite number becomes null."""

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
