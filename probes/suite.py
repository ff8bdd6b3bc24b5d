"""A probe study: one task fitted and scored, its scores on disk, all tasks as jobs, and how every fit ended."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seedvote.dialogue.cards import PROBE, metadata
from seedvote.dialogue.devices import pick_device, use_threads
from seedvote.dialogue.files import atomic, write_json
from seedvote.dialogue.jobs import JOB_THREADS, Job, content_key
from seedvote.dialogue.tables.frames import is_written
from seedvote.probes.baselines import always_the_most_frequent, baseline_features
from seedvote.probes.classifiers.catalogue import CLASSIFIERS, FitRequest, Prediction, nothing_fitted
from seedvote.probes.classifiers.logistic import fit_features
from seedvote.probes.plan import TRUE, LabelledTask, Options, Plan, Splits, labels_of_every_kind
from seedvote.probes.scoring import Counts, count_hits
from seedvote.probes.states import Representation, read_states

# One task and several representations: fit, choose, report; each probe is fitted with its two controls too.
#
# The reported examples touch neither the fit nor the choice of a strength or an epoch.


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """The counts of every reported example under one answer; `labels` is the kind of control, empty for true ones."""

    labels: str
    counts: Counts
    answer: Prediction


class Material:
    """The states of one representation on the three sides, as they are and as features; made once for all tasks."""

    def __init__(self, representation: Representation, plan: Plan, device: str = "cpu") -> None:
        self.baseline = representation.evaluator == "baseline"
        self.majority = self.baseline and representation.model == "majority"
        self.fit, self.choose, self.report = (
            representation.rows(side.items) for side in (plan.fit, plan.choose, plan.report)
        )
        self.axes = fit_features(self.fit, device=device)
        self.features = self.axes.apply(self.fit)
        self.choose_features, self.report_features = self.axes.apply(self.choose), self.axes.apply(self.report)


def fit_and_score(
    materials: Sequence[Material], labelled: LabelledTask, options: Options
) -> list[list[ScoredPrediction]]:
    """For each representation its scores under the true labels and then, unless it is a baseline, under the controls'.

    All representations have the same controls, so these differ in nothing but the states.
    """
    kinds = labels_of_every_kind(labelled, seed=options.shuffle_seed)
    places = [
        (number, kind)
        for number, material in enumerate(materials)
        for kind in kinds
        if kind == TRUE or not material.baseline
    ]
    requests = [FitRequest(materials[number], kinds[kind].fit, kinds[kind].choose) for number, kind in places]
    predictions: list[list[ScoredPrediction]] = [[] for _ in materials]
    for (number, kind), answers in zip(places, _predict_labels(requests, options), strict=True):
        gold = kinds[kind].report
        predictions[number] += [
            ScoredPrediction(kind, count_hits(answer.predicted, gold), answer) for answer in answers
        ]
    return predictions


def _predict_labels(requests: Sequence[FitRequest], options: Options) -> list[list[Prediction]]:
    """The majority baseline fits nothing; all other requests go to the classifier together, which may share a solve."""
    to_fit = [request for request in requests if not request.states.majority]
    fitted = iter(CLASSIFIERS[options.method].fit(to_fit, options.settings) if to_fit else ())
    return [[_predict_majority(request)] if request.states.majority else next(fitted) for request in requests]


def _predict_majority(request: FitRequest) -> Prediction:
    return Prediction(
        "majority", always_the_most_frequent(request.fit, len(request.states.report)), None, nothing_fitted()
    )


# Score tables in Parquet: one part per representation and task, written whole, then joined.
#
# Rows are scores as in docs/format.md, one per example, with counts that add up to the micro-F1 of any set of them.

GROUP_ROWS = 1 << 18
STATS = pa.struct([(name, pa.float64()) for name in ("tp", "fp", "fn")])
SCORE_SCHEMA = pa.schema(
    [
        ("evaluator", pa.string()),
        ("task", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("checkpoint", pa.string()),
        ("item", pa.string()),
        ("rater", pa.string()),
        ("score", pa.float64()),
        ("stats", STATS),
        ("cluster", pa.string()),
        ("condition", pa.string()),
    ]
)


def score_rows(who: Representation, labelled: LabelledTask, plan: Plan, outcome: ScoredPrediction) -> pa.Table:
    """One row an example, with its counts."""
    n = len(plan.report.items)
    counts = outcome.counts
    stats = [pa.array(part, pa.float64()) for part in (counts.tp, counts.fp, counts.fn)]
    same = {
        "evaluator": "control" if outcome.labels else who.evaluator,
        "task": labelled.task,
        "model": who.model,
        "seed": who.seed,
        "checkpoint": who.checkpoint,
        "rater": outcome.answer.rater,
        "condition": plan.condition + (f",labels={outcome.labels}" if outcome.labels else ""),
    }
    columns = {name: pa.repeat(pa.scalar(value, SCORE_SCHEMA.field(name).type), n) for name, value in same.items()}
    columns |= {
        "item": pa.array(plan.report.items),
        "score": pa.array(counts.example_f1),
        "stats": pa.StructArray.from_arrays(stats, names=["tp", "fp", "fn"]),
        "cluster": pa.array(plan.report.clusters),
    }
    return pa.table([columns[name] for name in SCORE_SCHEMA.names], schema=SCORE_SCHEMA)


def describe_endings(outcomes: Iterable[ScoredPrediction]) -> list[dict[str, object]]:
    """Per rater, how each optimisation ended, in a form for JSON."""
    return [
        {
            "rater": outcome.answer.rater,
            "control": bool(outcome.labels),
            "c": outcome.answer.c,
            "problems": outcome.answer.convergence.problems,
            "passes": outcome.answer.convergence.passes.tolist(),
            "gradient": _list_finite(outcome.answer.convergence.gradient),
            "gap": _list_finite(outcome.answer.convergence.gap),
            "converged": outcome.answer.convergence.converged.tolist(),
        }
        for outcome in outcomes
    ]


def _list_finite(numbers: np.ndarray) -> list[float | None]:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def write_part(path: Path, parts: Sequence[pa.Table], key: str, ended: list[dict[str, object]]) -> None:
    """Write the scores of one representation and task with the key they follow from and how the fits ended."""
    # The key lies in Parquet's footer, which is written last: a file that was cut off has none and is made again.
    table = pa.concat_tables(parts).replace_schema_metadata({"key": key, "fits": json.dumps(ended)})
    with atomic(path, "wb") as handle:
        pq.write_table(table, handle, compression="zstd")


def write_again(source: Path, path: Path, who: Representation, key: str) -> None:
    """Write the part at `source` as that of `who`, whose states are the same; how the fits ended comes along."""
    table = pq.read_table(source)
    notes = {**table.schema.metadata, b"key": key.encode()}
    for name, value in (("model", who.model), ("seed", who.seed), ("checkpoint", who.checkpoint)):
        field = SCORE_SCHEMA.field(name)
        same = pa.repeat(pa.scalar(value, field.type), len(table))
        table = table.set_column(SCORE_SCHEMA.get_field_index(name), field, same)
    with atomic(path, "wb") as handle:
        pq.write_table(table.replace_schema_metadata(notes), handle, compression="zstd")


def join_parts(paths: Sequence[Path], out: Path, signature: str) -> int:
    """Write all parts into one table; how many rows it has."""
    return _write_in_groups(
        out, SCORE_SCHEMA.with_metadata(metadata(signature, {"probe": PROBE})), map(pq.read_table, paths)
    )


def _write_in_groups(out: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Write tables one by one, small ones together: every group of rows takes room at the end of the file."""
    rows, waiting = 0, [schema.empty_table()]
    with atomic(out, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for table in tables:
            waiting.append(table.replace_schema_metadata(schema.metadata))
            rows += len(table)
            if sum(map(len, waiting)) >= GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting))
                waiting = [schema.empty_table()]
        writer.write_table(pa.concat_tables(waiting))
    return rows


