"""Scores of one study by condition: which stand on the clean corpus, and which on the same dialogues told otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.votes.scores.files import Scores, Unused
from seedvote.analysis.votes.scores.panel import UNSEEN
from seedvote.analysis.votes.scores.values import Key, Value
from seedvote.dialogue.cards import ASIDE, BY, LATE, TaskCard
from seedvote.dialogue.conditions import condition_parts

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
    dialogues: tuple[str, ...]
    left_out: int = 0  # dialogues that were not answered on both sides, or in another number of turns


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
    """On the dialogues that every seed answers on both sides; a seed with less than half of them is left out."""
    shared = {seed: _shared(clean[seed], perturbed[seed]) for seed in perturbed if seed in clean}
    most = max(map(len, shared.values()), default=0)
    enough = (seed for seed, names in shared.items() if names and 2 * len(names) >= most)
    seeds = sorted(enough, key=lambda seed: -1 if seed is None else seed)
    if not seeds:
        return None
    names = sorted(set.intersection(*(shared[seed] for seed in seeds)))
    if not names:
        return None
    every = set().union(*(side[seed].clusters for side in (clean, perturbed) for seed in seeds))
    is_complete = len(every) == len(names)
    befores, afters = (
        [side[seed] if is_complete else _only(side[seed], names) for seed in seeds] for side in (clean, perturbed)
    )
    return PairedScale(
        key.evaluator, card, key.task, key.model, *parts, tuple(seeds),
        np.array([value.value for value in befores]) * card.scale,
        np.array([value.value for value in afters]) * card.scale,
        np.stack([aligned(value, names) for value in befores]) * card.scale,
        np.stack([aligned(value, names) for value in afters]) * card.scale,
        tuple(names), len(every) - len(names),
    )  # fmt: skip


def _shared(first: Value, second: Value) -> set[str]:
    """The dialogues of which both sides scored the same number of examples."""
    if first.sums is None or second.sums is None:
        return set()
    return {name for name, rows in first.sums.rows.items() if second.sums.rows.get(name) == rows}


def _only(value: Value, names: Sequence[str]) -> Value:
    return value if value.sums is None else value.sums.value(frozenset(names))


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
