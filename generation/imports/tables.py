"""Responses of the user's own models: tables of any form, with whatever column names they have.

A table is read whole or refused, with the row and the next step; two responses that nothing tells apart are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Response
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.validity import from_json
from seedvote.generation.same_corpus import response_key

RESPONSE_FIELDS = ("item", "model", "seed", "checkpoint", "text", "logprob", "decoding", "draw")
MISSING_WORDS = frozenset({"none", "nan", "null", "na", "n/a", "#n/a", "<na>", "nil"})


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
    places: dict[tuple[object, ...], str] = {}
    for where, row in _iterate_rows(path):
        values = {field: row.get(columns.get(field, field), defaults.get(field)) for field in RESPONSE_FIELDS}
        if values["text"] is None or values["item"] is None or values["model"] is None:
            missing = ", ".join(field for field in ("item", "model", "text") if values[field] is None)
            raise InputError(
                f"{where}: no {missing} here; the columns are {', '.join(map(str, row))}. "
                "Map them: --columns item=...,text=..., or give --model NAME for all rows."
            )
        response = _make_response(values, where)
        if (first := places.setdefault(response_key(response), where)) != where:
            raise InputError(
                f"{where}: a second response of {response.model} to {response.item}, after {first}. Tell the two apart "
                "by model, seed, checkpoint, decoding or draw."
            )
        responses.append(response)
    if not responses:
        raise InputError(f"{path} holds no rows.")
    return responses


def settle_missing_words(
    responses: Sequence[Response], table: Path, choice: str | None
) -> tuple[list[Response], list[str]]:
    """`None`, `nan` and their like are what programs write for no response, and what a person may say: asked."""
    words = Counter(response.text.strip() for response in responses if _is_missing_word(response.text))
    if not words or choice == "keep":
        return list(responses), []
    count, listed = words.total(), ", ".join(repr(word) for word in words)
    if choice is None:
        raise InputError(
            f"{table}: {count} of {len(responses)} responses are only {listed}, which programs write where there is no "
            "response. Leave these rows out: --missing-words drop. They are what the system said: --missing-words keep."
        )
    kept_responses = [response for response in responses if not _is_missing_word(response.text)]
    if not kept_responses:
        raise InputError(f"{table}: every response is only {listed}, so --missing-words drop leaves none.")
    return kept_responses, [f"{count} of {len(responses)} rows are left out: their text is only {listed}."]


def _is_missing_word(text: str) -> bool:
    return text.strip().lower() in MISSING_WORDS


def refuse_other_responses(earlier: Iterable[Response], new: Iterable[Response], table: Path) -> None:
    """Refuse a table that would mix with what the study holds of the same seed, checkpoint, decoding and draw."""
    before, after = _texts_by_version(earlier), _texts_by_version(new)
    for version in before.keys() & after.keys():
        earlier_texts, brought = before[version], after[version]
        if earlier_texts == brought:
            continue
        changed = sum(earlier_texts[item] != brought[item] for item in earlier_texts.keys() & brought.keys())
        model, seed, checkpoint, decoding, draw = version
        version_name = f"seed {seed}, checkpoint {checkpoint}, decoding {decoding}" + (f", draw {draw}" if draw else "")
        raise InputError(
            f"{table}: the study holds other responses of {model} ({version_name}): {changed} of its "
            f"{len(earlier_texts)} differ here, "
            f"{len(earlier_texts.keys() - brought.keys())} are missing and "
            f"{len(brought.keys() - earlier_texts.keys())} are new. "
            "Together they would be two systems under one name. Give this one a name of its own (--model), or let it "
            "take the earlier one's place: --replace."
        )


def _texts_by_version(responses: Iterable[Response]) -> dict[tuple[object, ...], dict[object, str]]:
    """The text to each item, by what tells one system's sets of responses apart."""
    texts: dict[tuple[object, ...], dict[object, str]] = {}
    for response in responses:
        *version, item = response_key(response)
        texts.setdefault(tuple(version), {})[item] = response.text
    return texts


def refuse_strange_items(responses: Sequence[Response], corpus: Corpus, corpus_folder: Path, table: Path) -> None:
    """Responses to contexts that the corpus does not hold would be left out of every pair without a word."""
    known = {example.item for split in ("train", "valid", "test") for example in iterate_examples(corpus.split(split))}
    strange = list(dict.fromkeys(response.item for response in responses if response.item not in known))
    if strange:
        samples, corpus_samples = ", ".join(map(repr, strange[:5])), ", ".join(map(repr, sorted(known)[:3]))
        raise InputError(
            f"{table}: {len(strange)} of its {len({response.item for response in responses})} items are not in "
            f"{corpus_folder}, e.g. {samples}. The corpus has items such as {corpus_samples} (dialogue:n, n = index of "
            "the answered utterance). "
            "Give the corpus of these responses (--corpus), or name the column with its ids: --columns item=..."
        )


def _make_response(values: dict[str, Any], where: str) -> Response:
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


def _iterate_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row with its place, without what it leaves empty."""
    for where, row in read_table(path).rows():
        yield where, {name: value for name, value in row.items() if value is not None}


def merge_responses(earlier: Sequence[Response], new: Iterable[Response]) -> list[Response]:
    """Earlier responses with the new ones in place of those that they repeat."""
    return list(({response_key(r): r for r in earlier} | {response_key(r): r for r in new}).values())


def messages_of(example: Example) -> list[dict[str, str]]:
    """A context as chat messages: the one who answers is the assistant."""
    speaker = example.target.speaker
    return [
        {"role": "assistant" if turn.speaker == speaker else "user", "content": turn.text} for turn in example.context
    ]
