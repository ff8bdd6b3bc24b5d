"""Questions and their answers as files that belong together: every file of answers carries the hash of the texts.

Options are answered by their index, so an answer means something only with the texts that were shown. Questions whose
texts were edited, and answers to other texts, are refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, placed_records, read_header, write_records
from seedvote.dialogue.judges import refusal, whose
from seedvote.dialogue.records import OptionChoice, Question
from seedvote.dialogue.signature import signature
from seedvote.dialogue.validity import option_order

QUESTION_STATES = "question_states"  # folder of a study: what an encoder makes of contexts and options


def texts_hash(questions: Iterable[Question]) -> str:
    """SHA-256, its first 16 digits, over all that is shown: ids, contexts and options, in their order."""
    hashed = hashlib.sha256()
    for question in questions:
        value = as_json(question)
        for shown in (*value["context"], *value["options"]):
            for part in shown.get("parts", ()):  # a hash of a file is the server's, and stands in no file of questions
                part.pop("sha256", None)
                part.pop("captions_sha256", None)
        texts = [question.question, value["context"], value["options"]]
        hashed.update(json.dumps(texts, sort_keys=True, ensure_ascii=False).encode() + b"\n")
    return hashed.hexdigest()[:16]


def write_questions(path: str | Path, questions: Sequence[Question], **recipe: object) -> str:
    """Write questions.jsonl; the hash of its texts stands in the signature and is returned."""
    texts = texts_hash(questions)
    recipe_line = signature(questions=len(questions), **recipe, texts=texts)
    write_records(path, questions, signature=recipe_line, kind=Question)
    return texts


def read_questions(path: str | Path) -> list[Question]:
    """All questions; refused where two have one id, or where texts are no longer those of the header."""
    questions = _read_distinct(path)
    recorded, now = read_texts_hash(read_header(path)), texts_hash(questions)
    if recorded and recorded != now:
        raise InputError(
            f"{path}: texts were changed after the file was written (texts:{recorded} in its header, texts:{now} "
            "now), so answers may be to other options. Restore the file, or draw the questions again and ask again."
        )
    return questions


def write_choices(path: str | Path, choices: Sequence[OptionChoice], texts: str, **recipe: object) -> None:
    """Write choices.jsonl with the hash of the questions that were answered."""
    recipe_line = signature(choices=len(choices), **recipe, texts=texts)
    write_records(path, choices, signature=recipe_line, kind=OptionChoice)


def read_choices(
    path: str | Path, questions: Sequence[Question], *, judges: Mapping[str, str] | None = None
) -> list[OptionChoice]:
    """All answers to these questions; refused with other texts, and where an answer is no person's."""
    check_texts(path, read_texts_hash(read_header(path)), texts_hash(questions))
    known = {question.question: question for question in questions}
    choices = []
    for where, choice in placed_records(path, OptionChoice):
        if (why := whose(choice.source, choice.rater, judges or {})) is not None:
            raise refusal(where, why)
        if choice.question not in known:
            raise InputError(f"{where}: question {choice.question!r} is not among the questions. Give their own file.")
        check_indices(choice, known[choice.question], where)
        choices.append(choice)
    return choices


def check_texts(path: str | Path, recorded: str, texts: str) -> None:
    """Refuse a file made for other texts, be it answers of people or ranks of models; `recorded` is what it says."""
    if recorded and recorded != texts:
        raise InputError(
            f"{path} belongs to other questions (texts:{recorded}) than those given (texts:{texts}). Give the "
            "questions.jsonl that it was made from."
        )


def read_texts_hash(header: Mapping[str, object]) -> str:
    """The hash of texts in a file's signature, empty where it has none.

    >>> read_texts_hash({"signature": "questions:400|texts:91c2|v:0.2.0"})
    '91c2'
    """
    parts = dict(part.partition(":")[::2] for part in str(header.get("signature", "")).split("|"))
    return parts.get("texts", "")


def check_indices(choice: OptionChoice, question: Question, where: str) -> None:
    """Refuse an answer that names an option which the question does not have."""
    options = len(question.options)
    has = f"and question {question.question!r} has {options} options."
    for name, index in (("first", choice.first), ("second", choice.second)):
        if index is not None and index >= options:
            raise InputError(f"{where}: {name} is {index}, {has}")
    if choice.shown and len(option_order(choice.shown)) != options:
        raise InputError(f"{where}: shown is {choice.shown!r}, {has}")


def _read_distinct(path: str | Path) -> list[Question]:
    """The questions of a file; two of one id are named with their places."""
    first: dict[str, str] = {}
    questions = []
    for where, question in placed_records(path, Question):
        if first.setdefault(question.question, where) != where:
            raise InputError(
                f"{where}: a second question {question.question!r}, after {first[question.question]}. Rename one."
            )
        questions.append(question)
    return questions


def answering_speaker(question: Question) -> str:
    """Who is about to speak: as the question says, else whoever spoke last before the last speaker."""
    named_speaker = question.extra.get("speaker")
    if isinstance(named_speaker, str) and named_speaker:
        return named_speaker
    last = question.context[-1].speaker if question.context else "user"
    return next((turn.speaker for turn in reversed(question.context) if turn.speaker != last), "system")
