"""What a system reached: each dialogue, rates with their intervals, and systems ranked against each other."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.domains.database import DomainTable, domain_tables
from seedvote.dialogue.domains.spelling import PLACEHOLDER, State, delexicalize_turn, placeholder_kind
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.counts import corpus_bleus
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.accuracy import (
    NameMatch,
    Names,
    Tracked,
    compare_names,
    compare_states,
    gold_names,
    gold_states,
)
from seedvote.evaluators.task.predictions import Answer, Predictions, comparable_id
from seedvote.evaluators.task.success import Domains, Reached, Tables, Wanted, goal_reached, read_goals

# BLEU-4 of delexicalised replies from counts that may be summed: the score of a corpus, or of any of its dialogues.
#
# Papineni et al. 2002 with the tokenizer 13a and sacrebleu's smoothing of orders without a match (Post 2018); equal to
# sacrebleu's corpus score.

ORDERS = (1, 2, 3, 4)
BLEU_COUNTS = (*(f"match{n}" for n in ORDERS), *(f"total{n}" for n in ORDERS), "length", "reference")
ENTITIES = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}
MARKS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


@lru_cache(maxsize=1 << 16)  # references are the same for every system
def replace_placeholders(text: str) -> str:
    """A reply with each placeholder as one word, its kind: `[hotel_phone]` and `[value_phone]` are both PHONE."""
    return " ".join(PLACEHOLDER.sub(lambda match: placeholder_kind(match[1]) or "OTHER", text.lower()).split())


@lru_cache(maxsize=1 << 16)  # likewise
def tokenize_13a(text: str) -> list[str]:
    """The tokens of NIST's mteval-v13a.

    >>> tokenize_13a("the fare is 4.50, right?")
    ['the', 'fare', 'is', '4.50', ',', 'right', '?']
    """
    for name, sign in ENTITIES.items():
        text = text.replace(name, sign)
    text = f" {text} "
    for mark, spaced in MARKS:
        text = mark.sub(spaced, text)
    return text.split()


def count_ngrams(reply: str, reference: str) -> list[float]:
    """The counts of one reply, in the order of COUNTS."""
    reply_tokens, reference_tokens = tokenize_13a(reply), tokenize_13a(reference)
    matches = [_count_shared(_list_ngrams(reply_tokens, n), _list_ngrams(reference_tokens, n)) for n in ORDERS]
    return [*matches, *(max(0, len(reply_tokens) - n + 1) for n in ORDERS), len(reply_tokens), len(reference_tokens)]


def _list_ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))


def _count_shared(grams: list[tuple[str, ...]], reference_grams: list[tuple[str, ...]]) -> int:
    """How many are in both, each as often as where it is rarer; few are, so counting these alone is quickest."""
    return sum(min(grams.count(gram), reference_grams.count(gram)) for gram in set(grams).intersection(reference_grams))


def bleu4(sums: Floats) -> Floats:
    """BLEU, 0 to 100, from summed counts `(..., 10)`; 0 where nothing was said or nothing matches at all."""
    matches, totals, length, reference = sums[..., :4], sums[..., 4:8], sums[..., 8], sums[..., 9]
    return corpus_bleus(matches, totals, length, reference, smooth="exp", effective=False)


# The corpus as a judge of predictions: goals, databases, annotated states and reference replies.


def world_of(corpus: Path, database: Path | None, split: str, references: Path | None) -> World:
    """What the dialogues of one split hold; `database` is a folder of *_db.json, else the corpus's own."""
    corpus_read = read_corpus(corpus)
    dialogues = corpus_read.split(split)
    if not dialogues:
        raise InputError(f"{corpus} has no dialogue in its {split} split, so nothing can be held against it.")
    tables = _read_tables(database) if database else domain_tables(corpus_read.databases)
    texts = _read_references(references) if references else _own_references(dialogues)
    intents, acts = (gold_names(dialogues, of_user=of_user) for of_user in (True, False))
    return World(read_goals(dialogues), tables, gold_states(dialogues), texts, intents, acts)


def _read_tables(folder: Path) -> dict[str, DomainTable]:
    tables = {}
    for path in sorted(folder.glob("*_db.json")):
        try:
            tables[path.name.removesuffix("_db.json")] = DomainTable(json.loads(path.read_text("utf-8")))
        except (ValueError, AttributeError, RecursionError):
            if path.name != "taxi_db.json":  # the first release's is no JSON, and taxis are not chosen from it
                raise InputError(f"{path} is not a list of rows in JSON. Fetch the database again.") from None
    if not tables:
        raise InputError(f"{folder} holds no *_db.json. Give the folder of the databases, e.g. --db multiwoz/db.")
    return tables


