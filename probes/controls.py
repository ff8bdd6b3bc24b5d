"""Labels that say nothing of the text, fitted as the true ones are, to tell reading from remembering.

`shuffled`: the true labels of the fitted examples in another order, scored on the true labels: what is left when states
and labels have nothing to do with each other, which is roughly the constant answer.

`control_task` (Hewitt and Liang 2019): every word type gets the labels of a fitted example drawn at random, and an
example has those of the newest word before its answer, on every side of the split. Only a classifier that learns the
words by heart can answer it. The score minus the score on this task is what they call selectivity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seedvote.dialogue.seeds import child_seed
from seedvote.probes.plan import LabelledTask

TRUE, SHUFFLED, CONTROL_TASK = "", "shuffled", "control-task"


def labels_of_every_kind(labelled: LabelledTask, *, seed: int) -> dict[str, LabelledTask]:
    """The task itself, with shuffled labels, and as a control task."""
    return {
        TRUE: labelled,
        SHUFFLED: shuffled_labels(labelled, seed=seed),
        CONTROL_TASK: control_task(labelled, seed=seed),
    }


def shuffled_labels(labelled: LabelledTask, *, seed: int) -> LabelledTask:
    """The labels of the fitted examples in a random order; those to choose and report on stay true."""
    generator = np.random.default_rng(child_seed(seed, "shuffled labels", labelled.task))
    return replace(labelled, fit=labelled.fit.take(generator.permutation(len(labelled.fit.unseen))))


def control_task(labelled: LabelledTask, *, seed: int) -> LabelledTask:
    """Labels by word type, of the same kind and as frequent as the true ones."""
    generator = np.random.default_rng(child_seed(seed, "control task", labelled.task))
    types = labelled.word_types
    draws = generator.integers(len(labelled.fit.unseen), size=1 + max(int(side.max(initial=0)) for side in types))
    fit, choose, report = (labelled.fit.take(draws[side]) for side in types)
    return replace(labelled, fit=fit, choose=choose, report=report)
