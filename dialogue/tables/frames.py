"""Tables that are no text: Parquet by pyarrow; Excel, Stata and SPSS by pandas, imported when one is opened."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.table import RawTable, distinct_names

if TYPE_CHECKING:
    from pandas import DataFrame

NEEDS = {"openpyxl": "Excel files", "pyreadstat": "SPSS files"}


def read_parquet(path: Path, raw: bytes) -> RawTable:
    """A Parquet file, nested columns included."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(raw))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error
    return RawTable(path, {name: table.column(name).to_pylist() for name in table.column_names})


def is_written(path: Path, key: str) -> bool:
    """Whether a whole Parquet file of a job with this very key is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool((pq.read_schema(path).metadata or {}).get(b"key") == key.encode())
    except (OSError, pa.ArrowException):
        return False


def read_frame_rows(raw: bytes, *, parquet: bool) -> Iterator[Any]:
    """The rows of a Parquet file, or of a stream of Arrow as `datasets` saves it; what a row has not is left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = pa.BufferReader(raw)
    table = pq.read_table(buffer) if parquet else pa.ipc.open_stream(buffer).read_all()
    for batch in table.to_batches():
        yield from map(_leave_out_nulls, batch.to_pylist())


def _leave_out_nulls(value: Any) -> Any:
    """Where rows differ in what they have, a table says null."""
    if isinstance(value, dict):
        return {name: _leave_out_nulls(part) for name, part in value.items() if part is not None}
    return [_leave_out_nulls(part) for part in value] if isinstance(value, list) else value


def parquet_batches(path: Path, rows: int, wanted: Sequence[str] | None) -> Iterator[RawTable]:
    """The rows of a Parquet file in parts, at least one; only the `wanted` columns, if they are named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names, row = file.schema_arrow.names, 0
            columns = names if wanted is None else [name for name in names if name in wanted]
            for batch in file.iter_batches(rows, columns=columns):
                cells = {name: batch.column(name).to_pylist() for name in batch.schema.names}
                places = tuple(f"{path}: row {number}" for number in range(row + 1, row + len(batch) + 1))
                yield RawTable(path, cells, places=places)
                row += len(batch)
            if not row:
                yield RawTable(path, {name: [] for name in columns})
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error


def unpack_zstandard(packed: bytes, size: int, place: str) -> bytes:
    """Bytes that Zstandard packed; `size` is their number unpacked."""
    import pyarrow as pa

    try:
        return bytes(pa.Codec("zstd").decompress(packed, size, asbytes=True))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{place} cannot be unpacked: {str(error).rstrip('.')}. Is the file whole?") from error


def read_excel(path: Path, raw: bytes) -> RawTable:
    """The one sheet of a workbook that holds a table."""
    sheets = _open_by_pandas(
        path, lambda pd: pd.read_excel(io.BytesIO(raw), sheet_name=None, header=None, dtype=object)
    )
    filled = {name: sheet.dropna(how="all") for name, sheet in sheets.items()}
    filled = {name: sheet for name, sheet in filled.items() if len(sheet) > 1}
    if not filled:
        raise InputError(f"{path} holds no rows below the names of its columns.")
    if len(filled) != 1:
        raise InputError(
            f"{path} has {len(filled)} sheets with rows ({', '.join(filled)}); one is expected. "
            "Save the sheet with the votes as a file of its own."
        )
    ((name, sheet),) = filled.items()
    rows = [[_json_value(cell) for cell in row] for row in sheet.itertuples(index=False)]
    header = ["" if cell is None else str(cell).strip() for cell in rows[0]]
    unnamed = [k for k in range(len(header)) if not header[k] and any(row[k] is not None for row in rows[1:])]
    if len(unnamed) * 2 > len(header):
        raise InputError(
            f"{path} begins with {next(filter(None, header), '')!r} and not with the names of its columns. Delete what "
            "stands above these names."
        )
    names = distinct_names(header)
    columns = {names[k]: [row[k] for row in rows[1:]] for k in range(len(names)) if header[k]}
    note = () if len(sheets) == 1 else (f"sheet {name}",)
    twins = tuple(dict.fromkeys(name for name in header if name and header.count(name) > 1))
    return RawTable(path, columns, notes=note, twins=twins)


def read_stata(path: Path, raw: bytes) -> RawTable:
    """A file of Stata, labels in place of their codes."""
    frame = _open_by_pandas(path, lambda pd: pd.read_stata(io.BytesIO(raw)))
    return _table_of_frame(path, frame)


def read_spss(path: Path, _raw: bytes) -> RawTable:
    """A file of SPSS, labels in place of their codes."""
    frame = _open_by_pandas(path, lambda pd: pd.read_spss(path))
    return _table_of_frame(path, frame)


def _table_of_frame(path: Path, frame: DataFrame) -> RawTable:
    return RawTable(
        path, {str(name): [_json_value(cell) for cell in frame[name].astype(object)] for name in frame.columns}
    )


def _open_by_pandas(path: Path, open_frame: Callable[[Any], Any]) -> Any:
    try:
        import pandas as pd

        return open_frame(pd)
    except ImportError as error:
        name = next((package for package in NEEDS if package in str(error)), "pandas")
        kind = NEEDS.get(name, "such files")
        raise InputError(
            f"{path}: {kind} need the package {name}. Install it (pip install {name}), or save the table as CSV."
        ) from error
    except Exception as error:
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error


def _json_value(cell: Any) -> Any:
    """A cell as JSON would have it; a time as ISO 8601."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, date | datetime | time):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell.item() if hasattr(cell, "item") else cell


READERS: Mapping[str, Callable[[Path, bytes], RawTable]] = {
    "parquet": read_parquet,
    "excel": read_excel,
    "stata": read_stata,
    "spss": read_spss,
}
