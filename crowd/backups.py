"""A study as one file: saved while its servers run, restored into either database, upgraded after a backup."""

from __future__ import annotations

import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.store.launches import ONCE_FILES
from seedvote.crowd.store.store import SCHEMA_VERSION, Store, create_tables, open_store, sqlite_url, stored_version
from seedvote.crowd.store.tables import METADATA
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.media import find_inside, media_in_body

STORE = "crowd.sqlite"
FILES = ("hit.toml", *sorted({form.file for form in FORMS.values()}), *(f"{name}.json" for name in ONCE_FILES))


def save_study(study: Path, database: str | None, file: Path) -> Mapping[str, int]:
    """Write the backup; how many rows of each table are in it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / STORE
        if database is None:
            if not (study / STORE).exists():
                raise InputError(f"{study} has no {STORE}. If its votes are in PostgreSQL, give --database.")
            save_sqlite(study / STORE, copy)
        else:
            save_store(database, copy)
        rows = check_copy(copy)
        with atomic(file, "wb") as handle:
            Path(handle.name).chmod(0o600)
            with zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.write(copy, STORE)
                for name in (*FILES, *_media_beside(copy, study)):
                    if (study / name).exists():
                        archive.write(study / name, name)
    return rows


def restore_study(study: Path, database: str | None, file: Path) -> Mapping[str, int]:
    """Make the study; how many rows of each table it has."""
    present = [name for name in (*FILES, STORE) if (study / name).exists()]
    if present:
        raise InputError(
            f"{study} has {', '.join(present)} already, which a backup does not replace. Name a new folder."
        )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / STORE
        contents = _unpack_backup(file, copy)
        rows = check_copy(copy)
        with closing(open_store(f"sqlite:///{copy}")):  # an older one becomes one of this version
            pass
        study.mkdir(parents=True, exist_ok=True)
        if database is None:
            save_sqlite(copy, _make_private(study / STORE))
        else:
            load_store(copy, database)
        for name, content in contents.items():
            with atomic(study / name, "wb") as handle:
                handle.write(content)
    with opened(study, database):
        return rows


def upgrade_study(study: Path, database: str | None, backup: Path | None) -> tuple[int | None, int]:
    """Save an older store, then bring it up to this version; the versions before and now."""
    if database is None and not (study / STORE).exists():
        raise InputError(f"{study} has no {STORE}. If its votes are in PostgreSQL, give --database.")
    with closing(open_store(database or sqlite_url(study), migrate=False)) as store:
        before = stored_version(store)
    if before != SCHEMA_VERSION:
        if backup:
            save_study(study, database, backup)
        with opened(study, database):
            pass
    return before, SCHEMA_VERSION


def _unpack_backup(file: Path, copy: Path) -> dict[str, bytes]:
    """The files beside the store, which is written to `copy`."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if STORE not in names:
                raise InputError(f"{file} holds no {STORE}, so it is no backup of a study.")
            copy.write_bytes(archive.read(STORE))
            return {name: archive.read(name) for name in (*FILES, *_media_in(copy)) if name in names}
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read as a backup: {error}. It is what `crowd backup` writes.") from error


def _media_in(copy: Path) -> list[str]:
    """The files that the pairs of a saved store name; a name that leads elsewhere was never one of them."""
    with closing(_open_file(copy, "ro")) as connection:  # of any version, which it stays
        bodies = [body for (body,) in connection.execute("""SELECT body FROM pairs WHERE body LIKE '%"sha256"%'""")]
    names = dict.fromkeys(name for body in bodies for name, _, _ in media_in_body(body))
    for name in names:
        find_inside(copy.parent, name)
    return list(names)


def _media_beside(copy: Path, study: Path) -> list[str]:
    """The files that the pairs name and that lie in the folder of the study; others cannot be saved with it."""
    return [name for name in _media_in(copy) if (study / name).is_file()]


def _make_private(path: Path) -> Path:
    """A file that only its owner may read."""
    path.touch(mode=0o600, exist_ok=False)
    return path


ROWS = 2000  # copied at once


def save_sqlite(path: Path, copy: Path) -> None:
    """Copy the file of a store, of any version, as it is at this moment."""
    with closing(_open_file(path, "ro")) as source, closing(sqlite3.connect(copy)) as target:
        try:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        except sqlite3.Error as error:
            raise InputError(f"{path} cannot be copied: {error}. Is it the store of a study?") from error


def save_store(url: str, copy: Path) -> None:
    """Copy a store of the present version out of any database, in one transaction."""
    with closing(open_store(url, migrate=False)) as source, closing(_open_empty_store(f"sqlite:///{copy}")) as target:
        version = stored_version(source)
        if version != SCHEMA_VERSION:
            raise InputError(
                f"This database has schema version {version}, and this program knows {SCHEMA_VERSION}. Save it with "
                "pg_dump, then upgrade it: python -m crowd upgrade STUDY --no-backup"
            )
        with source.read() as reading, target.engine.begin() as writing:
            _copy_rows(reading, writing)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def load_store(copy: Path, url: str) -> None:
    """Put a file of the present version into an empty database."""
    with (
        closing(open_store(f"sqlite:///{copy}")) as source,
        closing(_open_empty_store(url)) as target,
        source.read() as reading,
        target.engine.begin() as writing,
    ):
        _copy_rows(reading, writing)
        _count_on(writing)


def check_copy(copy: Path) -> dict[str, int]:
    """Rows of each table of a file that is whole; a sentence for any other file."""
    with closing(_open_file(copy, "ro")) as connection:
        try:
            (state,) = connection.execute("PRAGMA integrity_check").fetchone()
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            known = [table.name for table in METADATA.sorted_tables if table.name in names]
            if state != "ok" or "study" not in known:
                raise InputError(f"{copy.name} is no whole store of a study ({state}).")
            count = "SELECT COUNT(*) FROM {}"
            return {name: connection.execute(count.format(name)).fetchone()[0] for name in known}
        except sqlite3.Error as error:
            raise InputError(f"{copy.name} is no store of a study: {error}.") from error


def _open_file(path: Path, mode: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30)
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be opened: {error}.") from error


def _open_empty_store(url: str) -> Store:
    """A store with all tables and no row; refused where a study is already."""
    store = open_store(url, migrate=False, allow_empty=True)
    try:
        if stored_version(store) is not None:
            raise InputError("The database holds a study already, which a backup does not replace. Name an empty one.")
        create_tables(store)
    except BaseException:
        store.close()
        raise
    return store


def _copy_rows(reading: sa.Connection, writing: sa.Connection) -> None:
    for table in METADATA.sorted_tables:
        for rows in _read_parts(reading, table):
            writing.execute(sa.insert(table), rows)


def _read_parts(reading: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    rows = reading.execution_options(yield_per=ROWS).execute(sa.select(table)).mappings()
    for part in rows.partitions():
        yield [dict(row) for row in part]


def _count_on(writing: sa.Connection) -> None:
    """PostgreSQL numbers new rows from where the copied ones end; SQLite does so by itself."""
    if writing.dialect.name != "postgresql":
        return
    for table in METADATA.sorted_tables:
        for column in table.primary_key:
            if column.autoincrement is True:
                last = sa.select(sa.func.coalesce(sa.func.max(column), 0) + 1).scalar_subquery()
                sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                writing.execute(sa.select(sa.func.setval(sequence, last, False)))