def _own_references(dialogues: Iterable[Dialogue]) -> dict[str, list[str]]:
    """Delexicalised replies of dialogues whose system turns are annotated with acts."""
    references = {}
    for dialogue in dialogues:
        replies = [turn for turn in dialogue.turns if turn.speaker != "user"]
        if replies and all(turn.acts is not None for turn in replies):
            references[comparable_id(dialogue.dialogue)] = [delexicalize_turn(turn) for turn in replies]
    return references


def _read_references(path: Path) -> dict[str, list[str]]:
    try:
        raw = json.loads(path.read_text("utf-8"))
        return {comparable_id(name): [str(text) for text in texts] for name, texts in raw.items()}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(
            f'{path} cannot be read as references ({error}). Expected {{"dialogue id": ["delexicalised reply", ...]}}.'
        ) from None


# What one system reached in every dialogue: the numbers from which each rate, and each of its intervals, is made.

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """What predictions are held against: goals, databases, annotated states, acts and replies, by dialogue."""

    goals: Mapping[str, Wanted] = field(repr=False)
    tables: Tables = field(repr=False)
    states: Mapping[str, Sequence[State]] = field(repr=False)
    references: Mapping[str, Sequence[str]] = field(repr=False)
    intents: Mapping[str, Sequence[Names]] = field(default_factory=dict, repr=False)
    acts: Mapping[str, Sequence[Names]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class DialogueOutcome:
    """One dialogue of one system; nothing stands where the corpus, or the predictions, do not tell."""

    dialogue: str
    turns: int
    reached: Reached | None
    tracked: Sequence[Tracked]
    bleu: Floats  # (turns, 10) counts; no rows without references
    intents: Mapping[int, NameMatch] = field(default_factory=dict)  # turn -> its match, where both sides name any
    acts: Mapping[int, NameMatch] = field(default_factory=dict)


def dialogue_outcomes(predictions: Predictions, active: Mapping[str, Domains], world: World) -> list[DialogueOutcome]:
    """Every dialogue that the corpus knows, in its order."""
    return [
        _dialogue_outcome(name, answers, active[name], world)
        for name, answers in predictions.dialogues.items()
        if any(name in part for part in (world.goals, world.states, world.references, world.intents))
    ]


def _dialogue_outcome(name: str, answers: Sequence[Answer], active: Domains, world: World) -> DialogueOutcome:
    goal, states, references = world.goals.get(name), world.states.get(name, ()), world.references.get(name, ())
    met = goal_reached(goal, answers, active, world.tables) if goal and world.tables else None
    pairs = zip(states, answers, strict=False)
    turns = [compare_states(gold, answer.state) for gold, answer in pairs if answer.state is not None]
    rows = [
        count_ngrams(replace_placeholders(answer.text), replace_placeholders(text))
        for answer, text in zip(answers, references, strict=False)
    ]
    return DialogueOutcome(
        name,
        len(answers),
        met,
        turns,
        np.array(rows, np.float64).reshape(-1, len(BLEU_COUNTS)),
        compare_names(world.intents.get(name, ()), [answer.intents for answer in answers]),
        compare_names(world.acts.get(name, ()), [answer.acts for answer in answers]),
    )


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


# Rates of a whole system with their intervals: dialogues are drawn anew, since the turns of one hang together.
#
# Every rate is a function of sums over dialogues, so 2,000 draws cost one product of a matrix of weights with these
# sums.

DRAWS = 2_000
TITLES = {
    "inform": "Inform",
    "success": "Success",
    "bleu": "BLEU",
    "combined": "Combined",
    "reach": "(Inform + Success) / 2",
    "jga": "JGA",
    "jga_fuzzy": "JGA, values alike",
    "jga_dontcare_as_none": "JGA, dontcare as none",
    "jga_without_booking": "JGA without booking",
    "slot_f1": "Slot F1",
    "slot_accuracy": "Slot accuracy",
    "goal_accuracy": "Goal accuracy",
    "intent_accuracy": "Intent accuracy",
    "intent_f1": "Intent F1",
    "act_accuracy": "Act accuracy",
    "act_f1": "Act F1",
}


@dataclass(frozen=True)
class Rate:
    """One rate in per cent with its 95 % interval, and all its draws."""

    value: float
    low: float
    high: float
    draws: Floats = field(repr=False)


def draw_weights(dialogues: int, *, generator: np.random.Generator, draws: int = DRAWS) -> Floats:
    """How often each dialogue is drawn in each draw, `(draws, dialogues)`."""
    return generator.multinomial(dialogues, np.full(dialogues, 1 / dialogues), size=draws).astype(np.float64)


def compute_rates(outcomes: Sequence[DialogueOutcome], draws: Floats, *, slots: int) -> dict[str, Rate]:
    """Every rate that these outcomes allow; `slots` is how many slots the corpus has."""
    rows = {name: (sums, rule) for name, (sums, rule) in _rate_parts(outcomes, slots).items() if sums.size}
    return {name: _interval_of_rate(sums, rule, draws) for name, (sums, rule) in rows.items()}


@dataclass(frozen=True)
class SlotRate:
    """One slot: how often it is right."""

    turns: int  # that fill it in the corpus
    filled: Rate  # the share of these with the right value
    everywhere: Rate  # the share of all turns that are right, those where both leave it empty too


def slot_rates(outcomes: Sequence[DialogueOutcome], draws: Floats) -> dict[str, SlotRate]:
    """Every slot that the corpus or the system fills, by name; one that the corpus never fills has 0 turns."""
    names = sorted(
        {name for outcome in outcomes for turn in outcome.tracked for name in (*turn.by_slot, *turn.too_many)}
    )
    if not names:
        return {}
    place = {name: n for n, name in enumerate(names)}
    counts = np.zeros((len(outcomes), len(names), 3))  # right, filled, wrong
    for n, outcome in enumerate(outcomes):
        for turn in outcome.tracked:
            for name, is_right in turn.by_slot.items():
                counts[n, place[name]] += is_right, 1, not is_right
            for name in turn.too_many:
                counts[n, place[name], 2] += 1
    turns = np.array([len(outcome.tracked) for outcome in outcomes], np.float64)[:, None]
    right, filled, wrong = np.moveaxis(counts, 2, 0)
    inside = _rates_of_shares(right, filled, draws)
    everywhere = _rates_of_shares(turns - wrong, np.broadcast_to(turns, wrong.shape), draws)
    return {name: SlotRate(int(filled[:, n].sum()), inside[n], everywhere[n]) for name, n in place.items()}


def _rates_of_shares(parts: Floats, wholes: Floats, draws: Floats) -> list[Rate]:
    """The share of each column of `(dialogues, k)` counts; all NaN where there is nothing to share."""
    with np.errstate(invalid="ignore"):
        values = 100 * parts.sum(0) / wholes.sum(0)
        drawn = 100 * (draws @ parts) / (draws @ wholes)
    is_known = np.isfinite(values)
    low, high = np.full((2, len(values)), math.nan)
    low[is_known], high[is_known] = np.nanquantile(drawn[:, is_known], (0.025, 0.975), axis=0)
    return [
        Rate(float(value), float(low[n]), float(high[n]), drawn[:, n] if is_known[n] else np.empty(0))
        for n, value in enumerate(values)
    ]


def _interval_of_rate(sums: Floats, rule: Callable[[Floats], Floats], draws: Floats) -> Rate:
    rates_drawn = rule(draws @ sums)
    low, high = np.nanquantile(rates_drawn, (0.025, 0.975))
    return Rate(float(rule(sums.sum(0))), float(low), float(high), rates_drawn)


def _rate_parts(
    outcomes: Sequence[DialogueOutcome], slots: int
) -> dict[str, tuple[Floats, Callable[[Floats], Floats]]]:
    """Rate -> sums of each dialogue `(dialogues, k)`, and the rule that makes a rate of summed rows."""
    parts: dict[str, tuple[Floats, Callable[[Floats], Floats]]] = {}
    met = [outcome.reached for outcome in outcomes]
    goals = np.array([(met_goal.inform, met_goal.success, 1) for met_goal in met if met_goal is not None], np.float64)
    text = (
        np.array([outcome.bleu.sum(0) for outcome in outcomes])
        if any(len(met_goal.bleu) for met_goal in outcomes)
        else np.empty(0)
    )
    if len(goals) == len(outcomes):
        parts["inform"] = (goals[:, [0, 2]], _sum_share)
        parts["success"] = (goals[:, [1, 2]], _sum_share)
        parts["reach"] = (np.column_stack([goals[:, 0] + goals[:, 1], 2 * goals[:, 2]]), _sum_share)
    if text.size:
        parts["bleu"] = (text, bleu4)
    if "inform" in parts and text.size:
        parts["combined"] = (np.hstack([goals, text]), _combined_score)
    if any(outcome.tracked for outcome in outcomes):
        parts |= _tracking_parts(outcomes, slots)
    for name, matches in (("intent", [one.intents for one in outcomes]), ("act", [one.acts for one in outcomes])):
        if any(matches):
            parts |= _naming_parts(name, matches)
    return parts


def _naming_parts(
    name: str, outcomes: Sequence[Mapping[int, NameMatch]]
) -> dict[str, tuple[Floats, Callable[[Floats], Floats]]]:
    """Accuracy and micro-F1 of intents, or of acts."""
    rows = [
        [(turn.is_right, 1, turn.tp, turn.fp, turn.fn) for turn in matches.values()] or [(False, 0, 0, 0, 0)]
        for matches in outcomes
    ]
    sums = np.array([np.sum(turns, 0) for turns in rows], np.float64)
    return {f"{name}_accuracy": (sums[:, :2], _sum_share), f"{name}_f1": (sums[:, 2:], _sum_f1)}


def _tracking_parts(
    outcomes: Sequence[DialogueOutcome], slots: int
) -> dict[str, tuple[Floats, Callable[[Floats], Floats]]]:
    def summed(of: Callable[[Tracked], tuple[float, ...]]) -> Floats:
        return np.array(
            [np.sum([of(turn) for turn in outcome.tracked] or [(0.0,) * 8], 0) for outcome in outcomes], np.float64
        )

    exact = summed(lambda t: (t.joint, t.fuzzy, t.dontcare_as_none, t.without_booking, 1, t.wrong, 0, 0))
    goals = summed(lambda t: (t.tp, t.fp, t.fn, t.goal_accuracy or 0.0, t.wanted > 0, 0, 0, 0))
    names = ("jga", "jga_fuzzy", "jga_dontcare_as_none", "jga_without_booking")
    return {
        **{name: (exact[:, [n, 4]], _sum_share) for n, name in enumerate(names)},
        "slot_f1": (goals[:, :3], _sum_f1),
        "slot_accuracy": (exact[:, [5, 4]], lambda sums: 100 - _sum_share(sums) / slots),
        "goal_accuracy": (goals[:, 3:5], _sum_share),
    }


def _sum_share(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * sums[..., 0] / sums[..., 1])


def _sum_f1(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(200 * sums[..., 0] / (2 * sums[..., 0] + sums[..., 1] + sums[..., 2]))


def _combined_score(sums: Floats) -> Floats:
    """(Inform + Success) / 2 + BLEU, always from its parts."""
    return 100 * (sums[..., 0] + sums[..., 1]) / (2 * sums[..., 2]) + bleu4(sums[..., 3:])


# Systems side by side on the dialogues that all of them answered: ranks with intervals, and neighbours paired.
#
# A dialogue that is hard for one system is hard for the next, so differences are drawn dialogue by dialogue;
# neighbours are tested by the spread of the drawn differences, and Holm's correction is over all neighbours.


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system among all: its rank with 95 % of its ranks, and the step down to the next."""

    system: str
    score: float
    rank: int
    best: int
    worst: int
    step: float | None = None  # to the next; nothing for the last
    step_low: float | None = None
    step_high: float | None = None
    p: float | None = None  # Holm's, over all neighbours


def rank_by_draws(scores: Mapping[str, Rate]) -> list[RankedSystem]:
    """The systems from best to worst by scores that were drawn on the same dialogues."""
    order = sorted(scores, key=lambda name: -scores[name].value)
    draws = np.array([scores[name].draws for name in order])
    ranks = 1 + (draws[None] > draws[:, None]).sum(1)
    best, worst = np.quantile(ranks, (0.025, 0.975), axis=1, method="nearest")
    steps = draws[:-1] - draws[1:]
    low, high = np.quantile(steps, (0.025, 0.975), axis=1)
    gaps = [scores[a].value - scores[b].value for a, b in pairwise(order)]
    p = adjust_by_holm(
        [_two_sided(gap, float(step.std(ddof=1))) for gap, step in zip(gaps, steps, strict=True)]
    ).tolist()
    pairs = []
    for n, name in enumerate(order):
        step = (gaps[n], float(low[n]), float(high[n]), p[n]) if n < len(gaps) else ()
        pairs.append(RankedSystem(name, scores[name].value, n + 1, int(best[n]), int(worst[n]), *step))
    return pairs


def _two_sided(gap: float, error: float) -> float:
    return math.erfc(abs(gap) / error / math.sqrt(2)) if error > 0 else float(gap == 0)
