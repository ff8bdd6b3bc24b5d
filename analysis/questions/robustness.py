"""Drops: clean minus perturbed, on the same dialogues and seeds, for every task, model, kind and dose.

A drop's interval is for new dialogues and new training seeds at once; pairing takes out what the two sides share. A
drop is positive where the model got worse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, heading, number, signed, to_plain, warn_of_few_seeds
from seedvote.analysis.stats.mean_over_seeds import SeedMean, mean_over_seeds, replicates_by_dialogue
from seedvote.analysis.votes.scores.files import Unused
from seedvote.analysis.votes.scores.paired import PairedScale, paired_scales
from seedvote.analysis.votes.study import ReportRequest, Study, read_study
from seedvote.dialogue.cards import BY
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SURE = 0.05
MEANT, SURFACE = "jga", "bleu"  # what a surface metric is asked about


@dataclass(frozen=True, slots=True)
class Drop:
    """One task, model, kind and dose."""

    scale: PairedScale
    clean: float
    value: float
    mean: SeedMean  # clean minus perturbed, or the other way round where lower is better
    p_holm: float  # over all drops of this task

    @property
    def relative(self) -> float:
        """The drop as a share of the clean value; NaN where that is zero."""
        return self.mean.value / abs(self.clean) if self.clean else math.nan

    @property
    def kind(self) -> tuple[str, int]:
        """What was done to the dialogues, and the seed by which."""
        return self.scale.kind, self.scale.seed

    @property
    def place(self) -> tuple[str, str, str, float, int]:
        """What it shares with the drop of another task."""
        return self.scale.evaluator, self.scale.model, self.scale.kind, self.scale.dose, self.scale.seed


@dataclass(frozen=True, slots=True)
class DoseStep:
    """What the highest dose costs beyond the lowest, for one task, model and kind."""

    evaluator: str
    task: str
    model: str
    kind: str
    seed: int
    low: float
    high: float
    mean: SeedMean


@dataclass(frozen=True, slots=True)
class Notices:
    """Of the drops that one task shows (its interval above zero), how many another one shows too."""

    meant: str
    surface: str
    shown: int
    noticed: int
    only: int  # drops that the second task alone shows
    compared: int


@dataclass(frozen=True, slots=True)
class RobustnessAnswer:
    """Every drop of a study."""

    drops: tuple[Drop, ...]
    steps: tuple[DoseStep, ...]
    notices: Notices | None
    left_out: tuple[Unused, ...]
    dialogues: tuple[int, int]  # the fewest and the most that a drop rests on
    lone: tuple[str, ...]  # models of one seed
    unmatched: int  # the most dialogues that a drop leaves out, since one side lacks them
    signature: str

    @property
    def tasks(self) -> dict[str, list[Drop]]:
        """The drops of each task, by its title, in order."""
        drops: dict[str, list[Drop]] = {}
        for drop in self.drops:
            drops.setdefault(drop.scale.task.title, []).append(drop)
        return drops


def answer(
    study: Study, *, kinds: Sequence[str] = (), tasks: Sequence[str] = (), models: Sequence[str] = (), by: str = ""
) -> RobustnessAnswer:
    """Every drop that the study's score tables tell, or those of some kinds, tasks and models; by domain or slot."""
    if by not in ("", "domain", "slot"):
        raise InputError(f"--by is {by!r}; it may be domain or slot.")
    scales, left_out = paired_scales(study.scores, by=by) if study.scores else ([], [])
    if not scales:
        why = f" ({left_out[0].what}: {left_out[0].why})" if left_out else ""
        raise InputError(
            f"{study.folder} has no scores of one model both on the clean corpus and under a condition{why}. Score the "
            "answers to both, e.g. python -m evaluators task, with --out STUDY and --out STUDY/conditions/NAME "
            "(docs/robustness.md)."
        )
    chosen = [
        scale
        for scale in scales
        if (not kinds or scale.kind in kinds)
        and (not tasks or scale.name.partition(BY)[0] in tasks)
        and (not models or scale.model in models)
    ]
    if not chosen:
        raise InputError(
            f"Nothing is left of {len(scales):,} comparisons. There are the kinds "
            f"{_list_names(scale.kind for scale in scales)}; the tasks "
            f"{_list_names(scale.name.partition(BY)[0] for scale in scales)}; the models "
            f"{_list_names(scale.model for scale in scales)}."
        )
    drops = _measure_drops(chosen)
    sizes = [scale.parts.shape[1] for scale in chosen]
    return RobustnessAnswer(
        drops=tuple(drops),
        steps=tuple(_measure_steps(chosen)),
        notices=_count_notices(drops),
        left_out=tuple(left_out),
        dialogues=(min(sizes), max(sizes)),
        lone=tuple(dict.fromkeys(scale.model for scale in chosen if len(scale.seeds) == 1)),
        unmatched=max(scale.left_out for scale in chosen),
        signature=signature(
            drops=len(drops),
            conditions=len({(scale.kind, scale.dose, scale.seed) for scale in chosen}),
            paired="dialogue",
            unit="dialogue+seed",
            interval="t by dialogue and by seed",
            p="Holm by task",
            level=0.95,
            **({"by": by} if by else {}),
        ),
    )


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))


