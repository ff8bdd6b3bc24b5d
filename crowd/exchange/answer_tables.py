"""Pairs to be judged from what two or more systems answered: in one table, or in one file a system.

A table has one row a context, or one row an answer. Files hold rows of a prompt and a response, chat messages, or
batches of an API; answers to one context are joined by its id, or by the context itself where a file has no ids. A
batch's output holds no prompts, so the file of its requests may stand among the files: it adds contexts and no system.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.files import as_json
from seedvote.dialogue.importing.answer_rows import IDS, PROMPTS, TEXTS, AnswerRow, read_answer_rows
from seedvote.dialogue.importing.chat_messages import (
    ReadContent,
    ToolCalls,
    holds_tools,
    merge_turns,
    read_content,
    read_message,
    role_of,
)
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.importing.reading import IGNORED, type_names
from seedvote.dialogue.records import Candidate, Choice, Pair, PairKind, Part, ResponseSet, Utterance
from seedvote.dialogue.tables.table import RawTable, cell_text
from seedvote.dialogue.validity import shown_key

KNOWN: Mapping[str, tuple[str, ...]] = {
    "id": IDS[1:],
    "context": PROMPTS,
    "kind": ("kind",),
    "answer": ("answer", "right"),
    "dialogue": ("dialogue", "dialogue_id", "conversation_id"),
    "system": ("system", "model"),
    "text": ("text", "response", "output", "reply"),
}
KINDS = ("real", "check", "control")
ROW = "number of the row"  # stands for the id of a context where the table has none


@dataclass(frozen=True, slots=True)
class AnsweredContext:
    """What the systems answered to one context."""

    where: str
    name: str
    context: Sequence[Utterance]
    texts: Mapping[str, str]  # system -> its response, in order
    kind: PairKind = "real"
    answer: str = ""  # of a check: the system, or a or b, that is right
    dialogue: str = ""
    parts: Mapping[str, Sequence[Part]] = field(
        default_factory=dict
    )  # system -> those of a response of more than words

    def candidate(self, system: str) -> Candidate:
        """The system's response as a side of a pair."""
        return Candidate(self.texts[system], system, parts=self.parts.get(system))


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The contexts of a table, by which columns they were read, and which columns were left alone."""

    rows: Sequence[AnsweredContext]
    columns: Mapping[str, str]
    systems: tuple[str, ...]
    unused: tuple[str, ...] = field(default=())


def answer_table(
    table: RawTable, stated: Mapping[str, str], systems: Sequence[str], tool_calls: ToolCalls = "drop"
) -> AnswerTable:
    """Every context with its answers; `systems` are the columns (or the names, one row an answer) to compare."""
    if unknown := [name for name in stated if name not in KNOWN]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(KNOWN)}.")
    names = _find_columns(table, stated)
    if not {"id", "system"} & names.keys() and "id" not in stated:  # a row is a context
        names["id"] = ROW
    for needed in ("id", "context"):
        if needed not in names:
            raise InputError(
                f"{table.path} has no column for {needed} (found: {', '.join(table.names)}). Name it: --columns "
                f"{needed}=..."
            )
    if names.get("id") == ROW:
        table = replace(table, columns={**table.columns, ROW: [f"row {k + 1}" for k in range(len(table))]})
    if "system" in names and "text" in names:
        rows = _from_long(table, names, systems, tool_calls)
    else:
        left = [name for name in table.names if name not in names.values() and name not in stated.values()]
        rows = _from_wide(table, names, _find_systems(table, systems, left), tool_calls)
    systems_found = tuple(dict.fromkeys(system for row in rows for system in row.texts))
    if len(systems_found) < 2:
        raise InputError(f"{table.path} holds answers of {len(systems_found)} system; a comparison needs two.")
    used = {*names.values(), *systems_found}
    return AnswerTable(rows, names, systems_found, tuple(name for name in table.names if name not in used))


def _find_columns(table: RawTable, stated: Mapping[str, str]) -> dict[str, str]:
    plain = {plain_name(name): name for name in table.names}
    columns = {}
    for ours, words in KNOWN.items():
        if ours in stated:
            if stated[ours] not in table.names and stated[ours] != IGNORED:
                raise InputError(f"{table.path} has no column {stated[ours]!r} (found: {', '.join(table.names)}).")
            columns[ours] = stated[ours]
        elif name := next((plain[word] for word in words if word in plain and plain[word] not in stated.values()), ""):
            columns[ours] = name
    return {ours: name for ours, name in columns.items() if name != IGNORED}


def _find_systems(table: RawTable, wanted: Sequence[str], left: Sequence[str]) -> Sequence[str]:
    """The columns with the answers: as asked, or the two that are left; of more the user chooses."""
    if missing := [name for name in wanted if name not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    if wanted:
        return wanted
    if not left:
        raise InputError(
            f"{table.path} has the answers of one system at most (its columns: {', '.join(table.names)}). Give a "
            "second file of answers to the same prompts, or a table with a column for each system."
        )
    if len(left) != 2:
        raise Unclear(
            f"{table.path}: which columns hold the systems' answers? Candidates: {', '.join(left) or 'none'}.",
            *({"--systems": f"{first},{second}"} for first, second in list(combinations(left, 2))[:3]),
        )
    return left


def _from_wide(
    table: RawTable, names: Mapping[str, str], systems: Sequence[str], tool_calls: ToolCalls
) -> list[AnsweredContext]:
    rows = []
    for where, row in table.rows():
        contents = {system: read_content(row[system], where, table.path.parent, tool_calls) for system in systems}
        texts = {system: content.text for system, content in contents.items()}
        if empty := [system for system, text in texts.items() if not text]:
            raise InputError(f"{where}: {empty[0]} is empty. Write what the system answered, or leave the row out.")
        context = _read_utterances(row[names["context"]], where, table.path.parent, tool_calls)
        rows.append(_read_context(where, row, names, contents, context))
    return _each_once(rows)


def _from_long(
    table: RawTable, names: Mapping[str, str], wanted: Sequence[str], tool_calls: ToolCalls
) -> list[AnsweredContext]:
    """One row an answer, gathered by the context's id."""
    gathered: dict[str, AnsweredContext] = {}
    for where, row in table.rows():
        system = cell_text(row[names["system"]]).strip()
        content = read_content(row[names["text"]], where, table.path.parent, tool_calls)
        text = content.text
        if wanted and system not in wanted:
            continue
        if not system or not text:
            raise InputError(f"{where}: {names['text' if system else 'system']} is empty.")
        context = _read_utterances(row[names["context"]], where, table.path.parent, tool_calls)
        answered = _read_context(where, row, names, {system: content}, context)
        first = gathered.setdefault(answered.name, answered)
        if first is not answered:
            if system in first.texts:
                raise InputError(f"{where}: a second answer of {system} to {answered.name}, after {first.where}.")
            if first.context != answered.context:
                raise InputError(f"{where}: another context for {answered.name} than at {first.where}.")
            cast(dict[str, str], first.texts)[system] = text
            if content.parts:
                cast(dict[str, Sequence[Part]], first.parts)[system] = content.parts
    if lone := [row for row in gathered.values() if len(row.texts) < 2]:
        raise InputError(f"{lone[0].where}: only {next(iter(lone[0].texts))} answered {lone[0].name}; two are needed.")
    return list(gathered.values())


