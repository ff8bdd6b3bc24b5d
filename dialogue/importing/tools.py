"""The tools whose exports are known, each a row: its columns, its words, and how its rows become one judgement a row.

To add a tool: a row of `TOOLS`, and its reshaping in `exports.py` where its files are no plain tables. The commands,
what they recognise and the words for its choices follow from the row. Which tool wrote a table shows by its header, and
never silently. Where two fit, the user says which.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing import exports
from seedvote.dialogue.importing.columns import FIELDS, LIKELY, NO_SYSTEM, plain_name
from seedvote.dialogue.importing.reading import IGNORED, parse_names
from seedvote.dialogue.importing.scores_of_sides import split_scores, ways_to_score, ways_to_score_rows
from seedvote.dialogue.importing.words import is_tie, read_word
from seedvote.dialogue.tables.table import RawTable

Reshape = Callable[[RawTable, Mapping[str, str]], RawTable]


@dataclass(frozen=True, slots=True)
class Tool:
    """Its columns and words, and its rows as one judgement a row."""

    columns: Mapping[str, str] = field(default_factory=dict)  # our field -> its column
    values: Mapping[str, str] = field(
        default_factory=dict
    )  # its word in small letters -> a, b (shown first, second), tie
    reshape: Reshape = lambda table, _columns: table
    choice: Callable[[str, Any], str | None] = lambda _name, _value: None  # the choice a column belongs to, if any
    names_models: bool = False  # its values a and b are responses and no places on the screen
    known: Callable[[Iterable[str]], bool] = lambda _names: False  # whether these columns give the tool away
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that it may have in their place
    letters: Literal["", "response", "place", "asked"] = ""  # what A and B are on its page; asked where nothing tells


def _columns(typed: str) -> dict[str, str]:
    """Our fields and a tool's columns, as people type them."""
    return dict(parse_names(typed, "--columns"))


def _has(*names: str) -> Any:
    def known(columns: Iterable[str]) -> bool:
        return set(names) <= set(columns)

    return known


