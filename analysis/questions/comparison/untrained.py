"""Does any trained encoder beat everything that needs no training? One answer for every probe task.

Cells are the trained encoders at every checkpoint, rivals the baselines and every untrained encoder, all under one
classifier and on the same dialogues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_value
from seedvote.analysis.stats.rivals import Margin, MeasuredModel, seeds_to_claim, surest_anew, surest_as_trained
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.votes.scores.files import Scores
from seedvote.analysis.votes.scores.panel import UNSEEN
from seedvote.analysis.votes.scores.values import Key, Value

PROBES, BASELINE, MAJORITY = "probe", "baseline", "majority"
ALPHA = 0.05
HEAD = (
    "task",
    "cells",
    "rivals",
    "surest cell",
    "hardest rival",
    "points above it",
    "at least (95 %)",
    "p, as trained",
    "p, all tasks",
    "p, new seeds",
    "p, new seeds, all tasks",
)
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
    sides = _split_sides(scores)
    as_trained = [surest_as_trained(cells, rivals) for cells, rivals in sides.values()]
    with_new_seeds = [surest_anew(cells, rivals) for cells, rivals in sides.values()]
    baselines = [sum(not rival.architecture for rival in rivals) for _, rivals in sides.values()]
    seeds = [max(len(cell.values) for cell in cells) for cells, _ in sides.values()]
    margins = (as_trained, _over_tasks(as_trained), with_new_seeds, _over_tasks(with_new_seeds))
    rows = zip(sides, *margins, baselines, seeds, strict=True)
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
        for task, (cells, rivals) in _split_sides(scores).items()
    }
    as_trained = [
        surest_as_trained(baselines, [model for cell in cells for model in _single_seeds(cell)])
        for baselines, cells in sides.values()
    ]
    with_new_seeds = [surest_anew(baselines, cells) for baselines, cells in sides.values()]
    margins = (as_trained, _over_tasks(as_trained), with_new_seeds, _over_tasks(with_new_seeds))
    return tuple(BaselineAbove(*row) for row in zip(sides, *margins, strict=True))


def _single_seeds(cell: MeasuredModel) -> Iterator[MeasuredModel]:
    """Every seed alone: one model has no spread over seeds."""
    for row, seed in enumerate(cell.seeds):
        place = slice(row, row + 1)
        yield replace(
            cell, name=f"{cell.name} ({seed})", seeds=(seed,), values=cell.values[place], parts=cell.parts[place]
        )


def _split_sides(scores: Scores) -> dict[str, tuple[list[MeasuredModel], list[MeasuredModel]]]:
    """Task -> cells and rivals; a task where they were not scored on the same dialogues is left out."""
    sides: dict[str, tuple[list[MeasuredModel], list[MeasuredModel]]] = {}
    for task, rows in _by_task(scores).items():
        dialogues = {value.clusters for seeds in rows.values() for value in seeds.values()}
        cells = [_measure_model(key, seeds) for key, seeds in rows.items() if _is_cell(key)]
        rivals = [_measure_model(key, seeds) for key, seeds in rows.items() if not _is_cell(key)]
        if cells and rivals and len(dialogues) == 1:
            sides[task] = cells, rivals
    return sides


def _by_task(scores: Scores) -> dict[str, dict[Key, Mapping[int | None, Value]]]:
    """The rows of every task under its first classifier and condition, clean and with true labels."""
    first: dict[str, Key] = {}
    probes = [key for key in sorted(scores.values) if key.evaluator == PROBES and not scores.perturbed(key)]
    for key in probes:
        first.setdefault(key.task, key)
    rows: dict[str, dict[Key, Mapping[int | None, Value]]] = {}
    for key, seeds in scores.values.items():
        model_key = first.get(key.task)
        if model_key is None or key.evaluator not in (PROBES, BASELINE) or key.condition != model_key.condition:
            continue
        if key.rater == model_key.rater or (key.evaluator == BASELINE and key.rater == MAJORITY):
            rows.setdefault(key.task, {})[key] = seeds
    return rows


def _is_cell(key: Key) -> bool:
    return key.evaluator == PROBES and key.checkpoint != UNSEEN


def _measure_model(key: Key, seeds: Mapping[int | None, Value]) -> MeasuredModel:
    names = tuple(sorted(seeds, key=str))
    values = np.array([100 * seeds[name].value for name in names])
    parts = np.array([100 * seeds[name].parts for name in names])
    architecture = key.model if key.evaluator == PROBES else ""
    label = f"{key.model} {key.checkpoint}" if architecture else key.model.replace("_", " ")
    return MeasuredModel(label, architecture, names, values, parts)


def table_above(tasks: Sequence[AboveUntrained]) -> Table:
    """A line for each task."""
    return Table(HEAD, tuple(map(_format_cells, tasks)), CAPTION)


def _format_cells(task: AboveUntrained) -> tuple[str, ...]:
    if (margin := task.here) is None:
        return (task.task, *["-"] * (len(HEAD) - 1))
    return (
        task.task,
        str(margin.cells),
        str(margin.rivals),
        margin.cell,
        margin.rival,
        f"{margin.difference:+z.1f}",
        f"{margin.low:+z.1f}",
        p_value(margin.p),
        p_value(task.p_here),
        p_value(task.anew.p if task.anew else None),
        p_value(task.p_anew),
    )


def probe_sentences(above: Sequence[AboveUntrained], below: Sequence[BaselineAbove]) -> Iterator[str]:
    """What may be claimed of the encoders, of new seeds, how many these take, and which baselines beat them all."""
    tested = [task for task in above if task.here is not None]
    if tested:
        yield from (*_claim_above(above, tested), *_count_seeds(tested), *_claim_below(below))


def probe_claims(above: Sequence[AboveUntrained], below: Sequence[BaselineAbove]) -> Iterator[str]:
    """The claims alone; nothing where no task was asked."""
    tested = [task for task in above if task.here is not None]
    if tested:
        yield from (*_claim_above(above, tested), *_claim_below(below))


def _claim_above(tasks: Sequence[AboveUntrained], tested: Sequence[AboveUntrained]) -> Iterator[str]:
    """Of these very encoders, then of new seeds, where there are enough to say anything of them."""
    rivals, total = _describe_rivals(tested[0]), len(tasks)
    trained = [task.task for task in tasks if task.shown_as_trained]
    anew = [task.task for task in tasks if task.shown]
    if trained:
        yield f"On {_list_tasks(trained, total)}, a trained encoder beats {rivals}: these seeds, on new dialogues."
    else:
        yield f"With these seeds, no trained encoder is shown to beat {rivals} ({count(total, 'probe task')})."
    if anew:
        yield f"On {_list_tasks(anew, total)}, more than half of new trainings do."
    elif trained and _least_seeds(tested) <= max(task.seeds for task in tested):
        yield "With new seeds, that is shown on none of them."


def _claim_below(tasks: Sequence[BaselineAbove]) -> Iterator[str]:
    won = {task.task: task.here.cell for task in tasks if task.here and task.here.p < ALPHA}
    if won:
        names = [f"{task}: {baseline}" for task, baseline in won.items()]
        yield f"On {_list_tasks(names, len(tasks))}, a baseline beats every trained encoder."


def _list_tasks(names: Sequence[str], total: int) -> str:
    """`2 of 5 probe tasks (RecentTopic, ActionSelect)`."""
    return f"{len(names)} of {count(total, 'probe task')} ({', '.join(names)})"


def _least_seeds(tested: Sequence[AboveUntrained]) -> int:
    return seeds_to_claim(min(task.here.cells for task in tested if task.here))


def _count_seeds(tested: Sequence[AboveUntrained]) -> Iterator[str]:
    """How many seeds it takes to say anything of new ones, where no task has enough."""
    cells = min(task.here.cells for task in tested if task.here)
    seeds, least = max(task.seeds for task in tested), _least_seeds(tested)
    if seeds < least:
        need = "needs" if cells == 1 else "need"
        encoders = count(cells, "trained encoder")
        yield f"{count(seeds, 'seed')} cannot show what new seeds would do: {encoders} {need} {least}."


def _describe_rivals(task: AboveUntrained) -> str:
    """What had to be beaten, and what was not there to be."""
    encoders = task.here.rivals - task.baselines if task.here else 0
    if not task.baselines:
        return "every untrained encoder (there are no baselines)"
    return "every baseline and untrained encoder" if encoders else "every baseline (no untrained encoder was probed)"
