"""Answers of people to questions of next-utterance choice as columns, and what models got on the same questions.

Only counted answers of raters who passed enter, unless all are asked for. An answer without a first choice counts as
wrong; one without a second choice counts for R@2 by its first alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.importing.reading import Names, meanings
from seedvote.dialogue.judges import find_judges, refusal, whose
from seedvote.dialogue.questions import check_indices, read_choices
from seedvote.dialogue.records import OptionChoice, Question, Rater
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text
from seedvote.dialogue.validity import from_json

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHOICE_FIELDS = ("question", "rater", "first", "second", "seconds", "source", "rater_status", "counted", "kind")
SCORED = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score", "condition")
FIRST, SECOND = "R@1", "R@2"


@dataclass(frozen=True, eq=False)
class Choices:
    """One row an answer; `pair` is the question's place among the questions, as the rule of clusters calls it."""

    questions: tuple[Question, ...]
    pair: Ints
    rater: Ints
    raters: tuple[str, ...]
    hits: Mapping[str, Floats]  # R@1, R@2 -> 1 or 0
    seconds: Floats  # NaN where unknown
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    second: bool = True  # whether anybody gave a second choice

    def __len__(self) -> int:
        return len(self.pair)

    @cached_property
    def dialogue(self) -> Ints | None:
        """The dialogue of each answer's question; None where some question names none."""
        names = [question.dialogue for question in self.questions]
        if None in names or not names:
            return None
        return np.asarray(np.unique(np.array(names), return_inverse=True)[1][self.pair], dtype=np.int64)

    @property
    def item(self) -> None:
        """Questions of one context may be clustered by their dialogue; a context alone is not asked for."""

    def need(self, name: str, what: str) -> Any:
        """A column, or a sentence where there is none."""
        if (column := getattr(self, name, None)) is None:
            raise InputError(f"{what} needs the {name} of every question, and some name none.")
        return column

    def corpus(self, name: str) -> NDArray[np.bool_]:
        """Which answers are to questions of a corpus."""
        return np.array([question.corpus == name for question in self.questions], dtype=bool)[self.pair]

    def select(self, mask: NDArray[np.bool_]) -> Choices:
        """Some of the answers."""
        return replace(
            self,
            pair=self.pair[mask],
            rater=self.rater[mask],
            seconds=self.seconds[mask],
            hits={name: values[mask] for name, values in self.hits.items()},
        )


def read_answers(
    path: Path, questions: Sequence[Question], *, columns: Names = (), first: int = 0, uncounted: bool = False
) -> Choices:
    """Answers from choices.jsonl, or from any table whose columns `columns` names; `first` is the first option's."""
    ours = path.suffix == ".jsonl" and not columns and not first
    judges = find_judges([path])
    answers = read_choices(path, questions, judges=judges) if ours else _from_table(path, questions, columns, first)
    return answers_given(answers, questions, uncounted=uncounted)


def answers_kept(
    answers: Sequence[OptionChoice], questions: Sequence[Question], *, uncounted: bool = False
) -> tuple[list[OptionChoice], list[str]]:
    """The answers that count, one of a rater to a question, and what was left out and why."""
    place = {question.question: k for k, question in enumerate(questions)}
    reasons: Counter[str] = Counter()
    counted: dict[tuple[str, str], OptionChoice] = {}
    for answer in answers:
        if why := _why_left(answer, questions[place[answer.question]], uncounted):
            reasons[why] += 1
        elif (answer.question, answer.rater) in counted:
            reasons["a second answer of one rater to one question"] += 1
        else:
            counted[answer.question, answer.rater] = answer
    return list(counted.values()), [f"Left out: {number:,}, {why}." for why, number in reasons.items()]


def answers_given(
    answers: Sequence[OptionChoice], questions: Sequence[Question], *, uncounted: bool = False
) -> Choices:
    """The answers as columns, without those that do not count."""
    place = {question.question: k for k, question in enumerate(questions)}
    rows, notes = answers_kept(answers, questions, uncounted=uncounted)
    raters = tuple(sorted({answer.rater for answer in rows}))
    codes = {name: k for k, name in enumerate(raters)}
    truth = [questions[place[answer.question]].answer for answer in rows]
    first = np.array([float(answer.first == true) for answer, true in zip(rows, truth, strict=True)])
    second = np.array([float(true in (answer.first, answer.second)) for answer, true in zip(rows, truth, strict=True)])
    if number := sum(answer.first is None for answer in rows):
        notes.append(f"{number:,} answers choose nothing; they count as wrong.")
    if number := sum(answer.second is None and answer.first is not None for answer in rows):
        notes.append(f"{number:,} answers have no second choice; for R@2 they count by the first alone.")
    return Choices(
        tuple(questions),
        np.array([place[answer.question] for answer in rows], dtype=np.int64),
        np.array([codes[answer.rater] for answer in rows], dtype=np.int64),
        raters,
        {FIRST: first, SECOND: second},
        np.array([np.nan if answer.seconds is None else answer.seconds for answer in rows]),
        tuple(sorted({answer.source for answer in rows})),
        tuple(notes),
        any(answer.second is not None for answer in rows),
    )


def hits_interval(part: Choices, metric: str, clusters: str = "auto") -> Interval | None:
    """The interval of a share of hits, crossed by dialogue and rater; None for one answer or one rater.

    The one rule for `choose`, `compare` and the report.
    """
    values = part.hits[metric]
    if len(values) < 2 or len(np.unique(part.rater)) < 2:
        return None
    return mean_interval(values, by=clusters_of(part, clusters, part=True), share=True)


