"""Sets of responses from a table of what one or several systems answered: together, or each alone."""

from __future__ import annotations

from seedvote.crowd.exchange.answer_tables import AnsweredContext, AnswerTable
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Candidate, ResponseSet


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
    texts = [row.texts[system] for system in systems]
    return ResponseSet(
        set=name,
        item=f"{row.dialogue or row.name}:{len(row.context)}",
        context=row.context,
        responses=tuple(Candidate(text, system) for text, system in zip(texts, systems, strict=True)),
        kind=row.kind,
        identical=len(set(texts)) == 1 < len(texts),
        dialogue=row.dialogue or row.name,
        answer=_asked(row, systems, good) if row.kind == "check" else None,
    )


def _asked(row: AnsweredContext, systems: list[str], good: str) -> str:
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
