"""What either database answers: rows, or that it has taken a change back."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import Any

import sqlalchemy as sa


@lru_cache(256)
def row_type(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns as attributes."""
    return namedtuple("Row", names, rename=True)


class LostTurn(sa.exc.OperationalError):
    """A change that was taken back for certain: its connection ended before the commit was sent.

    The server was away for too long, or the database was started again; the change may be made anew.
    """
