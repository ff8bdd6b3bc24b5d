"""The table of a corpus, for the terminal, as CSV and as LaTeX: the same cells, in points, in the same order."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from seedvote.probes.summary import Cell

CSV_HEADER = (
    "task",
    "evaluator",
    "model",
    "checkpoint",
    "classifier",
    "seeds",
    "f1",
    "seed_sd",
    "seed_sd_low",
    "seed_sd_high",
    "rater_sd",
    "above_shuffled",
    "selectivity",
)


def csv_table(cells: Sequence[Cell], signature: str) -> str:
    """One line a cell, in points; empty where a number cannot be had from so few seeds."""
    out = io.StringIO()
    out.write(f"# {signature}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for cell in cells:
        over = cell.seeds
        numbers = (over.mean, over.sd, over.low, over.high, cell.rater_sd, cell.above_shuffled, cell.selectivity)
        names = (cell.task, cell.evaluator, cell.model, cell.checkpoint, cell.classifier, len(cell.seeds.values))
        writer.writerow([*names, *("" if math.isnan(number) else f"{number:.3f}" for number in numbers)])
    return out.getvalue()


def table_rows(cells: Sequence[Cell]) -> dict[tuple[str, str], dict[str, Cell]]:
    """One row for each model and checkpoint, trained models first and baselines last, with its cell of each task."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.evaluator == "baseline", cell.model, _age(cell.checkpoint))):
        name = f"{cell.model} ({cell.classifier})" if cell.classifier not in ("logistic", "majority") else cell.model
        rows.setdefault((name, cell.checkpoint), {})[cell.task] = cell
    return rows


def _age(checkpoint: str) -> tuple[int, int, str]:
    if checkpoint == "untrained":
        return 0, 0, ""
    number = checkpoint.removeprefix("epoch-")
    return (1, int(number), "") if number.isdigit() else (2, 0, checkpoint)


def terminal_table(cells: Sequence[Cell], tasks: Sequence[str], *, digits: int = 1) -> Iterator[str]:
    """A table for the terminal, a block of tasks at a time: mean over seeds, and the SD over seeds."""
    table = table_rows(cells)
    width = max(32, *(len(f"{model} {checkpoint}") for model, checkpoint in table))
    for start in range(0, len(tasks), 5):
        block = tasks[start : start + 5]
        yield f"{'':<{width}}" + "".join(f"{task:>16}" for task in block)
        for (model, checkpoint), row in table.items():
            yield f"{f'{model} {checkpoint}':<{width}}" + "".join(
                f"{_show_cell(row.get(task), digits):>16}" for task in block
            )
        yield ""


def _show_cell(cell: Cell | None, digits: int) -> str:
    if cell is None:
        return "-"
    sd = "" if math.isnan(cell.seeds.sd) else f" (sd {cell.seeds.sd:.{digits}f})"
    return f"{cell.seeds.mean:.{digits}f}{sd}"


def latex_table(cells: Sequence[Cell], tasks: Sequence[str], signature: str) -> str:
    """A table in the papers' form; the SD over seeds stands in brackets with its 95 % interval, in points."""
    lines = [f"% {signature}", "\\begin{tabular}{ll" + "r" * len(tasks) + "}", "\\hline"]
    lines.append(" & ".join(["Model", "Checkpoint", *map(_escape_latex, tasks)]) + " \\\\")
    lines.append("\\hline")
    for (model, checkpoint), row in table_rows(cells).items():
        lines.append(
            " & ".join([_escape_latex(model), _escape_latex(checkpoint), *(_show_in_latex(row.get(t)) for t in tasks)])
            + " \\\\"
        )
    return "\n".join([*lines, "\\hline", "\\end{tabular}", ""])


def _show_in_latex(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    over = cell.seeds
    brackets = "" if math.isnan(over.sd) else f" (SD {over.sd:.1f} [{over.low:.1f}, {over.high:.1f}])"
    return f"{over.mean:.1f}{brackets}"


def _escape_latex(text: str) -> str:
    return text.replace("_", "\\_").replace("%", "\\%").replace("&", "\\&")


def departures(cells: Sequence[Cell], least: float = 1.0) -> list[str]:
    """Where the papers' protocol gives another number than ours, largest first."""
    ours = {(c.task, c.model, c.checkpoint): c for c in cells if c.classifier.startswith("logistic")}
    pairs = [(c, ours[c.task, c.model, c.checkpoint]) for c in cells if c.classifier == "paper"]
    ordered_pairs = sorted(pairs, key=lambda pair: -abs(pair[0].seeds.mean - pair[1].seeds.mean))
    return [
        f"The papers' protocol gives {paper.seeds.mean:.1f} instead of {our.seeds.mean:.1f} "
        f"for {paper.task} on {f'{paper.model} {paper.checkpoint}'.strip()}."
        for paper, our in ordered_pairs
        if abs(paper.seeds.mean - our.seeds.mean) >= least
    ]
