"""Write what every response scored with the seeds that it follows from: STUDY/seeds.csv, for the analysis of variance.

  python -m generation seeds runs/mine --metric bleu2
  python -m analysis variance runs/mine/seeds.csv --factors init,order,dropout,draw,item

It takes the models NAME, NAME.init, NAME.order and NAME.dropout of `train --vary`, as `score` scored them.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import tell_next

FACTORS = ("init", "order", "dropout", "draw", "item")
ROWS_AT_ONCE = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which scores of which model."""
    add = parser.add_argument
    add("study", type=Path, help="study folder")
    add("--metric", default="bleu2", help="a task of metrics.parquet (default bleu2)")
    add("--model", help="the model's name without .init, .order or .dropout (default: the only one)")
    add("--decoding", default="nucleus:0.9", help="decoding whose draws are read (default nucleus:0.9)")
    add("--checkpoint", default="last", help="checkpoint that answered (default last)")


def run(args: argparse.Namespace) -> None:
    """Read the scores batch by batch, and write a row for each."""
    import pyarrow.parquet as pq

    from seedvote.dialogue.files import atomic
    from seedvote.generation.checkpoints import find_trained

    path, out = args.study / "metrics.parquet", args.study / "seeds.csv"
    if not path.exists():
        raise InputError(f"{path} is not there. Make it: python -m generation score {args.study}.")
    models = [trained for trained in find_trained(args.study) if args.model in (None, trained.architecture)]
    whose = {(trained.model, trained.seed): trained.named_seeds for trained in models}
    names = sorted({trained.architecture for trained in models})
    if len(names) != 1:
        raise InputError(f"Name one model: --model {', '.join(names) or 'NAME'}.")
    rows: dict[tuple[int | str, ...], float] = {}
    with pq.ParquetFile(path) as file:
        columns = ["task", "model", "seed", "checkpoint", "item", "score", "condition"]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns):
            for row in batch.to_pylist():
                decoding, _, draw = row["condition"].partition(" draw ")
                seeds = whose.get((row["model"], row["seed"]))
                wanted = (row["task"], row["checkpoint"], decoding) == (args.metric, args.checkpoint, args.decoding)
                if wanted and seeds is not None and row["score"] is not None:
                    # Seed 0 of everything is one model, whatever it is called: the first counts.
                    rows.setdefault((*seeds, int(draw or 0), row["item"]), row["score"])
    if not rows:
        raise InputError(f"{path} has no {args.metric} of {names[0]} {args.checkpoint} by {args.decoding}.")
    with atomic(out) as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["score", *FACTORS])
        writer.writerows((score, *key) for key, score in rows.items())
    counts = {name: len({key[place] for key in rows}) for place, name in enumerate(FACTORS)}
    print(f"{out}: {len(rows):,} scores; " + ", ".join(f"{number} of {name}" for name, number in counts.items()))
    several = [name for name in FACTORS if counts[name] > 1]
    tell_next("python -m analysis variance", out, "--factors", ",".join(several))
