"""One door for every table: what a file is shows by its first bytes, not by its name."""

from __future__ import annotations

from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.decoding import ZIP, decoded, unpacked
from seedvote.dialogue.tables.delimited import read_delimited
from seedvote.dialogue.tables.json_rows import read_json_rows
from seedvote.dialogue.tables.table import RawTable

MAGIC = (
    (b"PAR1", "parquet"),
    (ZIP, "excel"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"<stata_dta>", "stata"),
)
ENDINGS = {".parquet": "parquet", ".xlsx": "excel", ".xlsm": "excel", ".dta": "stata", ".sav": "spss"}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_table(path: Path) -> RawTable:
    """The table of a file; every complaint is one sentence with its place."""
    if not path.exists():
        raise InputError(f"{path} cannot be read: there is no such file.")
    raw = unpacked(path)
    if raw.startswith(OLD_EXCEL):
        raise InputError(f"{path} is a workbook of Excel before 2007, or is locked. Save it as .xlsx or as CSV.")
    if (kind := kind_of(path, raw)) is not None:
        from seedvote.dialogue.tables.frames import READERS

        return READERS[kind](path, raw)
    text, notes = decoded(path, raw)
    if is_json(path, text):
        return read_json_rows(path, text, notes)
    return read_delimited(path, text, notes)


def kind_of(path: Path, head: bytes) -> str | None:
    """Which form that is no text a file has, by its first bytes, else by its name; None for text."""
    return next((name for mark, name in MAGIC if head.startswith(mark)), ENDINGS.get(path.suffix.lower()))


def is_json(path: Path, text: str) -> bool:
    """An object or an array to begin with; what is called JSON is read as such, so that a complaint names the line."""
    first = text.lstrip()[:1]
    return first in ("{", "[") or bool({".json", ".jsonl", ".ndjson"} & set(path.suffixes))