def _measure_drops(scales: Sequence[PairedScale]) -> list[Drop]:
    means = [_mean_of(scale, scale.clean - scale.value, scale.clean_parts - scale.parts) for scale in scales]
    adjusted: dict[int, float] = {}
    for task in dict.fromkeys((scale.evaluator, scale.name) for scale in scales):
        places = [
            place
            for place, (scale, mean) in enumerate(zip(scales, means, strict=True))
            if (scale.evaluator, scale.name) == task and not math.isnan(mean.p) and scale.dose > 0
        ]
        adjusted.update(
            zip(places, adjust_by_holm(np.array([means[place].p for place in places])).tolist(), strict=True)
        )
    return [
        Drop(scale, float(scale.clean.mean()), float(scale.value.mean()), mean, adjusted.get(place, math.nan))
        for place, (scale, mean) in enumerate(zip(scales, means, strict=True))
    ]


def _mean_of(scale: PairedScale, values: Any, parts: Any) -> SeedMean:
    sign = -1.0 if scale.task.better == "lower" else 1.0
    return mean_over_seeds(replicates_by_dialogue(sign * values, sign * parts))


def _measure_steps(scales: Sequence[PairedScale]) -> Iterator[DoseStep]:
    """The highest dose against the lowest one above zero, where there are two."""

    def place(scale: PairedScale) -> tuple[str, str, str, str, int]:
        return scale.evaluator, scale.name, scale.model, scale.kind, scale.seed

    for key, group in groupby(sorted(scales, key=place), key=place):
        doses = sorted((scale for scale in group if scale.dose > 0), key=lambda scale: scale.dose)
        if len(doses) > 1 and doses[0].seeds == doses[-1].seeds and doses[0].dialogues == doses[-1].dialogues:
            low, high = doses[0], doses[-1]
            yield DoseStep(*key, low.dose, high.dose, _mean_of(low, low.value - high.value, low.parts - high.parts))


def _count_notices(drops: Sequence[Drop]) -> Notices | None:
    """Where drops of two tasks are there: how many of the one's the other one shows too."""
    by_name = {(drop.scale.name, *drop.place): drop for drop in drops if drop.scale.dose > 0}
    pairs = [
        (drop, by_name[SURFACE, *drop.place])
        for (name, *_), drop in by_name.items()
        if name == MEANT and (SURFACE, *drop.place) in by_name
    ]
    if not pairs:
        return None
    signs = [(meant.mean.low > 0, surface.mean.low > 0) for meant, surface in pairs]
    return Notices(
        meant=pairs[0][0].scale.task.title,
        surface=pairs[0][1].scale.task.title,
        shown=sum(meant for meant, _ in signs),
        noticed=sum(meant and surface for meant, surface in signs),
        only=sum(surface and not meant for meant, surface in signs),
        compared=len(signs),
    )


def parts(answer: RobustnessAnswer) -> list[Table | str]:
    """A table of drops for each task, sentences, and the recipe."""
    tables = [drops_table(title, answer) for title in answer.tasks]
    return [*tables, "\n".join(robustness_notes(answer)), answer.signature]