# The whole suite: one part file per representation and task; finished parts are kept.
#
# A part holds the hash of states, labels and options: it is done again when one of them changes, and only then.

SHARE_A_SOLVE = 4  # representations in one solve: more gain little and take memory


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One representation and task: where its scores lie, and the key of what they follow from."""

    representation: Representation
    labelled: LabelledTask
    options: Options
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole part with this very key is there."""
        return is_written(self.path, self.key)

    @property
    def content(self) -> Hashable:
        """What the scores follow from: not the checkpoint's name, but that of a baseline, which may need no fit."""
        who = self.representation
        name = who.name if who.evaluator == "baseline" else ""
        return who.evaluator, name, who.digest, self.labelled.task, self.labelled.digest, self.options.recipe


def score_parts(
    folder: Path, representations: Iterable[Representation], plan: Plan, methods: Sequence[Options]
) -> list[ScorePart]:
    """All the work there is."""
    return [
        _make_part(folder, who, labelled, options, plan.condition)
        for who in representations
        for labelled in plan.labelled_tasks
        for options in methods
    ]


def _make_part(
    folder: Path, who: Representation, labelled: LabelledTask, options: Options, condition: str
) -> ScorePart:
    name = f"{labelled.task}.{options.method}.{condition}.parquet"
    key = hashlib.sha256(f"{who.digest} {who.name} {labelled.digest} {options.recipe}".encode()).hexdigest()
    return ScorePart(who, labelled, options, folder / f"{who.evaluator}-{who.name}" / name, key)