def _each_once(rows: Sequence[AnsweredContext]) -> list[AnsweredContext]:
    texts_seen: dict[str, str] = {}
    for row in rows:
        if (first := texts_seen.setdefault(row.name, row.where)) != row.where:
            raise InputError(f"{row.where}: id {row.name!r} a second time, after {first}. Give every context its own.")
    return list(rows)


def _read_context(
    where: str,
    row: Mapping[str, Any],
    names: Mapping[str, str],
    contents: Mapping[str, ReadContent],
    context: tuple[Utterance, ...],
) -> AnsweredContext:
    fields = {ours: cell_text(row[name]).strip() for ours, name in names.items() if ours != "context"}
    kind = fields.get("kind") or "real"
    if kind not in KINDS:
        raise InputError(
            f"{where}: {names['kind']} is {kind!r}, which is not one of {', '.join(KINDS)}. If the column means "
            "something else, leave it out: --columns kind=-."
        )
    if not fields["id"]:
        raise InputError(f"{where}: {names['id']} is empty; every context needs a name.")
    if not context:
        raise InputError(f"{where}: {names['context']} is empty; a rater must see what was answered.")
    return AnsweredContext(
        where,
        fields["id"],
        context,
        {system: content.text for system, content in contents.items()},
        cast(PairKind, kind),
        fields.get("answer", ""),
        fields.get("dialogue", ""),
        {system: content.parts for system, content in contents.items() if content.parts},
    )


