"""Argilla's records: nested as `to_json` writes them, flat, or as its older version put them on the hub.

Every question of a record has a list of responses, one a person; suggestions of a model are no votes and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialogue.tables.table import RawTable, Row, from_rows

ANSWER = "answer."
RESPONSES = ".responses"


def one_row_a_person(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """One row a record and person."""
    rows = [one for where, row in table.rows() for one in _people(where, row)]
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _people(where: str, record: Mapping[str, Any]) -> Iterator[Row]:
    shown = {k: v for k, v in record.items() if k not in ("fields", "metadata", "responses", "suggestions", "vectors")}
    shown |= {**(record.get("metadata") or {}), **(record.get("fields") or {})}
    people: dict[str, dict[str, Any]] = {}
    for question, responses in _questions(record).items():
        for number, response in enumerate(responses):
            who = str(response.get("user_id") or f"response {number + 1}")
            person = people.setdefault(who, {"user_id": response.get("user_id")})
            person["response_status"] = response.get("status") or "submitted"
            person[f"{ANSWER}{question}"] = response.get("value")
    for who, answers in people.items():
        yield f"{where}, {who}", {**shown, **answers}


def _questions(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Question -> its responses, from any of the three spellings."""
    if isinstance(nested := record.get("responses"), dict):
        return {name: list(responses or []) for name, responses in nested.items()}
    found = {}
    for name, value in record.items():
        if name.endswith(RESPONSES):
            people, states = (record.get(f"{name}.{part}") or [] for part in ("users", "status"))
            found[name.removesuffix(RESPONSES)] = _side_by_side(value or [], people, states)
        elif isinstance(value, list) and value and all(isinstance(one, dict) and "user_id" in one for one in value):
            found[name] = value
        elif isinstance(value, dict) and {"user_id", "value"} <= value.keys():
            found[name] = _side_by_side(value["value"], value["user_id"], value.get("status") or [])
    return found


def _side_by_side(values: list[Any], people: list[Any], states: list[Any]) -> list[Mapping[str, Any]]:
    return [
        {"value": value, "user_id": people[k] if k < len(people) else None,
         "status": states[k] if k < len(states) else None}
        for k, value in enumerate(values)
    ]  # fmt: skip


def argilla_choice(name: str, _value: Any) -> str | None:
    """Every question that people answered."""
    return name if name.startswith(ANSWER) else None


def known_argilla(names: Iterable[str]) -> bool:
    """Whether these columns are Argilla's."""
    held = set(names)
    return {"fields", "responses", "metadata"} <= held or any(f"{name}.users" in held for name in held)
