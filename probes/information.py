"""V-information: how many bits of the labels of new examples a linear probe reads from a state.

Xu et al. 2020, equation 4, for logistic regression: what the labels cost a predictor that knows nothing but how often
each occurs, less what they cost a probe on the state, in bits an example, both fitted on the same examples and charged
on the reported ones. How strong the penalty is and how many axes of the states the probe sees is chosen on valid, by
bits. It may be below zero: then the probe has learned what does not hold for new examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedvote.probes.classifiers import logistic
from seedvote.probes.classifiers.logistic import Features, LogisticFit
from seedvote.probes.measuring import MeasuredPart, measure_parts
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.suite import Material
from seedvote.probes.tasks.labels import Labels

RANKS = (0, 64, 16)  # axes; 0 stands for all


@dataclass(frozen=True, slots=True)
class Information:
    """Bits an example: of the labels by their shares, of the labels given the state; and what was chosen for it."""

    label_bits: float
    state_bits: float
    c: float
    rank: int

    @property
    def bits(self) -> float:
        """What the state tells."""
        return self.label_bits - self.state_bits


def measure_information(
    material: Material, labelled: LabelledTask, *, strengths: Sequence[float], ranks: Sequence[int]
) -> Information:
    """The information of one state about one task; first the strength is chosen, at all axes, and then the rank."""
    fits: dict[tuple[float, int], LogisticFit] = {}

    def cost(c: float, rank: int, features: Tensor, labels: Labels) -> float:
        if (c, rank) not in fits:
            axes, leading = lead_axes(material.axes, material.features, rank)
            (fits[c, rank],) = logistic.fit_all([logistic.FitTask(leading, axes, labelled.fit)], c=c)
        logits = fits[c, rank].logits(_lead_columns(features, rank)).double()
        chances = torch.sigmoid(logits) if labels.many else torch.softmax(logits, 1)
        return label_bits(chances, labels, len(labelled.fit.unseen))

    c, rank = strengths[0], ranks[0]
    if len(strengths) > 1:
        c = min(strengths, key=lambda each: cost(each, rank, material.choose_features, labelled.choose))
    if len(ranks) > 1:
        width = material.features.shape[1] - 1
        fitting = [each for each in ranks if each < width]
        rank = min(fitting, key=lambda each: cost(c, each, material.choose_features, labelled.choose))
    shares = torch.from_numpy(labelled.fit.counts() / len(labelled.fit.unseen))
    constant = label_bits(shares.expand(len(labelled.report.unseen), -1), labelled.report, len(labelled.fit.unseen))
    return Information(constant, cost(c, rank, material.report_features, labelled.report), c, rank)


def lead_axes(axes: Features, features: Tensor, rank: int) -> tuple[Features, Tensor]:
    """The leading axes, and the features on them; 0 stands for all."""
    if not rank:
        return axes, features
    return Features(axes.mean, axes.rotation[:, -rank:], axes.variance[-rank:]), _lead_columns(features, rank)


def _lead_columns(features: Tensor, rank: int) -> Tensor:
    # The variances ascend, and the last column is the intercept's.
    return features[:, -rank - 1 :].contiguous() if rank else features


def label_bits(chances: Tensor, labels: Labels, known: int) -> float:
    """Mean bits of the labels under these chances (examples x labels).

    The predictor counts for `known` examples, and one more that is spread over all the labels: so a label that it
    never saw has a price, too.
    """
    truth = torch.from_numpy(labels.dense())
    choices = 2 if labels.many else len(labels.classes)
    unseen = float(np.log2(choices * (known + 1))) * int(labels.unseen.sum())
    given = torch.where(truth, chances, 1 - chances) if labels.many else chances[truth]
    return (float(-torch.log2((known * given + 1 / choices) / (known + 1)).sum()) + unseen) / len(labels.unseen)


# The information of a whole study.


def read_information(part: MeasuredPart) -> Information:
    """The information of a part that is done."""
    return Information(**part.read())


@dataclass(frozen=True, slots=True)
class Informing:
    """What is the same for every representation: the examples, and what is chosen from."""

    plan: Plan
    strengths: tuple[float, ...]
    ranks: tuple[int, ...]


def inform_parts(informing: Informing, todo: Sequence[MeasuredPart]) -> int:
    """Measure each part of one representation; how many there were."""

    def inform(material: Material, labelled: LabelledTask) -> Information:
        return measure_information(material, labelled, strengths=informing.strengths, ranks=informing.ranks)

    return measure_parts(informing.plan, todo, inform)
