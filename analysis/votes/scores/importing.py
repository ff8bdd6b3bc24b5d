"""Scores of anybody's own evaluator as a score file of a study, every row held against the study's responses.

A score of a response that the study does not have is refused, and a response without a score becomes a missing one
where another model has a score on the same item. So no model is averaged over easier items than another without a word.

The table is read twice in parts: once for what its columns hold, once for the scores, which are written part by part.
What stays in memory is three numbers a row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.votes.columns import ABSENT
from seedvote.analysis.votes.scores.files import card_files
from seedvote.dialogue.cards import ASIDE, COUNTS, PEOPLE, Card, check_title, join_cards, metadata
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, digest, placed_records, read_fields
from seedvote.dialogue.importing.columns import leaf_name, plain_name
from seedvote.dialogue.records import Pair, Response
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tables.reading import ROWS, table_batches
from seedvote.dialogue.tables.table import NO_NUMBER, RawTable, cell_text, flatten_table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TEXTS = ("model", "checkpoint", "item", "rater", "task", "condition", "reason", "cluster")
NAMES = ("model", "seed", "checkpoint", "item", "rater", "task", "score", "condition", "reason", "cluster")
LONGER = tuple(f"{name}{n}" for name in ("match", "total") for n in (2, 3, 4))  # counts of longer n-grams
TAKEN = (*PEOPLE, *ASIDE, "token", "probe", "metrics", "scores")
ROW_NUMBER = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")  # names that pandas gives to its index
EXAMPLES = 3  # rows that a complaint names
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("evaluator", "task", "model")]
    + [("seed", pa.int64())]
    + [(name, pa.string()) for name in ("checkpoint", "item", "rater")]
    + [("score", pa.float64())]
    + [(name, pa.string()) for name in ("cluster", "condition", "reason")]
)


class Answerer(NamedTuple):
    """One model of the study as its responses name it."""

    model: str
    seed: int | None
    checkpoint: str

    def __str__(self) -> str:
        return f"{self.model}{'' if self.seed is None else f' seed {self.seed}'} {self.checkpoint}"


class Scale(NamedTuple):
    """What scores have in common that are compared with each other; of a wide table the task is empty."""

    task: str
    rater: str
    condition: str


@dataclass(frozen=True, eq=False)
class Known:
    """The study's responses: every model and item by a number, and which model answered which item."""

    systems: dict[Answerer, int]
    items: dict[str, int]
    responses: Ints  # sorted, each system * len(items) + item
    checkpoints: Mapping[tuple[str, int | None], set[str]]
    source: str  # the file they stand in

    def has(self, system: Ints, item: Ints) -> NDArray[np.bool_]:
        """Which of these systems answered which of these items."""
        wanted = np.where(item < 0, -1, system * len(self.items) + item)
        place = np.minimum(np.searchsorted(self.responses, wanted), len(self.responses) - 1)
        return np.asarray(self.responses[place] == wanted)


@dataclass(frozen=True, slots=True)
class TableForm:
    """What the table holds, as the first look at it shows."""

    ours: Mapping[str, str]  # their column -> our name
    metrics: tuple[str, ...]  # the columns that each hold a metric; none: one score a row
    tasks: tuple[str, ...]
    rows: int
    unread: tuple[str, ...]  # columns that are neither a name nor a metric
    counts: tuple[str, ...]  # our names of the columns that hold counts

    @property
    def scores(self) -> int:
        """How many scores its rows hold."""
        return self.rows * max(1, len(self.metrics))


@dataclass(frozen=True, slots=True)
class Brought:
    """What was imported: the file, whether it was there already, and how much of the study it covers."""

    path: Path
    scores: int
    tasks: tuple[str, ...]
    same: bool
    responses: int
    covered: int
    missing: Mapping[str, int]  # reason -> rows
    without: Mapping[Answerer, int]  # models with responses that have no score
    unread: tuple[str, ...]  # columns that are neither a name nor a metric
    signature: str


