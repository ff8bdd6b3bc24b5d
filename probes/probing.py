"""One representation, one task: fit, choose, report; and the control with shuffled labels beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from dialogue.seeds import child_seed
from probes import logistic, mlp, reference
from probes.baselines import always_the_most_frequent
from probes.features import fit_features
from probes.plan import Options, Question, Study
from probes.scoring import Counts, count
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
class Answer:
    """What one rater (a classifier, or one seed of it) predicts for the reported examples."""

    rater: str
    predicted: np.ndarray
    c: float | None
    convergence: Convergence


@dataclass(frozen=True, slots=True)
class Outcome:
    """The counts of every reported example under one answer; `control` where the training labels were shuffled."""

    control: bool
    counts: Counts
    answer: Answer


class Material:
    """The states of one representation on the three sides, as they are and as features; made once for all tasks."""

    def __init__(self, representation: Representation, study: Study, device: str = "cpu") -> None:
        self.majority = representation.evaluator == "baseline" and representation.model == "majority"
        self.fit, self.choose, self.report = (
            representation.rows(side.items) for side in (study.fit, study.choose, study.report)
        )
        self.axes = fit_features(self.fit, device=device)
        self.features = self.axes.apply(self.fit)
        self.choose_features, self.report_features = self.axes.apply(self.choose), self.axes.apply(self.report)


def ask(material: Material, question: Question, options: Options) -> Iterator[Outcome]:
    """Answer a question from the true labels, and from labels shuffled over the training examples."""
    for answer in _answers(material, question.fit, question.choose, options):
        yield Outcome(False, count(answer.predicted, question.report), answer)
    order = np.random.default_rng(child_seed(options.shuffle_seed, "shuffled labels", question.task))
    shuffled = question.fit.take(order.permutation(len(question.fit.unseen)))
    for answer in _answers(material, shuffled, question.choose, options):
        yield Outcome(True, count(answer.predicted, question.report), answer)


def _answers(material: Material, fit: Labels, choose: Labels, options: Options) -> Iterator[Answer]:
    if material.majority:
        yield Answer("majority", always_the_most_frequent(fit, len(material.report)), None, _nothing_to_fit())
    elif options.method == "paper":
        yield _by_reference("paper", reference.fit_as_the_papers(material.fit, fit, material.report), 1.0)
    elif options.method == "logistic-sklearn":
        found = reference.fit_exactly(material.fit, fit, material.report, c=options.c[0])
        yield _by_reference("logistic-sklearn", found, options.c[0])
    elif options.method == "mlp":
        yield from _by_mlp(material, fit, choose, options.mlp_seeds)
    else:
        yield _by_logistic(material, fit, choose, options.c)


def _by_mlp(material: Material, fit: Labels, choose: Labels, seeds: tuple[int, ...]) -> Iterator[Answer]:
    for seed in seeds:
        valid = (material.choose_features, choose) if len(choose.unseen) else None
        net = mlp.fit(material.features, fit, valid, seed=seed)
        yield Answer(f"mlp:{seed}", net.predict(material.report_features), None, _nothing_to_fit())


def _by_logistic(material: Material, labels: Labels, choose: Labels, strengths: tuple[float, ...]) -> Answer:
    fits = {c: logistic.fit(material.features, material.axes, labels, c=c) for c in strengths}
    best = strengths[0]
    if len(strengths) > 1:
        best = max(strengths, key=lambda c: count(fits[c].predict(material.choose_features), choose).micro_f1)
    found = fits[best]
    convergence = Convergence(found.problems, found.passes, found.gradient, found.gap, found.converged)
    return Answer("logistic", found.predict(material.report_features), best, convergence)


def _by_reference(rater: str, found: reference.ReferenceFit, c: float) -> Answer:
    unknown = np.full(len(found.passes), np.nan)
    return Answer(
        rater, found.predicted, c, Convergence(found.problems, found.passes, unknown, unknown, found.converged)
    )


def _nothing_to_fit() -> Convergence:
    empty = np.zeros(0)
    return Convergence((), empty, empty, empty, empty.astype(bool))


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """Compute with so many threads, then with as many as before: their number moves the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
