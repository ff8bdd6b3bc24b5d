"""Description lengths: the online code of one task, and those of a whole study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedvote.dialogue.seeds import child_random
from seedvote.probes.classifiers import logistic
from seedvote.probes.classifiers.logistic import Features
from seedvote.probes.measuring import MeasuredPart, measure_parts
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.suite import Material
from seedvote.probes.tasks.labels import Labels

# Description length: how many bits the labels take when both sides hold the states and the probe must be learned.
#
# The online code of Voita and Titov (2020): the labels are sent in blocks, each under the probe that is fitted on the
# blocks before it, the first at the same price for every label. A state that tells a label plainly tells it from few
# examples, so the sum falls; a label that can only be learned by heart saves nothing. Dialogues are shuffled once for
# all states and never cut in two.

PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
CODE_PASSES = 100  # any fit makes a code; the last digits of its optimum save no bits


@dataclass(frozen=True, slots=True)
class Codelength:
    """Bits of each block; `uniform` is the code that knows nothing: log2 of the classes, or one bit a label."""

    examples: tuple[int, ...]
    bits: tuple[float, ...]
    uniform: float

    @property
    def compression(self) -> float:
        """How many times shorter than the code that knows nothing; 1 where there is nothing to say."""
        return self.uniform / sum(self.bits) if self.uniform else 1.0


def online_code(
    features: Tensor, axes: Features, labels: Labels, blocks: Sequence[np.ndarray], *, c: float
) -> Codelength:
    """Send the labels of `blocks` (rows of `features`) one after the other."""
    uniform_bits = len(labels.classes) if labels.many else float(np.log2(len(labels.classes)))
    bits, before = (
        [uniform_bits * len(blocks[0])],
        [np.concatenate(blocks[:number]) for number in range(1, len(blocks))],
    )
    tasks = [logistic.FitTask(features[known], axes, labels.take(known)) for known in before]
    fits = logistic.fit_all(tasks, c=c, passes=CODE_PASSES, double=False)
    for known, block, fit in zip(before, blocks[1:], fits, strict=True):
        bits.append(_count_bits(fit.logits(features[block]), labels.take(block).dense(), labels.many, len(known)))
    return Codelength(tuple(map(len, blocks)), tuple(bits), uniform_bits * sum(map(len, blocks)))


def _count_bits(logits: Tensor, truth: np.ndarray, many: bool, known: int) -> float:
    """Bits of a block; the probe counts for `known` examples, and one more that is spread over all the classes."""
    mask = torch.from_numpy(truth).to(logits.device)
    if many:
        probability, classes = torch.sigmoid(torch.where(mask, logits, -logits).double()), 2
    else:
        probability, classes = torch.softmax(logits.double(), 1)[mask], logits.shape[1]
    return float(-torch.log2((known * probability + 1 / classes) / (known + 1)).sum())


def draw_blocks(clusters: Sequence[str], *, seed: int) -> list[np.ndarray]:
    """The rows of each block: dialogues in an order drawn from `seed`, cut at PORTIONS of the examples."""
    rows: dict[str, list[int]] = {}
    for row, cluster in enumerate(clusters):
        rows.setdefault(cluster, []).append(row)
    order = list(rows)
    child_random(seed, "online code").shuffle(order)
    return list(_cut_blocks([rows[cluster] for cluster in order], len(clusters)))


def _cut_blocks(dialogues: Sequence[Sequence[int]], total: int) -> Iterator[np.ndarray]:
    """A block ends with the dialogue that reaches its portion; portions that one dialogue skips make one block."""
    block: list[int] = []
    sent = portion = 0
    for dialogue in dialogues:
        block += dialogue
        sent += len(dialogue)
        if sent >= PORTIONS[portion] * total:
            yield np.array(block)
            block = []
            # One long dialogue may pass several portions.
            while portion < len(PORTIONS) - 1 and sent >= PORTIONS[portion] * total:
                portion += 1


# The description lengths of a whole study.


def read_code(part: MeasuredPart) -> Codelength:
    """The code length of a part that is done."""
    record = part.read()
    return Codelength(tuple(record["examples"]), tuple(record["bits"]), record["uniform"])


@dataclass(frozen=True, slots=True)
class Coding:
    """What is the same for every representation: the examples, their order in blocks, data against penalty."""

    plan: Plan
    blocks: list[np.ndarray]
    c: float


def encode_parts(coding: Coding, todo: Sequence[MeasuredPart]) -> int:
    """Send the labels of each part of one representation; how many there were."""

    def code(material: Material, labelled: LabelledTask) -> Codelength:
        return online_code(material.features, material.axes, labelled.fit, coding.blocks, c=coding.c)

    return measure_parts(coding.plan, todo, code)
