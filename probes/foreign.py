"""Foreign talk: how a state gives it away, and what every detector finds in a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.conditions import OUTSIDE, condition_parts
from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.baselines import bag_of_words
from seedvote.probes.states import Representation, check_covers, find_states

# Does a state tell that the user's last turn has foreign talk in it?
#
# `probe`: logistic regression on standardised states (scikit-learn, C = 1), fitted on dialogues of which a share of
# user turns was given foreign talk. `distance`: Mahalanobis' distance of a state from the clean training states
# (covariance shrunk by Ledoit and Wolf), which needs no example of foreign talk; above the 95th percentile of the
# training states' own distances a turn is called foreign.

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CALLED = 0.95  # of the clean training states, so many are not called foreign
DRAWS = 1000  # of dialogues, for the intervals


@dataclass(frozen=True)
class ForeignCalls:
    """What one detector says of every reported context: how foreign, and whether it calls it so."""

    scores: Floats
    called: Bools


@dataclass(frozen=True, slots=True)
class DetectionRates:
    """Rates with 95 % intervals for other dialogues, each (value, low, high), as shares."""

    f1: tuple[float, float, float]
    precision: tuple[float, float, float]
    recall: tuple[float, float, float]
    auroc: tuple[float, float, float]


def foreign_turns(examples: Sequence[Example]) -> Bools:
    """Whether the user's turn before each system turn has foreign talk in it."""
    return np.array([OUTSIDE in (example.context[-1].acts or {}) for example in examples], bool)


def by_probe(fit: Floats, truth: Bools, report: Floats) -> ForeignCalls:
    """A logistic probe with labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(fit)
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(fit), truth)
    scores = np.asarray(model.decision_function(scaler.transform(report)), np.float64)
    return ForeignCalls(scores, scores > 0)


def by_distance(clean: Floats, report: Floats) -> ForeignCalls:
    """The distance from clean states, without labels."""
    from sklearn.covariance import LedoitWolf

    # A number that never varies tells nothing, and has no scale.
    varied = clean.std(0) > 1e-9 * np.maximum(1.0, np.abs(clean.mean(0)))
    covariance = LedoitWolf().fit(clean[:, varied])
    scores = np.sqrt(covariance.mahalanobis(report[:, varied]))
    return ForeignCalls(scores, scores > np.quantile(np.sqrt(covariance.mahalanobis(clean[:, varied])), CALLED))


def detection_rates(
    detectors: Sequence[ForeignCalls], truth: Bools, clusters: Sequence[str], *, generator: np.random.Generator
) -> DetectionRates:
    """Means over detectors (training seeds); dialogues are drawn anew, the same for all of them."""
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    counts = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS)
    weights = np.vstack([np.ones(len(truth)), counts[:, place]]).astype(np.float64)
    rates = np.mean([_weigh_rates(detector, truth, weights) for detector in detectors], axis=0)
    return DetectionRates(*(_add_interval(float(row[0]), row[1:]) for row in rates))


def _add_interval(value: float, draws: Floats) -> tuple[float, float, float]:
    """A value with the middle 95 % of its draws; draws in which it is not defined do not count."""
    finite_draws = draws[np.isfinite(draws)]
    low, high = np.quantile(finite_draws, (0.025, 0.975)) if len(finite_draws) else (np.nan, np.nan)
    return value, float(low), float(high)


def _weigh_rates(calls: ForeignCalls, truth: Bools, weights: Floats) -> Floats:
    """F1, precision, recall and AUROC (4, weights): F1 is 0 where nothing is called and nothing foreign."""
    tp = weights @ (calls.called & truth)
    called, positive = weights @ calls.called, weights @ truth
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(called + positive > 0, 2 * tp / (called + positive), 0.0)
        precision = np.where(called > 0, tp / called, np.nan)
        recall = np.where(positive > 0, tp / positive, np.nan)
    return np.stack([f1, precision, recall, weighted_auroc(calls.scores, truth, weights)])


def weighted_auroc(scores: Floats, truth: Bools, weights: Floats) -> Floats:
    """The share of (foreign, other) pairs in which the foreign one scores higher, equals as halves (one a weight row).

    NaN where there are not both.
    """
    levels, level = np.unique(scores, return_inverse=True)
    positive, negative = (np.zeros((len(weights), len(levels))) for _ in range(2))
    for matrix, mask in ((positive, truth), (negative, ~truth)):
        np.add.at(matrix.T, level[mask], weights[:, mask].T)
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(1) * negative.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs > 0, (positive * below).sum(1) / pairs, np.nan))


# Foreign talk in a study: which conditions teach and which are reported on, the states there, and every detector.

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
        chosen = list(iterate_examples(read_corpus(folder / "corpus").split(split)))
        truth = foreign_turns(chosen)
        if truth.any() and not truth.all():
            talks.append(ForeignTalk(folder, chosen, truth))
    return talks


def detect_everywhere(
    study: Path, taught: Sequence[ForeignTalk], talk: ForeignTalk, checkpoints: str, *, seed: int
) -> list[dict[str, Any]]:
    """One row for every model, checkpoint and way of detecting, over its seeds; then a bag of words."""
    clean = list(iterate_examples(read_corpus(study / "corpus").split("train")))
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
