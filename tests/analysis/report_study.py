"""Study folders for the report's tests: whole, or with parts missing."""

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Rater, Response, Utterance, Vote

ODD = "<script>alert(1)</script> <unk>"


def candidate(seed, model="bilstm_attn"):
    return Candidate(ODD, model, seed, "last")


def vote(number, k, source):
    choice = ("a", "b", "tie")[(number * 7 + k) % 3]
    more = {"left": "ab"[(number + k) % 2], "seconds": 6.0, "submitted": f"2026-11-0{k}T10:00:00.000Z"}
    return Vote(f"p{number}", f"r{(number + k) % 9}", choice, k, source=source, dialogue=f"d{number // 2}", **more)


def add_votes(folder, source="simulated", seeds=3, controls=True):
    """30 pairs between seeds of one model, with three votes each, raters and responses."""
    pairs = [
        Pair(f"p{n}", f"d{n // 2}:{n}", (Utterance("user", ODD),), candidate(n % seeds), candidate((n + 1) % seeds),
             dialogue=f"d{n // 2}")
        for n in range(30)
    ]  # fmt: skip
    known = [
        Pair(f"c{n}", f"d{n}:0", (), candidate(0), candidate(0), "control", contrast="within-seed") for n in range(6)
    ]
    votes = [vote(n, k, source) for n in range(30) for k in (1, 2, 3)]
    if controls:
        votes += [
            Vote(f"c{n}", f"r{n}", ("tie", "a")[n % 2], 1, source=source, kind="control", dialogue=f"d{n}")
            for n in range(6)
        ]
    raters = [Rater(f"r{n}", source, "blocked" if n == 0 else "passed", 5, n % 3, 10, None, 4.5) for n in range(9)]
    responses = [Response(p.item, "bilstm_attn", seed, "last", ODD) for p in pairs for seed in range(seeds)]
    for name, kind, records in [
        ("pairs", Pair, [*pairs, *known]),
        ("votes", Vote, votes),
        ("raters", Rater, raters),
        ("responses", Response, responses),
    ]:
        write_records(folder / f"{name}.jsonl", records, signature=f"{name}:{len(records)}|v:0", kind=kind)
    return folder


def add_scores(folder, seeds=3, models=("bilstm_attn",), baseline=True):
    """One probe task over 20 dialogues, with a baseline that does better."""

    def rows(evaluator, model, seed, checkpoint, hits):
        for n in range(20):
            hit = float((n + (seed or 0)) % 4 < hits)
            key = {"evaluator": evaluator, "task": "AllSlots", "model": model, "seed": seed, "checkpoint": checkpoint}
            stats = {"tp": hit, "fp": 1 - hit, "fn": 1 - hit}
            place = {
                "item": f"d{n}:1",
                "cluster": f"d{n // 2}",
                "rater": "logistic",
                "condition": "fit=valid,report=test",
            }
            yield key | place | {"score": hit, "stats": stats}

    made = [
        row
        for k, model in enumerate(models)
        for seed in range(seeds)
        for checkpoint, hits in (("last", 2 + k), ("untrained", 1))
        for row in rows("probe", model, seed, checkpoint, hits)
    ]
    plain = list(rows("baseline", "turn_index", None, "none", 3)) if baseline else []
    table = pa.Table.from_pylist([*made, *plain])
    pq.write_table(table.replace_schema_metadata({"signature": "tasks:AllSlots|v:0"}), folder / "scores.parquet")
    return folder
