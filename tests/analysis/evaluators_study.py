"""Studies with made-up evaluators: score tables with and without cards, for compare, variance and report."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import Card, TaskCard, metadata

MODELS, SEEDS, DIALOGUES = ("good", "poor"), 3, 20
PLAIN = TaskCard("quality", "share", 100.0)


def rows(evaluator, task="quality", *, lift=0.2, base=0.5, noise=0.05, models=MODELS, **more):
    """Two scores a dialogue of every model and seed; `good` lies `lift` above `poor`."""
    random = np.random.default_rng(len(evaluator) + len(task))
    hard = 0.1 * random.standard_normal(2 * DIALOGUES)
    return [
        {"evaluator": evaluator, "task": task, "model": model, "seed": seed, "checkpoint": "last",
         "item": f"d{n // 2}:{n % 2}", "rater": "rule", "score": float(base + lift * (model == "good") + 0.02 * seed
                                                                       + hard[n] + noise * random.standard_normal()),
         "cluster": f"d{n // 2}", "condition": ""} | more
        for model in models for seed in range(SEEDS) for n in range(2 * DIALOGUES)
    ]  # fmt: skip


def write(path, table, cards=None):
    """A score file; without cards only its format is named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    said = metadata("made|v:0", cards) if cards else {"format": "scores", "signature": "made|v:0"}
    pq.write_table(pa.Table.from_pylist(table).replace_schema_metadata(said), path)
    return path.parent


def card(title="made-up judge", task="quality", order=10, baselines=(), **more):
    """A card with one task."""
    return Card(
        title,
        order,
        {task: TaskCard(**({"title": task, "unit": "share", "scale": 100.0, "better": "higher"} | more))},
        baselines,
    )


def without(table, picked, reason):
    """The same with those scores missing."""
    return [row | ({"score": math.nan, "reason": reason} if picked(row) else {"reason": ""}) for row in table]
