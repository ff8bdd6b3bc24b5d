"""The tables of the two probe papers, in their layout, from the files of one study.

Each is the papers' table with our numbers: what stands behind "±" there (100 times the sample variance of F1 over
seeds) is printed under that sign, and the SD in points beside it. What a study does not have is said, with the command
that makes it.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from probes.comparisons import DIFFICULTIES, RECURRENT, by_selector, means_by_difficulty, task_difficulty
from probes.plan import Plan
from probes.scoring import Spread, spread
from probes.summary import Cell, TaskScore

CHECKPOINTS = ("untrained", "last", "best_bleu")  # the rows of the papers' tables
SHOWN_LABELS = 10


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table: the file that it is written to, what it stands for in the papers, and the command behind its numbers.

    `missing` says why there are no rows.
    """

    name: str
    title: str
    stands_for: str
    command: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    missing: str = ""


def sizes(study: Path) -> PaperTable:
    """Parameters of every model, counted in its weights."""
    found = {}
    for path in sorted((study / "models").glob("*/untrained.safetensors")):
        found[path.parent.name.rpartition("-")[0]] = _parameters(path)
    rows = tuple((model, f"{count:,}", f"{count / 1e6:.1f}M") for model, count in found.items())
    return PaperTable(
        "sizes", "Sizes of the models", "the sizes that they print", "generation train",
        ("model", "parameters", "in millions"), rows, "" if rows else "no model has untrained weights",
    )  # fmt: skip


def _parameters(path: Path) -> int:
    """Numbers in a safetensors file, by its header: eight bytes of length, then JSON."""
    with path.open("rb") as handle:
        header = json.loads(handle.read(int.from_bytes(handle.read(8), "little")))
    return sum(math.prod(part["shape"]) for name, part in header.items() if name != "__metadata__")


def bleu_by_seed(study: Path) -> PaperTable:
    """BLEU-2 of every seed, with the decoding; teacher-forced BLEU under its own name."""
    path, command = study / "metrics.parquet", "generation score"
    what = ("bleu", "BLEU-2 by seed", "BLEU-2 of every model", command)
    if not path.exists():
        return PaperTable(*what, missing=f"there is no {path.name}")
    table = pq.read_table(path, columns=["task", "model", "seed", "checkpoint", "condition", "score"])
    means = table.group_by(["task", "model", "seed", "checkpoint", "condition"]).aggregate([("score", "mean")])
    by: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for row in means.to_pylist():
        if row["task"] in ("bleu2", "bleu2_swapped", "bleu2_teacher_forced") and row["seed"] is not None:
            by[row["model"], row["checkpoint"], row["task"], row["condition"]][row["seed"]] = row["score_mean"]
    seeds = sorted({seed for values in by.values() for seed in values})
    rows = tuple(
        (*key, *(f"{values[s]:.2f}" if s in values else "-" for s in seeds), *_mean_and_sd(list(values.values())))
        for key, values in sorted(by.items())
    )
    head = ("model", "checkpoint", "metric", "decoding", *(f"seed {seed}" for seed in seeds), "mean", "SD")
    return PaperTable(*what, head, rows, "" if rows else f"{path.name} has no BLEU-2")


def _mean_and_sd(values: Sequence[float]) -> tuple[str, str]:
    over = spread(values)
    return f"{over.mean:.2f}", "-" if math.isnan(over.sd) else f"{over.sd:.2f}"


def probe_tables(cells: Sequence[Cell], tasks: Sequence[str], corpus: str) -> list[PaperTable]:
    """One table a classifier: a row a model and checkpoint, a column a task."""
    found = []
    for classifier in dict.fromkeys(c.classifier for c in cells if c.evaluator == "probe"):
        ours = {
            (c.model, c.checkpoint, c.task): c.seeds
            for c in cells
            if (c.evaluator, c.classifier) == ("probe", classifier)
        }
        systems = dict.fromkeys((model, at) for model, at, _ in ours if at in CHECKPOINTS)
        order = sorted(systems, key=lambda one: (one[0], CHECKPOINTS.index(one[1])))
        rows = tuple((*one, *(_as_printed(ours.get((*one, task))) for task in tasks)) for one in order)
        found.append(PaperTable(
            f"probes-{corpus}-{classifier}", f"Probe tasks on {corpus}, {classifier}",
            "the tables of probe tasks ([A] Tables 6 and 7; [B] Table 5, which shows the MLP)",
            f"probes run --classifier {classifier}", ("model", "checkpoint", *tasks), rows,
        ))  # fmt: skip
    return found


def _as_printed(over: Spread | None) -> str:
    """The mean, ± as the papers print it, and the SD: 76.32 ± 0.02 (SD 1.4)."""
    if over is None:
        return "-"
    return f"{over.mean:.2f}" + ("" if math.isnan(over.sd) else f" ± {as_the_papers(over):.2f} (SD {over.sd:.1f})")