def told_of_sources(sources: Sequence[str]) -> list[str]:
    """That answers are not people's, where they are not."""
    return ["Answers here are simulated: they say nothing about people."] if "simulated" in sources else []


def _why_left(answer: OptionChoice, question: Question, uncounted: bool) -> str:
    if answer.kind == "check" or question.kind == "check":
        return "answers to hidden checks"
    if not uncounted and answer.rater_status != "passed":
        return f"answers of raters who are {answer.rater_status}"
    return "" if uncounted or answer.counted else "answers that do not count"


def _from_table(path: Path, questions: Sequence[Question], columns: Names, first: int) -> list[OptionChoice]:
    """Answers of any table; every complaint names the row."""
    names = meanings(columns, "--columns")
    known = {question.question: question for question in questions}
    if unknown := [name for name in names if name not in CHOICE_FIELDS]:
        raise InputError(f"--columns maps {unknown[0]}; an answer has {', '.join(CHOICE_FIELDS)}.")
    judges, answers = find_judges([path]), []
    for where, row in read_table(path).rows():
        texts = {name: cell_text(row.get(names.get(name, name))).strip() for name in CHOICE_FIELDS}
        if not texts["question"] or not texts["rater"]:
            raise InputError(
                f"{where}: no question or no rater here; the columns are {', '.join(row)}. Name them: "
                "--columns question=...,rater=...,first=..."
            )
        if (question := known.get(texts["question"])) is None:
            raise InputError(
                f"{where}: question {texts['question']!r} is not among the questions. Give their own file."
            )
        values: dict[str, Any] = {name: text for name, text in texts.items() if text}
        for name in ("first", "second"):
            values[name] = _read_option(texts[name], question, first, f"{where}: {name}")
        if "seconds" in values:
            values["seconds"] = _read_seconds(texts["seconds"], where)
        values["counted"] = texts["counted"].lower() not in ("false", "0", "no")
        if (why := whose(texts["source"], texts["rater"], judges)) is not None:
            raise refusal(where, why)
        answer = from_json(OptionChoice, values, where)
        check_indices(answer, question, where)
        answers.append(answer)
    return answers


def _read_option(text: str, question: Question, first: int, where: str) -> int | None:
    """The index of an option from its number or its text; nothing where nothing was chosen."""
    if not text:
        return None
    options = [option.text for option in question.options]
    if text in options:
        return options.index(text)
    if not text.lstrip("-").isdecimal() or not 0 <= int(text) - first < len(options):
        raise InputError(
            f"{where} is {text[:40]!r}; the question has options {first} to {first + len(options) - 1}. If the table "
            f"counts from {1 - first}, say --count-from {1 - first}."
        )
    return int(text) - first


def _read_seconds(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: seconds is {text!r}, which is no number.") from None


def profiles_beside(folder: Path) -> dict[str, Mapping[str, str]]:
    """Rater -> what they said of themselves, of a study's raters.jsonl."""
    path = folder / "raters.jsonl"
    return {rater.rater: rater.profile for rater in read_records(path, Rater)} if path.exists() else {}


@dataclass(frozen=True, eq=False)
class ModelChoices:
    """What one model got on every question by one rule: hits[metric] is (seeds, questions), NaN where not known."""

    model: str
    rule: str
    seeds: tuple[int | None, ...]
    baseline: bool
    hits: Mapping[str, Floats]


def read_models(path: Path, questions: Sequence[Question]) -> list[ModelChoices]:
    """Models of nuc.parquet after training, by the mean over heads where they have several; then the simple rules."""
    try:
        table = pq.read_table(path, columns=list(SCORED))
        columns = {name: table.column(name).to_pylist() for name in SCORED}
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise InputError(f"{path} cannot be read ({error}). Write it again: python -m evaluators choose") from None
    place: dict[tuple[str, str], list[int]] = {}
    for k, question in enumerate(questions):
        draw = int(question.extra.get("draw", 0) or 0)
        if question.kind == "real":
            place.setdefault((question.item, f"candidates draw {draw}" if draw else ""), []).append(k)
    scores: dict[tuple[bool, str, str], dict[tuple[int | None, str], dict[str, Floats]]] = {}  # the last: by head
    for evaluator, task, model, seed, checkpoint, item, rater, score, condition in zip(*columns.values(), strict=True):
        at = place.get((item, condition or ""))
        if (
            at is None
            or task not in (FIRST, SECOND)
            or evaluator not in ("nuc", "nuc_encoder", "baseline")
            or checkpoint == "untrained"
        ):
            continue
        name = model if checkpoint in ("last", "") else f"{model} {checkpoint}"
        rule, head = ("encoder", rater) if evaluator == "nuc_encoder" else (rater, "")
        rows = scores.setdefault((evaluator == "baseline", name, rule), {}).setdefault((seed, task), {})
        if head not in rows:
            rows[head] = np.full(len(questions), np.nan)
        rows[head][at] = score
    models = []
    for (baseline, name, rule), by_seed in scores.items():
        seeds = tuple(dict.fromkeys(seed for seed, _ in by_seed))
        hits = {
            task: np.stack([np.mean([*by_seed[seed, task].values()], axis=0) for seed in seeds])
            for task in (FIRST, SECOND)
        }
        models.append(ModelChoices(name, rule, seeds, baseline, hits))
    return sorted(models, key=lambda question: question.baseline)
