"""Responses of the user's own models: tables of any form, with whatever column names they have.

A table is read whole or refused, with the row and the next step; two responses that nothing tells apart are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialogue.corpora.examples import Example, examples
from dialogue.corpora.reading import Corpus
from dialogue.errors import InputError
from dialogue.files import from_json
from dialogue.records import Response
from dialogue.tables.reading import read_table
from generation.sampling import response_key

RESPONSE_FIELDS = ("item", "model", "seed", "checkpoint", "text", "logprob", "decoding", "draw")


def parse_columns(text: str) -> dict[str, str]:
    """`item=id,text=answer` as field -> column."""
    columns = dict(part.partition("=")[::2] for part in text.split(",") if part)
    if unknown := [name for name in columns if name not in RESPONSE_FIELDS]:
        raise InputError(
            f"--columns maps {', '.join(unknown)}, which is not a field of a response. "
            f"The fields are: {', '.join(RESPONSE_FIELDS)}."
        )
    return columns


def read_responses(path: Path, columns: Mapping[str, str], defaults: Mapping[str, Any]) -> list[Response]:
    """All responses of a table; every complaint names the row."""
    responses: list[Response] = []
    seen: dict[tuple[object, ...], str] = {}
    for where, row in _rows(path):
        values = {field: row.get(columns.get(field, field), defaults.get(field)) for field in RESPONSE_FIELDS}
        if values["text"] is None or values["item"] is None or values["model"] is None:
            missing = ", ".join(field for field in ("item", "model", "text") if values[field] is None)
            raise InputError(
                f"{where}: no {missing} here; the columns are {', '.join(map(str, row))}. "
                "Map them: --columns item=...,text=..., or give --model NAME for all rows."
            )
        response = _response(values, where)
        if (first := seen.setdefault(response_key(response), where)) != where:
            raise InputError(
                f"{where}: a second response of {response.model} to {response.item}, after {first}. Tell the two apart "
                "by model, seed, checkpoint, decoding or draw."
            )
        responses.append(response)
    if not responses:
        raise InputError(f"{path} holds no rows.")
    return responses


def refuse_strange_items(found: Sequence[Response], whole: Corpus, corpus: Path, table: Path) -> None:
    """Responses to contexts that the corpus does not hold would be left out of every pair without a word."""
    known = {one.item for split in ("train", "valid", "test") for one in examples(whole.split(split))}
    strange = list(dict.fromkeys(response.item for response in found if response.item not in known))
    if strange:
        shown, held = ", ".join(map(repr, strange[:5])), ", ".join(map(repr, sorted(known)[:3]))
        raise InputError(
            f"{table}: {len(strange)} of its {len({response.item for response in found})} items are not in {corpus}, "
            f"e.g. {shown}. The corpus has items such as {held} (dialogue:n, n = index of the answered utterance). "
            "Give the corpus of these responses (--corpus), or name the column with its ids: --columns item=..."
        )


def _response(values: dict[str, Any], where: str) -> Response:
    """One record; numbers may come as text, as CSV has them."""
    for field, kind in (("seed", int), ("logprob", float), ("draw", int)):
        if isinstance(values[field], str):
            try:
                values[field] = kind(values[field]) if values[field].strip() else None
            except ValueError:
                raise InputError(f"{where}: {field} is {values[field]!r}, which is not a number.") from None
    for field in ("item", "model", "checkpoint", "decoding"):
        values[field] = (
            str(values[field]) if values[field] is not None else {"checkpoint": "last"}.get(field, "unknown")
        )
    if values["draw"] is None:
        del values["draw"]
    return from_json(Response, values, where)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row with its place, without what it leaves empty."""
    for where, row in read_table(path).rows():
        yield where, {name: value for name, value in row.items() if value is not None}


def merge(earlier: Sequence[Response], new: Iterable[Response]) -> list[Response]:
    """Earlier responses with the new ones in place of those that they repeat."""
    return list(({response_key(r): r for r in earlier} | {response_key(r): r for r in new}).values())


def messages_of(example: Example) -> list[dict[str, str]]:
    """A context as chat messages: the one who answers is the assistant."""
    speaker = example.target.speaker
    return [
        {"role": "assistant" if turn.speaker == speaker else "user", "content": turn.text} for turn in example.context
    ]
