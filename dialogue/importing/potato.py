"""Potato's files: its tables and lines, or the annotation_output folder with what everybody saw."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialogue.errors import InputError
from dialogue.files import read_json
from dialogue.importing.answers import flat
from dialogue.tables.table import RawTable, Row, from_rows


def with_labels(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """A table as it is; of lines the answers under `labels` as columns."""
    if "labels" not in table.names:
        return table
    rows = [{**row, **flat(row.get("labels") or {})} for _, row in table.rows()]
    return replace(table, columns=from_rows(table.path, rows).columns)


def read_folder(folder: Path, columns: Mapping[str, str]) -> RawTable:
    """The annotation_output folder with everybody's state, the only place of Potato's times and orders."""
    rows = list(_potato_states(folder, columns))
    return from_rows(folder, [row for _, row in rows], (), [where for where, _ in rows])


def _potato_states(folder: Path, columns: Mapping[str, str]) -> Iterator[Row]:
    """annotation_output/*/user_state.json: the only place where Potato keeps time and the order of the two sides."""
    files = sorted(folder.glob("*/user_state.json"))
    if not files:
        raise InputError(f"{folder} has no */user_state.json, which Potato's annotation_output folder has.")
    for path in files:
        state = read_json(path)
        orders = state.get("instance_id_to_presentation_order", {})
        for item, labels in state.get("instance_id_to_label_to_value", {}).items():
            answers = _potato_labels(labels)
            schema = columns.get("choice", "").partition(".")[0] or next(iter(answers), "").partition(".")[0]
            row: dict[str, Any] = {"instance_id": item, "user_id": state.get("user_id", path.parent.name), **answers}
            row |= _potato_times(state.get("instance_id_to_behavioral_data", {}).get(item, {}))
            order = orders.get(item, {}).get(schema)
            yield f"{path}: {item}", row | ({"left": json.dumps(order)} if order is not None else {})


def _potato_labels(labels: Any) -> dict[str, Any]:
    """Stored either as `{schema: {label: value}}` or as a list of `[{"schema", "name"}, value]`."""
    if isinstance(labels, dict):
        return flat({schema: one.get("labels", one) for schema, one in labels.items()})
    return {f"{label['schema']}.{label['name']}": value for label, value in labels}


def _potato_times(behaviour: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if behaviour.get("session_end") is not None:
        known["submitted"] = behaviour["session_end"]
    if behaviour.get("total_time_ms") is not None:
        known["seconds"] = behaviour["total_time_ms"] / 1000
    return known


def dotted_choice(name: str, _value: Any) -> str | None:
    """Potato's `schema.label`, without its own bookkeeping (`schema._...`)."""
    return name.partition(".")[0] if "." in name and "._" not in name else None


def known_potato(names: Iterable[str]) -> bool:
    """Whether these columns are Potato's."""
    return {"instance_id", "user_id"} <= set(names)
