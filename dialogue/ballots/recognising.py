"""Which form a table has: by its header, and never silently. Where two forms fit, the user says which."""

from __future__ import annotations

from collections.abc import Mapping

from dialogue.ballots.naming import IGNORED, typed_names
from dialogue.ballots.systems import plain_name, system_columns
from dialogue.ballots.texts import text_columns
from dialogue.ballots.tools import TOOLS
from dialogue.ballots.words import spoken
from dialogue.errors import InputError, Unclear
from dialogue.tables.table import RawTable, cell_text

LIKELY = {
    "pair": ("pair_id", "pairid", "item", "item_id", "example", "example_id", "question_id", "prompt_id", "id", "task"),
    "choice": ("winner", "preference", "preferred", "label", "answer", "vote", "verdict", "judgement", "judgment",
               "better", "result", "annotation", "selected", "response"),
    "rater": ("worker", "worker_id", "annotator", "annotator_id", "user", "user_id", "participant", "participant_id",
              "judge", "rater_id", "prolific_id", "prolific_pid"),
}  # fmt: skip
SCORES = ("score", "rating", "likert", "stars", "grade", "points")
SYSTEMS = ("system", "model", "bot", "assistant", "agent")


class OnScale(InputError):
    """A table that holds ratings on a scale and no votes."""


def recognised(table: RawTable, stated: Mapping[str, str]) -> str:
    """The tool that wrote the table, or `plain` where it has the columns of votes; otherwise what to type."""
    held = set(table.names)
    tools = [name for name, tool in TOOLS.items() if tool.known(table.names)]
    named = {field: stated.get(field, field) for field in ("pair", "choice")}
    is_plain = all(name in held and name != IGNORED for name in named.values())
    if tools and is_plain and set(named) <= set(stated):
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
    if is_plain:
        return "plain"
    raise _unknown(table, stated)


def _unknown(table: RawTable, stated: Mapping[str, str]) -> InputError:
    """What the table may be, with what to type for it."""
    if not len(table):
        return InputError(f"{table.path} holds no rows.")
    if sum(not name.strip("() 0123456789") for name in table.names) * 2 > len(table.names):
        return InputError(
            f"{table.path} begins with {table.names[0]!r} and not with the names of its columns. Delete what stands "
            "above these names."
        )
    found = f"{table.path} has no column {_missing(table, stated)!r}, which every vote needs"
    if survey := wide_columns(table):
        return InputError(
            f"{table.path} is a wide table: one row a person, one column a question ({', '.join(survey[:3])}"
            f"{', ...' if len(survey) > 3 else ''}; {len(survey)} columns). Say what each column compares: write a CSV "
            "file, say key.csv, with the columns column, pair, system_a and system_b (the system that the first answer "
            f"stands for, and the second) and a line for each question, e.g. {_quoted(survey[0])},p1,alpha,beta; then "
            "add --wide key.csv to the command."
        )
    if is_rated(table):
        return OnScale(
            f"{found}; its rows look like ratings on a scale. Compare them: python -m analysis ratings {table.path}"
        )
    way = _likely(table, stated)
    shown = ", ".join(table.names[:30]) or "none"
    if way:
        return Unclear(f"{found} (found: {shown}). Likely, but look before you type it:", {"--columns": way})
    missing = _missing(table, stated)
    return InputError(f"{found} (found: {shown}). If it has another name, map it: --columns {missing}=...")


def _missing(table: RawTable, stated: Mapping[str, str]) -> str:
    return next(name for name in ("pair", "choice") if stated.get(name, name) not in table.names)


def _likely(table: RawTable, stated: Mapping[str, str]) -> str:
    """The mapping that would help, where every name that is needed has one candidate."""
    plain = {plain_name(name): name for name in table.names if name not in stated.values()}
    found = []
    for field, words in LIKELY.items():
        if field in stated or field in table.names:
            continue
        fits = [plain[word] for word in (field, *words) if word in plain]
        if field == "choice":
            fits = [name for name in fits if _says_choice(table, name)]
        if fits:
            found.append((field, fits[0]))
        elif field != "rater":
            return ""
    return typed_names(found)


def _says_choice(table: RawTable, name: str) -> bool:
    systems = system_columns(table.names, {})
    named = {cell_text(v) for column in (systems.a, systems.b) for v in table.columns[column]} if systems else set()
    texts = text_columns(one for one in table.names if one != name)
    named |= {cell_text(v) for column in (texts.a, texts.b) for v in table.columns[column]} if texts else set()
    return all(spoken(value) or value in named for value in table.values(name)[:20])


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
