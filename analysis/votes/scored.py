"""Our own votes on a scale, and ratings of response sets: one row a response, under the name of its system."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.votes.systems import key_of, pairs_of, system_names
from dialogue.errors import InputError
from dialogue.judges import judges_beside, whose
from dialogue.tables.table import RawTable, Row, cell_text, from_rows

SCORES_OF_SIDES = ("score_a", "score_b")
OF_SETS = {"set", "rater", "question", "system", "score", "rank", "of"}  # of ratings.jsonl


def scored_sides(table: RawTable) -> RawTable:
    """The table as it is, unless its rows rate both responses of pairs, or sets; what does not count is left out."""
    if set(table.names) >= OF_SETS:
        return _of_sets(table)
    if not {"pair", "rater", "choice", *SCORES_OF_SIDES} <= set(table.names):
        if {"pair", "rater", "choice", "rater_status"} <= set(table.names):
            raise InputError(
                f"{table.path} holds votes on pairs, no ratings or ranks: python -m analysis preference {table.path}"
            )
        return table
    path = table.path.parent / "pairs.jsonl"
    if not path.exists():
        raise InputError(
            f"{table.path} rates the responses a and b of pairs; put the pairs.jsonl of the study beside it."
        )
    pairs = pairs_of(path)
    names = system_names(pairs.values())
    rows, lines = [], []
    for number, (where, row) in enumerate(_of_people(table)):
        if cell_text(row["score_a"]) == "" or cell_text(row.get("counted", True)).lower() == "false":
            continue
        pair = pairs.get(cell_text(row["pair"]))
        if pair is None:
            raise InputError(f"{where}: {path} does not hold pair {row['pair']!r}. Give the pairs of these votes.")
        if pair.kind != "real":
            continue
        for side, name in zip((pair.a, pair.b), SCORES_OF_SIDES, strict=True):
            told = {"item": pair.pair, "dialogue": pair.dialogue or pair.item, "rater": row["rater"]}
            told["source"] = row.get("source", "")
            rows.append(
                {**told, "system": names[key_of(side)], "score": row[name], "question": row.get("question", "")}
            )
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no rating that counts.")
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)


def _of_sets(table: RawTable) -> RawTable:
    """Ratings and ranks of responses; those of one set belong together, and those of one context that stood alone."""
    rows, lines = [], []
    for number, (_, row) in enumerate(_of_people(table)):
        told = {name: cell_text(row.get(name, "")) for name in ("counted", "kind", "of", "set", "item", "dialogue")}
        if told["counted"].lower() == "false" or told["kind"] not in ("", "real"):
            continue
        item = told["item"] if told["of"] == "1" else told["set"]
        kept = {name: row[name] for name in ("rater", "system", "score", "rank", "question")}
        kept["source"] = row.get("source", "")
        rows.append({"item": item, "dialogue": told["dialogue"] or told["item"], **kept})
        lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no rating that counts.")
    return RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), table.notes)


def _of_people(table: RawTable) -> Iterator[Row]:
    """The rows, up to the first that a judge gave: a program's rating is no person's, whatever it says."""
    judges = judges_beside([table.path])
    for where, row in table.rows():
        if (why := whose(cell_text(row.get("source", "")), cell_text(row["rater"]), judges)) is not None:
            known = f" (its rater {why})" if why else ""
            raise InputError(
                f"{where}: this rating is a judge's{known}. Only people's are read here: leave its rows out."
            )
        yield where, row
