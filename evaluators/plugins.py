"""Evaluators of other packages: found by their entry point, asked about every response of a study, kept by their card.

A package names its evaluator under `seedvote.evaluators` in its own pyproject.toml. The entry point is called without
arguments, when the evaluator is used and not before, and gives an object with a card and `score` (docs/own-metrics.md).
What it needs, be it a GPU or a million parameters, is its own affair; nothing here imports it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import BUILT_IN, Card, card_from, metadata
from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, read_records
from seedvote.dialogue.records import Pair, Response, Utterance
from seedvote.dialogue.signature import signature

GROUP = "seedvote.evaluators"
AT_ONCE = 256  # responses handed over at a time
SCORED = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        *((name, pa.string()) for name in ("cluster", "condition", "reason")),
    ]
)


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """What an evaluator is asked about."""

    item: str
    context: Sequence[Utterance]  # what was said before, oldest first
    response: str
    reference: str | None  # what people said; None where the study does not have it


class Evaluator(Protocol):
    """What an entry point gives."""

    card: Card | Mapping[str, Any]  # title, and a card for each task
    version: str  # of what scores: it stands in the recipe

    def score(self, responses: Sequence[ScoredResponse], /) -> Mapping[str, Sequence[float | None]]:
        """Task -> one score a response, None where there is none; higher or lower is better, as the card says."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What came of it."""

    path: Path
    responses: int
    missing: Mapping[str, int]  # task -> responses without a score
    further_draws: int  # responses of a model to one context after the first, which are not scored
    signature: str


def find_evaluators() -> dict[str, EntryPoint]:
    """The evaluators that are installed, by name."""
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


def load_evaluator(name: str) -> tuple[Evaluator, Card]:
    """An evaluator with its card; every complaint names the package."""
    points = find_evaluators()
    if name not in points:
        known = f"There are: {', '.join(points)}." if points else "No package brings one (docs/own-metrics.md)."
        raise InputError(f"No evaluator {name!r} is installed. {known}")
    where = f"evaluator {name} ({points[name].value})"
    if name in BUILT_IN:
        raise InputError(f"{where}: the name is that of an evaluator of ours; the package must take another one.")
    try:
        evaluator: Evaluator = points[name].load()()
    except Exception as error:  # whatever another package raises
        raise InputError(f"{where} cannot be loaded ({type(error).__name__}: {error}).") from error
    if absent := [part for part in ("card", "version", "score") if not hasattr(evaluator, part)]:
        raise InputError(f"{where} has no {absent[0]}; it needs card, version and score.")
    card = evaluator.card if isinstance(evaluator.card, Card) else card_from(evaluator.card, where)
    return evaluator, card


def score_study(study: Path, name: str, corpus: Path | None = None) -> ScoreReport:
    """Ask the evaluator about every response, and write STUDY/NAME.parquet."""
    path = study / "responses.jsonl"
    if not path.is_file():
        raise InputError(f"{study} holds no responses.jsonl. Make one: python -m generation sample {study}")
    evaluator, card = load_evaluator(name)
    responses, further = _first_draws(read_records(path, Response))
    known = _read_contexts(study, corpus, {response.item for response in responses})
    asked = [ScoredResponse(row.item, *known[row.item][:1], row.text, known[row.item][1]) for row in responses]
    rows: list[dict[str, Any]] = []
    missing: Counter[str] = Counter()
    several = len({response.decoding for response in responses}) > 1
    for start in range(0, len(asked), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        for task, scores in _ask(evaluator, name, card, asked[part]).items():
            for response, score in zip(responses[part], scores, strict=True):
                missing[task] += math.isnan(score)
                rows.append(_score_row(name, task, response, score, several))
    recipe = signature(responses=len(responses), evaluator=name, version=str(evaluator.version).replace(" ", "_"))
    target, schema = study / f"{name}.parquet", SCORED.with_metadata(metadata(recipe, {name: card}))
    with atomic(target, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return ScoreReport(target, len(responses), dict(missing), further, recipe)


def _first_draws(responses: Iterable[Response]) -> tuple[list[Response], int]:
    first: dict[tuple[Any, ...], Response] = {}
    further = 0
    for response in responses:
        key = response.model, response.seed, response.checkpoint, response.decoding, response.item
        further += first.setdefault(key, response) is not response
    return list(first.values()), further


def _read_contexts(
    study: Path, corpus: Path | None, items: set[str]
) -> dict[str, tuple[Sequence[Utterance], str | None]]:
    """Context and reference of every item: from the corpus, else contexts alone from pairs.jsonl."""
    known: dict[str, tuple[Sequence[Utterance], str | None]] = {}
    where = corpus or study / "corpus"
    if where.exists():
        known = {example.item: _spell_example(example) for example in _examples_of(where) if example.item in items}
    elif (study / "pairs.jsonl").exists():
        known = {pair.item: (pair.context, None) for pair in read_records(study / "pairs.jsonl", Pair)}
    if absent := sorted(items - known.keys()):
        raise InputError(
            f"{study}: no context for item {absent[0]!r} ({len(absent)} such). Give the corpus: --corpus PATH."
        )
    return known


def _examples_of(path: Path) -> Iterator[Example]:
    corpus = read_corpus(path)
    for split in ("valid", "test", "train"):
        yield from iterate_examples(corpus.split(split))


def _spell_example(example: Example) -> tuple[Sequence[Utterance], str]:
    return [Utterance(turn.speaker, turn.text) for turn in example.context], example.target.text


def _ask(evaluator: Evaluator, name: str, card: Card, asked: Sequence[ScoredResponse]) -> dict[str, list[float]]:
    """The scores of some responses; NaN where there is none."""
    try:
        answer = evaluator.score(asked)
    except Exception as error:  # whatever another package raises
        raise InputError(f"evaluator {name} failed ({type(error).__name__}: {error}); nothing was written.") from error
    if not isinstance(answer, Mapping) or not answer:
        raise InputError(f"evaluator {name} gave {str(answer)[:40]!r}; it must give task -> scores.")
    scores = {}
    for task, values in answer.items():
        if card.task(task) is None:
            raise InputError(f"evaluator {name} scores {task!r}, which its card does not name.")
        if len(values) != len(asked):
            raise InputError(f"evaluator {name} gave {len(values)} scores of {task} for {len(asked)} responses.")
        scores[str(task)] = [_as_number(value, name) for value in values]
    return scores


def _as_number(value: Any, name: str) -> float:
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"evaluator {name} gave {str(value)[:40]!r} for a score; write a number or None.") from error
    return number if math.isfinite(number) else math.nan


def _score_row(name: str, task: str, response: Response, score: float, several: bool) -> dict[str, Any]:
    return {
        "evaluator": name,
        "task": task,
        "model": response.model,
        "seed": response.seed,
        "checkpoint": response.checkpoint,
        "item": response.item,
        "rater": name,
        "score": score,
        "cluster": response.item.rpartition(":")[0] or None,
        "condition": response.decoding if several else "",
        "reason": "the evaluator gave none" if math.isnan(score) else "",
    }
