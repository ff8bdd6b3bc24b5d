"""The score files of a study: which there are, what their cards say, and what of them is not used and why.

A score file is any STUDY/*.parquet, and any STUDY/conditions/NAME/*.parquet, whose metadata says `format: scores`.
metrics.parquet and scores.parquet of version 0.2.0 say nothing: they are known by name, and built-in cards stand in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.analysis.votes.columns import columns_in_memory, read_columns
from seedvote.analysis.votes.scores.values import Batches, ByRows, Gaps, Key, Summed, Value, gaps_of, scale_of, summed
from seedvote.dialogue.cards import BUILT_IN, PEOPLE, SCORES, Card, cards_from, join_cards
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.judges import folded_name

OLD = ("metrics.parquet", "scores.parquet")  # of 0.2.0, which carry no cards; read first
CONDITIONS = "conditions"
BATCH = 1 << 16  # rows at once
IMPORT = "python -m analysis import-scores"
NEEDED = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score")
NAMING = ("evaluator", "task", "checkpoint", "rater", "condition")  # may be empty
TEXTS = (*NAMING, "model", "item", "cluster", "reason")
TYPES = {**dict.fromkeys(TEXTS, pa.string()), "seed": pa.int64(), "score": pa.float64()}


class Unused(NamedTuple):
    """Something that was read and not used."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"not compared: {self.what} ({self.why})"


def by_reason(unused: Iterable[Unused]) -> list[Unused]:
    r"""What was not used, one line a reason.

    >>> print(*by_reason([Unused("a", "ranks"), Unused("b", "no seeds"), Unused("c", "ranks")]), sep="\n")
    not compared: a; c (ranks)
    not compared: b (no seeds)
    """
    reasons: dict[str, dict[str, None]] = {}
    for table in unused:
        reasons.setdefault(table.why, {})[table.what] = None
    return [Unused("; ".join(names), why) for why, names in reasons.items()]


@dataclass(frozen=True, eq=False)
class Scores:
    """Every score of a study as values, with the cards that say how to read them."""

    values: Mapping[Key, Mapping[int | None, Value]]
    cards: Mapping[str, Card]
    unit: str  # what an error is by: `dialogue`, or `item` where no row names its dialogue
    left_out: tuple[Unused, ...]
    missing: tuple[str, ...]  # sentences on scores that are not there
    conditions: frozenset[str] = frozenset()  # folders of conditions/ that scores were read from

    def perturbed(self, key: Key) -> bool:
        """Whether the scores were made under a condition that has a folder of its own."""
        return key.condition.partition(", ")[0] in self.conditions


class ScoreFile(NamedTuple):
    """One score table and the condition that its folder stands for; empty for clean scores."""

    name: str
    condition: str
    cards: Mapping[str, Card]
    batches: Batches
    clustered: bool


def find_score_files(folder: Path) -> tuple[list[Path], list[Unused]]:
    """The score files of a study folder, and other Parquet files with the reason why they are not read."""
    paths = sorted(folder.glob("*.parquet"), key=lambda path: (path.name not in OLD, path.name))
    score_files, others_why = [], []
    for path in [*paths, *sorted(folder.glob(f"{CONDITIONS}/*/*.parquet"))]:
        format_name = _read_metadata(path).get("format", "")
        if format_name == SCORES or (not format_name and path.name in OLD):
            score_files.append(path)
        else:
            why = (
                f"it holds {format_name}, not scores"
                if format_name
                else f"its metadata does not say format: {SCORES}; {IMPORT} adds it"
            )
            others_why.append(Unused(str(path.relative_to(folder)), why))
    return score_files, others_why


def card_files(folder: Path, *, but: str) -> list[tuple[str, dict[str, Card]]]:
    """The cards of every score file of a study but one, each with the name of its file."""
    paths = [path for path in find_score_files(folder)[0] if path.name != but]
    return [(str(path.relative_to(folder)), _read_cards(path)) for path in paths]


def read_study_scores(folder: Path) -> Scores | None:
    """All score files of a study folder; None where there is none."""
    paths, unused = find_score_files(folder)
    files = [_open_file(path, str(path.relative_to(folder)), _condition_of(path, folder)) for path in paths]
    return _sum_files(files, unused) if files else None


