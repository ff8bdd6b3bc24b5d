"""Candidate sets of others as questions: MuTual's JSON, ParlAI's text, and tables.

A set whose answer is outside its options, or that has fewer than two, is refused with its place. Sets in which two
options read the same are left out and counted, because nobody could answer them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Option, Question, Utterance
from seedvote.dialogue.tables.reading import decode_text, read_delimited, unpack_file
from seedvote.dialogue.tables.table import RawTable, cell_text
from seedvote.dialogue.tokens import normalize
from seedvote.dialogue.validity import FORMATS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPOKEN = re.compile(r"(?<!\S)([mf]) ?: ", re.I)  # MuTual's speakers; some editions write them large
BEGINNING = 80  # characters of a context; those that share them are taken for one dialogue
CONTEXT = ("context", "article", "history", "dialogue_history")
OPTIONS = ("options", "candidates", "label_candidates")
ANSWER = ("answer", "answers", "label", "correct")


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """One set as it was found."""

    where: str
    name: str
    context: tuple[Utterance, ...]
    options: tuple[str, ...]
    answer: Any  # index, letter or text
    dialogue: str = ""


@dataclass(frozen=True)
class BroughtSets:
    """The questions, and how many sets were left out for which reason."""

    questions: tuple[Question, ...]
    left: Mapping[str, int]


def read_candidate_sets(path: Path, *, first: int = 0, versions: int = 1) -> BroughtSets:
    """Questions from others' sets; `first` is the number that the file gives the first option."""
    questions: list[Question] = []
    left: Counter[str] = Counter()
    names: dict[str, str] = {}
    for candidates in candidate_sets(path):
        plain = [normalize(text) for text in candidates.options]
        answer = _find_answer(candidates, first)
        if len(candidates.options) < 2:
            raise InputError(f"{candidates.where}: {len(candidates.options)} option; a question needs two or more.")
        if names.setdefault(candidates.name, candidates.where) != candidates.where:
            raise InputError(
                f"{candidates.where}: a second question {candidates.name!r}, after {names[candidates.name]}. Rename "
                "one."
            )
        if not all(plain):
            left["an option has no text"] += 1
        elif len(set(plain)) < len(plain):
            left["two options read the same"] += 1
        else:
            questions.append(
                _as_question(candidates, answer, 1 + len(questions) % versions, path.stem.partition(".")[0])
            )
    if not questions:
        raise InputError(f"{path} holds no question that could be asked.")
    return BroughtSets(tuple(questions), left)


def _as_question(candidates: CandidateSet, answer: int, version: int, corpus: str) -> Question:
    spoken = SPOKEN.match(candidates.options[answer])
    last = candidates.context[-1].speaker
    other_speakers = [turn.speaker for turn in candidates.context if turn.speaker != last]
    speaker = spoken[1].lower() if spoken else other_speakers[-1] if other_speakers else "system"
    begins = " ".join(turn.text for turn in candidates.context)[:BEGINNING]
    return Question(
        question=candidates.name,
        item=candidates.name,
        context=candidates.context,
        options=[Option(text) for text in candidates.options],
        answer=answer,
        dialogue=candidates.dialogue or hashlib.sha256(begins.encode()).hexdigest()[:12],
        corpus=corpus,
        version=version,
        extra={"speaker": speaker, "draw": 0},
    )


def _find_answer(candidates: CandidateSet, first: int) -> int:
    """The index of the true option, from its number, its letter or its text."""
    answer, k = candidates.answer, len(candidates.options)
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, list):
        raise InputError(f"{candidates.where}: {len(answer)} options are said to be true; a question has one.")
    text = cell_text(answer).strip()
    if len(text) == 1 and text.upper() in LETTERS:
        number = LETTERS.index(text.upper())
    elif re.fullmatch(r"-?\d+", text):
        number = int(text) - first
    elif text in candidates.options:
        number = candidates.options.index(text)
    else:
        raise InputError(
            f"{candidates.where}: the answer is {text[:40]!r}, which is no option of {k}, no letter and no number of "
            "one."
        )
    if not 0 <= number < k:
        hint = " If the file counts from 1, add --count-from 1." if first == 0 and number == k else ""
        raise InputError(
            f"{candidates.where}: the answer is {text!r}, and there are {k} options from {first} on.{hint}"
        )
    return number


def candidate_sets(path: Path) -> Iterator[CandidateSet]:
    """The sets of a file, or of a folder of JSON files as MuTual has them."""
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".txt", ".json"))
        if not files:
            raise InputError(f"{path} has no .txt or .json file.")
        for file in files:
            yield _from_json(json_of(decode_text(file, unpack_file(file))[0], str(file)), str(file), file.stem)
        return
    text, notes = decode_text(path, unpack_file(path))
    begins = text.lstrip()[:1]
    if begins == "{":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                value = json_of(line, f"{path}:{number}")
                if number == 1 and value.get("format") in FORMATS.values():
                    raise InputError(
                        f"{path} is a file of {value['format']} of ours. Copy it to STUDY/questions.jsonl."
                    )
                yield _from_json(value, f"{path}:{number}", f"{path.stem}-{number}")
    elif _is_parlai(text):
        yield from _from_parlai(text, path)
    else:
        yield from _from_table(read_delimited(path, text, notes))