def write_baselines(folder: Path, splits: Splits, width: int, *, terms: bool = False) -> list[Representation]:
    """Write the baselines' features as representations like any other; `width` is that of the widest states."""
    examples, baselines = splits.members, []
    for name, features in baseline_features(splits.fit, examples, width=width, terms=terms):
        path = folder / f"{name}.npy"
        with atomic(path, "wb") as handle:
            np.save(handle, features)
        write_json(path.with_suffix(".json"), {"model": name, "ids": [example.item for example in examples]})
        baselines.append(read_states(path, evaluator="baseline"))
    return baselines


class Piece(Protocol):
    """Anything with a file in the folder of its representation, and a key of what it follows from."""

    @property
    def path(self) -> Path: ...
    @property
    def key(self) -> str: ...
    @property
    def content(self) -> Hashable: ...
    @property
    def done(self) -> bool: ...


P = TypeVar("P", bound=Piece)


def once_each(parts: Sequence[P]) -> tuple[list[P], list[tuple[P, P]]]:
    """Of parts of one content, one to be computed, and the others as pairs (it, other); what is done is in neither.

    Two names of a checkpoint, such as `last` and `epoch-25`, have the same states, hence the same results.
    """
    groups: dict[Hashable, list[P]] = {}
    for part in parts:
        groups.setdefault(part.content, []).append(part)
    todo, again = [], []
    for group in groups.values():
        done = {part.path for part in group if part.done}
        first = next((part for part in group if part.path in done), group[0])
        todo += [] if done else [first]
        again += [(first, part) for part in group if part is not first and part.path not in done]
    return todo, again


def as_jobs(todo: Sequence[Piece], *, per_job: int = 1) -> list[Job]:
    """So many representations are one job, with all their pieces."""
    groups: dict[str, list[Piece]] = {}
    for part in todo:
        groups.setdefault(part.path.parent.name, []).append(part)
    names = list(groups)
    batches = []
    for start in range(0, len(names), per_job):
        first, *later_names = names[start : start + per_job]
        pieces = [part for name in (first, *later_names) for part in groups[name]]
        name = f"{first}+{len(later_names)}" if later_names else first
        batches.append(Job(name, content_key(*[part.key for part in pieces]), pieces))
    return batches


