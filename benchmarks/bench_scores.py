"""Memory and time of reading three million score rows by dialogue, beside pandas.read_parquet of the same file.

Both give every model's value on every task and its error by dialogue. Ours reads batch by batch, names as codes, and
adds up by dialogue; the naive way reads the whole table with pandas and groups it. Each runs in a fresh process: peak
memory is that of the process less what it held after its imports, time is CPU seconds of one thread. The same once more
with a hundredth of the scores missing, and `analysis compare` on the whole study.
Run: python benchmarks/bench_scores.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from large_studies import write_scores  # noqa: E402 (the checkout is not installed)

from analysis.reading.score_files import read_study_scores  # noqa: E402
from analysis.reading.values import Value  # noqa: E402
from dialogue.jobs import job_environment  # noqa: E402
from dialogue.signature import signature  # noqa: E402

ROWS = (300_000, 3_000_000)
KEYS = ["evaluator", "task", "model", "checkpoint", "rater", "condition", "seed"]
Found = dict[tuple[object, ...], float]


def ours(folder: Path) -> Found:
    """Values as `compare` reads them."""
    scores = read_study_scores(folder)
    assert scores is not None
    return {(key.task, key.model, seed): _pair(value) for key, seeds in scores.values.items()
            for seed, value in seeds.items()}  # fmt: skip


def _pair(value: Value) -> float:
    return value.value + value.error


def naive(folder: Path) -> Found:
    """The same from the whole table."""
    import pandas as pd

    table = pd.read_parquet(folder / "scores.parquet")
    counts = pd.DataFrame(table["stats"].tolist())
    table["top"], table["bottom"] = 2 * counts["tp"], 2 * counts["tp"] + counts["fp"] + counts["fn"]
    table.loc[table["score"].isna(), ["top", "bottom"]] = np.nan
    found: Found = {}
    for key, rows in table.groupby(KEYS, sort=False):
        kept = rows.dropna(subset=["score"])
        value = kept["top"].sum() / kept["bottom"].sum()
        sums = kept.groupby("cluster", sort=False)[["top", "bottom"]].sum()
        parts = (sums["top"] - value * sums["bottom"]) / kept["bottom"].sum()
        found[key[1], key[2], int(key[6])] = value + np.sqrt(len(parts) / (len(parts) - 1) * (parts**2).sum())
    return found


def measured(way: str, folder: str) -> tuple[float, float, Found]:
    """Growth of peak memory in MB, CPU seconds, and what was found."""
    act = {"ours": ours, "naive": naive}[way]
    import pandas as pd  # noqa: F401 (loaded in both, so that it is in neither's growth)

    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = act(Path(folder))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, time.process_time() - begun, found


def apart(way: str, folder: Path) -> tuple[float, float, Found]:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured, way, str(folder)).result()


def with_gaps(folder: Path) -> Path:
    """The same scores with those of every hundredth item missing for one model."""
    gaps = folder / "gaps"
    gaps.mkdir()
    with pq.ParquetFile(folder / "scores.parquet") as file:
        schema = file.schema_arrow.append(pa.field("reason", pa.string()))
        with pq.ParquetWriter(gaps / "scores.parquet", schema, compression="zstd") as writer:
            for batch in file.iter_batches(1 << 17):
                score = batch.column("score").to_numpy().copy()
                lost = np.zeros(len(score), bool)
                lost[::100] = batch.column("model").to_numpy(zero_copy_only=False)[::100] == "m0"
                score[lost] = np.nan
                reason = pa.array(np.where(lost, "too long", ""))
                columns = [pa.array(score) if n == "score" else batch.column(n) for n in batch.schema.names]
                writer.write_batch(pa.RecordBatch.from_arrays([*columns, reason], schema=schema))
    return gaps


def command(folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MB of `analysis compare`."""
    line = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
    line += "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    line += "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    words = [sys.executable, "-c", line, sys.executable, "-m", "analysis", "compare", str(folder)]
    environment = os.environ | job_environment()
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    spent, peak = map(float, done.stdout.split())
    return spent, peak / 1024


def main() -> None:
    """Measure each way once and print the ratios."""
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as name:
        for rows in ROWS:
            folder = Path(name) / str(rows)
            folder.mkdir()
            write_scores(folder, rows)
            memory, spent, found = apart("ours", folder)
            naively, long, wanted = apart("naive", folder)
            worst = max(abs(found[key] - value) for key, value in wanted.items())
            print(
                f"{rows:,} rows: {memory:.0f} MB and {spent:.1f} CPU s; pandas {naively:.0f} MB and {long:.1f} CPU s:"
            )
            print(f"  {naively / memory:.1f} times the memory, {long / spent:.1f} times the time; apart by {worst:.0e}")
        gaps, longer, _ = apart("ours", with_gaps(folder))
        print(f"with missing scores: {gaps:.0f} MB and {longer:.1f} CPU s")
        seconds, peak = command(folder)
        print(f"analysis compare on {rows:,} rows: {seconds:.1f} CPU s, peak {peak:.0f} MB in all")
    print(signature(rows=ROWS, models=50, tasks=16, batch=1 << 16))


if __name__ == "__main__":
    main()