def bring_scores(
    study: Path,
    path: Path,
    evaluator: str,
    *,
    card: Card | None = None,
    columns: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    replace: bool = False,
) -> Brought:
    """Read the table, hold it against the study, and write STUDY/EVALUATOR.parquet."""
    check_name(evaluator)
    known = known_answers(study, card)
    form = table_form(path, columns or {}, metrics, counts_of(card), evaluator)
    for task in form.tasks:
        check_title(task, f"{path}: the name of the metric {task[:20]!r}")
    cards = {} if card is None else {evaluator: card}
    target = study / f"{evaluator}.parquet"
    join_cards([*card_files(study, but=target.name), (f"the card of {evaluator}", cards)])
    recipe = signature(
        evaluator=evaluator, file=path.name, rows=form.scores, tasks=form.tasks, responses=len(known.responses)
    )
    importer = _Importer(path, evaluator, card, known, form)
    same = _write_file(importer, target, metadata(recipe, cards), replace=replace)
    covered = np.intersect1d(importer.scored_responses, known.responses)
    uncovered = np.setdiff1d(known.responses, covered) // max(1, len(known.items))
    systems = [*known.systems]
    without = Counter({systems[code]: int(number) for code, number in enumerate(np.bincount(uncovered)) if number})
    return Brought(
        target,
        form.scores,
        form.tasks,
        same,
        len(known.responses),
        len(covered),
        importer.missing,
        dict(sorted(without.items(), key=lambda entry: str(entry[0]))),
        form.unread,
        recipe,
    )


def check_name(evaluator: str) -> None:
    """Refuse a name that is no file name, or that another part of the study has."""
    if evaluator.casefold() in TAKEN:
        raise InputError(f"--evaluator is {evaluator!r}, which the study uses itself. Choose another name.")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", evaluator):
        raise InputError(f"--evaluator is {evaluator!r}; it names a file, so write letters, digits, _, . and - only.")
    check_title(evaluator, "--evaluator")


# The study


def known_answers(study: Path, card: Card | None) -> Known:
    """From responses.jsonl, else from the sides of pairs.jsonl; by dialogue where the card says so."""
    source = "responses.jsonl" if (study / "responses.jsonl").exists() else "pairs.jsonl"
    if not (study / source).exists():
        raise InputError(
            f"{study} has neither responses.jsonl nor pairs.jsonl, so no score can be held against a response. "
            f"Bring the responses first: python -m generation import {study} TABLE."
        )
    by_dialogue = card is not None and {task.level for task in card.tasks.values()} == {"dialogue"}
    systems: dict[Answerer, int] = {}
    items: dict[str, int] = {}
    numbers: list[Ints] = []
    answers = (
        _answers_of_responses(study / source) if source == "responses.jsonl" else _answers_of_pairs(study / source)
    )
    while part := list(islice(answers, ROWS)):
        codes = [
            (systems.setdefault(system, len(systems)), items.setdefault(item, len(items)))
            for system, item in (
                (system, dialogue_of(item) or item) if by_dialogue else (system, item) for system, item in part
            )
        ]
        numbers.append(np.array(codes, dtype=np.int64))
    system_codes, item_codes = (np.concatenate(numbers) if numbers else np.zeros((0, 2), dtype=np.int64)).T
    responses = np.unique(system_codes * len(items) + item_codes)
    checkpoints: dict[tuple[str, int | None], set[str]] = {}
    for system in systems:
        checkpoints.setdefault(system[:2], set()).add(system.checkpoint)
    return Known(systems, items, responses, checkpoints, source)


def _answers_of_responses(path: Path) -> Iterator[tuple[Answerer, str]]:
    for model, seed, checkpoint, item in read_fields(path, Response, ("model", "seed", "checkpoint", "item")):
        yield Answerer(model, seed, checkpoint), item


def _answers_of_pairs(path: Path) -> Iterator[tuple[Answerer, str]]:
    for _, pair in placed_records(path, Pair):
        if pair.kind == "real":
            for side in (pair.a, pair.b):
                yield Answerer(side.model, side.seed, side.checkpoint), pair.item


def dialogue_of(item: str) -> str | None:
    """The dialogue of a context id.

    >>> dialogue_of("TOY00289:5"), dialogue_of("q17")
    ('TOY00289', None)
    """
    dialogue, _, number = item.rpartition(":")
    return dialogue if dialogue and number.isdigit() else None


# What the columns hold


