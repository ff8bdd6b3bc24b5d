"""Peak memory and time of `import-scores` for 100,000 and 1,000,000 rows, with pandas reading the same file beside it.

Every command runs in a process of its own. Its peak is the most that was ever resident, imports included; its time is
the processor's. pandas only reads the file; `import-scores` also reads the study's responses, holds every row against
them, and writes the scores.

  python benchmarks/bench_import_scores.py [ROWS ...]
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Response

ROOT = Path(__file__).resolve().parents[1]
FORMS = ("csv", "tsv", "jsonl", "parquet")
MODELS, SEEDS = 5, 4
READ = {
    "csv": "pandas.read_csv(path)",
    "tsv": "pandas.read_csv(path, sep='\\t')",
    "jsonl": "pandas.read_json(path, lines=True)",
    "parquet": "pandas.read_parquet(path)",
}


def main() -> None:
    """Print a line a format and size."""
    sizes = [int(text) for text in sys.argv[1:]] or [100_000, 1_000_000]
    print("rows       format   import-scores          pandas")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _write_study(folder / "study", rows)
            for form in FORMS:
                path = _write_table(folder / f"scores.{form}", rows)
                command = ["-m", "analysis", "import-scores", str(folder / "study"), str(path), "--evaluator", "mine"]
                ours = _peak_and_seconds([*command, "--replace"])
                theirs = _peak_and_seconds(["-c", f"import pandas; path = {str(path)!r}; {READ[form]}"])
                shown = [f"{peak:5.0f} MB {seconds:6.1f} s  " for peak, seconds in (ours, theirs)]
                print(f"{rows:<10,} {form:8}", *shown, flush=True)


def _answers(rows: int) -> Iterator[tuple[str, int, str]]:
    """Model, seed and item of every response."""
    systems = [(f"model-{model}", seed) for model in range(MODELS) for seed in range(SEEDS)]
    for row in range(rows):
        model, seed = systems[row % len(systems)]
        item = row // len(systems)
        yield model, seed, f"DLG{item // 8:06}:{item % 8}"


def _write_study(folder: Path, rows: int) -> None:
    folder.mkdir()
    answers = (
        Response(item, model, seed, "last", "I would like a cheap hotel.") for model, seed, item in _answers(rows)
    )
    write_records(folder / "responses.jsonl", answers, signature="responses", kind=Response)


def _write_table(path: Path, rows: int) -> Path:
    """Two metrics a row; every thousandth cell of the first one says N/A."""
    if path.suffix == ".parquet":  # as pandas writes it: in a process of its own, or its memory would count as ours
        csv_file = path.with_suffix(".csv")
        _peak_and_seconds(["-c", f"import pandas; pandas.read_csv({str(csv_file)!r}).to_parquet({str(path)!r})"])
        return path
    table: Iterator[dict[str, Any]] = (
        {"model": model, "seed": seed, "item": item, "f1": "N/A" if row % 1000 == 7 else row % 997 / 997,
         "reward": row % 89 - 44.5}
        for row, (model, seed, item) in enumerate(_answers(rows))
    )  # fmt: skip
    with path.open("w", encoding="utf-8", newline="") as handle:
        if path.suffix == ".jsonl":
            handle.writelines(
                json.dumps(row | {"f1": "N/A" if row["f1"] is None else row["f1"]}) + "\n" for row in table
            )
        else:
            names = ["model", "seed", "item", "f1", "reward"]
            writer = csv.DictWriter(handle, names, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(table)
    return path


def _peak_and_seconds(arguments: list[str]) -> tuple[float, float]:
    """The most memory of a Python that is started with these arguments, in MB, and its seconds of processor time."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=silent)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {' '.join(arguments)}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
