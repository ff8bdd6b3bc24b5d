"""Does any trained encoder beat everything that needs no training? One answer for every probe task.

Cells are the trained encoders at every checkpoint, rivals the baselines and every untrained encoder, all under one
classifier and on the same dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.reading.scores.files import Scores
from analysis.reading.scores.panel import UNSEEN
from analysis.reading.scores.values import Key, Value
from analysis.showing.tables import Table
from analysis.showing.words import count, p_value
from analysis.stats.rivals import Margin, MeasuredModel, surest
from analysis.stats.sign_tests import holm_where

PROBES, BASELINE, MAJORITY = "probe", "baseline", "majority"
ALPHA = 0.05
HEAD = ("task", "cells", "rivals", "surest cell", "hardest rival", "points above it", "at least (95 %)", "p",
        "p, all tasks")  # fmt: skip
CAPTION = (
    "Does a trained encoder beat everything untrained? Every cell (architecture at a checkpoint) against every "
    "baseline and untrained encoder, over new seeds and dialogues"
)


@dataclass(frozen=True, slots=True)
class AboveUntrained:
    """One probe task: the cell that beats all rivals most surely, None where no cell has two seeds.

    The margin is in points and allows for the choice among cells and rivals; `p_all` allows for the tasks too.
    `baselines` of the rivals read no encoder.
    """

    task: str
    margin: Margin | None
    p_all: float | None
    baselines: int

    @property
    def shown(self) -> bool:
        """Whether some trained encoder was shown to beat everything untrained."""
        return self.margin is not None and self.margin.p < ALPHA

    @property
    def shown_over_tasks(self) -> bool:
        """The same, with the choice among tasks allowed for."""
        return self.p_all is not None and self.p_all < ALPHA


def above_untrained(scores: Scores) -> tuple[AboveUntrained, ...]:
    """Every probe task that has both trained encoders and rivals."""
    sides = _sides(scores)
    margins = [surest(cells, rivals) for cells, rivals in sides.values()]
    adjusted = holm_where([None if margin is None else margin.p for margin in margins])
    plain = [sum(not rival.architecture for rival in rivals) for _, rivals in sides.values()]
    return tuple(AboveUntrained(*one) for one in zip(sides, margins, adjusted, plain, strict=True))


@dataclass(frozen=True, slots=True)
class BaselineAbove:
    """One probe task the other way round: the baseline that is most surely above every trained encoder.

    `here` is about these very encoders on new dialogues, `anew` about new training seeds as well. Both allow for the
    choice among baselines; `p_here` and `p_anew` allow for the tasks, too. A margin is None where there is no baseline.
    """

    task: str
    here: Margin | None
    p_here: float | None
    anew: Margin | None
    p_anew: float | None


def baselines_above(scores: Scores) -> tuple[BaselineAbove, ...]:
    """Every probe task that has both: what reads no encoder may be shown to beat all that was trained."""
    sides = {
        task: ([_as_cell(one) for one in rivals if not one.architecture], cells)
        for task, (cells, rivals) in _sides(scores).items()
    }
    here = [surest(plain, [one for cell in cells for one in _as_they_are(cell)]) for plain, cells in sides.values()]
    anew = [surest(plain, cells) for plain, cells in sides.values()]
    p_here, p_anew = (
        holm_where([None if margin is None else margin.p for margin in margins]) for margins in (here, anew)
    )
    return tuple(BaselineAbove(*row) for row in zip(sides, here, p_here, anew, p_anew, strict=True))


def _as_cell(baseline: MeasuredModel) -> MeasuredModel:
    """A baseline counts as two seeds that agree to the bit: it has none, and would be the same under any."""
    twice = np.repeat(baseline.values, 2), np.repeat(baseline.parts, 2, axis=0)
    return replace(baseline, seeds=(0, 1), values=twice[0], parts=twice[1])


def _as_they_are(cell: MeasuredModel) -> Iterator[MeasuredModel]:
    """Every seed alone: one model has no spread over seeds."""
    for row, seed in enumerate(cell.seeds):
        alone = slice(row, row + 1)
        yield replace(
            cell, name=f"{cell.name} ({seed})", seeds=(seed,), values=cell.values[alone], parts=cell.parts[alone]
        )


def _sides(scores: Scores) -> dict[str, tuple[list[MeasuredModel], list[MeasuredModel]]]:
    """Task -> cells and rivals; a task where they were not scored on the same dialogues is left out."""
    found: dict[str, tuple[list[MeasuredModel], list[MeasuredModel]]] = {}
    for task, rows in _by_task(scores).items():
        dialogues = {value.clusters for seeds in rows.values() for value in seeds.values()}
        cells = [_measured(key, seeds) for key, seeds in rows.items() if _is_cell(key)]
        rivals = [_measured(key, seeds) for key, seeds in rows.items() if not _is_cell(key)]
        if cells and rivals and len(dialogues) == 1:
            found[task] = cells, rivals
    return found


def _by_task(scores: Scores) -> dict[str, dict[Key, Mapping[int | None, Value]]]:
    """The rows of every task under its first classifier and condition, clean and with true labels."""
    first: dict[str, Key] = {}
    probes = [key for key in sorted(scores.values) if key.evaluator == PROBES and not scores.perturbed(key)]
    for key in probes:
        first.setdefault(key.task, key)
    found: dict[str, dict[Key, Mapping[int | None, Value]]] = {}
    for key, seeds in scores.values.items():
        like = first.get(key.task)
        if like is None or key.evaluator not in (PROBES, BASELINE) or key.condition != like.condition:
            continue
        if key.rater == like.rater or (key.evaluator == BASELINE and key.rater == MAJORITY):
            found.setdefault(key.task, {})[key] = seeds
    return found


def _is_cell(key: Key) -> bool:
    return key.evaluator == PROBES and key.checkpoint != UNSEEN


def _measured(key: Key, seeds: Mapping[int | None, Value]) -> MeasuredModel:
    names = tuple(sorted(seeds, key=str))
    values = np.array([100 * seeds[name].value for name in names])
    parts = np.array([100 * seeds[name].parts for name in names])
    architecture = key.model if key.evaluator == PROBES else ""
    label = f"{key.model} {key.checkpoint}" if architecture else key.model.replace("_", " ")
    return MeasuredModel(label, architecture, names, values, parts)


def table_above(found: Sequence[AboveUntrained]) -> Table:
    """A line for each task."""
    return Table(HEAD, tuple(_row(one) for one in found), CAPTION)


def _row(one: AboveUntrained) -> tuple[str, ...]:
    if one.margin is None:
        return (one.task, *["-"] * (len(HEAD) - 1))
    m = one.margin
    return (
        one.task, str(m.cells), str(m.rivals), m.cell, m.rival, f"{m.difference:+z.1f}", f"{m.low:+z.1f}", p_value(m.p),
        p_value(one.p_all),
    )  # fmt: skip


def sentences_above(found: Sequence[AboveUntrained]) -> Iterator[str]:
    """What may be claimed, in one sentence; nothing where no task was asked."""
    if not found:
        return
    tasks, tested = count(len(found), "probe task"), [one for one in found if one.margin is not None]
    if not tested:
        yield f"Whether training helped on {tasks} cannot be told: no trained encoder has two seeds."
        return
    shown = [one for one in found if one.shown]
    rest = f"{_rivals(tested[0])}; 95 % confidence over all architectures, checkpoints and rivals"
    if not shown:
        yield f"On none of {tasks} was a trained encoder shown to beat everything untrained ({rest})."
        return
    names = ", ".join(one.task for one in shown)
    lasting = sum(one.shown_over_tasks for one in found)
    also = f"; {lasting} of them with confidence over all tasks at once" if len(found) > 1 else ""
    yield f"On {len(shown)} of {tasks} ({names}) a trained encoder beats everything untrained ({rest}{also})."


def _rivals(one: AboveUntrained) -> str:
    """What had to be beaten, and what was not there to be."""
    encoders = one.margin.rivals - one.baselines if one.margin else 0
    if not one.baselines:
        return "every untrained encoder; there are no baselines here"
    return "every baseline and untrained encoder" if encoders else "every baseline; no untrained encoder was probed"
