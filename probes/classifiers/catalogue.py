"""The classifiers that `probes run` fits to states: one row each.

To add one: its file in this folder, and a row of CLASSIFIERS with the function that fits it. The option --classifier,
the recipe and the dispatch read the row. Nothing heavy is imported before a row is fitted, so --help stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from seedvote.probes.classifiers.logistic import Features
    from seedvote.probes.classifiers.reference import ReferenceFit
    from seedvote.probes.tasks.labels import Labels


@dataclass(frozen=True, slots=True)
class FitSettings:
    """`c`: strengths of the data against the penalty, one of them chosen on valid; `mlp_seeds`: each a rater."""

    c: tuple[float, ...] = (1.0,)
    mlp_seeds: tuple[int, ...] = (0, 1, 2)


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


class SplitStates(Protocol):
    """One representation on the three sides of the split: as it is, and as features."""

    majority: bool  # the baseline that reads no state: nothing is fitted to it
    fit: np.ndarray
    report: np.ndarray
    axes: Features
    features: Tensor
    choose_features: Tensor
    report_features: Tensor


class FitRequest(NamedTuple):
    """One representation and the labels to fit it to; `choose` are those that choose among several fits."""

    states: SplitStates
    fit: Labels
    choose: Labels


FitFunction = Callable[
    [Sequence[FitRequest], FitSettings], list[list[Prediction]]
]  # for each request its raters' predictions


class Classifier(NamedTuple):
    """One row: how it is fitted, the settings that belong in its recipe, and how a person asks for it."""

    fit: FitFunction
    recipe: Callable[[FitSettings], Mapping[str, Any]]
    by_name: bool  # --classifier takes its name; the others have options of their own


def _fit_logistic(requests: Sequence[FitRequest], settings: FitSettings) -> list[list[Prediction]]:
    """All of them in one solve for each strength."""
    from seedvote.probes.classifiers import logistic
    from seedvote.probes.scoring import count_hits

    tasks = [logistic.FitTask(request.states.features, request.states.axes, request.fit) for request in requests]
    fits = {c: logistic.fit_all(tasks, c=c) for c in settings.c}
    answers = []
    for number, (states, _, choose) in enumerate(requests):
        best = settings.c[0]
        if len(settings.c) > 1:
            chosen = {c: fits[c][number].predict(states.choose_features) for c in settings.c}
            best = max(settings.c, key=lambda c: count_hits(chosen[c], choose).micro_f1)
        fit = fits[best][number]
        convergence = Convergence(fit.problems, fit.passes, fit.gradient, fit.gap, fit.converged)
        answers.append([Prediction("logistic", fit.predict(states.report_features), best, convergence)])
    return answers


def _fit_mlp(requests: Sequence[FitRequest], settings: FitSettings) -> list[list[Prediction]]:
    """One prediction for each seed; the epoch is chosen on valid where there is one."""
    from seedvote.probes.classifiers import mlp

    def fit_net(states: SplitStates, fit: Labels, choose: Labels, seed: int) -> Prediction:
        valid = (states.choose_features, choose) if len(choose.unseen) else None
        net = mlp.fit_mlp(states.features, fit, valid, seed=seed)
        return Prediction(f"mlp:{seed}", net.predict(states.report_features), None, nothing_fitted())

    return [[fit_net(*request, seed) for seed in settings.mlp_seeds] for request in requests]


def _fit_with_sklearn(requests: Sequence[FitRequest], settings: FitSettings) -> list[list[Prediction]]:
    """scikit-learn's solver on the raw states: the yardstick of the batched one."""
    from seedvote.probes.classifiers.reference import fit_exactly

    c = settings.c[0]
    fits = [fit_exactly(request.states.fit, request.fit, request.states.report, c=c) for request in requests]
    return [[_wrap_reference_fit("logistic-sklearn", fit, c)] for fit in fits]


def _fit_as_papers(requests: Sequence[FitRequest], _: FitSettings) -> list[list[Prediction]]:
    """As the papers fitted: scikit-learn's defaults, which stop early."""
    from seedvote.probes.classifiers.reference import fit_as_the_papers

    fits = [fit_as_the_papers(request.states.fit, request.fit, request.states.report) for request in requests]
    return [[_wrap_reference_fit("paper", fit, 1.0)] for fit in fits]


def _wrap_reference_fit(rater: str, fit: ReferenceFit, c: float) -> Prediction:
    import numpy as np

    unknown = np.full(len(fit.passes), np.nan)
    return Prediction(rater, fit.predicted, c, Convergence(fit.problems, fit.passes, unknown, unknown, fit.converged))


def nothing_fitted() -> Convergence:
    """Of a prediction without an optimiser, so that there is no end to report."""
    import numpy as np

    empty = np.zeros(0)
    return Convergence((), empty, empty, empty, empty.astype(bool))


CLASSIFIERS: Mapping[str, Classifier] = {
    "logistic": Classifier(_fit_logistic, lambda settings: {"c": settings.c}, by_name=True),
    "mlp": Classifier(_fit_mlp, lambda settings: {"seeds": settings.mlp_seeds}, by_name=True),
    "logistic-sklearn": Classifier(
        _fit_with_sklearn, lambda settings: {"c": settings.c}, by_name=False
    ),  # --solver sklearn
    "paper": Classifier(_fit_as_papers, lambda _: {}, by_name=False),  # --protocol paper
}