TOOLS = {
    "arena": Tool(
        columns=_columns(f"pair=question_id,question={exports.ARENA_TURN},rater=judge,choice=winner,submitted=tstamp"),
        instead={
            "pair": (*exports.ARENA_IDS, exports.ARENA_ROW),
            "rater": ("judge_hash", "user_id", "evaluator", "rater"),
            "submitted": ("timestamp", "submitted"),
        },
        values={"model_a": "a", "model_b": "b", "tie (bothbad)": "tie", "both_bad": "tie", "bothbad": "tie"},
        reshape=exports.read_arena,
        known=exports.known_arena,
        names_models=True,
    ),
    "potato": Tool(
        columns=_columns("pair=instance_id,rater=user_id"),
        instead={"rater": ("user",)},
        reshape=exports.read_potato,
        choice=exports.dotted_choice,
        known=exports.known_potato,
        letters="place",
    ),
    "label-studio": Tool(
        columns=_columns(
            "rater=annotator,submitted=created_at,seconds=lead_time,submission=annotation_id,status=was_cancelled"
        ),
        instead={"pair": ("pair_id", "task", "id")},
        reshape=exports.read_label_studio,
        choice=exports.label_studio_choice,
        known=exports.known_label_studio,
    ),
    "mturk": Tool(
        columns=_columns(
            "pair=Input.pair,rater=WorkerId,left=Input.left,item=Input.item,dialogue=Input.dialogue,submitted=SubmitTime,"
            "seconds=WorkTimeInSeconds,submission=AssignmentId,status=AssignmentStatus"
        ),
        instead={"pair": ("Input.pair_id", "Input.id", "HITId")},
        reshape=exports.read_mturk,
        choice=exports.mturk_choice,
        known=exports.known_mturk,
        letters="asked",
    ),
    "argilla": Tool(
        columns=_columns("rater=user_id,status=response_status"),
        instead={"pair": ("pair_id", "id", "external_id")},
        reshape=exports.read_argilla,
        choice=exports.argilla_choice,
        known=exports.known_argilla,
    ),
    "chateval": Tool(
        columns=_columns("pair=prompt_id,rater=worker_id,choice=value,submitted=submit_datetime"),
        values={"0": "a", "1": "b", "-1": "tie"},
        known=lambda names: {"model_1", "model_2", "prompt_id", "worker_id", "value"} <= set(names),
        names_models=True,
    ),
    "alpaca-eval": Tool(
        columns=_columns("pair=instruction,rater=annotator,choice=preference"),
        reshape=exports.read_alpaca_eval,
        values={"<1.5": "a", ">1.5": "b", "1.5": "tie", "0": "tie"},
        names_models=True,
        known=_has("generator_1", "generator_2", "preference", "output_1", "output_2"),
    ),
    "webgpt": Tool(
        columns=_columns(f"choice={exports.WINNER}"),
        instead={"pair": ("question.id", "question.full_text", "question", "id")},
        reshape=exports.read_webgpt,
        letters="response",
        known=_has("score_0", "score_1", "answer_0", "answer_1"),
    ),
    "helpsteer": Tool(
        columns=_columns("pair=prompt,choice=preference_strength"),
        reshape=exports.read_helpsteer,
        values={"<0": "a", ">0": "b", "0": "tie"},
        letters="response",
        known=_has("preference_strength", "response_1", "response_2"),
    ),
    "shp": Tool(
        columns=_columns("pair=post_id,choice=labels"),
        values={"1": "a", "0": "b"},
        letters="response",
        known=_has("human_ref_A", "human_ref_B", "labels"),
    ),
    "toloka": Tool(
        columns=_columns("rater=ASSIGNMENT:worker_id,status=ASSIGNMENT:status,submitted=ASSIGNMENT:submitted"),
        instead={
            "pair": ("INPUT:pair", "INPUT:pair_id", "INPUT:id", "INPUT:item", "ASSIGNMENT:task_id"),
            "submitted": ("ASSIGNMENT:submitted", "ASSIGNMENT:started"),
        },
        choice=lambda name, _value: name if name.startswith("OUTPUT:") else None,
        letters="asked",
        known=lambda names: any(name.startswith("OUTPUT:") for name in names) and "ASSIGNMENT:worker_id" in set(names),
    ),
    "prodigy": Tool(
        columns=_columns("pair=_task_hash,choice=accepted,status=status,submitted=_timestamp"),
        instead={"pair": ("_input_hash", "_task_hash"), "rater": ("_annotator_id", "_session_id")},
        reshape=exports.read_prodigy,
        known=_has("options", "accept", "answer"),
    ),
    "prodigy-compare": Tool(
        columns=_columns("pair=id,choice=better,status=status,submitted=_timestamp"),
        instead={"pair": ("id", "_input_hash"), "rater": ("_annotator_id", "_session_id")},
        reshape=exports.read_prodigy_compare,
        letters="response",
        known=_has("A", "B", "mapping", "answer"),
    ),
    "jspsych": Tool(
        columns=_columns("choice=response,seconds=rt"),
        instead={
            "rater": ("subject", "participant", "subject_id", "participant_id", "run_id", "PROLIFIC_PID"),
            "pair": ("pair", "pair_id", "item", "item_id", "stimulus_id"),
        },
        values={"0": "a", "1": "b"},
        reshape=exports.read_jspsych,
        known=_has("trial_type", "trial_index", "response"),
    ),
}


# Which form a table has


SCORES = ("score", "rating", "likert", "stars", "grade", "points")
METRIC_VALUES = ("value", "correct", "is_correct", "accuracy", "acc", "exact_match", "em", "f1", "result")
PEOPLE = {"rater", *LIKELY["rater"]} - {"judge", "evaluator", "user", "user_id"}  # columns of people, not of programs
FEWEST_SHEETS = 5  # of ranks: fewer may be ratings by chance
RANKS = ("rank", "ranking")  # names of a column of ranks, which then stands in the place of scores
SYSTEMS = ("system", "model", "bot", "assistant", "agent")
RUN_COLUMN = re.compile(r"(?:(?:training|train|model)[ _-]?)?(?:seed|run)[ _-]?\d+", re.IGNORECASE)


