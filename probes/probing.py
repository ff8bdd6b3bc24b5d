"""One task and several representations: fit, choose, report; and the control with shuffled labels beside each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from dialogue.seeds import child_seed
from probes.baselines import always_the_most_frequent
from probes.classifiers import logistic, mlp, reference
from probes.classifiers.features import fit_features
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


class Asked(NamedTuple):
    """One representation and the labels to fit it to; `choose` are those that choose among several fits."""

    material: Material
    fit: Labels
    choose: Labels


def ask(materials: Sequence[Material], question: Question, options: Options) -> list[list[Outcome]]:
    """Answer a question for each representation, from the true labels and from labels shuffled over the examples."""
    order = np.random.default_rng(child_seed(options.shuffle_seed, "shuffled labels", question.task))
    shuffled = question.fit.take(order.permutation(len(question.fit.unseen)))
    both = [Asked(one, labels, question.choose) for one in materials for labels in (question.fit, shuffled)]
    outcomes = [
        [Outcome(control, count(answer.predicted, question.report), answer) for answer in answers]
        for control, answers in zip((False, True) * len(materials), _answers(both, options), strict=True)
    ]
    return [truth + control for truth, control in zip(outcomes[::2], outcomes[1::2], strict=True)]


def _answers(asked: Sequence[Asked], options: Options) -> list[list[Answer]]:
    if options.method != "logistic":
        return [list(_singly(one, options)) for one in asked]
    fitted = iter(_by_logistic([one for one in asked if not one.material.majority], options.c))
    return [[_majority(one) if one.material.majority else next(fitted)] for one in asked]


def _singly(asked: Asked, options: Options) -> Iterator[Answer]:
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


def _majority(asked: Asked) -> Answer:
    return Answer("majority", always_the_most_frequent(asked.fit, len(asked.material.report)), None, _nothing_to_fit())


def _by_mlp(asked: Asked, seeds: tuple[int, ...]) -> Iterator[Answer]:
    material, fit, choose = asked
    for seed in seeds:
        valid = (material.choose_features, choose) if len(choose.unseen) else None
        net = mlp.fit(material.features, fit, valid, seed=seed)
        yield Answer(f"mlp:{seed}", net.predict(material.report_features), None, _nothing_to_fit())


def _by_logistic(asked: Sequence[Asked], strengths: tuple[float, ...]) -> Iterator[Answer]:
    """All of them in one solve for each strength."""
    given = [logistic.Given(one.material.features, one.material.axes, one.fit) for one in asked]
    fits = {c: logistic.fit_all(given, c=c) for c in strengths}
    for number, (material, _, choose) in enumerate(asked):
        best = strengths[0]
        if len(strengths) > 1:
            chosen = {c: fits[c][number].predict(material.choose_features) for c in strengths}
            best = max(strengths, key=lambda c: count(chosen[c], choose).micro_f1)
        found = fits[best][number]
        convergence = Convergence(found.problems, found.passes, found.gradient, found.gap, found.converged)
        yield Answer("logistic", found.predict(material.report_features), best, convergence)


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
