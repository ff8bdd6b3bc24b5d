"""A change that the database has taken back, for certain: its connection ended before the commit was sent."""

from __future__ import annotations

import sqlalchemy as sa


class LostTurn(sa.exc.OperationalError):
    """The server was away for too long, or the database was started again; the change may be made anew."""
