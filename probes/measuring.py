"""What states hold, in bits: description lengths and V-information, of one task and of a whole study."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.engines.running import run_jobs
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.jobs import JOB_THREADS, Place, Work, content_key
from seedvote.dialogue.seeds import child_random
from seedvote.probes.classifiers import logistic
from seedvote.probes.classifiers.logistic import Features, LogisticFit
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.states import Representation
from seedvote.probes.suite import Material, as_jobs, once_each
from seedvote.probes.tasks.labels import Labels


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """One representation and task: where its measure lies, and the key of what it follows from."""

    representation: Representation
    labelled: LabelledTask
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole part with this very key is there."""
        return self.path.exists() and read_json(self.path).get("key") == self.key

    @property
    def content(self) -> Hashable:
        """What it follows from, whatever the checkpoint is called."""
        return self.key

    def read(self) -> dict[str, Any]:
        """What is there."""
        return {name: value for name, value in read_json(self.path).items() if name != "key"}


def list_parts(
    folder: Path, measure: str, representations: Iterable[Representation], plan: Plan, recipe: str
) -> list[MeasuredPart]:
    """All the work there is; `measure` is the name that its files bear."""
    return [
        MeasuredPart(
            who,
            labelled,
            folder / f"{who.evaluator}-{who.name}" / f"{labelled.task}.{measure}.json",
            content_key(who.digest, labelled.digest, recipe),
        )
        for who in representations
        for labelled in plan.labelled_tasks
    ]


def measure_parts(plan: Plan, todo: Sequence[MeasuredPart], measure: Callable[[Material, LabelledTask], Any]) -> int:
    """Measure each part of one representation by a frozen dataclass, written when it is done; how many there were."""
    # The number of threads moves the last bits, and parts made on different machines must agree.
    with use_threads(JOB_THREADS):
        material = Material(todo[0].representation, plan)
        for part in todo:
            write_json(part.path, asdict(measure(material, part.labelled)) | {"key": part.key})
    return len(todo)


def measure_study(parts: Sequence[MeasuredPart], work: Work, place: Place, *, unit: str) -> tuple[int, int]:
    """Do what is not done; how many parts were, and how many have the states of another one and are filed as it is."""
    todo, again = once_each(parts)
    done = len(parts) - len(todo) - len(again)
    with tqdm(total=len(parts), initial=done, unit=unit, disable=None) as bar:
        for measured in run_jobs(work, as_jobs(todo), place):
            bar.update(measured)
        for first, twin in again:
            write_json(twin.path, read_json(first.path))
            bar.update()
    return done, len(again)


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


# V-information: how many bits of the labels of new examples a linear probe reads from a state.
#
# Xu et al. 2020, equation 4, for logistic regression: what the labels cost a predictor that knows nothing but how often
# each occurs, less what they cost a probe on the state, in bits an example. Both are fitted on the same examples and
# charged on the reported ones. How strong the penalty is and how many axes of the states the probe sees is chosen on
# valid, by bits. It may be below zero: then the probe has learned what does not hold for new examples.

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
        c = min(strengths, key=lambda strength: cost(strength, rank, material.choose_features, labelled.choose))
    if len(ranks) > 1:
        width = material.features.shape[1] - 1
        fitting = [number for number in ranks if number < width]
        rank = min(fitting, key=lambda number: cost(c, number, material.choose_features, labelled.choose))
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
    of_truth = torch.where(truth, chances, 1 - chances) if labels.many else chances[truth]
    return (float(-torch.log2((known * of_truth + 1 / choices) / (known + 1)).sum()) + unseen) / len(labels.unseen)


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
