"""Every answerer on the same questions: R@1, R@2 and the reciprocal rank of each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.records import Question
from seedvote.dialogue.signature import signature
from seedvote.evaluators.choosing.describing import dialogue_codes
from seedvote.evaluators.choosing.lexical import lexical_scores
from seedvote.evaluators.choosing.ranks import Chooser
from seedvote.evaluators.choosing.recall import Ties, by_chance, recall_table
from seedvote.evaluators.detection.rates import Measured, share_told

Floats = NDArray[np.float64]
TASKS = ("R@1", "R@2", "MRR")


@dataclass(frozen=True, slots=True, eq=False)
class ChooserGot:
    """One answerer with what it got on every question: (questions, 3), NaN where it gave no score."""

    who: Chooser
    got: Floats


@dataclass(frozen=True, slots=True)
class Chosen:
    """One model, checkpoint and rule over all its seeds, on the questions that all its seeds answered."""

    model: str
    checkpoint: str
    rater: str
    baseline: bool
    seeds: int
    questions: int
    rates: Mapping[str, Measured]  # by task
    sd: Mapping[str, float]  # over seeds; NaN for one
    head_sd: float  # of R@1 over heads on one model, the root mean square over seeds; NaN where there is one or none


@dataclass(frozen=True)
class ChoosingAnswer:
    """All choosers."""

    questions: tuple[Question, ...]
    answered: tuple[ChooserGot, ...]
    chosen: tuple[Chosen, ...]
    chance: tuple[float, float, float]
    ties: Ties
    draws: int
    draw_sd: float  # of R@1 over the draws of false options, the mean over choosers; NaN for one draw
    signature: str


def choosing(
    questions: Sequence[Question], choosers: Sequence[Chooser], texts: str, *, ties: Ties = "shared"
) -> ChoosingAnswer:
    """What every answerer and every simple rule gets on the real questions."""
    real = [k for k, question in enumerate(questions) if question.kind == "real"]
    real_questions = [questions[k] for k in real]
    answers = [question.answer for question in real_questions]
    simple = [
        Chooser(name, None, "last", "rule", scores, True) for name, scores in lexical_scores(real_questions).items()
    ]
    choosers_and_rules = [*simple, *(_only(question, real) for question in choosers)]
    answered = [ChooserGot(question, recall_table(question.scores, answers, ties)) for question in choosers_and_rules]
    codes = dialogue_codes(real_questions)
    groups: dict[tuple[str, str, str, bool], list[ChooserGot]] = {}
    for result in answered:
        question = result.who
        groups.setdefault((question.model, question.checkpoint, question.rater, question.baseline), []).append(result)
    chosen = [_chosen(key, group, codes) for key, group in groups.items()]
    draws = np.array([int(question.extra.get("draw", 0) or 0) for question in real_questions])
    sizes = [len(question.options) for question in real_questions]
    recipe = signature(
        questions=len(real_questions),
        options=sorted(set(sizes)),
        ties=ties,
        draws=len(set(draws.tolist())),
        choosers=len(choosers_and_rules),
        interval="dialogues x seeds",
        texts=texts,
    )
    return ChoosingAnswer(
        tuple(real_questions),
        tuple(answered),
        tuple(chosen),
        by_chance(sizes),
        ties,
        len(set(draws.tolist())),
        _draw_sd(answered, draws),
        recipe,
    )


def _only(chooser: Chooser, real: Sequence[int]) -> Chooser:
    scores = [chooser.scores[k] for k in real]
    return Chooser(
        chooser.model, chooser.seed, chooser.checkpoint, chooser.rater, scores, chooser.baseline, chooser.head
    )


def _chosen(key: tuple[str, str, str, bool], group: Sequence[ChooserGot], codes: NDArray[np.int64]) -> Chosen:
    by_seed: dict[int | None, list[Floats]] = {}
    for result in group:
        by_seed.setdefault(result.who.seed, []).append(result.got)
    # Heads on one model's states are no models of their own: their mean counts, once a training seed.
    values = np.stack([np.mean(heads, axis=0) for heads in by_seed.values()])  # seeds x questions x tasks
    complete = ~np.isnan(values).any((0, 2))
    complete_codes = np.unique(codes[complete], return_inverse=True)[1].astype(np.int64)
    rates, sd = {}, {}
    for place, task in enumerate(TASKS):
        part = values[:, complete, place]
        nan = float("nan")
        rates[task] = share_told(part, complete_codes) if complete.any() else Measured(nan, nan, nan)
        sd[task] = float(part.mean(1).std(ddof=1)) if len(values) > 1 and complete.any() else nan
    model, checkpoint, rater, baseline = key
    heads = [
        np.nanmean([result[:, 0] for result in results], axis=1).var(ddof=1)
        for results in by_seed.values()
        if len(results) > 1
    ]
    head_sd = float(np.sqrt(np.mean(heads))) if heads else float("nan")
    return Chosen(model, checkpoint, rater, baseline, len(by_seed), int(complete.sum()), rates, sd, head_sd)


def _draw_sd(answered: Sequence[ChooserGot], draws: NDArray[np.int64]) -> float:
    """How far R@1 moves where the false options are drawn anew: the SD over draws, the root mean square over models."""
    names = sorted(set(draws.tolist()))
    models = [result for result in answered if not result.who.baseline] or list(answered)
    if len(names) < 2:
        return float("nan")
    means = np.array([[np.nanmean(result.got[draws == name, 0]) for name in names] for result in models])
    return float(np.sqrt(means.var(1, ddof=1).mean()))
