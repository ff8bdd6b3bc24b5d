"""Memory and time of reading three million score rows by dialogue, beside pandas.read_parquet of the same file.

Both give every model's value on every task and its error by dialogue. Ours reads batch by batch, names as codes, and
adds up by dialogue; the naive way reads the whole table with pandas and groups it. Each runs in a fresh process: peak
memory is that of the process less what it held after its imports, time is CPU seconds of one thread. The same once more
with a hundredth of the scores missing, `analysis compare` on the whole study, and the reading of `analysis variance`.
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

from seedvote.analysis.questions.variance.cubes import read_cubes  # noqa: E402
from seedvote.analysis.votes.long_tables import read_long  # noqa: E402
from seedvote.analysis.votes.scores.files import read_study_scores  # noqa: E402
from seedvote.analysis.votes.scores.values import Value  # noqa: E402
from seedvote.dialogue.jobs import job_environment  # noqa: E402
from seedvote.dialogue.signature import signature  # noqa: E402

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


PAIR = ("m0", "m1")


def cubes(folder: Path) -> Found:
    """Every seed's micro-F1 of two models, from the cubes of `variance --compare`."""
    found: Found = {}
    for scale, models in read_cubes([folder / "scores.parquet"], PAIR, "micro_f1").scales.items():
        for model, cube in models.items():
            _, _, tp, fp, fn = cube.counts.sum(1).T
            found |= {(scale.split()[1], model, seed): value
                      for seed, value in zip(cube.seeds, 2 * tp / (2 * tp + fp + fn), strict=True)}  # fmt: skip
    return found


def naive_cubes(folder: Path) -> Found:
    """The same from the whole table, a row for each seed and a column for each item."""
    import pandas as pd

    table = pd.read_parquet(folder / "scores.parquet")
    table = table[table["model"].isin(PAIR)]
    table = table.drop(columns="stats").join(pd.DataFrame(table["stats"].tolist(), index=table.index))
    found: Found = {}
    for (task, model), rows in table.groupby(["task", "model"], sort=False):
        wide = rows.pivot_table(index="seed", columns="item", values=["tp", "fp", "fn"], aggfunc="sum")
        tp, fp, fn = (wide[name].sum(axis=1) for name in ("tp", "fp", "fn"))
        found |= {(task, model, int(seed)): value for seed, value in (2 * tp / (2 * tp + fp + fn)).items()}
    return found


def long(folder: Path) -> Found:
    """The mean of every table of `variance FILE`, its factors as codes."""
    return {(table.name,): float(table.score.mean()) for table in read_long(folder / "scores.parquet")}


def naive_long(folder: Path) -> Found:
    """The same from a data frame."""
    import pandas as pd

    keys, factors = ["evaluator", "task", "checkpoint", "condition"], ["model", "seed", "item", "rater"]
    table = pd.read_parquet(folder / "scores.parquet", columns=[*keys, *factors, "score"])
    kept = {key: (rows["score"].to_numpy(), [pd.factorize(rows[name])[0] for name in factors])
            for key, rows in table.groupby(keys)}  # fmt: skip
    return {(" ".join(map(str, key)),): float(score.mean()) for key, (score, _) in kept.items()}


WAYS = {"ours": ours, "naive": naive, "cubes": cubes, "naive cubes": naive_cubes, "long": long,
        "naive long": naive_long}  # fmt: skip


def measured(way: str, folder: str) -> tuple[float, float, Found]:
    """Growth of peak memory in MB, CPU seconds, and what was found."""
    act = WAYS[way]
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
        for way, said in (("cubes", "variance --compare"), ("long", "variance FILE")):
            memory, spent, found = apart(way, folder)
            naively, slower, wanted = apart(f"naive {way}", folder)
            worst = max(abs(found[key] - value) for key, value in wanted.items())
            print(f"{said}: {memory:.0f} MB and {spent:.1f} CPU s; pandas {naively:.0f} MB and {slower:.1f} CPU s")
            print(
                f"  {naively / memory:.1f} times the memory, {slower / spent:.1f} times the time; apart by {worst:.0e}"
            )
        gaps, longer, _ = apart("ours", with_gaps(folder))
        print(f"with missing scores: {gaps:.0f} MB and {longer:.1f} CPU s")
        seconds, peak = command(folder)
        print(f"analysis compare on {rows:,} rows: {seconds:.1f} CPU s, peak {peak:.0f} MB in all")
    print(signature(rows=ROWS, models=50, tasks=16, batch=1 << 16))


if __name__ == "__main__":
    main()
