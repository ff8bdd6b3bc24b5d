"""Every way of judging the models of one study as panels over architectures and seeds, people first.

Which tasks are compared, in which order and on which scale is what the evaluators' cards say. What is not compared is
kept with the reason, so that nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from analysis.comparison.drawn_raters import panel_of_scale
from analysis.comparison.option_draws import DRAW, with_option_draws
from analysis.comparison.strengths import people_panels
from analysis.votes.scores.files import Scores, Unused
from analysis.votes.scores.panel import OPTION_DRAWS, POINTS, Panel, Scale, System
from analysis.votes.scores.summing import scale_of
from analysis.votes.scores.values import Key, Value
from analysis.votes.study import Study
from dialogue.cards import ASIDE, LATE, LONGEST, Card, TaskCard

CONSTANT = "constant"  # the condition of one sentence for every context
SEVERAL = 6  # names in a line; more are counted
MINOR = "its card does not compare models by it"
FURTHER = "further draws of the same models"
PERTURBED = "other conditions are never pooled with clean scores"
BASELINE = "baselines stand beside what they are for"
CONTROL = "controls stand beside what they are for"
Values = Mapping[Key, Mapping[int | None, Value]]


def panels_of(study: Study, clusters: str = "auto") -> list[Panel]:
    """People, then every evaluator in the order of its card; baselines stay beside what they belong to."""
    return compared_panels(study, clusters)[0]


def compared_panels(study: Study, clusters: str = "auto") -> tuple[list[Panel], list[Unused]]:
    """The panels, and what of the study they do not show."""
    found: list[Panel] = []
    left: list[Unused] = []
    votes = study.votes
    if votes is not None and study.pairs:
        found += people_panels(votes, study.pairs, clusters)
    if study.scores is not None:
        kept, aside = kept_keys(study.scores)
        cards, unit = study.scores.cards, study.scores.unit
        found += with_option_draws(
            score_panels(kept, cards, unit), study.scores, kept, lambda values: score_panels(values, cards, unit)
        )
        left += [*aside, *study.scores.left_out]
    return sorted(found, key=_place), left


def _place(panel: Panel) -> tuple[int, str, bool, str, str]:
    return panel.shown.order, panel.shown.group, panel.checkpoint != "last", panel.checkpoint, panel.name


def kept_keys(scores: Scores) -> tuple[Values, list[Unused]]:
    """The groups of scores that models are compared by, and the others by the reason why not."""
    clean = {(key.evaluator, key.task) for key in scores.values if not key.condition}
    kept: dict[Key, Mapping[int | None, Value]] = {}
    left: dict[tuple[str, str], dict[str, None]] = {}
    for key, found in scores.values.items():
        perturbed = scores.perturbed(key) or bool(key.condition and (key.evaluator, key.task) in clean)
        if why := _why_not(key, scores.cards, perturbed):
            left.setdefault((key.evaluator, why), {})[_what(key, why)] = None
        else:
            kept[key] = found
    titles = {of: scores.cards[of].title if of in scores.cards else of for of, _ in left}
    return kept, [Unused(f"{titles[of]} {_listed(list(names))}", why) for (of, why), names in left.items()]


def _why_not(key: Key, cards: Mapping[str, Card], perturbed: bool) -> str:
    """Why a group of scores is not compared; empty where it is."""
    if key.evaluator in ASIDE:
        return CONTROL if key.evaluator == "control" else BASELINE
    card = cards.get(key.evaluator)
    task = card and card.task(key.task)
    if (card is not None and key.model in card.baselines) or key.condition == CONSTANT:
        return BASELINE
    if task and not task.main:
        return MINOR
    if " draw " in key.condition:
        return OPTION_DRAWS if DRAW.fullmatch(key.condition) else FURTHER
    return PERTURBED if perturbed else ""


def _what(key: Key, why: str) -> str:
    """The name by which a group of scores is left out."""
    return {BASELINE: key.model, CONTROL: key.model, MINOR: key.task}.get(why, f"of {key.condition}")


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - SEVERAL
    return ", ".join(names) if rest < 2 else f"{', '.join(names[:SEVERAL])} and {rest} more"


def score_panels(values: Values, cards: Mapping[str, Card], unit: str = "dialogue") -> list[Panel]:
    """One panel for each evaluator, task, checkpoint, rater and condition: rows of two conditions are never pooled.

    Raters are pooled where the evaluator's card says that they are drawn from many.
    """
    several: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    scales: dict[Key, dict[System, dict[str, Value]]] = {}
    for key, found in values.items():
        drawn = key.evaluator in cards and cards[key.evaluator].raters == "drawn"
        raters, conditions = several.setdefault((key.evaluator, key.task), (set(), set()))
        raters.add("" if drawn else key.rater)
        conditions.add(key.condition)
        systems = scales.setdefault(scale_of(key)._replace(rater="") if drawn else scale_of(key), {})
        for seed, value in found.items():
            systems.setdefault(System(key.model, seed), {})[key.rater] = value
    made = []
    for key, judged in scales.items():
        raters, conditions = several[key.evaluator, key.task]
        more = [key.rater] if len(raters) > 1 else []
        more += [key.condition or "clean"] if len(conditions) > 1 else []
        made.append(panel_of_scale(key, "".join(f", {one}" for one in more), judged, scale_from(key, cards), unit))
    return made


def scale_from(key: Key, cards: Mapping[str, Card]) -> Scale:
    """How a task is shown by its card; under its own name, with no unit and no direction, where it has none."""
    card = cards.get(key.evaluator)
    task = card.task(key.task) if card else None
    if card is None or task is None:
        group, order = (shortened(key.evaluator), LATE) if card is None else (card.title, card.order)
        unnamed = key.task if card is not None and card.tasks else ""
        return Scale(group, shortened(key.task), order, "", better="neither", carded=False, unnamed=unnamed)
    chance = None if task.chance is None else task.scale * task.chance
    return Scale(card.title, task.title, card.order, shown_unit(task), task.scale, task.better, chance)


def shortened(name: str) -> str:
    """A name that no card bounds, as a row of a table can hold it.

    >>> shortened("m" * 50 + "-" + "n" * 50)
    'mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm...nnnnnnnnnnnnnnnnn'
    """
    name = " ".join(name.split())
    return name if len(name) <= LONGEST else f"{name[:40]}...{name[43 - LONGEST :]}"


def shown_unit(task: TaskCard) -> str:
    """The unit of scores after scaling; empty for a bare number.

    >>> shown_unit(TaskCard(unit="share", scale=100.0)), shown_unit(TaskCard(unit="nats"))
    ('points', 'nats')
    """
    if task.unit == "none":
        return ""
    if (task.unit, task.scale) in (("share", 100.0), ("points", 1.0)):
        return POINTS
    return task.unit + ("" if task.scale == 1 else f" x {task.scale:g}")


class Baseline(NamedTuple):
    """What something that knows little scores on one task, as shown."""

    kind: str
    task: str
    checkpoint: str
    name: str
    value: float


def baselines_beside(scores: Scores) -> tuple[Baseline, ...]:
    """The baselines of every task: rows of models that the evaluator's card names, its own or under `baseline`."""
    found = []
    for key, seeds in scores.values.items():
        if (kind := _owner(key, scores.cards)) and not scores.perturbed(key) and " draw " not in key.condition:
            scale = scale_from(key._replace(evaluator=kind), scores.cards)
            mean = scale.factor * float(np.mean([value.value for value in seeds.values()]))
            found.append(Baseline(kind, key.task, key.checkpoint, key.model.replace("_", " "), mean))
    return tuple(found)


def _owner(key: Key, cards: Mapping[str, Card]) -> str:
    """The evaluator that a baseline stands beside; empty for what is no baseline."""
    of = (
        cards
        if key.evaluator == "baseline"
        else {key.evaluator: cards[key.evaluator]}
        if key.evaluator in cards
        else {}
    )
    # A card that names the task goes before one that takes every task.
    fitting = [name for name, card in of.items() if key.model in card.baselines and card.task(key.task)]
    return min(fitting, key=lambda name: key.task not in of[name].tasks, default="")


def best_baseline(panel: Panel, baselines: Sequence[Baseline]) -> Baseline | None:
    """The baseline that does best on a panel's task; the highest where no direction is known."""
    task = panel.name.partition(", ")[0]
    mine = [one for one in baselines if (one.kind, one.task) == (panel.kind, task)]
    sign = -1 if panel.shown.better == "lower" else 1
    return max(mine, key=lambda one: sign * one.value, default=None)
