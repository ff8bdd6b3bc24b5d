"""Memory and time of the end of `probes run`, and of what `plot` and `papers` read, on two and on twenty million rows.

The parts of a study are written first, then joined into its score table, and the tables are made of it: all batch by
batch. The naive way joins the same parts and then reads the whole table to sum it. Each runs in a fresh process: memory
is the growth of its peak after its imports, time is CPU seconds of one thread.
Run: python benchmarks/bench_probe_table.py
"""

from __future__ import annotations

import contextlib
import io
import itertools
import resource
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

from seedvote.dialogue.signature import signature  # noqa: E402 (the checkout is not installed)
from seedvote.probes.commands.run import _write_report  # noqa: E402
from seedvote.probes.plan import LabelledTask, Options  # noqa: E402
from seedvote.probes.states import Representation  # noqa: E402
from seedvote.probes.suite import SCORE_SCHEMA, ScorePart, join_parts, write_part  # noqa: E402
from seedvote.probes.summary import KEY, read_task_scores  # noqa: E402
from seedvote.probes.tasks.labels import Labels  # noqa: E402

ITEMS, TASKS = 7_372, 16  # the test contexts of MultiWOZ, and its tasks
REPRESENTATIONS = (6, 57)  # 2 and 20 million rows, each with the two controls


def write_parts(folder: Path, representations: int) -> list[ScorePart]:
    """So many finished representations, as `probes run` leaves them."""
    rng = np.random.default_rng(0)
    items = pa.array([f"MUL{n // 7:04}.json:{2 * (n % 7) + 1}" for n in range(ITEMS)] * 3)
    dialogues = pa.array([f"MUL{n // 7:04}.json" for n in range(ITEMS)] * 3)
    conditions = ["fit=train,report=test" + labels for labels in ("", ",labels=shuffled", ",labels=newest word")]
    ended = [{"rater": "logistic", "control": n > 0, "c": 1.0, "problems": ["all"], "passes": [9], "gradient": [1e-6],
              "gap": [0.0], "converged": [True]} for n in range(3)]  # fmt: skip
    nothing = Labels("", False, (), np.zeros(1, int), np.zeros(0, int), np.zeros(0, int), 0)
    parts = []
    for number, task in itertools.product(range(representations), range(TASKS)):
        model, seed, checkpoint = f"m{number % 5}", number // 10, ("untrained", "last")[number // 5 % 2]
        hit = (rng.random(3 * ITEMS) < 0.5 + 0.02 * (number % 5)).astype(float)
        counts = pa.StructArray.from_arrays([pa.array(c) for c in (hit, 1 - hit, 1 - hit)], names=["tp", "fp", "fn"])
        same = {"task": f"T{task}", "model": model, "seed": seed, "checkpoint": checkpoint, "rater": "logistic"}
        columns = {n: pa.repeat(pa.scalar(v, SCORE_SCHEMA.field(n).type), len(hit)) for n, v in same.items()}
        columns |= {"item": items, "cluster": dialogues, "score": pa.array(hit), "stats": counts}
        columns["evaluator"] = pa.array(np.repeat(["probe", "control", "control"], ITEMS))
        columns["condition"] = pa.array(np.repeat(conditions, ITEMS))
        who = Representation("probe", model, seed, checkpoint, Path(), (), "")
        path = folder / who.name / f"T{task}.parquet"
        write_part(path, [pa.table([columns[n] for n in SCORE_SCHEMA.names], schema=SCORE_SCHEMA)], "key", ended)
        labelled = LabelledTask(f"T{task}", nothing, nothing, nothing, (), "")
        parts.append(ScorePart(who, labelled, Options(), path, "key"))
    return parts


def finish(folder: Path, parts: list[ScorePart]) -> object:
    """The end of `probes run`, then what `plot` and `papers` read."""
    with contextlib.redirect_stdout(io.StringIO()):
        _write_report(folder / "scores.parquet", folder, "bench", parts, "bench")
    return {round(score.f1, 9) for score in read_task_scores(folder / "scores.parquet")}


def finish_naively(folder: Path, parts: list[ScorePart]) -> object:
    """The same numbers from the whole table, read twice."""
    join_parts([part.path for part in parts], folder / "scores.parquet", "bench")
    for _ in range(2):
        table = pq.read_table(folder / "scores.parquet", columns=[*KEY, "stats"]).flatten()
        sums = table.group_by(list(KEY)).aggregate([(f"stats.{name}", "sum") for name in ("tp", "fp", "fn")])
        tp, fp, fn = (np.array(sums[f"stats.{name}_sum"]) for name in ("tp", "fp", "fn"))
    return {round(float(f1), 9) for f1 in 100 * 2 * tp / (2 * tp + fp + fn)}


def measure(way: str, folder: Path, parts: list[ScorePart]) -> tuple[float, float, object]:
    """Growth of peak memory in MB, CPU seconds, and the scores."""
    pa.set_cpu_count(1)
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    scores = {"ours": finish, "naive": finish_naively}[way](folder, parts)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, time.process_time() - begun, scores


def main() -> None:
    """Measure each way once at each size."""
    for representations in REPRESENTATIONS:
        with tempfile.TemporaryDirectory() as name:
            parts = write_parts(Path(name), representations)
            results = {}
            for way in ("ours", "naive"):
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    results[way] = pool.submit(measure, way, Path(name), parts).result()
            rows = 3 * ITEMS * len(parts)
            assert results["ours"][2] == results["naive"][2]
            for way, (memory, spent, _) in results.items():
                print(f"{rows:,} rows, {way}: {memory:.0f} MB more, {spent:.1f} CPU s", flush=True)
    print(signature(items=ITEMS, tasks=TASKS, representations=REPRESENTATIONS))


if __name__ == "__main__":
    main()