def drops_table(title: str, answer: RobustnessAnswer) -> Table:
    """A line for every kind and dose, a column for every model; under each kind its highest dose beyond its lowest."""
    drops = answer.tasks[title]
    models = list(dict.fromkeys(drop.scale.model for drop in drops))
    task = drops[0].scale.evaluator, drops[0].scale.name
    clean = {drop.scale.model: drop.clean for drop in drops}
    rows = [["clean", "", *(number(clean[model], 1) for model in models)]]
    for kind, seed in dict.fromkeys(drop.kind for drop in drops):
        of_kind = [drop for drop in drops if drop.kind == (kind, seed)]
        for dose in sorted({drop.scale.dose for drop in of_kind}):
            cells = {
                drop.scale.model: name_mean(drop.mean) + ("*" if drop.p_holm < SURE else "")
                for drop in of_kind
                if drop.scale.dose == dose
            }
            name = f"{kind}{f', seed {seed}' if seed else ''}"
            rows.append([name, f"{dose:g}", *(cells.get(model, "-") for model in models)])
        steps = {
            step.model: step
            for step in answer.steps
            if (step.evaluator, step.task) == task and (step.kind, step.seed) == (kind, seed)
        }
        if steps:
            ends = next(iter(steps.values()))
            cells = {model: name_mean(step.mean) for model, step in steps.items()}
            rows.append([kind, f"{ends.high:g} beyond {ends.low:g}", *(cells.get(model, "-") for model in models)])
    return Table(["kind", "dose", *models], rows, f"{heading(title)}: drops with 95 % intervals")


def name_mean(mean: SeedMean) -> str:
    """A mean with its interval."""
    if math.isnan(mean.low):
        return f"{signed(mean.value)} (-)"
    if mean.se == 0 == mean.value:
        return "0"
    return f"{signed(mean.value)} ({signed(mean.low)} to {signed(mean.high)})"


def robustness_notes(answer: RobustnessAnswer) -> Iterator[str]:
    """What the reader of the tables must know."""
    low, high = answer.dialogues
    yield (
        f"A drop is clean minus perturbed on the same {low if low == high else f'{low} to {high}'} dialogues and the "
        "same training seeds, in the task's own unit. Its interval is for new dialogues and new seeds. A star: p < .05 "
        "with Holm's correction over all drops of the task."
    )
    if answer.unmatched:
        left_out = count(answer.unmatched, "dialogue")
        yield f"Up to {left_out} of a comparison are left out, because only one side has scores of all their turns."
    if answer.lone:
        yield f"One seed alone: {', '.join(answer.lone)}. Their intervals know nothing of other seeds."
    yield from warn_of_few_seeds(drop.mean.spread for drop in answer.drops)
    if notices := answer.notices:
        compared = count(notices.compared, "comparison")
        if notices.shown:
            yield (
                f"{notices.surface} notices {notices.noticed} of the {count(notices.shown, 'drop')} that "
                f"{notices.meant} shows (interval above zero; {compared}), and shows {notices.only} that "
                f"{notices.meant} does not."
            )
        else:
            yield f"{notices.meant} shows no drop in {compared}, so {notices.surface} misses none."
    if answer.left_out:
        yield "\n".join(f"not compared: {unused.what} ({unused.why})" for unused in answer.left_out)


def row_figures(answer: RobustnessAnswer) -> tuple[RowFigure, ...]:
    """For each task a heading for each kind at its highest dose, under it a row for each model."""
    figures = []
    for title, drops in answer.tasks.items():
        perturbed = [drop for drop in drops if drop.scale.dose > 0]
        ends = [end for drop in perturbed for end in (drop.mean.low, drop.mean.high) if math.isfinite(end)]
        if not ends:
            continue
        axis = Axis(min([0.0, *ends]), max([0.0, *ends]) or 1.0)
        rows: list[Row] = []
        for kind in dict.fromkeys(drop.kind for drop in perturbed):
            of_kind = [drop for drop in perturbed if drop.kind == kind]
            highest = max(drop.scale.dose for drop in of_kind)
            rows.append(Row(f"{kind[0]} {highest:g}"))
            rows += [_draw_drop(drop, axis) for drop in of_kind if drop.scale.dose == highest]
        figures.append(
            RowFigure(
                f"{heading(title)}: the drop at each kind's highest dose",
                tuple(rows),
                axis.round_ticks(),
                "drop, clean minus perturbed",
                ((axis.at(0), "none"),),
                note_head="drop (95 % interval)",
                name=f"robustness-{title}",
            )
        )
    return tuple(figures)


def _draw_drop(drop: Drop, axis: Axis) -> Row:
    mean, words = drop.mean, name_mean(drop.mean)
    return Row(drop.scale.model, words, axis.interval(mean.low, mean.value, mean.high, "c0"), described=words)