def open_scores(sources: Sequence[Any], needed: Sequence[str]) -> list[ScoreFile]:
    """Files, those of study folders, and tables in memory, to be read batch by batch; checked for `needed` columns."""
    files = []
    for source in sources:
        if isinstance(source, str | Path) and Path(source).is_dir():
            files += [
                _open_file(path, str(path.relative_to(source)), _condition_of(path, Path(source)), needed)
                for path in find_score_files(Path(source))[0]
            ]
        elif str(source).endswith(".parquet"):
            files.append(_open_file(Path(source), str(source), "", needed))
        else:
            name = str(source) if isinstance(source, str | Path) else "the scores"
            files.append(_file_of_tables(name, [read_scores([source], needed=needed)], {}))
    return files


def _file_of_tables(name: str, tables: Sequence[pa.Table], cards: Mapping[str, Card]) -> ScoreFile:
    """Tables that are read already."""
    names = {column for table in tables for column in table.column_names}

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        del wanted
        return chain.from_iterable(table.to_batches(max_chunksize=BATCH) for table in tables)

    return ScoreFile(name, "", cards, batches, "cluster" in names)


def scores_of(sources: Sequence[Any]) -> Scores:
    """The same from files or tables in memory, whose rows are taken together."""
    tables = [read_scores([source]) for source in sources]
    cards = join_cards(
        (str(source), _read_cards(Path(source))) for source in sources if str(source).endswith(".parquet")
    )
    return _sum_files([_file_of_tables("the scores", tables, cards)], [])


def _condition_of(path: Path, folder: Path) -> str:
    return path.parent.name if path.parent.parent == folder / CONDITIONS else ""


def _read_metadata(path: Path) -> dict[str, str]:
    metadata = _read_parquet(pq.read_schema, path).metadata or {}
    return {
        name.decode(): metadata[name].decode("utf-8", "replace") for name in metadata if name in (b"format", b"cards")
    }


def _read_cards(path: Path) -> dict[str, Card]:
    """The cards that a file carries."""
    metadata = _read_metadata(path)
    return cards_from(metadata["cards"], str(path)) if "cards" in metadata else {}


def _open_file(path: Path, name: str, condition: str, needed: Sequence[str] = NEEDED) -> ScoreFile:
    cards, schema = _read_cards(path), pq.read_schema(path)
    if absent := [column for column in needed if column not in schema.names]:
        raise InputError(f"{path}: column {', '.join(absent)} missing; a score table has {', '.join(needed)}.")
    texts = [
        column_field.name
        for column_field in schema
        if column_field.name in TEXTS and pa.types.is_string(column_field.type)
    ]

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(BATCH, columns=list(wanted)):
                if "item" in batch.schema.names and (empty := batch.column("item").null_count):
                    raise InputError(f"{path}: item is empty in {empty:,} rows or more; every score needs one.")
                yield _set_condition(batch, condition) if condition and "evaluator" in wanted else batch

    return ScoreFile(name, condition, cards, batches, "cluster" in schema.names)


def _set_condition(batch: pa.RecordBatch, condition: str) -> pa.RecordBatch:
    """The rows of conditions/NAME as rows of the condition NAME, with what else they say of it."""
    place = batch.schema.get_field_index("condition")
    conditions = [""] * len(batch) if place < 0 else batch.column(place).cast(pa.string()).fill_null("").to_pylist()
    column = pa.array([f"{condition}, {text}" if text and text != condition else condition for text in conditions])
    if place < 0:
        return pa.RecordBatch.from_arrays([*batch.columns, column], [*batch.schema.names, "condition"])
    return batch.set_column(place, "condition", column)


def _sum_files(files: Sequence[ScoreFile], unused: Sequence[Unused]) -> Scores:
    cards = {**BUILT_IN, **join_cards((file.name, file.cards) for file in files)}
    gaps = _all_gaps([gaps_of(file.batches) for file in files])
    values: ByRows = {}
    origin: dict[tuple[Key, int | None], str] = {}
    left_out = list(unused)
    for file in files:
        sums = summed(file.batches, cards, gaps)
        left_out += _joined_values(values, origin, sums.values, file.name)
        left_out += _list_uncounted(sums)
    left_out += [Unused(_say_key(key, seed), "none of its scores could be made") for key, seed in gaps.alone]
    left_out += [
        Unused(_say_key(scale, None), "no item has a score from every model")
        for scale in sorted(set(gaps.items) - {scale_of(key) for key in values})
    ]
    left_out += _drop_people(values)
    unit = "dialogue" if any(file.clustered for file in files) else "item"
    conditions = frozenset(file.condition for file in files if file.condition)
    return Scores(values, cards, unit, tuple(left_out), tuple(_say_missing(gaps)), conditions)


def _all_gaps(parts: Sequence[Gaps]) -> Gaps:
    """The gaps of all files: a scale may be spread over several."""
    every = Gaps()
    for gaps in parts:
        for key, reasons in gaps.reasons.items():
            every.reasons.setdefault(key, Counter()).update(reasons)
        for scale, items in gaps.items.items():
            every.items.setdefault(scale, set()).update(items)
        every.alone += gaps.alone
    return every