class OnScale(Unclear):
    """A table that holds ratings on a scale or ranks, and no votes."""


def find_tools(names: Iterable[str]) -> list[str]:
    """The tools whose columns these are."""
    columns = list(names)
    return [name for name, tool in TOOLS.items() if tool.known(columns)]


def recognise_tool(table: RawTable, stated: Mapping[str, str]) -> str:
    """The tool that wrote the table, or `plain`; a wide table, ratings and a title above the header are sentences."""
    columns = set(table.names)
    tools = find_tools(table.names)
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
            "file, say key.csv, with the columns column, pair, system_a and system_b. The first answer stands for "
            f"system_a. A line is, e.g., {_quote_cell(survey[0])},p1,alpha,beta. Then add --wide key.csv."
        )
    if is_rated(table, SCORES):
        ways = ways_to_score_rows(table)
        raise OnScale(
            f"{table.path} has no column 'choice', which every vote needs; its rows look like ratings on a scale. "
            f"Compare them: python -m analysis ratings {table.path}{' To count scores as votes, say so.' * bool(ways)}",
            *ways,
        )
    if is_rated(table, RANKS):
        raise OnScale(
            f"{table.path} has no column 'choice', which every vote needs; its rows look like ranks. "
            f"Compare them: python -m analysis ranks {table.path}"
        )


def refuse_scores_of_sides(table: RawTable) -> None:
    """A score for each of the two responses and no answer: that is a rating of both."""
    if split_scores(table, {}) is not None:
        raise OnScale(
            f"{table.path} has no column 'choice', which every vote needs; each row scores both responses. Compare "
            f"them: python -m analysis ratings {table.path} To count scores as votes, say so.",
            *ways_to_score(table),
        )


def unknown_table(table: RawTable, missing: str) -> InputError:
    """That a column is not there, and those that are; scores of a metric have a command of their own."""
    columns = ", ".join(table.names[:30]) or "none"
    metric, path = is_rated(table, METRIC_VALUES), shlex.quote(str(table.path))
    elsewhere = f" Are these scores of a metric? Compare them: python -m analysis compare-runs {path}" * metric
    if metric and PEOPLE & {plain_name(name) for name in table.names}:
        score = next(name for name in table.names if plain_name(name) in METRIC_VALUES)
        elsewhere = (
            f" Did people score each response? Compare them: python -m analysis ratings {path} --columns score={score}"
        )
    if not metric and missing == "choice":
        elsewhere = _ask_for_scores(table)
    return InputError(
        f"{table.path} has no column {missing!r}, which every vote needs (found: {columns}). If it has another name, "
        f"map it: --columns {missing}=...{elsewhere}"
    )


def _ask_for_scores(table: RawTable) -> str:
    """A question where several columns hold numbers: they may be ratings, one column a system or one a quality."""
    scores = _columns_of_numbers(table)
    if len(scores) < 2:
        return ""
    ratings = f"python -m analysis ratings {shlex.quote(str(table.path))}"
    first = f" Do {scores[0]} and {scores[1]} hold"
    if all(RUN_COLUMN.fullmatch(name.strip()) for name in scores):
        path = shlex.quote(str(table.path))
        return (
            f"{first} one system's scores under several training seeds? Compare it with the table of another system: "
            f"python -m analysis compare-runs ours={path} theirs=OTHER"
        )
    if "system" in map(plain_name, table.names):
        return f"{first} scores? Compare one of them: {ratings} --columns {shlex.quote(f'score={scores[0]}')}"
    if are_ranks(_sheets_of(table, scores)):
        ranks = f"python -m analysis ranks {shlex.quote(str(table.path))} --systems {shlex.quote(','.join(scores))}"
        return f"{first} the ranks of a system each, 1 the best? Compare them: {ranks}"
    return f"{first} the scores of a system each? Compare them: {ratings} --systems {shlex.quote(','.join(scores))}"


