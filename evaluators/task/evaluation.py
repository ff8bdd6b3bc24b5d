"""Task success of every system that is given: rates, what another rule would say, what is missing, and the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from seedvote.dialogue.domains.spelling import State
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.signature import signature
from seedvote.evaluators.task.predictions import Answer, Predictions, SystemKey
from seedvote.evaluators.task.rates import (
    DRAWS,
    DialogueOutcome,
    RankedSystem,
    Rate,
    SlotRate,
    World,
    compute_rates,
    dialogue_outcomes,
    draw_weights,
    drawn_venues,
    goals_reached,
    rank_by_draws,
    slot_rates,
)
from seedvote.evaluators.task.success import Rule, active_domains, possible_rules

Missing = Literal["skip", "fail"]
Venue = Literal["subset", "sampled"]
States = Literal["predicted", "annotated", "none"]
VENUE_DRAWS = 30  # of the older rule


@dataclass(frozen=True)
class TaskRules:
    """The rules in force; each is in the recipe."""

    split: str
    domains: Rule | None  # None: the first that the predictions allow
    venue: Venue
    missing: Missing
    references: str
    seed: int


@dataclass(frozen=True)
class Sampled:
    """Inform and Success by the older rule, one row drawn an offer: mean and SD over the draws."""

    inform: float
    success: float
    inform_sd: float
    success_sd: float


@dataclass(frozen=True)
class TaskSystem:
    """One system: what it reached, and what the reader of its rates must know."""

    key: SystemKey
    outcomes: Sequence[DialogueOutcome] = field(repr=False)
    rates: Mapping[str, Rate]
    is_filled: bool  # no reply has a placeholder, so what it offers cannot be looked up
    states: States
    rule: Rule | None  # of active domains; None where neither Inform nor Success can be had
    otherwise: Mapping[Rule, tuple[float, float]]  # Inform and Success by the other rules that are possible
    missing: Sequence[str]  # dialogues of the corpus that the predictions leave out
    strange: Sequence[str]  # dialogues of the predictions that the corpus does not know
    unequal: Sequence[str]  # dialogues with more or fewer answers than the corpus has system turns
    if_missing_fail: tuple[float, float] | None
    unknown: Mapping[str, int]
    sampled: Sampled | None = None
    slots: Mapping[str, SlotRate] = field(default_factory=dict, repr=False)  # such as `hotel-area`

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.key.name


@dataclass(frozen=True)
class Evaluation:
    """All systems, their ranks, and the recipe."""

    systems: Sequence[TaskSystem]
    ranked_by: str  # a key of rates.TITLES, "" where there is one system
    common: int
    places: Sequence[RankedSystem]
    slots: int
    signature: str


def evaluate_systems(given_predictions: Sequence[Predictions], world: World, settings: TaskRules) -> Evaluation:
    """Every number that the corpus and the predictions allow."""
    _refuse_doubles(given_predictions)
    slots = len(
        {name for states in world.states.values() for state in states for d in state for name in _name_slots(d, state)}
    )
    systems = [_evaluate_system(predictions, world, settings, slots) for predictions in given_predictions]
    ranked_by, common, order = _rank_systems(systems, settings, slots)
    rules = ",".join(f"{system.name}={system.rule or 'none'}" for system in systems)
    recipe = signature(
        systems=len(systems),
        split=settings.split,
        domains=rules,
        venue=settings.venue,
        match="difflib>=90",
        missing=settings.missing,
        references=settings.references,
        slots=slots,
        draws=DRAWS,
        unit="dialogue",
        seed=settings.seed,
    )
    return Evaluation(systems, ranked_by, common, order, slots, recipe)


def _name_slots(domain: str, state: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    return [(domain, name) for name in state[domain]]


def _refuse_doubles(given_predictions: Sequence[Predictions]) -> None:
    names = [predictions.system for predictions in given_predictions]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Two files are named {twice}. Rename one: the name of a file is the name of its system.")


def _evaluate_system(predictions: Predictions, world: World, settings: TaskRules, slots: int) -> TaskSystem:
    known = dict.fromkeys([*world.goals, *world.states, *world.references, *world.intents])
    missing = [name for name in known if name not in predictions.dialogues]
    if len(missing) == len(known):
        first = next(iter(predictions.dialogues))
        raise InputError(
            f"{predictions.system}: none of its {len(predictions.dialogues):,} dialogues is in the {settings.split} "
            f"split of the corpus, e.g. {first!r}. Give the corpus that was answered, or another --split."
        )
    _refuse_partly_named(predictions)
    predictions, states = _with_states(predictions, world)
    is_filled = not predictions.agent and not any(turn.kinds for turn in predictions.turns)
    is_blind = is_filled and states == "annotated"  # nothing of what it offers is its own
    possible = possible_rules(predictions) if states != "none" and not is_blind else ()
    rule = None if is_blind else settings.domains or (possible[0] if possible else None)
    active = active_domains(predictions, rule) if rule else {name: [] for name in predictions.dialogues}
    tracked = replace(world, states=world.states if states == "predicted" else {})
    known_world = tracked if rule else replace(tracked, goals={}, tables={})
    outcomes = dialogue_outcomes(predictions, active, known_world)
    generator = np.random.default_rng(child_seed(settings.seed, "task", predictions.system))
    draws = draw_weights(len(outcomes), generator=generator)
    rated = dict(compute_rates(outcomes, draws, slots=slots))
    failed = _if_missing_fail(rated, len(outcomes), len(missing))
    if settings.missing == "fail" and failed:
        rated |= _with_failures(rated, len(outcomes), len(missing))
    return TaskSystem(
        predictions.key,
        outcomes,
        rated,
        is_filled,
        states,
        rule,
        {
            rule_name: _inform_and_success(predictions, world, rule_name)
            for rule_name in possible
            if rule_name != rule and "inform" in rated
        },
        missing,
        [name for name in predictions.dialogues if name not in known],
        [outcome.dialogue for outcome in outcomes if outcome.turns != _count_turns(outcome.dialogue, world)],
        failed,
        predictions.unknown,
        _sample_venues(predictions, active, world, settings)
        if settings.venue == "sampled" and "inform" in rated
        else None,
        slot_rates(outcomes, draws),
    )


def _refuse_partly_named(predictions: Predictions) -> None:
    """Intents, and acts, are named in every turn or in none: the turns in between would be guessed."""
    turns = list(predictions.turns)
    for kind in ("intents", "acts"):
        without = sum(getattr(turn, kind) is None for turn in turns)
        if 0 < without < len(turns):
            raise InputError(
                f"{predictions.system}: {without:,} of {len(turns):,} turns have no {kind}. Give every turn {kind} "
                "([] where there is none), or none at all."
            )


def _with_states(predictions: Predictions, world: World) -> tuple[Predictions, States]:
    """The system's own states; those of the corpus where it predicts none at all (it is then told them)."""
    without = [name for name, answers in predictions.dialogues.items() if any(turn.state is None for turn in answers)]
    turns = list(predictions.turns)
    if not without:
        return predictions, "predicted"
    if any(turn.state is not None for turn in turns):
        missing = sum(turn.state is None for turn in turns)
        raise InputError(
            f"{predictions.system}: {missing:,} of {len(turns):,} turns have no state, e.g. in dialogue {without[0]}. "
            "Give every turn a state ({} where nothing is believed), or none at all: annotated states then stand in."
        )
    stated = {
        name: _give_states(answers, world.states.get(name, ())) for name, answers in predictions.dialogues.items()
    }
    if not any(world.states.get(name) for name in predictions.dialogues):
        return predictions, "none"
    return replace(predictions, dialogues=stated), "annotated"