def json_of(text: str, where: str) -> dict[str, Any]:
    """One JSON object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not a JSON object ({error.msg}). The file may be cut off.") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: found {text[:40]!r}; a JSON object is expected.")
    return value


def _from_json(value: Mapping[str, Any], where: str, name: str) -> CandidateSet:
    context, options, answer = (_first_value(value, names, where) for names in (CONTEXT, OPTIONS, ANSWER))
    if not isinstance(options, list) or not all(isinstance(text, str) for text in options):
        raise InputError(f"{where}: options is {str(options)[:40]!r}; a list of texts is expected.")
    turns = _read_turns(context, where)
    return CandidateSet(
        where, str(value.get("id", name)), turns, tuple(options), answer, str(value.get("dialogue") or "")
    )


def _first_value(value: Mapping[str, Any], names: Sequence[str], where: str) -> Any:
    for name in names:
        if value.get(name) is not None:
            return value[name]
    raise InputError(f"{where}: none of {', '.join(names)} here; found {', '.join(map(str, value)) or 'nothing'}.")


def _read_turns(context: Any, where: str) -> tuple[Utterance, ...]:
    """The turns of a context, whatever its form; a text keeps every word that it has."""
    if isinstance(context, list):
        parts = [part.get("text", "") if isinstance(part, Mapping) else str(part) for part in context]
        speakers = [part.get("speaker") if isinstance(part, Mapping) else None for part in context]
    else:
        parts, speakers = _cut_text(str(context)), []
    turns = []
    for k, text in enumerate(parts):
        spoken = SPOKEN.match(text)
        speaker = (speakers[k] if speakers else None) or (
            spoken[1].lower() if spoken else ("user", "system")[(len(parts) - 1 - k) % 2]
        )
        turns.append(Utterance(str(speaker), text.strip()))
    if not any(turn.text for turn in turns):
        raise InputError(f"{where}: the context is empty.")
    return tuple(turn for turn in turns if turn.text)


def _cut_text(text: str) -> list[str]:
    """A context in one text, cut where another one begins to speak."""
    if "__eot__" in text:
        return [part.replace("__eou__", " ") for part in text.split("__eot__") if part.strip()]
    if SPOKEN.match(text):
        starts = [match.start() for match in SPOKEN.finditer(text)]
        return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    return text.replace("\\n", "\n").split("\n")


def _is_parlai(text: str) -> bool:
    line = text.lstrip().partition("\n")[0]
    return bool(re.match(r"\d+ [^\t]*\t[^\t]*\t[^\t]*\t", line)) or ("text:" in line and "label_candidates:" in line)


def _from_parlai(text: str, path: Path) -> Iterator[CandidateSet]:
    """Lines of `N text TAB label TAB reward TAB a|b`, or of `text:.. TAB labels:.. TAB label_candidates:a|b`."""
    history: list[Utterance] = []
    episode, ended = 0, True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        utterance, label, candidates, begins, ends = _parlai_line(line, where, ended)
        if begins:
            history, episode = [], episode + 1
        ended = ends
        history += [
            Utterance("user", part.strip()) for part in utterance.replace("\\n", "\n").split("\n") if part.strip()
        ]
        if candidates:
            if not history:
                raise InputError(f"{where}: the context is empty.")
            name = f"{path.stem}-{number}"
            yield CandidateSet(where, name, tuple(history), candidates, label, f"{path.stem}-{episode}")
        if label:
            history.append(Utterance("system", label))


def _parlai_line(line: str, where: str, ended: bool) -> tuple[str, str, tuple[str, ...], bool, bool]:
    """What is said, the label, the candidates, and whether an episode begins and ends with this line."""
    parts = line.split("\t")
    if "label_candidates:" in line or line.startswith("text:"):
        fields = dict(part.partition(":")[::2] for part in parts)
        label = fields.get("labels", fields.get("eval_labels", ""))
        options = tuple(filter(None, fields.get("label_candidates", "").split("|")))
        return fields.get("text", ""), label, options, ended, fields.get("episode_done", "").strip() == "True"
    number, _, text = parts[0].partition(" ")
    if not number.isdecimal():
        raise InputError(f"{where}: found {line[:40]!r}; a line of ParlAI begins with its number.")
    label = parts[1] if len(parts) > 1 else ""
    options = tuple(filter(None, parts[3].split("|"))) if len(parts) > 3 else ()
    return text, label, options, number == "1", False


def _from_table(table: RawTable) -> Iterator[CandidateSet]:
    """Rows with a context, options (in one column, joined by |, or in option1, option2, ...) and an answer."""
    numbered = sorted(
        (name for name in table.names if re.fullmatch(r"(?:option|candidate)[ _]?\d+", name.lower())),
        key=lambda name: int(re.sub(r"\D", "", name)),
    )
    for number, (where, row) in enumerate(table.rows(), 1):
        value = {name: text for name, cell in row.items() if (text := cell_text(cell)).strip()}
        options = [value[name] for name in numbered if name in value]
        joined = next((value[name].split("|") for name in OPTIONS if name in value), [])
        whole_row = {**value, "options": options or [part.strip() for part in joined]}
        yield _from_json(
            {**whole_row, "id": value.get("question", value.get("id", f"{table.path.stem}-{number}"))}, where, ""
        )
