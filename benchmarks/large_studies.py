"""Large studies for bench_scale.py: so many votes, or so many rows of probe scores, as a real study would hold them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dialogue.files import write_records
from dialogue.records import Candidate, Pair, Utterance, Vote
from probes.table import SCORE_SCHEMA

SYSTEMS = 4


def write_study(folder: Path, votes: int) -> None:
    """Three votes a pair by raters of some 60 votes each; strengths, sides and dialogues as in a real study."""
    rng = np.random.default_rng(0)
    count, raters = votes // 3, max(10, votes // 60)
    first = rng.integers(0, SYSTEMS, count)
    second = (first + rng.integers(1, SYSTEMS, count)) % SYSTEMS
    said = [Utterance(("user", "system")[n % 2], "about as many words as people say in a turn " * 2) for n in range(5)]
    sides = [Candidate("an answer of about ten words to what was said", f"system-{n}", 0) for n in range(SYSTEMS)]
    pairs = (Pair(f"p{n}", f"d{n // 6}:{n % 6}", said, sides[a], sides[b], dialogue=f"d{n // 6}")
             for n, (a, b) in enumerate(zip(first, second, strict=True)))  # fmt: skip
    write_records(folder / "pairs.jsonl", pairs, signature="bench", kind=Pair)
    start = rng.integers(0, raters, count)
    chance = 1 / (1 + np.exp(0.3 * (first - second)))
    made = (
        Vote(f"p{n}", f"r{(start[n] + k) % raters}", "tie" if u < 0.35 else "ab"[int(v > chance[n])], k + 1,
             "ab"[int(w)], float(s), dialogue=f"d{n // 6}", source="local")
        for n in range(count) for k in range(3)
        for u, v, w, s in [(*rng.random(2), rng.random() < 0.5, round(5 + 10 * rng.random(), 1))]
    )  # fmt: skip
    write_records(folder / "votes.jsonl", made, signature="bench", kind=Vote)


def write_scores(folder: Path, rows: int) -> None:
    """Probe scores of five architectures under ten seeds on 16 tasks, so many rows in all."""
    rng, items = np.random.default_rng(0), rows // 800
    names = pa.array([f"d{n // 6}:{n % 6}" for n in range(items)])
    dialogues = pa.array([f"d{n // 6}" for n in range(items)])
    same = {"evaluator": "probe", "checkpoint": "last", "rater": "logistic", "condition": "test"}
    with pq.ParquetWriter(folder / "scores.parquet", SCORE_SCHEMA, compression="zstd") as writer:
        for task, model, seed in itertools.product(range(16), range(5), range(10)):
            hit = (rng.random(items) < 0.5 + 0.02 * model + 0.01 * rng.normal()).astype(float)
            counts = pa.StructArray.from_arrays(
                [pa.array(c) for c in (hit, 1 - hit, 1 - hit)], names=["tp", "fp", "fn"]
            )
            fixed = {**same, "task": f"T{task}", "model": f"m{model}", "seed": seed}
            columns = {n: pa.repeat(pa.scalar(v, SCORE_SCHEMA.field(n).type), items) for n, v in fixed.items()}
            columns |= {"item": names, "cluster": dialogues, "score": pa.array(hit), "stats": counts}
            writer.write_table(pa.table([columns[name] for name in SCORE_SCHEMA.names], schema=SCORE_SCHEMA))