def count_per_job(todo: Sequence[Piece], at_once: int | None) -> int:
    """How many representations share a job, hence a solve: up to TOGETHER while every process has a job."""
    representations = len({part.path.parent for part in todo})
    return max(1, min(SHARE_A_SOLVE, representations // (at_once or representations or 1)))


def probe_parts(shared: tuple[Plan, str], todo: Sequence[ScorePart]) -> int:
    """Fit and score each part of these representations, written as soon as it is done; how many there were."""
    plan, device = shared
    representations = {part.path.parent: part.representation for part in todo}
    by_task: dict[tuple[str, Options], list[ScorePart]] = {}
    for part in todo:
        by_task.setdefault((part.labelled.task, part.options), []).append(part)
    with use_threads(JOB_THREADS):
        device = str(pick_device(device))
        materials = {folder: Material(who, plan, device) for folder, who in representations.items()}
        for (_, options), group in by_task.items():
            answers = fit_and_score([materials[part.path.parent] for part in group], group[0].labelled, options)
            for part, outcomes in zip(group, answers, strict=True):
                tables = [score_rows(part.representation, part.labelled, plan, outcome) for outcome in outcomes]
                write_part(part.path, tables, part.key, describe_endings(outcomes))
    return len(todo)


def score_again(first: ScorePart, twin: ScorePart) -> None:
    """File the scores of `first` under the name of `other`, whose states are the same."""
    write_again(first.path, twin.path, twin.representation, twin.key)


# How every fit ended: a table with one row per problem, and a warning for those that did not reach their optimum.

FIT_SCHEMA = pa.schema(
    [
        ("representation", pa.string()),
        ("task", pa.string()),
        ("rater", pa.string()),
        ("control", pa.bool_()),
        ("c", pa.float64()),
        ("problem", pa.string()),
        ("passes", pa.int64()),
        ("gradient", pa.float64()),
        ("gap", pa.float64()),
        ("converged", pa.bool_()),
    ]
)


def write_endings(path: Path, parts: Iterable[ScorePart]) -> list[str]:
    """Write one row for each label of a many-label task, and for each one-label task; what fell short, in sentences."""
    warnings: list[str] = []

    def note_warnings() -> Iterator[pa.Table]:
        for part in parts:
            endings = pa.concat_tables([FIT_SCHEMA.empty_table(), *_read_endings(part)])
            warnings.extend(convergence_warnings(endings))
            yield endings

    _write_in_groups(path, FIT_SCHEMA, note_warnings())
    return warnings


def _read_endings(part: ScorePart) -> Iterator[pa.Table]:
    for fit in json.loads(pq.read_schema(part.path).metadata[b"fits"]):
        n = len(fit["problems"])
        same = {
            "representation": part.representation.name,
            "task": part.labelled.task,
            "rater": fit["rater"],
            "control": fit["control"],
            "c": fit["c"],
        }
        columns: dict[str, Any] = {name: [value] * n for name, value in same.items()}
        yield pa.table(
            columns | {"problem": fit["problems"]} | {k: fit[k] for k in FIT_SCHEMA.names[6:]}, schema=FIT_SCHEMA
        )


def convergence_warnings(table: pa.Table, limit: int = 3) -> list[str]:
    """One sentence for each task of each representation that has problems short of their optimum."""
    short: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in table.filter(pc.invert(table["converged"])).to_pylist():
        if not row["control"]:
            short.setdefault((row["representation"], row["task"], row["rater"]), {})[row["problem"]] = row["gap"]
    return [_phrase_warning(*key, problems, limit) for key, problems in short.items()]


def _phrase_warning(who: str, task: str, rater: str, gaps: Mapping[str, float], limit: int) -> str:
    worst = sorted(gaps, key=lambda problem: gaps[problem], reverse=True)
    names = ", ".join(worst[:limit]) + (", ..." if len(worst) > limit else "")
    known = [gap for gap in gaps.values() if not math.isnan(gap)]
    far = f", up to {100 * max(known):.2g} % of its value above its optimum" if known else ""
    return f"Not converged: {len(gaps):,} problems of {task} on {who}, fitted by {rater} ({names}){far}."