def _joined_values(
    values: ByRows, origin: dict[tuple[Key, int | None], str], added: ByRows, name: str
) -> Iterator[Unused]:
    """Add what a file holds; scores that stand in two files are used once, and refused where the files disagree."""
    again: Counter[str] = Counter()
    for key, seeds in added.items():
        for seed, value in seeds.items():
            if (first := origin.get((key, seed))) is not None:
                if not _are_same(values[key][seed], value):
                    raise InputError(
                        f"{first} and {name} both hold {_say_key(key, seed)}, and their scores differ. "
                        f"Keep one: move the other out of the study folder."
                    )
                again[first] += 1
                continue
            origin[key, seed] = name
            values.setdefault(key, {})[seed] = value
    for first, number in again.items():
        yield Unused(name, f"{number:,} of its models and tasks stand in {first} too, with the same scores")


def _list_uncounted(sums: Summed) -> Iterator[Unused]:
    """A line for each task of a model whose counts are not there, whichever its seeds."""
    seeds: dict[tuple[Key, str], list[int | None]] = {}
    for key, seed, why in sums.without:
        seeds.setdefault((key, why), []).append(seed)
    for (key, why), those in seeds.items():
        yield Unused(_say_key(key, those[0] if len(those) == 1 else None), why)


def _are_same(first: Value, second: Value) -> bool:
    return first.examples == second.examples and bool(np.isclose(first.value, second.value, rtol=1e-9, atol=1e-12))


def _say_key(key: Key, seed: int | None) -> str:
    """`probe AllSlots of hred seed 0 last`."""
    source = f"of {key.model}" + ("" if seed is None else f" seed {seed}") if key.model else ""
    return " ".join(filter(None, [key.evaluator, key.task, source, key.checkpoint, key.condition]))


def _drop_people(values: ByRows) -> Iterator[Unused]:
    """Rows that claim to be people's."""
    for key in [key for key in values if folded_name(key.evaluator) in PEOPLE]:
        del values[key]
        yield Unused(f"{key.evaluator} {key.task} of {key.model}", "what people say is read from votes.jsonl alone")


def _say_missing(gaps: Gaps) -> Iterator[str]:
    """How many scores are not there and why, in a sentence for each task."""
    for (evaluator, task), reasons in gaps.reasons.items():
        number = sum(reasons.values())
        items = set().union(*(lost for scale, lost in gaps.items.items() if scale[:2] == (evaluator, task)))
        why = ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common(5))
        were = "score is missing ({}) and enters" if number == 1 else "scores are missing ({}) and enter"
        consequence = "1 item is" if len(items) == 1 else f"{len(items):,} items are"
        yield f"{evaluator} {task}: {number:,} {were.format(why)} no mean" + (
            f"; {consequence} left out for every model, so that all are compared on the same items." if items else "."
        )


def read_scores(sources: Sequence[Any], *, needed: Sequence[str] = NEEDED) -> pa.Table:
    """All rows of the files, DataFrames or mappings, checked for the needed columns; other names are empty texts."""
    return pa.concat_tables([_checked_table(source, needed) for source in sources], promote_options="default")


def _checked_table(source: Any, needed: Sequence[str]) -> pa.Table:
    on_disk = isinstance(source, str | Path)
    table, name = (_table_of_file(Path(source)), source) if on_disk else (_table_in_memory(source), "scores")
    if absent := [column for column in needed if column not in table.column_names]:
        raise InputError(f"{name}: column {', '.join(absent)} missing; a score table has {', '.join(needed)}.")
    for column in NAMING:
        if column not in table.column_names:
            table = table.append_column(column, pa.array([""] * len(table)))
        elif table[column].null_count:  # as CSV gives an empty text
            table = table.set_column(table.column_names.index(column), column, table[column].fill_null(""))
    return table


def _table_of_file(path: Path) -> pa.Table:
    if path.suffix != ".parquet":
        return pa.table(dict(read_columns(path, TYPES, record="").arrays))
    return _read_parquet(pq.read_table, path)


def _read_parquet(read: Callable[[Path], Any], path: Path) -> Any:
    try:
        return read(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: there is no such file.") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}).") from error


def _table_in_memory(source: Any) -> pa.Table:
    columns = dict(columns_in_memory("scores", source, TYPES).arrays)
    if "stats" in source:
        columns["stats"] = pa.array(source["stats"], from_pandas=True)
    return pa.table(columns)
