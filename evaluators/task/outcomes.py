"""What one system reached in every dialogue: the numbers from which each rate, and each of its intervals, is made."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.domains.states import State
from seedvote.evaluators.task.active import Domains
from seedvote.evaluators.task.bleu import COUNTS, as_kinds, counts
from seedvote.evaluators.task.goals import Wanted
from seedvote.evaluators.task.predictions import Answer, Predictions
from seedvote.evaluators.task.states import Tracked, tracked
from seedvote.evaluators.task.success import Reached, Tables, goal_reached

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """What predictions are held against: goals, databases, annotated states and reference replies, by dialogue."""

    goals: Mapping[str, Wanted] = field(repr=False)
    tables: Tables = field(repr=False)
    states: Mapping[str, Sequence[State]] = field(repr=False)
    references: Mapping[str, Sequence[str]] = field(repr=False)


@dataclass(frozen=True)
class DialogueOutcome:
    """One dialogue of one system; nothing stands where the corpus, or the predictions, do not tell."""

    dialogue: str
    turns: int
    reached: Reached | None
    tracked: Sequence[Tracked]
    bleu: Floats  # (turns, 10) counts; no rows without references


def dialogue_outcomes(predictions: Predictions, active: Mapping[str, Domains], world: World) -> list[DialogueOutcome]:
    """Every dialogue that the corpus knows, in its order."""
    return [
        _outcome(name, answers, active[name], world)
        for name, answers in predictions.dialogues.items()
        if name in world.goals or name in world.states or name in world.references
    ]


def _outcome(name: str, answers: Sequence[Answer], active: Domains, world: World) -> DialogueOutcome:
    goal, states, references = world.goals.get(name), world.states.get(name, ()), world.references.get(name, ())
    met = goal_reached(goal, answers, active, world.tables) if goal and world.tables else None
    pairs = zip(states, answers, strict=False)
    turns = [tracked(gold, answer.state) for gold, answer in pairs if answer.state is not None]
    rows = [counts(as_kinds(answer.text), as_kinds(text)) for answer, text in zip(answers, references, strict=False)]
    return DialogueOutcome(name, len(answers), met, turns, np.array(rows, np.float64).reshape(-1, len(COUNTS)))


def goals_reached(
    predictions: Predictions, active: Mapping[str, Domains], world: World, draw: random.Random | None = None
) -> list[Reached]:
    """Inform and Success alone of every dialogue with a goal; with `draw` by the older rule, one drawn row an offer."""
    return [
        goal_reached(world.goals[name], answers, active[name], world.tables, draw)
        for name, answers in predictions.dialogues.items()
        if name in world.goals
    ]


def drawn_venues(
    predictions: Predictions, active: Mapping[str, Domains], world: World, draws: Sequence[random.Random]
) -> list[list[Reached]]:
    """By the older rule: a list of dialogues for each generator."""
    return [goals_reached(predictions, active, world, draw) for draw in draws]
