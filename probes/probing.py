"""One task and several representations: fit, choose, report; each probe is fitted with its two controls too.

The reported examples touch neither the fit nor the choice of a strength or an epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seedvote.probes.baselines import always_the_most_frequent
from seedvote.probes.classifiers.catalogue import CLASSIFIERS, FitRequest, Prediction, nothing_fitted
from seedvote.probes.classifiers.features import fit_features
from seedvote.probes.controls import TRUE, labels_of_every_kind
from seedvote.probes.plan import LabelledTask, Options, Plan
from seedvote.probes.scoring import Counts, count_hits
from seedvote.probes.states import Representation


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """The counts of every reported example under one answer; `labels` is the kind of control, empty for true ones."""

    labels: str
    counts: Counts
    answer: Prediction


class Material:
    """The states of one representation on the three sides, as they are and as features; made once for all tasks."""

    def __init__(self, representation: Representation, plan: Plan, device: str = "cpu") -> None:
        self.baseline = representation.evaluator == "baseline"
        self.majority = self.baseline and representation.model == "majority"
        self.fit, self.choose, self.report = (
            representation.rows(side.items) for side in (plan.fit, plan.choose, plan.report)
        )
        self.axes = fit_features(self.fit, device=device)
        self.features = self.axes.apply(self.fit)
        self.choose_features, self.report_features = self.axes.apply(self.choose), self.axes.apply(self.report)


def fit_and_score(
    materials: Sequence[Material], labelled: LabelledTask, options: Options
) -> list[list[ScoredPrediction]]:
    """For each representation its scores under the true labels and then, unless it is a baseline, under the controls'.

    All representations have the same controls, so these differ in nothing but the states.
    """
    kinds = labels_of_every_kind(labelled, seed=options.shuffle_seed)
    places = [
        (number, kind)
        for number, material in enumerate(materials)
        for kind in kinds
        if kind == TRUE or not material.baseline
    ]
    requests = [FitRequest(materials[number], kinds[kind].fit, kinds[kind].choose) for number, kind in places]
    predictions: list[list[ScoredPrediction]] = [[] for _ in materials]
    for (number, kind), answers in zip(places, _predict(requests, options), strict=True):
        gold = kinds[kind].report
        predictions[number] += [
            ScoredPrediction(kind, count_hits(answer.predicted, gold), answer) for answer in answers
        ]
    return predictions


def _predict(requests: Sequence[FitRequest], options: Options) -> list[list[Prediction]]:
    """The majority baseline fits nothing; all other requests go to the classifier together, which may share a solve."""
    to_fit = [request for request in requests if not request.states.majority]
    fitted = iter(CLASSIFIERS[options.method].fit(to_fit, options.settings) if to_fit else ())
    return [[_predict_majority(request)] if request.states.majority else next(fitted) for request in requests]


def _predict_majority(request: FitRequest) -> Prediction:
    return Prediction(
        "majority", always_the_most_frequent(request.fit, len(request.states.report)), None, nothing_fitted()
    )
