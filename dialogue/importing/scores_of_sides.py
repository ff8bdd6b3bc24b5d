"""Scores of responses under their systems: two columns of scores a row, or a row a place, and spans of errors.

`score_a` belongs to `model_a`, and `score_left` to `model_left`. A rating under `left` is that of the system that stood
there. The errors that MQM marks in a text add up to one number for each system, item and rater.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dialogue.errors import InputError
from dialogue.importing.columns import TwoColumns, leaf_name, plain_name, system_columns, twins
from dialogue.importing.words import spoken
from dialogue.tables.table import RawTable

SIDES = ("system_a", "system_b")
SCORE_WORDS = {"score", "scores", "rating", "stars", "grade", "points", "likert", "quality", "rank"}
NAMES = ("system", "model", "position", "side", "response", "place")
WEIGHTS = {"critical": 10.0, "major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "no error": 0.0, "": 0.0}
MQM = {"system", "rater", "severity"}


def one_row_a_system(table: RawTable, stated: Mapping[str, str]) -> RawTable | None:
    """One row a score, where each row scores both responses; the errors of MQM as sums. None where it does not."""
    if {plain_name(name) for name in table.names} >= MQM and "score" not in table.names:
        return _summed_errors(table)
    if columns_of_systems := _scores_by_name(table):
        return _one_row_a_name(table, columns_of_systems)
    scores = [two for shared, two in twins(table.names) if set(shared) & SCORE_WORDS]
    systems = system_columns(table, {ours: theirs for ours, theirs in stated.items() if ours in SIDES})
    if systems is None or len(scores) != 1:
        return None
    (score,) = scores
    if score.kind != systems.kind:
        raise InputError(
            f"{table.path}: {score.a} and {score.b} are scores of {_kind(score)}, and {systems.a} and {systems.b} name "
            f"the systems by {_kind(systems)}. Name the systems of the scores: --columns system_a=...,system_b=..."
        )
    sides = [(systems.a, score.a), (systems.b, score.b)]
    names = [name for name in table.names if name not in (systems.a, systems.b, score.a, score.b, "system", "score")]
    order = [(row, side) for row in range(len(table)) for side in (0, 1)]
    columns: dict[str, list[object]] = {name: [table.columns[name][row] for row, _ in order] for name in names}
    columns["system"] = [table.columns[sides[side][0]][row] for row, side in order]
    columns["score"] = [table.columns[sides[side][1]][row] for row, side in order]
    if not {"item", "pair"} & set(names):
        columns["item"] = [f"row {row + 1}" for row, _ in order]
    elif "item" not in names:
        columns["item"] = columns["pair"]
    return RawTable(table.path, columns, (), table.notes, places=tuple(table.place(row) for row, _ in order))


def _scores_by_name(table: RawTable) -> dict[str, str]:
    """System -> its column, where each has a score under its name: Pearmut's `annotations.alpha.score`."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for name in table.names:
        if parts := re.fullmatch(r"(.*\.)?([^.]+)\.(score|rating)", name):
            groups.setdefault((parts[1] or "", parts[3]), {})[parts[2]] = name
    several = [columns for columns in groups.values() if len(columns) > 1]
    return several[0] if len(several) == 1 else {}


def _one_row_a_name(table: RawTable, columns_of_systems: Mapping[str, str]) -> RawTable:
    shared = [name for name in table.names if name not in columns_of_systems.values()]
    order = [(row, system) for row in range(len(table)) for system in columns_of_systems]
    columns: dict[str, list[object]] = {name: [table.columns[name][row] for row, _ in order] for name in shared}
    columns["system"] = [system for _, system in order]
    columns["score"] = [table.columns[columns_of_systems[system]][row] for row, system in order]
    if not {"item", "item_id", "id"} & set(shared):
        columns["item"] = [f"row {row + 1}" for row, _ in order]
    return RawTable(table.path, columns, (), table.notes, places=tuple(table.place(row) for row, _ in order))


def _kind(two: TwoColumns) -> str:
    return "places" if two.kind == "places" else "letters"


def with_systems_of_places(table: RawTable, stated: Mapping[str, str]) -> RawTable:
    """The table, with the systems in place of sides where a row scores what stood at one side."""
    plain = {plain_name(leaf_name(name)): name for name in table.names}
    name = stated.get("system") or next((plain[word] for word in NAMES if word in plain), "")
    words = table.values(name) if name in table.names else ()
    meant = {word: spoken(word) for word in words}
    if not words or not all(
        meaning_of_word is not None and meaning_of_word.kind in ("place", "letter")
        for meaning_of_word in meant.values()
    ):
        return table
    stated_systems = {ours: theirs for ours, theirs in stated.items() if ours in SIDES}
    if (
        "system" in stated
        and not stated_systems
        and all(meaning_of_word is not None and meaning_of_word.kind == "letter" for meaning_of_word in meant.values())
    ):
        return table  # whoever names the column says that these letters are systems
    systems = system_columns(table, stated_systems) if len(set(words)) == 2 else None
    kinds = {
        "places" if meaning_of_word and meaning_of_word.kind == "place" else "letters"
        for meaning_of_word in meant.values()
    }
    if systems is None or kinds != {systems.kind}:
        raise InputError(
            f"{table.path}: {name} holds sides ({', '.join(words[:4])}) and no systems, so a rating belongs to a place "
            "and nobody knows to whom. Name the columns of the two systems: --columns system_a=...,system_b=... If "
            f"these are the names of the systems: --columns system={name}"
        )
    cells = table.text(name)
    systems_by_side = table.text(systems.a), table.text(systems.b)
    who = [systems_by_side[meaning.side ^ systems.turned][row] if (meaning := meant.get(cell)) else ""
           for row, cell in enumerate(cells)]  # fmt: skip
    return table.with_columns(**{name: who})


def _summed_errors(table: RawTable) -> RawTable:
    """One row a system, item and rater of an MQM table: minus the weighted errors, so that more is better."""
    plain = {plain_name(name): name for name in table.names}
    item = next(
        (plain[word] for word in ("seg_id", "segment_id", "item", "globalsegid", "doc_id") if word in plain), ""
    )
    if not item:
        raise InputError(f"{table.path}: no column names the segment (seg_id; found: {', '.join(table.names)}).")
    document = plain.get("doc_id") or plain.get("doc") or ""
    sums: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], int] = {}
    columns = [table.text(plain[name]) for name in ("system", "rater", "severity")]
    items, documents = table.text(item), table.text(document) if document else [""] * len(table)
    for row, (system, rater, severity) in enumerate(zip(*columns, strict=True)):
        if severity.lower() not in WEIGHTS:
            raise InputError(
                f"{table.place(row)}: severity is {severity!r}, which is not one of {', '.join(filter(None, WEIGHTS))}."
            )
        key = system, f"{documents[row]}:{items[row]}", documents[row], rater
        sums[key] = sums.get(key, 0.0) - WEIGHTS[severity.lower()]
        first.setdefault(key, row)
    long: dict[str, Sequence[object]] = {
        "system": [key[0] for key in sums],
        "item": [key[1] for key in sums],
        "rater": [key[3] for key in sums],
        "score": list(sums.values()),
    }
    if document:
        long["dialogue"] = [key[2] for key in sums]
    notes = (*table.notes, f"{len(table):,} errors added up by segment: critical -10, major -5, minor -1")
    return RawTable(table.path, long, (), notes, places=tuple(table.place(row) for row in first.values()))
