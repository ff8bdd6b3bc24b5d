"""Our own votes on a scale as ratings: one row a response, under the name of the system that wrote it."""

from __future__ import annotations

from analysis.reading.systems import key_of, pairs_of, system_names
from dialogue.errors import InputError
from dialogue.tables.table import RawTable, cell_text, from_rows

SCORES_OF_SIDES = ("score_a", "score_b")


def scored_sides(table: RawTable) -> RawTable:
    """The table as it is, unless its rows rate both responses of pairs; votes that do not count are left out."""
    if not {"pair", "rater", *SCORES_OF_SIDES} <= set(table.names):
        return table
    path = table.path.parent / "pairs.jsonl"
    if not path.exists():
        raise InputError(
            f"{table.path} rates the responses a and b of pairs; put the pairs.jsonl of the study beside it."
        )
    pairs = pairs_of(path)
    names = system_names(pairs.values())
    rows, lines = [], []
    for number, (where, row) in enumerate(table.rows()):
        if cell_text(row["score_a"]) == "" or cell_text(row.get("counted", True)).lower() == "false":
            continue
        pair = pairs.get(cell_text(row["pair"]))
        if pair is None:
            raise InputError(f"{where}: {path} does not hold pair {row['pair']!r}. Give the pairs of these votes.")
        if pair.kind != "real":
            continue
        for side, name in zip((pair.a, pair.b), SCORES_OF_SIDES, strict=True):
            told = {"item": pair.pair, "dialogue": pair.dialogue or pair.item, "rater": row["rater"]}
            rows.append(
                {**told, "system": names[key_of(side)], "score": row[name], "question": row.get("question", "")}
            )
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no rating that counts.")
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)
