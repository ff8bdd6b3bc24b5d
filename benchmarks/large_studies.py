"""Large studies for benchmarks: so many votes, systems, or rows of probe scores, as a real study would hold them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance, Vote
from seedvote.probes.suite import SCORE_SCHEMA

SYSTEMS = 4
Ints = NDArray[np.int64]


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


@dataclass(frozen=True)
class Arena:
    """Votes of a public arena, one entry a vote; codes of systems, raters and dialogues."""

    names: tuple[str, ...]
    a: Ints
    b: Ints
    choice: Ints
    left: Ints
    rater: Ints
    dialogue: Ints


def arena(systems: int, votes: int, raters: int) -> Arena:
    """One vote a pair on each rater's own dialogues; systems and raters differ widely in votes, as in public ones."""
    rng = np.random.default_rng(0)
    often = rng.pareto(1.5, systems) + 0.3  # new systems are shown seldom, so many contrasts have one vote or none
    first, second = rng.choice(systems, (2, 2 * votes), p=often / often.sum())
    met = np.flatnonzero(first != second)[:votes]
    first, second = first[met], second[met]
    work = rng.pareto(1.2, raters) + 0.2
    rater = rng.choice(raters, len(met), p=work / work.sum())
    strength = np.sort(rng.normal(0, 0.8, systems))[::-1]
    lean = strength[first] - strength[second] + rng.normal(0, 0.4, raters)[rater] * rng.choice((-1, 1), len(met))
    weight = np.stack([np.exp(lean / 2), np.exp(-lean / 2), np.full(len(met), 0.8)])
    choice = (rng.random(len(met)) > (weight / weight.sum(0)).cumsum(0)[:2]).sum(0)
    dialogue = np.unique(2 * rater + rng.integers(0, 2, len(met)), return_inverse=True)[1]
    names = tuple(f"system-{n:03}" for n in range(systems))
    return Arena(names, first, second, choice, rng.integers(0, 2, len(met)), rater, dialogue)


def write_arena(folder: Path, votes: Arena) -> None:
    """The same as a study folder."""
    sides = [Candidate("an answer of about ten words to what was said", name) for name in votes.names]
    said = [Utterance("user", "about as many words as people say in a turn")]
    pairs = (
        Pair(f"p{n}", f"d{d}:{n}", said, sides[a], sides[b], dialogue=f"d{d}")
        for n, (a, b, d) in enumerate(zip(votes.a, votes.b, votes.dialogue, strict=True))
    )
    write_records(folder / "pairs.jsonl", pairs, signature="bench", kind=Pair)
    made = (
        Vote(f"p{n}", f"r{r}", ("a", "b", "tie")[c], 1, "ab"[left], dialogue=f"d{d}", source="imported")
        for n, (c, left, r, d) in enumerate(
            zip(votes.choice, votes.left, votes.rater, votes.dialogue, strict=True)
        )
    )  # fmt: skip
    write_records(folder / "votes.jsonl", made, signature="bench", kind=Vote)
