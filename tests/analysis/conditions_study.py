"""Studies of score tables with conditions, made without any model."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import Card, TaskCard, metadata

CARD = Card(
    "task success", 5,
    {
        "jga": TaskCard("joint goal accuracy", "share", 100.0, better="higher"),
        "bleu": TaskCard("BLEU", "points", better="higher", main=False),
        "perplexity": TaskCard("perplexity", better="lower"),
    },
)  # fmt: skip


def write_table(path, rows, cards=None):
    """`rows`: (task, model, seed, item, score)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(
        [
            {"evaluator": "task", "task": task, "model": model, "seed": seed, "checkpoint": "last", "item": item,
             "rater": "", "score": score, "cluster": item.split(":")[0], "condition": ""}
            for task, model, seed, item, score in rows
        ],
        schema=pa.schema([(n, pa.int64() if n == "seed" else pa.float64() if n == "score" else pa.string()) for n in (
            "evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score", "cluster", "condition")]),
    )  # fmt: skip
    held = metadata("made", cards if cards is not None else {"task": CARD})
    pq.write_table(table.replace_schema_metadata(held), path)


def scored(task, model, seeds, level, *, dialogues=40, turns=3, generator):
    """Rows with this level in the mean, each dialogue with a level of its own."""
    own = generator.normal(0, 0.1, dialogues)
    return [
        (task, model, seed, f"d{d}:{2 * t + 1}", float(level + own[d] + generator.normal(0, 0.05)))
        for seed in seeds for d in range(dialogues) for t in range(turns)
    ]  # fmt: skip


def lowered(rows, by, *, generator):
    """The same rows, each lower by about so much."""
    return [(task, model, seed, item, score - by + float(generator.normal(0, 0.02)))
            for task, model, seed, item, score in rows]  # fmt: skip


def make_study(
    folder, *, models=(("a", (0, 1, 2)), ("b", (0,))), conditions=(("typos@0.1-0", 0.05), ("typos@0.8-0", 0.2))
):
    """A clean table and one a condition; joint goal accuracy falls by so much, BLEU by a tenth of it."""
    generator = np.random.default_rng(0)
    clean = [
        row for model, seeds in models for task, level in (("jga", 0.6), ("bleu", 20.0), ("perplexity", 9.0))
        for row in scored(task, model, seeds, level, generator=generator)
    ]  # fmt: skip
    write_table(folder / "task.parquet", clean)
    for name, by in conditions:
        sizes = {"jga": by, "bleu": by / 10, "perplexity": -by}
        rows = [one for row in clean for one in lowered([row], sizes[row[0]], generator=generator)]
        write_table(folder / "conditions" / name / "task.parquet", rows if by else clean)
    return folder
