"""The report's section on probes: every seed's score before and after training, and what needs no trained model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from seedvote.analysis.questions.comparison.answer import read_published
from seedvote.analysis.questions.comparison.showing import architecture_signs
from seedvote.analysis.questions.comparison.untrained import (
    BASELINE,
    PROBES,
    AboveUntrained,
    BaselineAbove,
    probe_sentences,
    table_above,
)
from seedvote.analysis.showing.page import Axis, Mark, Row, RowFigure, Section
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count
from seedvote.analysis.votes.scores.panel import UNSEEN, Panel
from seedvote.analysis.votes.scores.values import Key, Value
from seedvote.dialogue.cards import ASIDE


@dataclass(frozen=True, slots=True)
class ProbeTable:
    """Mean micro-F1 over seeds in points: trained encoders first, then what needs no training."""

    tasks: tuple[str, ...]
    trained: tuple[str, ...]
    plain: tuple[str, ...]
    value: Mapping[tuple[str, str], float]

    @property
    def columns(self) -> tuple[str, ...]:
        """Trained encoders, then baselines and controls."""
        return (*self.trained, *self.plain)


def probe_table(scores: Mapping[Key, Mapping[int | None, Value]]) -> ProbeTable:
    """Every probe task with its baselines; the first classifier of each."""
    value: dict[tuple[str, str], float] = {}
    trained: list[str] = []
    plain: list[str] = []
    tasks = {key.task for key in scores if key.evaluator == PROBES}
    unprobed = {key.task for key in scores if key.evaluator not in (PROBES, *ASIDE)} - tasks
    for key, seeds in sorted(scores.items()):
        name = "" if key.task in unprobed else _name_column(key)
        if name and (key.task, name) not in value:
            value[key.task, name] = 100 * float(np.mean([part.value for part in seeds.values()]))
            column = trained if key.evaluator == PROBES and key.checkpoint != UNSEEN else plain
            if name not in column:
                column.append(name)
    return ProbeTable(tuple(dict.fromkeys(task for task, _ in value)), tuple(trained), tuple(plain), value)


def _name_column(key: Key) -> str:
    if key.evaluator == PROBES:
        return f"{key.model} {key.checkpoint}"
    return key.model.replace("_", " ") if key.evaluator == BASELINE else ""


def section(
    scores: Mapping[Key, Mapping[int | None, Value]],
    panels: Sequence[Panel],
    above: Sequence[AboveUntrained],
    below: Sequence[BaselineAbove],
) -> Section | None:
    """Probe scores of every seed, before and after training, with those of baselines."""
    table = probe_table(scores)
    if not table.tasks:
        return None
    probes = [panel for panel in panels if panel.kind == PROBES]
    rivals = ["the best baseline that reads no trained state"] if baselines_of(table) else []
    rivals += ["the same encoder before training"] if any(UNSEEN in name for name in table.plain) else []
    text = "Micro-F1 of a linear classifier on the frozen encoder's states, in points."
    if rivals:
        text += f" Only the points above {' and above '.join(rivals)} can be due to training."
    figures = (probe_figure(table, probes),) if probes else ()
    tables = (*((table_above(above),) if above else ()), _tabulate_means(table), *papers_table(table.tasks))
    return Section(
        "probes", "Probes and their baselines", (text, *probe_sentences(above, below)), figures, tables=tables
    )


def _tabulate_means(table: ProbeTable) -> Table:
    rows = tuple(
        (task, *(f"{table.value[task, c]:.1f}" if (task, c) in table.value else "-" for c in table.columns))
        for task in table.tasks
    )
    return Table(("task", *table.columns), rows, "Probe tasks, mean over seeds")


def papers_table(tasks: Sequence[str]) -> tuple[Table, ...]:
    """The papers' scores on the same tasks, to look at and no more: their corpus and protocol are others."""
    cells = [cell for cell in read_published() if cell.checkpoint == "last" and cell.task in tasks]
    rows = []
    for task, corpus in dict.fromkeys((cell.task, cell.corpus) for cell in cells):
        shared = [cell for cell in cells if (cell.task, cell.corpus) == (task, corpus)]
        f1, sds = [cell.f1 for cell in shared], [cell.sd for cell in shared]
        models = count(len(shared), "model")
        rows.append((task, corpus, models, _format_range(f1), f"{median(sds):.1f}", _format_range(sds)))
    head = ("task", "corpus", "models", "F1, lowest to highest", "SD over 3 seeds, median", "lowest to highest")
    caption = "The papers' scores on these tasks, last epoch; their printed variances turned into SDs, in points"
    return (Table(head, tuple(rows), caption),) if rows else ()


def _format_range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def baselines_of(table: ProbeTable) -> list[str]:
    """What reads no encoder at all."""
    return [name for name in table.plain if UNSEEN not in name]


def probe_figure(table: ProbeTable, panels: Sequence[Panel]) -> RowFigure:
    """One row per task, one line per architecture: a dot for each seed, a ring for the mean before training."""
    signs, axis = architecture_signs(panels), Axis(0, 100)
    baselines = baselines_of(table)
    rows = tuple(_task_row(task, table, panels, axis, signs) for task in table.tasks)
    dots = tuple((*sign, name) for name, sign in signs.items())
    marks = (("ring", "ink", "before training"), *((("tick", "grey", "best baseline"),) if baselines else ()))
    return RowFigure(
        "Probe scores: one dot per training seed",
        rows,
        axis.ticks(range(0, 101, 20)),
        "micro-F1, points",
        legend=(*dots, *marks),
        note_head="best baseline" if baselines else "",
        name="probes",
    )


def _task_row(
    task: str, table: ProbeTable, panels: Sequence[Panel], axis: Axis, signs: Mapping[str, tuple[str, str]]
) -> Row:
    of_task = [panel for panel in panels if panel.name.split(", ")[0] == task]
    marks = [mark for line, model in enumerate(signs) for mark in _mark_seeds(of_task, model, line, axis, signs[model])]
    rivals = [(table.value[task, name], name) for name in baselines_of(table) if (task, name) in table.value]
    note = ""
    if rivals:
        best, name = max(rivals)
        marks.insert(0, Mark("tick", axis.at(best), 0, -1, "grey"))
        note = f"{name} {best:.0f}"
    return Row(task, note, tuple(marks), lines=len(signs), described=_list_scores(of_task))


def _mark_seeds(panels: Sequence[Panel], model: str, line: int, axis: Axis, sign: tuple[str, str]) -> Iterator[Mark]:
    shape, colour = sign
    for panel in panels:
        values = panel.values[panel.of(model)] if model in panel.models else np.zeros(0)
        if panel.checkpoint == UNSEEN and len(values):
            yield Mark("ring", axis.at(float(values.mean())), 0, line, colour)
        elif panel.checkpoint != UNSEEN:
            yield from (Mark(shape, axis.at(float(value)), 0, line, colour) for value in values)


def _list_scores(panels: Sequence[Panel]) -> str:
    return "; ".join(
        f"{model} {panel.checkpoint} {panel.values[panel.of(model)].mean():.1f}"
        for panel in panels
        for model in panel.models
    )
