"""The whole suite: every representation and task, one part file each, over several processes; what is done is kept."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialogue.files import atomic, write_json
from probes.baselines import BASELINES
from probes.plan import Options, Question, Study
from probes.probing import Material, ask, use_threads
from probes.splits import Splits
from probes.states import Representation, read_states
from probes.table import convergence, key_of, scores, write_part


@dataclass(frozen=True, slots=True)
class Part:
    """One representation and task: where its scores lie, and the key of what they follow from."""

    representation: Representation
    question: Question
    options: Options
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole part with this very key is there."""
        return key_of(self.path) == self.key


def parts(
    folder: Path, representations: Iterable[Representation], study: Study, methods: Sequence[Options]
) -> list[Part]:
    """All the work there is."""
    return [
        _part(folder, who, question, options, study.condition)
        for who in representations
        for question in study.questions
        for options in methods
    ]


def _part(folder: Path, who: Representation, question: Question, options: Options, condition: str) -> Part:
    name = f"{question.task}.{options.method}.{condition}.parquet"
    key = hashlib.sha256(f"{who.digest} {who.name} {question.digest} {options.recipe}".encode()).hexdigest()
    return Part(who, question, options, folder / f"{who.evaluator}-{who.name}" / name, key)


def write_baselines(folder: Path, splits: Splits) -> list[Representation]:
    """Write the baselines' features as representations like any other."""
    examples = [*splits.fit, *splits.choose, *splits.report]
    found = []
    for name, features in BASELINES.items():
        path = folder / f"{name}.npy"
        with atomic(path, "wb") as handle:
            np.save(handle, features(splits.fit, examples))
        write_json(path.with_suffix(".json"), {"model": name, "ids": [example.item for example in examples]})
        found.append(read_states(path, evaluator="baseline"))
    return found


def answer(todo: Sequence[Part], study: Study, *, jobs: int) -> Iterator[Part]:
    """Do the parts, those of one representation in one process; each is yielded when it is on disk."""
    groups: dict[str, list[Part]] = {}
    for part in todo:
        groups.setdefault(str(part.path.parent), []).append(part)
    if jobs == 1 or len(groups) <= 1:
        for group in groups.values():
            yield from _answer_one(group, study)
        return
    context = multiprocessing.get_context("spawn")
    workers = min(jobs, len(groups))
    pool = ProcessPoolExecutor(workers, context, _receive, (study, max(1, cores() // workers)))
    try:
        waiting = [pool.submit(_answer_all, group) for group in groups.values()]
        for finished in as_completed(waiting):
            yield from finished.result()
    finally:
        pool.shutdown(cancel_futures=True)


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_received: Study


def _receive(study: Study, threads: int) -> None:
    global _received
    _received = study
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is the parent's to tell
    use_threads(threads)


def _answer_all(group: Sequence[Part]) -> list[Part]:
    return list(_answer_one(group, _received))


def _answer_one(group: Sequence[Part], study: Study) -> Iterator[Part]:
    material = Material(group[0].representation, study)
    for part in group:
        outcomes = list(ask(material, part.question, part.options))
        tables = [scores(part.representation, part.question, study, outcome) for outcome in outcomes]
        write_part(part.path, tables, part.key, convergence(outcomes))
        yield part
