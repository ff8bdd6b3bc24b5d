"""Foreign talk in a study: which conditions teach and which are reported on, the states there, and every detector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seedvote.dialogue.conditions import condition_parts
from seedvote.dialogue.corpora.examples import Example, examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.baselines import bag_of_words
from seedvote.probes.detecting import DRAWS, Bools, ForeignCalls, by_distance, by_probe, detection_rates, foreign_turns
from seedvote.probes.states import Representation, check_covers, find_states

TASK_SCORES = "task.parquet"


@dataclass(frozen=True)
class ForeignTalk:
    """The contexts of one split of one condition, and before which of them there was foreign talk."""

    folder: Path
    examples: Sequence[Example] = field(repr=False)
    truth: Bools = field(repr=False)

    @property
    def name(self) -> str:
        """That of the condition."""
        return self.folder.name

    @property
    def dose(self) -> str:
        """The share of user turns, as it is printed."""
        return f"{(condition_parts(self.name) or ('', 0.0))[1]:g}"

    @property
    def items(self) -> list[str]:
        """The contexts."""
        return [example.item for example in self.examples]


def read_foreign(folders: Sequence[Path], split: str) -> list[ForeignTalk]:
    """The conditions that hold dialogues of this split, with foreign talk in some of them."""
    talks = []
    for folder in folders:
        chosen = list(examples(read_corpus(folder / "corpus").split(split)))
        truth = foreign_turns(chosen)
        if truth.any() and not truth.all():
            talks.append(ForeignTalk(folder, chosen, truth))
    return talks


def detections(
    study: Path, taught: Sequence[ForeignTalk], talk: ForeignTalk, checkpoints: str, *, seed: int
) -> list[dict[str, Any]]:
    """One row for every model, checkpoint and way of detecting, over its seeds; then a bag of words."""
    clean = list(examples(read_corpus(study / "corpus").split("train")))
    groups: dict[tuple[str, str], list[Representation]] = {}
    for who in find_states(talk.folder, None, checkpoints):
        check_covers(who, talk.items)
        groups.setdefault((who.model, who.checkpoint), []).append(who)
    rows = []
    for (model, checkpoint), seeds in groups.items():
        joint = joint_accuracies(study, talk.folder, model, checkpoint)
        for method, share, calls in _detect_by_states(study, taught, talk, seeds, [example.item for example in clean]):
            rows.append(_make_row(talk, model, checkpoint, len(seeds), method, share, calls, joint, seed))
    for lesson in taught:
        features = bag_of_words(lesson.examples, [*lesson.examples, *talk.examples]).astype(np.float64)
        words = by_probe(features[: len(lesson.examples)], lesson.truth, features[len(lesson.examples) :])
        rows.append(_make_row(talk, "bag_of_words", "", 0, "probe", lesson.dose, [words], None, seed))
    return rows


def _detect_by_states(
    study: Path, taught: Sequence[ForeignTalk], talk: ForeignTalk, seeds: Sequence[Representation], clean: Sequence[str]
) -> Iterator[tuple[str, str, list[ForeignCalls]]]:
    reports = [who.rows(talk.items).astype(np.float64) for who in seeds]
    normal = [_read_states(study, who, clean) for who in seeds]
    yield "distance", "0", [by_distance(*pair) for pair in zip(normal, reports, strict=True)]
    for lesson in taught:
        fits = [_read_states(lesson.folder, who, lesson.items) for who in seeds]
        yield (
            "probe",
            lesson.dose,
            [by_probe(fit, lesson.truth, report) for fit, report in zip(fits, reports, strict=True)],
        )


def _read_states(folder: Path, who: Representation, items: Sequence[str]) -> np.ndarray:
    """The same model's states of other contexts."""
    path = folder / "states" / who.path.name
    if not path.exists():
        raise InputError(
            f"{path} is not there. Encode the clean corpus and every condition of kind outside: python -m generation "
            "encode STUDY --splits train,test, and the same with --condition NAMES."
        )
    (representation,) = find_states(folder, [path], "")
    check_covers(representation, items)
    return representation.rows(items).astype(np.float64)


def _make_row(
    talk: ForeignTalk,
    model: str,
    checkpoint: str,
    seeds: int,
    method: str,
    share: str,
    calls: Sequence[ForeignCalls],
    joint: tuple[float, float] | None,
    seed: int,
) -> dict[str, Any]:
    clusters = [example.dialogue.dialogue for example in talk.examples]
    generator = np.random.default_rng(child_seed(seed, "outside", talk.name))
    rates = detection_rates(calls, talk.truth, clusters, generator=generator)
    recipe = signature(report=talk.name, contexts=len(talk.truth), unit="dialogue", draws=DRAWS, level=0.95, seed=seed)
    spans = {name: [end if end == end else None for end in span] for name, span in asdict(rates).items()}
    return {
        "report": talk.name,
        "model": model,
        "checkpoint": checkpoint,
        "seeds": seeds,
        "by": method,
        "taught": share,
        **spans,
        "jga": joint,
        "signature": recipe,
    }


def joint_accuracies(study: Path, folder: Path, model: str, checkpoint: str) -> tuple[float, float] | None:
    """Joint goal accuracy of a model's seeds, clean and in a condition, in points; None where it was not scored."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    accuracies = []
    for path in (study / TASK_SCORES, folder / TASK_SCORES):
        if not path.exists():
            return None
        wanted = [("task", "=", "jga"), ("model", "=", model), ("checkpoint", "=", checkpoint)]
        scores = pq.read_table(path, columns=["score"], filters=wanted)["score"]
        if not len(scores):
            return None
        accuracies.append(100 * float(pc.mean(scores).as_py()))
    return accuracies[0], accuracies[1]
