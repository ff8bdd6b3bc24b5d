"""SQLite: noted changes and questions go to the driver itself, as statements that were compiled once.

The way through SQLAlchemy takes several times as long as SQLite's own work, and most of it while the write lock is
held and every other rater waits. Transactions stay SQLAlchemy's.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as dialects

DIALECT: sa.Dialect = dialects.dialect(paramstyle="qmark")

Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement as the driver takes it: its text, its constants, and the order of its values."""

    text: str
    constants: Values
    order: tuple[str, ...]

    def ordered(self, inputs: Values) -> list[Any]:
        """All values, in the order in which the text takes them."""
        values = {**self.constants, **inputs}
        return [values[name] for name in self.order]


class DirectPipe:
    """What a transaction changes and asks, with the face of the pipe of PostgreSQL; nothing waits in it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def later(self, changes: Sequence[tuple[Statement, Values]]) -> None:
        """Make changes."""
        for statement, values in changes:
            self._run(compiled(statement, tuple(values) if statement.is_insert else None), values)

    def fetch(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[Any]]:
        """The rows of each query."""
        results = []
        for query, values in queries:
            cursor = self._run(compiled(query, None), values)
            row = row_type(tuple(column[0] for column in cursor.description))
            results.append([row._make(values) for values in cursor.fetchall()])
        return results

    def _run(self, words: Compiled, values: Values) -> sqlite3.Cursor:
        driver: Any = self._connection.connection.driver_connection
        try:
            cursor: sqlite3.Cursor = driver.execute(words.text, words.ordered(values))
        except sqlite3.Error as error:
            raise sa.exc.DBAPIError.instance(words.text, None, error, sqlite3.Error) from error
        return cursor


@lru_cache(256)
def compiled(statement: Statement, columns: tuple[str, ...] | None) -> Compiled:
    """The statement, compiled once."""
    compilation = statement.compile(dialect=DIALECT, column_keys=columns)
    constants = {bind: parameter.value for bind, parameter in compilation.binds.items() if not parameter.required}
    return Compiled(compilation.string, constants, tuple(compilation.positiontup or ()))


@lru_cache(256)
def row_type(names: tuple[str, ...]) -> Any:
    """The class of rows with these columns as attributes."""
    return namedtuple("Row", names, rename=True)
