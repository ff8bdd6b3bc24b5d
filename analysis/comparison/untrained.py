"""Does any trained encoder beat everything that needs no training? One answer for every probe task.

Cells are the trained encoders at every checkpoint, rivals the baselines and every untrained encoder, all under one
classifier and on the same dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.showing.tables import Table
from analysis.showing.words import count, p_value
from analysis.stats.rivals import Margin, MeasuredModel, seeds_to_claim, surest_anew, surest_as_trained
from analysis.stats.sign_tests import holm_where
from analysis.votes.scores.files import Scores
from analysis.votes.scores.panel import UNSEEN
from analysis.votes.scores.values import Key, Value

PROBES, BASELINE, MAJORITY = "probe", "baseline", "majority"
ALPHA = 0.05
HEAD = ("task", "cells", "rivals", "surest cell", "hardest rival", "points above it", "at least (95 %)",
        "p, as trained", "p, all tasks", "p, new seeds", "p, new seeds, all tasks")  # fmt: skip
CAPTION = (
    "Does a trained encoder beat everything untrained? Every cell (architecture at a checkpoint) against every "
    "baseline and untrained encoder: as trained, on other dialogues; and with new seeds"
)


@dataclass(frozen=True, slots=True)
class AboveUntrained:
    """One probe task: the cell that beats all rivals most surely, as trained and with new seeds; None without seeds.

    Margins are in points and allow for the choice among cells and rivals, `p_here` and `p_anew` for the tasks too.
    `baselines` of the rivals read no encoder, `seeds` are the most that a cell has.
    """

    task: str
    here: Margin | None
    p_here: float | None
    anew: Margin | None
    p_anew: float | None
    baselines: int
    seeds: int

    @property
    def shown(self) -> bool:
        """Whether more than half of all trainings of some encoder were shown to beat everything untrained."""
        return self.anew is not None and self.anew.p < ALPHA

    @property
    def shown_as_trained(self) -> bool:
        """Whether some encoder, as it was trained, was shown to beat everything untrained on other dialogues."""
        return self.here is not None and self.here.p < ALPHA


def above_untrained(scores: Scores) -> tuple[AboveUntrained, ...]:
    """Every probe task that has both trained encoders and rivals."""
    sides = _sides(scores)
    here = [surest_as_trained(cells, rivals) for cells, rivals in sides.values()]
    anew = [surest_anew(cells, rivals) for cells, rivals in sides.values()]
    plain = [sum(not rival.architecture for rival in rivals) for _, rivals in sides.values()]
    seeds = [max(len(cell.values) for cell in cells) for cells, _ in sides.values()]
    rows = zip(sides, here, _over_tasks(here), anew, _over_tasks(anew), plain, seeds, strict=True)
    return tuple(AboveUntrained(*row) for row in rows)


def _over_tasks(margins: Sequence[Margin | None]) -> list[float | None]:
    return holm_where([None if margin is None else margin.p for margin in margins])


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
        task: ([rival for rival in rivals if not rival.architecture], cells)
        for task, (cells, rivals) in _sides(scores).items()
    }
    here = [
        surest_as_trained(plain, [model for cell in cells for model in _as_they_are(cell)])
        for plain, cells in sides.values()
    ]
    anew = [surest_anew(plain, cells) for plain, cells in sides.values()]
    rows = zip(sides, here, _over_tasks(here), anew, _over_tasks(anew), strict=True)
    return tuple(BaselineAbove(*row) for row in rows)


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
    return Table(HEAD, tuple(_row(task) for task in found), CAPTION)


def _row(one: AboveUntrained) -> tuple[str, ...]:
    if (m := one.here) is None:
        return (one.task, *["-"] * (len(HEAD) - 1))
    return (
        one.task, str(m.cells), str(m.rivals), m.cell, m.rival, f"{m.difference:+z.1f}", f"{m.low:+z.1f}", p_value(m.p),
        p_value(one.p_here), p_value(one.anew.p if one.anew else None), p_value(one.p_anew),
    )  # fmt: skip


def sentences_above(found: Sequence[AboveUntrained]) -> Iterator[str]:
    """What may be claimed of new seeds, how many it takes, then what may be claimed of the encoders as trained."""
    tested = [task for task in found if task.here is not None]
    if tested:
        yield from (*_with_new_seeds(found, tested), *_seeds_wanting(tested), *_as_trained(found))


def claims_above(found: Sequence[AboveUntrained]) -> Iterator[str]:
    """The claims alone: of new seeds, and of the encoders as trained; nothing where no task was asked."""
    tested = [task for task in found if task.here is not None]
    if tested:
        yield from (*_with_new_seeds(found, tested), *_as_trained(found))


def _with_new_seeds(found: Sequence[AboveUntrained], tested: Sequence[AboveUntrained]) -> Iterator[str]:
    tasks, rivals, shown = count(len(found), "probe task"), _rivals(tested[0]), [t.task for t in found if t.shown]
    if shown:
        yield (
            f"With new seeds, a trained encoder beats {rivals} on {len(shown)} of {tasks} ({', '.join(shown)}): more "
            "than half of its trainings do."
        )
    elif any(task.seeds > 1 for task in tested):
        yield f"With new seeds, a trained encoder is shown to beat {rivals} on none of {tasks}."


def _as_trained(found: Sequence[AboveUntrained]) -> Iterator[str]:
    shown = [task.task for task in found if task.shown_as_trained]
    names = f" ({', '.join(shown)})" if shown else ""
    yield f"With the same seeds on new dialogues, that is shown on {len(shown) or 'none'} of the tasks{names}."


def _seeds_wanting(tested: Sequence[AboveUntrained]) -> Iterator[str]:
    """How many seeds it takes, where no task has enough."""
    cells = min(task.here.cells for task in tested if task.here)
    seeds, wanted = max(task.seeds for task in tested), seeds_to_claim(cells)
    if seeds < wanted:
        need = "needs" if cells == 1 else "need"
        yield f"{count(seeds, 'seed')} cannot show it: {count(cells, 'trained encoder')} {need} {wanted} seeds."


def _rivals(one: AboveUntrained) -> str:
    """What had to be beaten, and what was not there to be."""
    encoders = one.here.rivals - one.baselines if one.here else 0
    if not one.baselines:
        return "every untrained encoder (there are no baselines)"
    return "every baseline and untrained encoder" if encoders else "every baseline (no untrained encoder was probed)"