def _give_states(answers: Sequence[Answer], states: Sequence[State]) -> list[Answer]:
    padded = [*states, *({} for _ in answers[len(states) :])]
    return [replace(answer, state=state) for answer, state in zip(answers, padded, strict=False)]


def _count_turns(name: str, world: World) -> int:
    if name in world.goals:
        return len(world.goals[name].booked)
    return len(world.states.get(name) or world.references.get(name) or ())


def _inform_and_success(predictions: Predictions, world: World, rule: Rule) -> tuple[float, float]:
    met = goals_reached(predictions, active_domains(predictions, rule), world)
    return 100 * sum(outcome.inform for outcome in met) / len(met), 100 * sum(outcome.success for outcome in met) / len(
        met
    )


def _if_missing_fail(rated: Mapping[str, Rate], present: int, missing: int) -> tuple[float, float] | None:
    if not missing or "inform" not in rated:
        return None
    share = present / (present + missing)
    return rated["inform"].value * share, rated["success"].value * share


def _with_failures(rated: Mapping[str, Rate], present: int, missing: int) -> dict[str, Rate]:
    """Inform and Success where a dialogue that was left out counts as failed."""
    share = present / (present + missing)
    scaled = {name: _scale_rate(rated[name], share) for name in ("inform", "success", "reach")}
    if "combined" in rated:
        draws = scaled["reach"].draws + rated["bleu"].draws
        low, high = np.quantile(draws, (0.025, 0.975))
        scaled["combined"] = Rate(scaled["reach"].value + rated["bleu"].value, float(low), float(high), draws)
    return scaled


def _scale_rate(rate: Rate, share: float) -> Rate:
    return Rate(share * rate.value, share * rate.low, share * rate.high, share * rate.draws)


def _sample_venues(
    predictions: Predictions, active: Mapping[str, list[frozenset[str]]], world: World, settings: TaskRules
) -> Sampled:
    draws = [child_random(settings.seed, "venue", n) for n in range(VENUE_DRAWS)]
    met = drawn_venues(predictions, active, world, draws)
    rates_of_draws = (
        np.array([[(outcome.inform, outcome.success) for outcome in sample] for sample in met], np.float64).mean(1)
        * 100
    )
    mean, sd = rates_of_draws.mean(0), rates_of_draws.std(0, ddof=1)
    return Sampled(float(mean[0]), float(mean[1]), float(sd[0]), float(sd[1]))


def _rank_systems(
    systems: Sequence[TaskSystem], settings: TaskRules, slots: int
) -> tuple[str, int, list[RankedSystem]]:
    """Ranks on the dialogues that all answered: by Combined where the references are given, else without BLEU."""
    shared = set.intersection(*({outcome.dialogue for outcome in system.outcomes} for system in systems))
    wish = ("combined", "reach", "jga", "bleu") if settings.references != "own" else ("reach", "jga", "bleu")
    ranked_by = next((name for name in wish if all(name in system.rates for system in systems)), "")
    if len(systems) < 2 or not shared or not ranked_by:
        return "", len(shared), []
    draws = draw_weights(len(shared), generator=np.random.default_rng(child_seed(settings.seed, "task", "ranks")))
    order = sorted(shared)
    scores = {}
    for system in systems:
        by_name = {outcome.dialogue: outcome for outcome in system.outcomes}
        scores[system.name] = compute_rates([by_name[name] for name in order], draws, slots=slots)[ranked_by]
    return ranked_by, len(shared), rank_by_draws(scores)