def _read_utterances(cell: Any, where: str, folder: Path, tool_calls: ToolCalls) -> tuple[Utterance, ...]:
    """A text is one utterance of the user; a list (also written as JSON in a cell) is a conversation."""
    if isinstance(cell, str) and cell.lstrip().startswith("[{"):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: the context begins as JSON and is none ({error}).") from error
    if not isinstance(cell, list):
        text = cell_text(cell).strip()
        return (Utterance("user", text),) if text else ()
    spoken: list[Utterance] = []
    for turn in cell:
        fields = turn if isinstance(turn, dict) else {}
        contents = read_message(fields, where, folder, tool_calls) if role_of(fields) else ()
        said = [Utterance(speaker, content.text, content.parts) for speaker, content in contents if content.text]
        if not said and not holds_tools(fields):
            raise InputError(f"{where}: an utterance is {str(turn)[:40]!r}; speaker (or role) and text are expected.")
        spoken += said
    return merge_turns(spoken)


def pairs_of_answers(answers: AnswerTable, good: str = "") -> list[Pair]:
    """Every two systems of every context; of checks only the one comparison whose right answer is known."""
    if good and good not in answers.systems:
        raise InputError(f"--good is {good!r}, which is not one of {', '.join(answers.systems)}.")
    pairs = []
    for row in answers.rows:
        contrasts = list(combinations(row.texts, 2))
        many = len(contrasts) > 1
        for first, second in contrasts if row.kind != "check" else contrasts[:1]:
            pairs.append(_make_pair(row, first, second, good, many))
    return pairs


def _make_pair(row: AnsweredContext, first: str, second: str, good: str, many: bool) -> Pair:
    return Pair(
        pair=f"{row.name}|{first}|{second}" if many else row.name,
        item=f"{row.dialogue or row.name}:{len(row.context)}",
        context=row.context,
        a=row.candidate(first),
        b=row.candidate(second),
        kind=row.kind,
        identical=shown_key(row.candidate(first)) == shown_key(row.candidate(second)),
        dialogue=row.dialogue or row.name,
        answer=_find_right_side(row, first, second, good) if row.kind == "check" else None,
        contrast=f"{first}-{second}",
    )


def _find_right_side(row: AnsweredContext, first: str, second: str, good: str) -> Choice:
    """Of a check: which side is right, by its `answer` or by `--good`."""
    right_system = row.answer or good
    meant = {first: "a", second: "b", "a": "a", "b": "b", "tie": "tie"}.get(right_system)
    if meant is None:
        raise InputError(
            f"{row.where}: a check needs its right answer ({first}, {second} or tie), and it is "
            f"{right_system or 'empty'!r}. Fill a column for it ({type_names([('answer', '...')])}), or say which "
            f"column is right in every check: --good {first}"
        )
    return cast(Choice, meant)


def sets_from_answers(answers: AnswerTable, good: str = "", *, alone: bool = False) -> list[ResponseSet]:
    """A set a row of all its systems, or one a system; of checks, the good system's response is the best, or high."""
    if good and good not in answers.systems:
        raise InputError(f"--good is {good!r}, which is not one of {', '.join(answers.systems)}.")
    if alone:
        return [_one_set(row, [name], good, f"{row.name}|{name}") for row in answers.rows for name in row.texts]
    return [
        _one_set(row, [name for name in answers.systems if name in row.texts], good, row.name) for row in answers.rows
    ]


def _one_set(row: AnsweredContext, systems: list[str], good: str, name: str) -> ResponseSet:
    responses = tuple(map(row.candidate, systems))
    return ResponseSet(
        set=name,
        item=f"{row.dialogue or row.name}:{len(row.context)}",
        context=row.context,
        responses=responses,
        kind=row.kind,
        identical=len({shown_key(response) for response in responses}) == 1 < len(responses),
        dialogue=row.dialogue or row.name,
        answer=_state_claim(row, systems, good) if row.kind == "check" else None,
    )


def _state_claim(row: AnsweredContext, systems: list[str], good: str) -> str:
    """What a check asks: the row's `answer`, a system or a claim such as best:0, else by `--good`."""
    right_system = row.answer or good
    if not right_system:
        raise InputError(
            f"{row.where}: a check needs its right answer: fill a column answer with the system whose response is best "
            "(or with a claim such as 0>1), or say which system's is in every check: --good SYSTEM"
        )
    if len(systems) == 1:
        return right_system if ":" in right_system else "high:0" if right_system == systems[0] else "low:0"
    return f"best:{systems.index(right_system)}" if right_system in systems else right_system


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
