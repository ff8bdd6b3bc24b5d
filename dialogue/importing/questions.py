"""Tables that hold several questions: the rows of one are taken, and two are never pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialogue.errors import InputError, Unclear
from dialogue.importing.naming import IGNORED
from dialogue.importing.reading import Stated
from dialogue.tables.table import RawTable, cell_text

QUESTIONS = ("question", "criterion", "dimension", "aspect", "attribute", "quality", "metric")
MOST_QUESTIONS = 20  # a column with more values holds something else, e.g. what people asked a system


def of_one_question(
    table: RawTable,
    asked: Stated,
    names: Mapping[str, str],
    *,
    ours: bool = False,
    of: Sequence[str] = ("pair", "rater"),
) -> tuple[RawTable, str]:
    """The rows of one question. A column of questions shows by its name, and by people who judge a pair twice.

    `ours`: the tool that wrote the table says which column it is. `of` are the fields that make a judgement one.
    """
    stated = asked.columns.get("question")
    name = stated or names.get("question", "")
    if not name and not ours:
        name = next((one for one in table.names if one.lower() in QUESTIONS), "")
    if not name or name == IGNORED or name not in table.names:
        if asked.question and not ours:
            raise InputError(
                f"--question is {asked.question!r}, and {table.path} has no column of questions. Name it: --columns "
                "question=..."
            )
        return table, ""
    found = table.values(name)
    if asked.question and not (ours and len(found) > MOST_QUESTIONS):
        if asked.question not in found:
            raise InputError(
                f"--question is {asked.question!r}; the questions are {', '.join(found[:MOST_QUESTIONS])}."
            )
        kept = [row for row, cell in enumerate(table.columns[name]) if cell_text(cell) == asked.question]
        return table.take(kept), f", question {asked.question}"
    several = 1 < len(found) <= MOST_QUESTIONS
    if several and (stated or ours or _judged_twice(table, names, of)):
        raise Unclear(
            f"{table.path} holds {len(found)} questions ({', '.join(found)}), which are analysed one by one "
            "and never pooled.",
            *({"--question": one} for one in found),
        )
    return table, ""


def _judged_twice(table: RawTable, names: Mapping[str, str], of: Sequence[str]) -> bool:
    columns = [table.columns[names.get(field, field)] for field in of if names.get(field, field) in table.names]
    met = list(zip(*columns, strict=True))
    return len(set(map(str, met))) < len(met)
