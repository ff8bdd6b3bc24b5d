"""Tables that hold several questions: the rows of one are taken, and two are never pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.naming import IGNORED
from seedvote.dialogue.importing.reading import Stated
from seedvote.dialogue.tables.table import RawTable, cell_text

QUESTIONS = ("question", "criterion", "dimension", "aspect", "attribute", "quality", "metric")
MOST_QUESTIONS = 20  # a column with more values holds something else, e.g. what people asked a system


def of_one_question(
    table: RawTable,
    stated: Stated,
    names: Mapping[str, str],
    *,
    ours: bool = False,
    of: Sequence[str] = ("pair", "rater"),
) -> tuple[RawTable, str]:
    """The rows of one question. A column of questions shows by its name, and by people who judge a pair twice.

    `ours`: the tool that wrote the table says which column it is. `of` are the fields that make a judgement one.
    """
    stated_column = stated.columns.get("question")
    name = stated_column or names.get("question", "")
    if not name and not ours:
        name = next((column for column in table.names if column.lower() in QUESTIONS), "")
    if not name or name == IGNORED or name not in table.names:
        if stated.question and not ours:
            raise InputError(
                f"--question is {stated.question!r}, and {table.path} has no column of questions. Name it: --columns "
                "question=..."
            )
        return table, ""
    questions = table.values(name)
    if stated.question and not (ours and len(questions) > MOST_QUESTIONS):
        if stated.question not in questions:
            raise InputError(
                f"--question is {stated.question!r}; the questions are {', '.join(questions[:MOST_QUESTIONS])}."
            )
        rows = [row for row, cell in enumerate(table.columns[name]) if cell_text(cell) == stated.question]
        return table.take(rows), f", question {stated.question}"
    several = 1 < len(questions) <= MOST_QUESTIONS
    if several and (stated_column or ours or _judged_twice(table, names, of)):
        raise Unclear(
            f"{table.path} holds {len(questions)} questions ({', '.join(questions)}), which are analysed one by one "
            "and never pooled.",
            *({"--question": question} for question in questions),
        )
    return table, ""


def _judged_twice(table: RawTable, names: Mapping[str, str], of: Sequence[str]) -> bool:
    columns = [table.columns[names.get(field, field)] for field in of if names.get(field, field) in table.names]
    met = list(zip(*columns, strict=True))
    return len(set(map(str, met))) < len(met)
