"""One task and several representations: fit, choose, report; and beside each the control with shuffled labels.

The reported examples touch neither the fit nor the choice of a strength or an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dialogue.seeds import child_seed
from probes.baselines import always_the_most_frequent
from probes.classifiers import logistic, mlp, reference
from probes.classifiers.features import fit_features
from probes.plan import LabelledTask, Options, Plan
from probes.scoring import Counts, count_hits
from probes.states import Representation
from probes.tasks.labels import Labels


@dataclass(frozen=True, slots=True)
class Convergence:
    """How far the optimiser came on each problem; `gradient` and `gap` are NaN where the solver does not tell."""

    problems: tuple[str, ...]
    passes: np.ndarray
    gradient: np.ndarray
    gap: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True, slots=True)
class Prediction:
    """What one rater (a classifier, or one seed of it) predicts for the reported examples."""

    rater: str
    predicted: np.ndarray
    c: float | None
    convergence: Convergence


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """The counts of every reported example under one answer; `control` where the training labels were shuffled."""

    control: bool
    counts: Counts
    answer: Prediction


class Material:
    """The states of one representation on the three sides, as they are and as features; made once for all tasks."""

    def __init__(self, representation: Representation, plan: Plan, device: str = "cpu") -> None:
        self.majority = representation.evaluator == "baseline" and representation.model == "majority"
        self.fit, self.choose, self.report = (
            representation.rows(side.items) for side in (plan.fit, plan.choose, plan.report)
        )
        self.axes = fit_features(self.fit, device=device)
        self.features = self.axes.apply(self.fit)
        self.choose_features, self.report_features = self.axes.apply(self.choose), self.axes.apply(self.report)


class FitRequest(NamedTuple):
    """One representation and the labels to fit it to; `choose` are those that choose among several fits."""

    material: Material
    fit: Labels
    choose: Labels


def fit_and_score(
    materials: Sequence[Material], labelled: LabelledTask, options: Options
) -> list[list[ScoredPrediction]]:
    """For each representation the scores under the true labels, then those under labels shuffled over the examples."""
    # One shuffle for all representations: their controls then differ in nothing but the states.
    order = np.random.default_rng(child_seed(options.shuffle_seed, "shuffled labels", labelled.task))
    shuffled = labelled.fit.take(order.permutation(len(labelled.fit.unseen)))
    both = [FitRequest(one, labels, labelled.choose) for one in materials for labels in (labelled.fit, shuffled)]
    outcomes = [
        [ScoredPrediction(control, count_hits(answer.predicted, labelled.report), answer) for answer in answers]
        for control, answers in zip((False, True) * len(materials), _answers(both, options), strict=True)
    ]
    return [truth + control for truth, control in zip(outcomes[::2], outcomes[1::2], strict=True)]


def _answers(asked: Sequence[FitRequest], options: Options) -> list[list[Prediction]]:
    if options.method != "logistic":
        return [list(_singly(one, options)) for one in asked]
    fitted = iter(_by_logistic([one for one in asked if not one.material.majority], options.c))
    return [[_majority(one) if one.material.majority else next(fitted)] for one in asked]


def _singly(asked: FitRequest, options: Options) -> Iterator[Prediction]:
    material, fit, _ = asked
    if material.majority:
        yield _majority(asked)
    elif options.method == "paper":
        yield _by_reference("paper", reference.fit_as_the_papers(material.fit, fit, material.report), 1.0)
    elif options.method == "logistic-sklearn":
        found = reference.fit_exactly(material.fit, fit, material.report, c=options.c[0])
        yield _by_reference("logistic-sklearn", found, options.c[0])
    else:
        yield from _by_mlp(asked, options.mlp_seeds)


def _majority(asked: FitRequest) -> Prediction:
    return Prediction(
        "majority", always_the_most_frequent(asked.fit, len(asked.material.report)), None, _nothing_to_fit()
    )


def _by_mlp(asked: FitRequest, seeds: tuple[int, ...]) -> Iterator[Prediction]:
    material, fit, choose = asked
    for seed in seeds:
        valid = (material.choose_features, choose) if len(choose.unseen) else None
        net = mlp.fit_mlp(material.features, fit, valid, seed=seed)
        yield Prediction(f"mlp:{seed}", net.predict(material.report_features), None, _nothing_to_fit())


def _by_logistic(asked: Sequence[FitRequest], strengths: tuple[float, ...]) -> Iterator[Prediction]:
    """All of them in one solve for each strength."""
    given = [logistic.Given(one.material.features, one.material.axes, one.fit) for one in asked]
    fits = {c: logistic.fit_all(given, c=c) for c in strengths}
    for number, (material, _, choose) in enumerate(asked):
        best = strengths[0]
        if len(strengths) > 1:
            chosen = {c: fits[c][number].predict(material.choose_features) for c in strengths}
            best = max(strengths, key=lambda c: count_hits(chosen[c], choose).micro_f1)
        found = fits[best][number]
        convergence = Convergence(found.problems, found.passes, found.gradient, found.gap, found.converged)
        yield Prediction("logistic", found.predict(material.report_features), best, convergence)


def _by_reference(rater: str, found: reference.ReferenceFit, c: float) -> Prediction:
    unknown = np.full(len(found.passes), np.nan)
    return Prediction(
        rater, found.predicted, c, Convergence(found.problems, found.passes, unknown, unknown, found.converged)
    )


def _nothing_to_fit() -> Convergence:
    empty = np.zeros(0)
    return Convergence((), empty, empty, empty, empty.astype(bool))
