"""Rows of an answer, of either store."""

from collections import namedtuple
from functools import lru_cache
from typing import Any


@lru_cache(256)
def row_type(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns as attributes."""
    return namedtuple("Row", names, rename=True)
