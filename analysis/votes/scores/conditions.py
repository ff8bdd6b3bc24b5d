"""Scores of one study by condition: which stand on the clean corpus, and which on the same dialogues told otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.votes.scores.files import Scores, Unused
from analysis.votes.scores.panel import UNSEEN
from analysis.votes.scores.values import Key, Value
from dialogue.cards import ASIDE, BY, LATE, TaskCard
from dialogue.conditions import condition_parts

Floats = NDArray[np.float64]
SHOWN_TOO = ("bleu",)  # tasks that are no main ones, but are held against those that are


@dataclass(frozen=True, slots=True)
class PairedScale:
    """One model's scores by one task, clean and under one condition, on the same seeds and dialogues."""

    evaluator: str
    task: TaskCard
    name: str  # the task's own name
    model: str
    kind: str
    dose: float
    seed: int  # of the perturbation
    seeds: tuple[int | None, ...]  # of training
    clean: Floats  # (seeds,), in the unit in which the task is shown
    value: Floats  # (seeds,)
    clean_parts: Floats  # (seeds, dialogues): what each dialogue adds to the error
    parts: Floats


def paired_scales(scores: Scores, *, by_domain: bool = False) -> tuple[list[PairedScale], list[Unused]]:
    """Every task, model and condition that has a clean counterpart, and what has none and why.

    The main tasks, or those that are asked for each domain by itself.
    """
    scales: list[PairedScale] = []
    unpaired: dict[str, str] = {}
    for key in scores.values:
        if not scores.perturbed(key) or key.evaluator in ASIDE or key.checkpoint == UNSEEN:
            continue
        name, _, clean_condition = key.condition.partition(", ")
        parts = condition_parts(name)
        card = task_card(scores, key)
        clean = scores.values.get(key._replace(condition=clean_condition))
        if parts is None:
            unpaired[f"conditions/{name}"] = "its name is not KIND@DOSE-SEED"
        elif card is None or not (BY in key.task if by_domain else card.main or key.task in SHOWN_TOO):
            continue
        elif clean is None:
            unpaired[f"{key.evaluator} {key.task} of {key.model} under {name}"] = "it has no scores on the clean corpus"
        elif scale := _paired(key, card, parts, scores.values[key], clean):
            scales.append(scale)
        else:
            unpaired[f"{key.evaluator} {key.task} of {key.model} under {name}"] = (
                "no seed answers the same dialogues twice"
            )
    scales.sort(key=lambda scale: (*_card_place(scores, scale), scale.kind, scale.seed, scale.dose, scale.model))
    return scales, [Unused(what, why) for what, why in unpaired.items()]


def _card_place(scores: Scores, scale: PairedScale) -> tuple[int, str, int, str]:
    """Evaluators in the order of their cards, tasks in that of the card."""
    card = scores.cards.get(scale.evaluator)
    tasks = list(card.tasks) if card else []
    place = tasks.index(scale.name) if scale.name in tasks else len(tasks)
    return card.order if card else LATE, scale.evaluator, place, scale.name


def task_card(scores: Scores, key: Key) -> TaskCard | None:
    """How the scores of a key are to be read; one without a card as they stand."""
    owner = scores.cards.get(key.evaluator)
    return owner.task(key.task) if owner else TaskCard(key.task)


def _paired(
    key: Key, card: TaskCard, parts: tuple[str, float, int],
    perturbed: Mapping[int | None, Value], clean: Mapping[int | None, Value],
) -> PairedScale | None:  # fmt: skip
    seeds = sorted(
        (seed for seed in perturbed if seed in clean and _alike(perturbed[seed], clean[seed])),
        key=lambda s: -1 if s is None else s,
    )
    clusters = {tuple(sorted(perturbed[seed].clusters)) for seed in seeds}
    if not seeds or len(clusters) > 1:
        return None
    names = next(iter(clusters))
    return PairedScale(
        key.evaluator, card, key.task, key.model, *parts, tuple(seeds),
        np.array([clean[seed].value for seed in seeds]) * card.scale,
        np.array([perturbed[seed].value for seed in seeds]) * card.scale,
        np.stack([aligned(clean[seed], names) for seed in seeds]) * card.scale,
        np.stack([aligned(perturbed[seed], names) for seed in seeds]) * card.scale,
    )  # fmt: skip


def _alike(first: Value, second: Value) -> bool:
    return first.examples == second.examples and sorted(first.clusters) == sorted(second.clusters)


def aligned(value: Value, names: Sequence[str]) -> Floats:
    """What each of these dialogues adds to the error; nothing where it was not answered."""
    known = dict(zip(value.clusters, value.parts.tolist(), strict=True))
    return np.array([known.get(name, 0.0) for name in names])


def clean_values(scores: Scores, condition: str = "") -> Iterator[tuple[Key, TaskCard, int | None, Value]]:
    """Every model's value by every task on the clean corpus, or under one condition; no baselines."""
    for key, seeds in scores.values.items():
        card = task_card(scores, key)
        owner = scores.cards.get(key.evaluator)
        if key.evaluator in ASIDE or card is None or key.checkpoint == UNSEEN:
            continue
        if (owner and key.model in owner.baselines) or scores.perturbed(key) != bool(condition):
            continue
        if condition and key.condition.partition(", ")[0] != condition:
            continue
        for seed, value in seeds.items():
            yield key, card, seed, value