def _columns_of_numbers(table: RawTable) -> list[str]:
    """The columns that may be scores, none where one is called a tie."""
    known = {*FIELDS, *LIKELY["pair"], *LIKELY["rater"], *NO_SYSTEM, "age", "year"}
    names = [name for name in table.names if plain_name(name) not in known]
    numbers = [name for name in names if (texts := table.values(name)) and all(map(_is_number, texts))]
    return [] if any(map(is_tie, table.names)) else numbers


def _sheets_of(table: RawTable, scores: Sequence[str]) -> list[tuple[float, ...]]:
    return list(
        zip(*([float(cell.replace(",", ".") or "nan") for cell in table.text(name)] for name in scores), strict=True)
    )


def refuse_ranks(table: RawTable) -> None:
    """Three or more columns that rank their systems, before a 1 or 2 in one of them is taken for an answer."""
    scores = _columns_of_numbers(table)
    if len(scores) > 2 and "system" not in map(plain_name, table.names):
        sheets = _sheets_of(table, scores)
        if are_ranks(sheets) and len(scores) in map(max, sheets):
            raise unknown_table(table, "choice")


def are_ranks(sheets: Iterable[Sequence[float]]) -> bool:
    """Whether the numbers of every sheet are ranks from 1, ties by any of the four rules, and not all the same.

    >>> are_ranks([(1, 2, 3)] * 5), are_ranks([(1, 1, 3), (1, 2.5, 2.5)] * 3), are_ranks([(1, 2, 3), (2, 3, 3)] * 5)
    (True, True, False)
    """
    several = [sorted(sheet) for sheet in sheets if len(sheet) > 1]
    if len(several) < FEWEST_SHEETS or all(sheet[0] == sheet[-1] for sheet in several):
        return False
    reaches_last = max(sheet[-1] for sheet in several) >= max(map(len, several)) - 1  # else a scale of few steps
    return all(_is_ranking(sheet, reaches_last) for sheet in several)


def _is_ranking(sheet: Sequence[float], is_dense_too: bool) -> bool:
    """Numbers in order: 1 1 3, 2 2 3, 1.5 1.5 3, or 1 1 2."""
    below = [sum(rank < number for rank in sheet) for number in sheet]
    alike = [sheet.count(number) for number in sheet]
    steps = sorted({*sheet})
    return (
        all(number == 1 + less for number, less in zip(sheet, below, strict=True))
        or all(number == less + same for number, less, same in zip(sheet, below, alike, strict=True))
        or all(number == less + (same + 1) / 2 for number, less, same in zip(sheet, below, alike, strict=True))
        or (is_dense_too and steps == [step + 1 for step in range(len(steps))])
    )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace(",", ".")))
    except ValueError:
        return False


def wide_columns(table: RawTable) -> list[str]:
    """The questions of a survey: columns that share their few answers, none of them a number alone."""
    if table.titles is None and plain_name(next(iter(table.names), "")) not in ("timestamp", "submitted_at"):
        return []
    answers = {name: table.values(name) for name in table.names}
    if table.titles is None and {"pair", "item", *LIKELY["pair"]} & {plain_name(name) for name in table.names}:
        return []  # a person's row has no item
    return [
        name
        for name, values in answers.items()
        if values
        and any(read_word(value) for value in values)
        and len(values) <= 9
        and plain_name(name) not in ("status", "finished", "progress")
    ]


def is_rated(table: RawTable, words: Iterable[str]) -> bool:
    """Whether a column has one of these names, and one tells the systems apart."""
    plain = {plain_name(name) for name in table.names}
    return bool(plain & set(words)) and bool(plain & set(SYSTEMS))


def _quote_cell(name: str) -> str:
    return f'"{name}"' if "," in name else name
