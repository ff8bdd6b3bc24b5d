"""A study as one file: saved while its servers run, restored into either database, upgraded after a backup."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.store.copying import check_copy, load_store, save_sqlite, save_store
from seedvote.crowd.store.launches import ONCE_FILES
from seedvote.crowd.store.store import SCHEMA_VERSION, open_store, sqlite_url, stored_version
from seedvote.crowd.study_folder import opened
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic

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
                for name in FILES:
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
        texts = _unpacked(file, copy)
        rows = check_copy(copy)
        with closing(open_store(f"sqlite:///{copy}")):  # an older one becomes one of this version
            pass
        study.mkdir(parents=True, exist_ok=True)
        if database is None:
            save_sqlite(copy, _private(study / STORE))
        else:
            load_store(copy, database)
        for name, content in texts.items():
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


def _unpacked(file: Path, copy: Path) -> dict[str, bytes]:
    """The files beside the store, which is written to `copy`."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if STORE not in names:
                raise InputError(f"{file} holds no {STORE}, so it is no backup of a study.")
            copy.write_bytes(archive.read(STORE))
            return {name: archive.read(name) for name in FILES if name in names}
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} cannot be read as a backup: {error}. It is what `crowd backup` writes.") from error


def _private(path: Path) -> Path:
    """A file that only its owner may read."""
    path.touch(mode=0o600, exist_ok=False)
    return path
