"""Which form a table has: by its header, and never silently. Where two forms fit, the user says which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.importing.naming import IGNORED
from seedvote.dialogue.importing.scores_of_sides import one_row_a_system, ways_to_score, ways_to_score_rows
from seedvote.dialogue.importing.tools import TOOLS
from seedvote.dialogue.importing.words import spoken
from seedvote.dialogue.tables.table import RawTable

SCORES = ("score", "rating", "likert", "stars", "grade", "points")
SYSTEMS = ("system", "model", "bot", "assistant", "agent")


class OnScale(Unclear):
    """A table that holds ratings on a scale and no votes."""


def tools_known(names: Iterable[str]) -> list[str]:
    """The tools whose columns these are."""
    columns = list(names)
    return [name for name, tool in TOOLS.items() if tool.known(columns)]


def recognised(table: RawTable, stated: Mapping[str, str]) -> str:
    """The tool that wrote the table, or `plain`; a wide table, ratings and a title above the header are sentences."""
    columns = set(table.names)
    tools = tools_known(table.names)
    usual = {field: stated.get(field, field) for field in ("pair", "choice")}
    is_plain = all(name in columns and name != IGNORED for name in usual.values())
    if tools and is_plain and set(usual) <= set(stated):
        return "plain"
    if tools and is_plain and "choice" not in stated:
        raise Unclear(
            f"{table.path} has the columns of {tools[0]} and also pair and choice.",
            *({"--from": name} for name in [*tools, "plain"]),
        )
    if len(tools) > 1:
        raise Unclear(
            f"{table.path} has the columns of {' and of '.join(tools)}.", *({"--from": name} for name in tools)
        )
    if tools:
        return tools[0]
    if not {"choice", "worse", "scores"} & {*columns, *stated}:
        refuse_no_votes(table)
    return "plain"


def refuse_no_votes(table: RawTable) -> None:
    """What is plainly no table of votes, with what to type for it."""
    if not len(table):
        raise InputError(f"{table.path} holds no rows.")
    if sum(not name.strip("() 0123456789") for name in table.names) * 2 > len(table.names):
        raise InputError(
            f"{table.path} begins with {table.names[0]!r} and not with the names of its columns. Delete what stands "
            "above these names."
        )
    if survey := wide_columns(table):
        raise InputError(
            f"{table.path} is a wide table: one row a person, one column a question ({', '.join(survey[:3])}"
            f"{', ...' if len(survey) > 3 else ''}; {len(survey)} columns). Say what each column compares: write a CSV "
            "file, say key.csv, with the columns column, pair, system_a and system_b (the system that the first answer "
            f"stands for, and the second) and a line for each question, e.g. {_quoted(survey[0])},p1,alpha,beta; then "
            "add --wide key.csv to the command."
        )
    if is_rated(table):
        ways = ways_to_score_rows(table)
        raise OnScale(
            f"{table.path} has no column 'choice', which every vote needs; its rows look like ratings on a scale. "
            f"Compare them: python -m analysis ratings {table.path}{' To count scores as votes, say so.' * bool(ways)}",
            *ways,
        )


def refuse_scores_of_sides(table: RawTable) -> None:
    """A score for each of the two responses and no answer: that is a rating of both."""
    if one_row_a_system(table, {}) is not None:
        raise OnScale(
            f"{table.path} has no column 'choice', which every vote needs; each row scores both responses. Compare "
            f"them: python -m analysis ratings {table.path} To count scores as votes, say so.",
            *ways_to_score(table),
        )


def unknown_table(table: RawTable, missing: str) -> InputError:
    """That a column is not there, and those that are."""
    columns = ", ".join(table.names[:30]) or "none"
    return InputError(
        f"{table.path} has no column {missing!r}, which every vote needs (found: {columns}). If it has another name, "
        f"map it: --columns {missing}=..."
    )


def wide_columns(table: RawTable) -> list[str]:
    """The questions of a survey: columns that share their few answers, none of them a number alone."""
    if table.titles is None and plain_name(next(iter(table.names), "")) not in ("timestamp", "submitted_at"):
        return []
    answers = {name: table.values(name) for name in table.names}
    return [name for name, values in answers.items() if values and any(spoken(value) for value in values)
            and len(values) <= 9 and plain_name(name) not in ("status", "finished", "progress")]  # fmt: skip


def is_rated(table: RawTable) -> bool:
    """Whether a column is called a score or rating, and one tells the systems apart."""
    plain = {plain_name(name) for name in table.names}
    return bool(plain & set(SCORES)) and bool(plain & set(SYSTEMS))


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name
