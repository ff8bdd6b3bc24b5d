"""Long tables of scores: one row an observation, one column a factor; probe scores, metrics, votes or anyone's CSV.

Seeds live within their model: seed 0 of one architecture has nothing to do with seed 0 of another. So do draws within
their item: the second draw of false options for one context has nothing to do with that for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.analysis.votes.cautions import Voters, reading_of, told_of_reading, voters
from seedvote.analysis.votes.choices import FIRST, SECOND, Choices, told_of_sources
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.columns import (
    Columns,
    codes_of,
    columns_in_memory,
    columns_of,
    parquet_names,
    read_columns,
    read_elsewhere,
)
from seedvote.analysis.votes.ratings import scored_sides
from seedvote.analysis.votes.systems import UNKNOWN, Matches
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.cards import Better
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
FACTORS = ("model", "seed", "item", "rater")
GROUPS = ("evaluator", "task", "checkpoint", "condition")
NESTED = {"seed": "model", "draw": "item"}  # each item has its own draws of false options, or of responses


@dataclass(frozen=True, eq=False)
class LongTable:
    """One scale's observations: `factors` are codes (n,), `names` the levels' names."""

    name: str
    score: Floats
    factors: Mapping[str, Ints]
    names: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    voters: Voters | None = None  # of votes: who cast them
    read: tuple[str, ...] = ()  # of votes: how their table was read, and what was left out
    reading: Mapping[str, Any] | None = None  # the same for programs
    title: str = ""  # as tables and figures show it, where it is not the name
    better: Better = "higher"  # which level leads
    alone: frozenset[str] = frozenset()  # factors without interactions: few votes share a dialogue and a rater


def read_long(path: Path, *, score: str = "score", factors: Sequence[str] = ()) -> list[LongTable]:
    """One table for each evaluator, task, checkpoint and condition of the file, or for the file itself."""
    wanted = _wanted_columns(score, factors)
    table = _read_codes(path, wanted) if path.suffix == ".parquet" else read_columns(path, wanted, record="")
    return _make_tables(table, score, factors)


def _read_codes(path: Path, wanted: Mapping[str, pa.DataType]) -> Columns:
    """The wanted columns of a Parquet file, names as codes: millions of rows repeat a few thousand names."""
    names = parquet_names(path)
    columns = [name for name in names if name in wanted]
    try:
        with pq.ParquetFile(path, read_dictionary=[name for name in columns if wanted[name] == pa.string()]) as file:
            table = file.read(columns=columns)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}).") from error
    texts = {name for name in columns if pa.types.is_dictionary(table.schema.field(name).type)}
    numbers = columns_of(path, table.select([name for name in columns if name not in texts]), wanted)
    return Columns(path, {**numbers.arrays, **{name: table[name].unify_dictionaries() for name in texts}}, names)


def long_from_ratings(path: Path, *, factors: Sequence[str] = (), question: str = "") -> list[LongTable]:
    """The ratings.jsonl of a study of response sets: one table a question on a scale, systems as models."""
    rows = [row for _, row in scored_sides(read_table(path)).rows() if question in ("", row["question"])]
    rated = [row for row in rows if cell_text(row["score"])]
    if not rated:
        option = f" --question {question}" if question else ""
        ranked = (
            f"{path} holds ranks. Those of one ranking always add to the same sum, so neither items nor raters vary in "
            f"them: python -m analysis ranks {path}{option}"
        )
        raise InputError(ranked if rows else read_elsewhere(path))
    columns: dict[str, list[Any]] = {"task": [], "model": [], "item": [], "rater": [], "score": []}
    for row in rated:
        cells = (row["question"], row["system"], row["item"], row["rater"], float(row["score"]))
        for column, value in zip(columns.values(), cells, strict=True):
            column.append(value)
    notes = tuple(told_of_sources([row["source"] for row in rated]))
    return [replace(long, warnings=(*notes, *long.warnings)) for long in long_from_columns(columns, factors=factors)]


def long_from_columns(table: Any, *, score: str = "score", factors: Sequence[str] = ()) -> list[LongTable]:
    """The same from a mapping of columns or a DataFrame."""
    return _make_tables(columns_in_memory("scores", table, _wanted_columns(score, factors)), score, factors)


def _wanted_columns(score: str, factors: Sequence[str]) -> dict[str, pa.DataType]:
    return {name: pa.string() for name in (*GROUPS, "reason", *(factors or FACTORS))} | {score: pa.float64()}


def _make_tables(columns: Columns, score: str, factors: Sequence[str]) -> list[LongTable]:
    path = columns.path
    if score not in columns.arrays:
        raise InputError(
            f"{path} has no column {score!r} (found: {', '.join(columns.found)}). "
            "Name it: --score NAME; of a file of votes, --score tie or --score net."
        )
    if missing := [name for name in factors if name not in columns.arrays]:
        raise InputError(f"{path} has no column {missing[0]!r} (found: {', '.join(columns.found)}).")
    used = [name for name in (factors or FACTORS) if name in columns.arrays]
    values = columns.arrays[score].to_numpy(zero_copy_only=False)
    empty = {"score": ~np.isfinite(values), **{name: np.asarray(columns.arrays[name].is_null()) for name in used}}
    complete = ~np.any(list(empty.values()), axis=0)
    warnings = tuple(
        f"{rows.sum()} rows have no {name} and are left out{_say_reasons(columns, rows) if name == 'score' else ''}."
        for name, rows in empty.items()
        if rows.any()
    )
    keys = [name for name in GROUPS if name in columns.arrays and name not in used]
    labels, label = _group_rows([columns.arrays[name] for name in keys], len(values))
    tables = []
    for name in sorted(set(labels)):
        rows = np.flatnonzero(
            complete & np.isin(label, [k for k, label_name in enumerate(labels) if label_name == name])
        )
        table = _make_table(name or path.stem, values[rows], {n: columns.arrays[n] for n in used}, rows, warnings)
        if table.factors:
            tables.append(table)
    if not tables:
        raise InputError(f"{path} has no scores for two levels of any of {', '.join(used or FACTORS)}.")
    return tables


def _say_reasons(table: Columns, rows: NDArray[np.bool_]) -> str:
    """Why scores are not there, where the table says so, the most frequent reason first."""
    if "reason" not in table.arrays:
        return ""
    texts = table.arrays["reason"].take(pa.array(np.flatnonzero(rows))).fill_null("").to_pylist()
    counts = Counter(text or "no reason given" for text in texts).most_common(5)
    return f" ({', '.join(f'{text} {number:,}' for text, number in counts)})"


def _group_rows(columns: Sequence[Any], n: int) -> tuple[list[str], Ints]:
    """The groups' names, e.g. `probe IsMultiTopic best_bleu test`, and which of them each row is in."""
    code, parts = np.zeros(n, np.int64), [[""]]
    for column in columns:
        codes, names = codes_of(column)
        joint = code * (len(names) + 1) + codes + 1  # -1: the row names none
        joint_codes, code = np.unique(joint, return_inverse=True)
        known = ["", *names]
        parts = [[*parts[k // len(known)], known[k % len(known)]] for k in joint_codes.tolist()]
    return [" ".join(filter(None, names)) for names in parts], np.asarray(code, np.int64)


def _make_table(
    name: str, score: Floats, columns: Mapping[str, Any], rows: Ints, warnings: tuple[str, ...]
) -> LongTable:
    factors, names = {}, {}
    for factor, column in columns.items():
        codes, levels = codes_of(column.take(pa.array(rows)))
        if len(levels) > 1:
            factors[factor], names[factor] = codes.astype(np.int64), levels
    return LongTable(name, score, factors, names, warnings)


def long_from_votes(matches: Matches, scale: str, *, named: bool = True, factors: Sequence[str] = ()) -> LongTable:
    """Votes as ties (0 or 1) or net preference (+1, -1, 0): factors contrast (where several), pair and rater.

    Where pairs share dialogues, or contexts, these are a factor too, by the rule of clusters. `named` says whether the
    systems are known; `factors` keeps only those given.
    """
    votes = matches.votes
    turned = np.where(matches.a > matches.b, -1.0, 1.0)
    score = votes.tie.astype(np.float64) if scale == "tie" else net_scores(votes.choice) * turned
    first, second = np.minimum(matches.a, matches.b), np.maximum(matches.a, matches.b)
    contrasts, contrast = np.unique(first * len(matches.systems) + second, return_inverse=True)
    systems = matches.systems
    names = {"contrast": tuple(f"{systems[k // len(systems)]} {systems[k % len(systems)]}" for k in contrasts)}
    codes_by = {"contrast": contrast} if len(contrasts) > 1 else {}
    named_as = {"dialogue": "dialogue", "item": "context"}
    wide = [(named_as[name], codes, None) for name, codes in clusters_of(votes).items() if name in named_as]
    for name, codes, known in (*wide, ("pair", votes.pair, votes.pairs), ("rater", votes.rater, votes.raters)):
        if codes is not None:
            levels, codes_by[name] = np.unique(codes, return_inverse=True)
            names[name] = tuple(map(str, levels) if known is None else (known[k] for k in levels))
    if unknown := [name for name in factors if name not in codes_by]:
        raise InputError(f"There is no factor {unknown[0]!r}; votes have {', '.join(codes_by)}.")
    chosen = {name: codes_by[name] for name in factors or codes_by}
    warnings = votes.warnings if named or scale == "tie" else (*votes.warnings, UNKNOWN)
    name = "ties" if scale == "tie" else "net preference"
    lines, reading = tuple(told_of_reading(votes)), reading_of(votes, systems if named else ())
    alone = frozenset(name for name, _, _ in wide)
    return LongTable(name, score, chosen, names, warnings, voters(votes), lines, reading, alone=alone)


def long_from_choices(choices: Choices) -> Iterator[LongTable]:
    """People's answers to questions in points, a table a corpus and metric: factors dialogue, question and rater."""
    corpora = list(dict.fromkeys(question.corpus for question in choices.questions))
    for corpus in corpora:
        part = choices.select(choices.corpus(corpus))
        wide = clusters_of(part).get("dialogue") if len(part) else None
        columns = {"dialogue": wide, "question": part.pair, "rater": part.rater}
        several = {name: np.unique(codes, return_inverse=True) for name, codes in columns.items() if codes is not None}
        several = {name: levels for name, levels in several.items() if len(levels[0]) > 1}
        for metric in (FIRST, SECOND)[: 1 + choices.second] if several else ():
            name = f"people's choices: {metric}" + (f", {corpus}" if len(corpora) > 1 else "")
            yield LongTable(
                name,
                100 * part.hits[metric],
                {factor: codes for factor, (_, codes) in several.items()},
                {factor: tuple(map(str, levels_held)) for factor, (levels_held, _) in several.items()},
                (*told_of_sources(choices.sources), *choices.notes),
                alone=frozenset({"dialogue"}),
            )