def as_the_papers(over: Spread) -> float:
    """What stands behind ± in the papers: 100 times the sample variance of F1 in [0, 1].

    >>> round(as_the_papers(spread([50.0, 72.2, 94.4])), 2)
    4.93
    """
    return 100 * (over.sd / 100) ** 2


def difficulty(cells: Sequence[Cell]) -> PaperTable:
    """Means over easy, medium and hard tasks with the SD across tasks, and which is which, by one classifier."""
    means = {(c.task, c.model, c.checkpoint): c.seeds.mean for c in cells if c.evaluator == "probe"}
    rows = [
        (group.model, checkpoint, group.difficulty, f"{group.mean:.2f}",
         "-" if math.isnan(group.sd) else f"{group.sd:.2f}", str(len(group.tasks)), " ".join(group.tasks))
        for checkpoint in CHECKPOINTS for group in means_by_difficulty(means, checkpoint)
    ]  # fmt: skip
    why = "" if task_difficulty(means) else f"no recurrent model ({', '.join(RECURRENT)}) is untrained"
    return PaperTable(
        "difficulty", f"Means over {', '.join(DIFFICULTIES)} tasks", "[B] Table 6", "probes run --checkpoints all",
        ("model", "checkpoint", "tasks are", "mean", "SD across tasks", "tasks", "named"), tuple(rows), why,
    )  # fmt: skip


def selection(scores: Sequence[TaskScore]) -> PaperTable:
    """The mean over tasks at the checkpoint that each metric selected; of one classifier's scores."""
    found = by_selector(scores)
    rows = tuple((model, metric, *_mean_and_sd(values), str(len(values))) for (model, metric), values in found.items())
    missing = "" if len({metric for _, metric in found}) > 1 else "fewer than two best_... checkpoints were probed"
    return PaperTable(
        "selection", "Probe scores by the metric that selected the checkpoint",
        "selection by BLEU, ROUGE-F1, METEOR and a vector-based metric",
        "generation encode --checkpoints all",
        ("model", "selected by", "mean over tasks", "SD over seeds", "seeds"), rows, missing,
    )  # fmt: skip


def labels(plan: Plan) -> PaperTable:
    """How often each task has which label, on the side that is fitted and the one that is reported."""
    rows = []
    for one in plan.labelled_tasks:
        fitted, reported = one.fit.counts(), one.report.counts()
        for place in np.argsort(-fitted, kind="stable")[:SHOWN_LABELS]:
            shares = (
                f"{100 * part[place] / max(len(side.unseen), 1):.1f}"
                for part, side in ((fitted, one.fit), (reported, one.report))
            )
            rows.append((one.task, str(len(fitted)), one.fit.classes[place], *shares))
    return PaperTable(
        "labels", f"Label distributions (the {SHOWN_LABELS} most frequent labels of each task)",
        "label distributions", "probes list",
        ("task", "labels", "label", "% of fitted examples", "% of reported examples"), tuple(rows),
    )  # fmt: skip


FIGURES: Mapping[str, tuple[str, str]] = {
    "evolution": ("probe scores over epochs", "generation encode and probes run, both with --checkpoints all"),
    "difficulty": ("means over easy, medium and hard tasks", "probes run"),
    "selection": ("selection of checkpoints by each metric", "the same"),
    "states": ("PCA of the encoder states, first and last epoch", "generation encode"),
}


def index(tables: Sequence[PaperTable], figures: Mapping[str, str], study: Path, recipe: str) -> str:
    """A page that names every table and figure, what it stands for, and the command that makes its numbers."""
    lines = [f"# The tables and figures of the papers, from {study.name}", "",
             "[A] arXiv 2008.10427, [B] arXiv 2106.10622. ± is what the papers print: 100 times the sample variance of "
             "F1 in [0, 1]; the SD beside it is in points.", "",
             "| file | what | in the papers | made by |", "|---|---|---|---|"]  # fmt: skip
    for one in tables:
        what = f"{one.title}: **not here**, {one.missing}" if one.missing else one.title
        file = "-" if one.missing else f"[{one.name}.md]({one.name}.md), [.csv]({one.name}.csv)"
        lines.append(f"| {file} | {what} | {one.stands_for} | `python -m {one.command} {study}` |")
    for name, said in figures.items():
        stands, command = FIGURES[name]
        file = "-" if said else f"[{name}.png](../probes/{name}.png)"
        what = f"{stands}: **not here**, {said}" if said else stands
        lines.append(f"| {file} | {what} | figure | `python -m probes plot {study}`, after {command} |")
    return "\n".join([*lines, "", recipe, ""])


def paper_page(table: PaperTable) -> str:
    """The table alone."""
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return f"# {table.title}\n\n" + "".join("| " + " | ".join(row) + " |\n" for row in rows)