def draw_doses(answer: RobustnessAnswer) -> dict[str, Figure]:
    """Drop against dose, which no rows can show: a panel a kind, a figure a task; the first has no ending."""
    from seedvote.analysis.showing.plots import PlottedLine, panels_figure

    def line(model: str, of_kind: Sequence[Drop]) -> PlottedLine:
        """From nothing at dose 0; the first perturbation seed where there are several."""
        of_model = [drop for drop in of_kind if drop.scale.model == model]
        first = min((drop.scale.seed for drop in of_model), default=0)
        points = [(drop.scale.dose, drop.mean) for drop in of_model if drop.scale.seed == first and drop.scale.dose > 0]
        ordered = sorted((dose, mean.value, mean.low, mean.high) for dose, mean in points)
        return PlottedLine(model, *np.array([(0.0, 0.0, 0.0, 0.0), *ordered]).T)

    figures: dict[str, Figure] = {}
    for title, drops in answer.tasks.items():
        ending = f"-{re.sub(r'[^A-Za-z0-9]+', '-', drops[0].scale.name).strip('-')}" if figures else ""
        models = dict.fromkeys(drop.scale.model for drop in drops)
        kinds = dict.fromkeys(drop.scale.kind for drop in drops)
        by_kind = {kind: [drop for drop in drops if drop.scale.kind == kind] for kind in kinds}
        figures[ending] = panels_figure(
            {kind: [line(model, of_kind) for model in models] for kind, of_kind in by_kind.items()},
            title=f"{heading(title)}: the drop by dose",
            ylabel="drop, with its 95 % interval",
            xlabel="dose: share of user turns (speech: word error rate)",
            recipe=answer.signature,
        )
    return figures


def document(answer: RobustnessAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    notices = answer.notices
    keys = {
        "drops": [_drop_keys(drop) for drop in answer.drops],
        "steps": [
            {
                **{name: getattr(step, name) for name in ("evaluator", "task", "model", "kind")},
                "from": step.low,
                "to": step.high,
                **_mean_keys(step.mean),
            }
            for step in answer.steps
        ],
        "notices": notices
        and {
            "of": notices.meant,
            "by": notices.surface,
            **{name: getattr(notices, name) for name in ("shown", "noticed", "only", "compared")},
        },
        "one_seed": answer.lone,
        "not_compared": [unused._asdict() for unused in answer.left_out],
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _drop_keys(drop: Drop) -> dict[str, Any]:
    scale = drop.scale
    return {
        "evaluator": scale.evaluator,
        "task": scale.name,
        "model": scale.model,
        "kind": scale.kind,
        "dose": scale.dose,
        "seed": scale.seed,
        "seeds": scale.seeds,
        "dialogues": scale.parts.shape[1],
        "dialogues_left_out": scale.left_out,
        "clean": drop.clean,
        "value": drop.value,
        **_mean_keys(drop.mean),
        "relative": drop.relative,
        "p_holm": drop.p_holm,
        "by_seed": [float(clean - value) for clean, value in zip(scale.clean, scale.value, strict=True)],
    }


def _mean_keys(mean: SeedMean) -> dict[str, Any]:
    keys = {name: getattr(mean, name) for name in ("se", "low", "high", "freedom", "p")}
    return {"drop": mean.value, **keys, "range": mean.spread}


def section(answer: RobustnessAnswer) -> Section:
    """What the report shows: the highest dose of every kind, and a table of drops for every task."""
    return Section(
        "robustness",
        "What perturbations cost",
        (
            "The same dialogues, told otherwise: typos, other words, speech errors, unseen names. A drop is what a "
            "model loses by that, on the same dialogues and training seeds.",
        ),
        row_figures(answer),
        tables=tuple(drops_table(title, answer) for title in answer.tasks),
        notes=tuple(robustness_notes(answer)),
    )


def robustness(
    study: Any, *, kinds: Sequence[str] = (), tasks: Sequence[str] = (), models: Sequence[str] = (), by: str = ""
) -> Result:
    """What each perturbation costs (`python -m analysis robustness`); `study` is a folder with conditions/."""
    drops = answer(read_study(Path(study), votes_too=False), kinds=kinds, tasks=tasks, models=models, by=by)
    return Result(document(drops), parts(drops), lambda: draw_doses(drops))


def in_report(request: ReportRequest) -> RobustnessAnswer:
    """As of `analysis robustness STUDY`."""
    return answer(request.study)
