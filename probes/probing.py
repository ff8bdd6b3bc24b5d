"""One task and several representations: fit, choose, report; and beside each the control with shuffled labels.

The reported examples touch neither the fit nor the choice of a strength or an epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialogue.seeds import child_seed
from probes.baselines import always_the_most_frequent
from probes.classifiers.catalogue import CLASSIFIERS, FitRequest, Prediction, nothing_fitted
from probes.classifiers.features import fit_features
from probes.plan import LabelledTask, Options, Plan
from probes.scoring import Counts, count_hits
from probes.states import Representation


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
        for control, answers in zip((False, True) * len(materials), _predictions(both, options), strict=True)
    ]
    return [truth + control for truth, control in zip(outcomes[::2], outcomes[1::2], strict=True)]


def _predictions(asked: Sequence[FitRequest], options: Options) -> list[list[Prediction]]:
    """The majority baseline fits nothing; all other requests go to the classifier together, which may share a solve."""
    to_fit = [one for one in asked if not one.states.majority]
    fitted = iter(CLASSIFIERS[options.method].fit(to_fit, options.settings) if to_fit else ())
    return [[_majority(one)] if one.states.majority else next(fitted) for one in asked]


def _majority(asked: FitRequest) -> Prediction:
    return Prediction("majority", always_the_most_frequent(asked.fit, len(asked.states.report)), None, nothing_fitted())