def counts_of(card: Card | None) -> tuple[str, ...]:
    """The columns that are counts, since the card adds them up; elsewhere a column of such a name is a metric."""
    kinds = [] if card is None else [task.aggregate for task in card.tasks.values()]
    counts = dict.fromkeys(name for kind in kinds for name in COUNTS[kind])
    return (*counts, *(LONGER if "match1" in counts else ()))


def table_form(
    path: Path, columns: Mapping[str, str], metrics: Sequence[str], counts: Sequence[str], evaluator: str
) -> TableForm:
    """What each column holds; every column of numbers that no name claims is a metric, unless `metrics` names them."""
    legal = (*NAMES, *counts)
    if unknown := [name for name in columns if name not in legal]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(legal)}.")
    look = _look_at_table(path, lambda names: _our_names(names, columns, legal, metrics))
    names = look.names
    if absent := [f"{name}={theirs}" for name, theirs in columns.items() if theirs not in names]:
        raise InputError(f"{path} has no column for {absent[0]} (found: {', '.join(names)}).")
    ours = _our_names(names, columns, legal, metrics)
    if twice := [name for name in look.twins if name in (*ours, *metrics)]:
        raise InputError(f"{path} has two columns called {twice[0]!r}; keep one.")
    is_long = "score" in ours.values()
    wide = tuple(metrics) if metrics else () if is_long else tuple(n for n in look.metrics if n not in ours)
    if absent := [name for name in wide if name not in names]:
        raise InputError(f"{path} has no column {absent[0]!r} (found: {', '.join(names)}).")
    needed = [name for name in ("model", "item") if name not in ours.values()]
    if needed or not (is_long or wide):
        lacking = f"no column {needed[0]!r}" if needed else "neither a column `score` nor one for each metric"
        raise InputError(
            f"{path} has {lacking} (found: {', '.join(names)}). Name it: --columns {(needed or ['score'])[0]}=..."
        )
    if not look.rows:
        raise InputError(f"{path} holds no rows.")
    tasks = wide or tuple(dict.fromkeys(task or evaluator for task in look.tasks or [""]))
    unread = tuple(name for name in names if name not in ours and name not in wide)
    return TableForm(ours, wide, tasks, look.rows, unread, tuple(n for n in counts if n in ours.values()))


def _our_names(
    names: Sequence[str], columns: Mapping[str, str], legal: Sequence[str], metrics: Sequence[str]
) -> dict[str, str]:
    """Their column -> our name: as stated, else as we write it, else as it would be without capitals and signs."""
    ours = {columns.get(name, name): name for name in legal if columns.get(name, name) in names}
    plain = {plain_name(leaf_name(name)): name for name in reversed(names) if name not in (*ours, *metrics)}
    lacking = [name for name in legal if name not in (*ours.values(), *columns) and name in plain]
    return {theirs: ours[theirs] for theirs in names if theirs in ours} | {plain[name]: name for name in lacking}


