"""What systems answered, one file a system: rows of a prompt and a response, chat messages, batches of an API.

Answers to one context are joined by its id, or by the context itself where a file has no ids. A batch's output holds
no prompts, so the file of its requests may stand among the files: it adds contexts and no system.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seedvote.crowd.exchange.answer_tables import AnsweredContext, AnswerTable
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json
from seedvote.dialogue.importing.answer_rows import IDS, TEXTS, AnswerRow, read_answer_rows
from seedvote.dialogue.importing.chat_messages import ToolCalls
from seedvote.dialogue.records import Part, Utterance


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The rows of one system, and how many of its file gave no answer."""

    path: Path
    system: str
    rows: Sequence[AnswerRow]
    failed: int = 0

    @property
    def asks_only(self) -> bool:
        """Whether it holds prompts alone: the requests of a batch."""
        return not any(row.text for row in self.rows)


@dataclass(frozen=True, eq=False)
class JoinedAnswers:
    """The contexts that two systems or more answered, and what was left out."""

    table: AnswerTable
    remarks: tuple[str, ...] = field(default=())


def read_answer_file(path: Path, system: str = "", tool_calls: ToolCalls = "drop") -> AnswerFile:
    """One file; `system` is who answered, else the file's name says it."""
    rows, failed = read_answer_rows(path, tool_calls)
    if not rows:
        raise InputError(f"{path} holds no answers.")
    answer_file = AnswerFile(path, system or path.name.partition(".")[0], rows, failed)
    if not answer_file.asks_only and (empty := next((row for row in rows if not row.text), None)):
        raise InputError(
            f"{empty.where}: no answer here. Leave the row out or name its field {' or '.join(TEXTS[:3])}."
        )
    return answer_file


def join_answers(files: Sequence[AnswerFile]) -> JoinedAnswers:
    """Every context with the answers of all systems."""
    answering = [file for file in files if not file.asks_only]
    if twice := [name for name, number in Counter(file.system for file in answering).items() if number > 1]:
        raise InputError(f"Two files are named {twice[0]}. Say whose answers they hold: NAME={answering[0].path} ...")
    if len(answering) < 2:
        mute = next((f" {file.path} holds prompts and no answer." for file in files if file.asks_only), "")
        raise InputError(f"A comparison needs the answers of two systems: name two files, or a table with both.{mute}")
    by_id = all(row.name for file in files for row in file.rows)
    if not by_id and (lacking := next((row for file in answering for row in file.rows if not row.context), None)):
        if not lacking.name:
            raise InputError(f"{lacking.where}: neither an id ({', '.join(IDS[:3])}) nor a prompt says what was asked.")
        without = next(row for file in files for row in file.rows if not row.name)
        raise InputError(
            f"{lacking.where}: the id {lacking.name!r} alone says what was asked, and {without.where} has no id. Name "
            "the file of prompts too, or give every file ids."
        )
    contexts: dict[str, AnswerRow] = {}
    texts: dict[str, dict[str, str]] = {}
    parts: dict[str, dict[str, Sequence[Part]]] = {}
    for file in files:
        for row in file.rows:
            key = row.name if by_id else json.dumps([as_json(turn) for turn in row.context])
            _keep_context(contexts, key, row)
            if row.text:
                answers = texts.setdefault(key, {})
                if file.system in answers:
                    raise InputError(f"{row.where}: a second answer of {file.system} to {row.name or 'this prompt'}.")
                answers[file.system] = row.text
                if row.parts:
                    parts.setdefault(key, {})[file.system] = row.parts
    rows = [
        AnsweredContext(
            context.where,
            context.name if by_id else f"row {k}",
            _context(context),
            texts_of_system,
            parts=parts.get(key, {}),
        )
        for k, (key, texts_of_system) in enumerate(texts.items(), 1)
        if len(texts_of_system) > 1 and (context := contexts[key])
    ]
    if not rows:
        what = "id" if by_id else "prompt"
        raise InputError(
            f"{answering[0].path} and {answering[1].path} have no {what} in common, so nothing is compared."
        )
    table = AnswerTable(rows, {"id": "id" if by_id else "the prompt"}, tuple(file.system for file in answering))
    return JoinedAnswers(table, tuple(_left_out(files, texts)))


def _keep_context(contexts: dict[str, AnswerRow], key: str, row: AnswerRow) -> None:
    before = contexts.setdefault(key, row)
    if not before.context:
        contexts[key] = row
    elif row.context and row.context != before.context:
        raise InputError(f"{row.where}: another prompt for {row.name} than at {before.where}.")


def _context(row: AnswerRow) -> tuple[Utterance, ...]:
    if not row.context:
        raise InputError(
            f"{row.where}: no file says what was asked. The output of a batch holds answers alone: name the file of "
            "its requests among the files."
        )
    return row.context


def _left_out(files: Sequence[AnswerFile], texts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for file in files:
        if file.failed:
            yield f"Left out: {file.failed} rows of {file.path} that hold an error and no answer."
    if lone := sum(len(answers) < 2 for answers in texts.values()):
        yield f"Left out: {lone} contexts that only one system answered."