@dataclass(slots=True)
class _Look:
    """What a first pass over the table shows."""

    rows: int = 0
    numbers: dict[str, int] = field(default_factory=dict)  # column -> cells that hold a number
    texts: dict[str, int] = field(default_factory=dict)  # column -> cells that hold anything else
    tasks: dict[str, None] = field(default_factory=dict)
    twins: dict[str, None] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.numbers)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Columns of numbers. A stray word in one is refused by its line later on, and never hides the metric."""
        return tuple(
            name
            for name, number in self.numbers.items()
            if number > self.texts[name] and not ROW_NUMBER.fullmatch(name)
        )


def _read_parts(path: Path, wanted: Sequence[str] | None = None) -> Iterator[RawTable]:
    """The table in parts; what JSON nests has dotted names."""
    for table in table_batches(path, wanted and [*wanted, *(name.split(".")[0] for name in wanted)]):
        is_nested = any(isinstance(cells[0], dict | list) for cells in table.columns.values() if len(cells))
        yield flatten_table(table) if is_nested else table


def _look_at_table(path: Path, our_names: Callable[[Sequence[str]], Mapping[str, str]]) -> _Look:
    """Count the rows, the tasks, and the numbers in every column that has no name of ours."""
    look = _Look()
    for table in _read_parts(path):
        look.rows += len(table)
        look.twins |= dict.fromkeys(table.twins)
        ours = our_names(table.names)
        for name, cells in table.columns.items():
            kinds = Counter[str]() if name in ours else Counter(map(_kind_of_cell, cells))
            look.numbers[name] = look.numbers.get(name, 0) + kinds["number"]
            look.texts[name] = look.texts.get(name, 0) + kinds["text"]
            if ours.get(name) == "task":
                look.tasks |= dict.fromkeys(map(_read_text, cells))
    return look


def _kind_of_cell(cell: Any) -> str:
    """Whether a cell holds a number, text, or nothing."""
    if cell is None or (isinstance(cell, str) and cell.strip().casefold() in NO_NUMBER):
        return "blank"
    if isinstance(cell, bool) or not isinstance(cell, str | int | float | Decimal):
        return "text"
    try:
        return "blank" if math.isnan(float(cell)) else "number"
    except ValueError:
        return "text"


def _read_text(cell: Any) -> str:
    """A cell as text; empty where it says that it holds nothing."""
    text = (cell if isinstance(cell, str) else cell_text(cell)).strip()
    return "" if text in ABSENT else text


# Scores, part by part


@dataclass
class _Importer:
    """Turns the table into rows of a score file, and keeps three numbers of every row to compare rows with."""

    path: Path
    evaluator: str
    card: Card | None
    known: Known
    form: TableForm
    scales: dict[Scale, int] = field(default_factory=dict)
    missing: Counter[str] = field(default_factory=Counter)  # reason -> scores
    rows: list[tuple[Ints, Ints, Ints]] = field(default_factory=list)  # scale, system, item of each row
    scored: list[Ints] = field(default_factory=list)  # responses that have a score
    strange: int = 0  # rows that score a response that the study does not have
    examples: dict[str, None] = field(default_factory=dict)
    likely: str = ""
    first_complaint: str = ""  # of counts and sizes, raised after those of rows

    def __post_init__(self) -> None:
        self.models = _Models(self.known, () if self.card is None else tuple(self.card.baselines))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the score file."""
        if not self.form.counts:
            return SCHEMA
        return SCHEMA.append(pa.field("stats", pa.struct([(name, pa.float64()) for name in sorted(self.form.counts)])))

    @property
    def scored_responses(self) -> Ints:
        """The responses that have a score, each once."""
        return np.unique(np.concatenate(self.scored)) if self.scored else np.zeros(0, dtype=np.int64)

    def parts(self) -> Iterator[pa.RecordBatch]:
        """The scores of the table in its order, then the missing ones; refuses rows that do not fit at their end."""
        wanted = [*self.form.ours, *self.form.metrics]
        for table in _read_parts(self.path, wanted):
            columns = {name: table.columns[theirs] for theirs, name in self.form.ours.items() if theirs in table.names}
            part = self._part(table, columns)
            if not self.strange:
                yield part
        self._refuse()
        yield from self._absent()

    def _part(self, table: RawTable, columns: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
        size = len(table)
        texts = {name: list(map(_read_text, columns[name])) if name in columns else [""] * size for name in TEXTS}
        for name in ("model", "item"):
            if "" in texts[name]:
                raise InputError(f"{table.place(texts[name].index(''))}: {name} is empty; every score needs it.")
        system = self.models.codes(table, texts["model"], columns.get("seed"), texts["checkpoint"])
        item = np.array([self.known.items.get(name, -1) for name in texts["item"]], dtype=np.int64)
        is_baseline = self.models.is_baseline(system)
        self._note_strange(table, texts["item"], system, item, is_baseline)
        raters = [rater or self.evaluator for rater in texts["rater"]]
        tasks = [""] * size if self.form.metrics else [task or self.evaluator for task in texts["task"]]
        scales = map(Scale, tasks, raters, texts["condition"])
        scale = np.array([self.scales.setdefault(which, len(self.scales)) for which in scales], dtype=np.int64)
        self.rows.append((scale.astype(np.int32), system.astype(np.int32), item.astype(np.int32)))
        width = max(1, len(self.form.metrics))
        score = np.stack(
            [self._numbers(table, name, name) for name in self.form.metrics]
            or [self._numbers(table, self._theirs("score"), "score")],
            axis=1,
        )
        is_scored = np.isfinite(score)
        has_score = is_scored.any(axis=1) & (item >= 0)
        self.scored.append(system[has_score] * len(self.known.items) + item[has_score])
        reason = _list_reasons(score, texts["reason"])
        self.missing.update(text for text in reason if text)
        every_task = [*self.form.metrics] * size if self.form.metrics else tasks
        stats = {name: np.repeat(self._numbers(table, self._theirs(name), name), width) for name in self.form.counts}
        self._note_complaints(table, every_task, score.ravel(), reason, stats, width)
        return self._batch(
            every_task,
            np.repeat(system, width),
            np.repeat(np.maximum(item, 0), width),
            np.repeat(np.array(raters, dtype=object), width),
            np.where(is_scored, score, np.nan).ravel(),
            np.repeat(np.array(texts["condition"], dtype=object), width),
            reason,
            np.repeat(np.array(texts["cluster"], dtype=object), width),
            stats,
        )

    def _batch(
        self,
        task: Any,
        system: Ints,
        item: Ints,
        rater: Any,
        score: Floats,
        condition: Any,
        reason: Any,
        cluster: Any,
        stats: Mapping[str, Floats],
    ) -> pa.RecordBatch:
        names = self.models.items.take(item)
        of_item = self.models.clusters.take(item)
        own = pa.array(cluster, pa.string(), mask=np.array([not text for text in cluster], dtype=bool))
        evaluator = np.where(self.models.is_baseline(system), "baseline", self.evaluator)
        arrays = [
            pa.array(evaluator, pa.string()),
            pa.array(task, pa.string()),
            self.models.column("model").take(system),
            self.models.column("seed").take(system),
            self.models.column("checkpoint").take(system),
            names,
            pa.array(rater, pa.string()),
            pa.array(score),
            pc.coalesce(own, of_item),
            pa.array(condition, pa.string()),
            pa.array(reason, pa.string()),
        ]
        if self.form.counts:
            parts = [
                pa.array(stats.get(name, np.full(len(score), np.nan)), from_pandas=True)
                for name in sorted(self.form.counts)
            ]
            arrays.append(pa.StructArray.from_arrays(parts, names=sorted(self.form.counts)))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _theirs(self, name: str) -> str:
        return next(theirs for theirs, ours in self.form.ours.items() if ours == name)

    def _numbers(self, table: RawTable, theirs: str, name: str) -> Floats:
        """A column of numbers, NaN where a cell holds none; a word that is no number is refused."""
        cells = table.columns.get(theirs)
        if cells is None:
            return np.full(len(table), np.nan)
        try:
            return np.array(cells, dtype=np.float64)
        except (ValueError, TypeError):
            pass
        numbers = np.full(len(table), np.nan)
        for row, cell in enumerate(cells):
            text = cell_text(cell).strip()
            if text.casefold() in NO_NUMBER:
                continue
            try:
                numbers[row] = float(text)
            except ValueError:
                raise InputError(
                    f"{table.place(row)}: {name} is {text[:40]!r}, which is not a number. Leave the cell empty where "
                    "there is no score. If the column is no metric, name those that are: --metrics ..."
                ) from None
        return numbers

    # Rows that do not fit

    def _note_strange(
        self, table: RawTable, items: Sequence[str], system: Ints, item: Ints, is_baseline: NDArray[np.bool_]
    ) -> None:
        """Note the rows that score a response that the study does not have."""
        fits = np.where(is_baseline, item >= 0, self.known.has(system, item))
        rows = np.flatnonzero(~fits)
        if len(rows) and not self.strange:
            self.likely = self._likely(items[rows[0]], self.models.systems[system[rows[0]]])
        self.strange += len(rows)
        for row in rows[:EXAMPLES] if len(self.examples) < EXAMPLES else ():
            self.examples[f"{table.place(row)} ({items[row]} of {self.models.systems[system[row]]})"] = None

    def _likely(self, item: str, system: Answerer) -> str:
        """What may be wrong with the first row that fits no response."""
        known = self.known
        systems = sorted(map(str, known.systems))
        if item not in known.items:
            return f"Its items look like {min(known.items, default='nothing')!r}."
        if system.seed is None and any(seed is not None for model, seed in known.checkpoints if model == system.model):
            return "The table names no seed: --columns seed=..."
        return f"Its models are {', '.join(systems[:6])}{' and more' if len(systems) > 6 else ''}."

    def _note_complaints(
        self,
        table: RawTable,
        tasks: Sequence[str],
        score: Floats,
        reason: Sequence[str],
        stats: Mapping[str, Floats],
        width: int,
    ) -> None:
        """Note the first row whose counts are missing, or whose percentage the card calls a share."""
        if self.card is None or self.first_complaint:
            return
        for name in dict.fromkeys(tasks):
            if (task := self.card.task(name)) is None:
                continue
            rows = np.flatnonzero(np.array([task_name == name for task_name in tasks]))
            for count in COUNTS[task.aggregate]:
                has_count = np.isfinite(stats[count][rows]) if count in stats else np.zeros(len(rows), dtype=bool)
                lacking = [row for row in rows[~has_count].tolist() if not reason[row]]
                if lacking:
                    needed = COUNTS[task.aggregate]
                    absent = [count for count in needed if count not in stats or np.isnan(stats[count][lacking[0]])]
                    self.first_complaint = (
                        f"{table.place(lacking[0] // width)}: {name} is to be added up as {task.aggregate}, which "
                        f"needs the columns {', '.join(needed)}; missing: {', '.join(absent)}. Or say --aggregate mean."
                    )
                    return
            large = rows[np.abs(np.nan_to_num(score[rows], nan=0, posinf=0, neginf=0)) > 1 + 1e-9]
            if task.unit == "share" and len(large):
                self.first_complaint = (
                    f"{table.place(int(large[0]) // width)}: {name} is {score[large[0]]:g}, and the card says it is a "
                    "share, which is at most 1. Say --unit points for percentages, --unit none for a bare number, or "
                    "give every metric its own unit (--card)."
                )
                return

    def _refuse(self) -> None:
        """Refuse scores of responses that the study does not have, two scores of one, and what the card forbids."""
        if self.strange:
            lines = f"{self.strange:,} row{'s score' if self.strange != 1 else ' scores'}"
            raise InputError(
                f"{self.path}: {lines} a response that {self.known.source} does not have: "
                f"{'; '.join([*self.examples][:EXAMPLES])}. {self.likely}"
            )
        scale, system, item = self._columns()
        key = (scale * (int(system.max(initial=0)) + 1) + system) * max(1, len(self.known.items)) + item
        order = np.argsort(key, kind="stable")
        again = order[1:][key[order][1:] == key[order][:-1]]
        if len(again):
            second = int(again.min())
            first = int(np.flatnonzero(key == key[second])[0])
            name, system_name = [*self.known.items][item[second]], self.models.systems[system[second]]
            task = [*self.scales][scale[second]].task or self.form.metrics[0]
            raise InputError(
                f"{self._place(second)}: {name} of {system_name} has a score for {task} already "
                f"({self._place(first)}). Keep one, or tell them apart by a column rater or condition."
            )
        if self.first_complaint:
            raise InputError(self.first_complaint)

    def _columns(self) -> tuple[Ints, Ints, Ints]:
        """Scale, system and item of every row."""
        scale, system, item = (np.concatenate(column).astype(np.int64) for column in zip(*self.rows, strict=True))
        return scale, system, item

    def _place(self, row: int) -> str:
        """Where a row stands, found by reading the table up to it."""
        for table in _read_parts(self.path, [*self.form.ours]):
            if row < len(table):
                return table.place(row)
            row -= len(table)
        return str(self.path)

    # Scores that are not there

    def _absent(self) -> Iterator[pa.RecordBatch]:
        """A missing score for every response that has none where another model has one on the same item."""
        scale, system, item = self._columns()
        own = ~self.models.is_baseline(system)
        items, known = len(self.known.items), self.known.responses
        for code, shared in enumerate(self.scales):
            rows = np.flatnonzero(own & (scale == code))
            has_system, has_item = np.zeros(len(self.models.systems), dtype=bool), np.zeros(items, dtype=bool)
            has_system[system[rows]] = has_item[item[rows]] = True
            expected = known[has_system[known // items] & has_item[known % items]]
            lost = expected[~np.isin(expected, system[rows] * items + item[rows])]
            for task in self.form.metrics or (shared.task,):
                reason = f"no row in {self.path.name}"
                for part in (lost[start : start + ROWS] for start in range(0, len(lost), ROWS)):
                    self.missing[reason] += len(part)
                    yield self._batch(
                        [task] * len(part),
                        part // items,
                        part % items,
                        [shared.rater] * len(part),
                        np.full(len(part), np.nan),
                        [shared.condition] * len(part),
                        [reason] * len(part),
                        [""] * len(part),
                        {},
                    )


class _Models:
    """Every model that the table names as a number: those of the study first, then baselines and strangers."""

    def __init__(self, known: Known, baselines: Sequence[str]) -> None:
        self.known = known
        self.baselines = baselines
        self.systems = [*known.systems]
        self.items = pa.array(known.items, pa.string())
        self.clusters = pa.array(map(dialogue_of, known.items), pa.string())
        self._numbers = dict(known.systems)
        self._named: dict[tuple[str, Any, str], int] = {}  # as the table names them

    def codes(self, table: RawTable, models: Sequence[str], seeds: Sequence[Any] | None, points: Sequence[str]) -> Ints:
        """The number of each row's model; a checkpoint that the table leaves out is the only one that the study has."""
        names = list(zip(models, seeds or [None] * len(models), points, strict=True))
        for row, name in enumerate(names):
            if name not in self._named:
                system = self._system(table, row, *name)
                if system not in self._numbers:
                    self._numbers[system] = len(self.systems)
                    self.systems.append(system)
                self._named[name] = self._numbers[system]
        return np.array([self._named[name] for name in names], dtype=np.int64)

    def is_baseline(self, system: Ints) -> NDArray[np.bool_]:
        """Which of these are baselines, which stand beside the study's models."""
        return np.array([name.model in self.baselines for name in self.systems], dtype=bool)[system]

    def column(self, name: str) -> pa.Array:
        """The model, seed or checkpoint of every number."""
        kind = pa.int64() if name == "seed" else pa.string()
        return pa.array([getattr(system, name) for system in self.systems], kind)

    def _system(self, table: RawTable, row: int, model: str, seed_cell: Any, checkpoint: str) -> Answerer:
        text = cell_text(seed_cell).strip()
        seed = None
        if text.casefold() not in NO_NUMBER:
            try:
                seed = int(text) if text.lstrip("-").isdecimal() else int(_require_whole(float(text)))
            except ValueError:
                raise InputError(f"{table.place(row)}: seed is {text!r}, which is not a whole number.") from None
        if checkpoint or model in self.baselines:
            return Answerer(model, seed, checkpoint or "none")
        checkpoints = self.known.checkpoints.get((model, seed), set())
        if len(checkpoints) > 1:
            raise InputError(
                f"{table.place(row)}: checkpoint is empty, and {self.known.source} has "
                f"{', '.join(sorted(checkpoints))} of {model}. Add a column: --columns checkpoint=..."
            )
        return Answerer(model, seed, next(iter(checkpoints), "last"))


def _require_whole(number: float) -> float:
    if not number.is_integer():
        raise ValueError(number)
    return number


def _list_reasons(score: Floats, texts: Sequence[str]) -> list[str]:
    """Why each score is missing, row by row and metric by metric; empty where it is there."""
    reasons = [""] * score.size
    width = score.shape[1]
    for place in np.flatnonzero(~np.isfinite(score.ravel())).tolist():
        value = float(score.flat[place])
        reasons[place] = texts[place // width] or ("empty cell" if math.isnan(value) else f"it is {value:g}")
    return reasons


class _SameScores(Exception):
    """The file holds these scores already."""


def _write_file(importer: _Importer, target: Path, about: Mapping[str, str], *, replace: bool) -> bool:
    """Write the file, whole or not at all; whether the same bytes were there already."""
    clear_halves(target)
    try:
        with atomic(target, "wb") as handle:
            _write_parts(importer, handle, about)
            if target.exists():
                if digest(handle.name) == digest(target):
                    raise _SameScores
                if not replace:
                    raise InputError(f"{target} holds other scores or another card. Add --replace to write over it.")
    except _SameScores:
        return True
    return False


def _write_parts(importer: _Importer, handle: IO[bytes], about: Mapping[str, str]) -> None:
    """One row group for every part that is large enough."""
    schema = importer.schema.with_metadata(dict(about))
    with pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for part in importer.parts():
            writer.write_batch(part.replace_schema_metadata(schema.metadata))
    handle.flush()
