"""Judgements as other tools write them: the table of these tools, and the one way from their rows to judgements.

Every reader gives rows, one mapping of column names to values a judgement; `judgements` picks the columns that matter.
Nothing is decided here: which side a letter stands for, what counts and who the rater is follows in `settling`.

To add a tool: a row of `TOOLS` at the end of this file, and a file with its reader beside this one where its files are
no plain tables. The commands, what they recognise and the words for its choices follow from the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialogue.ballots import arena, argilla, label_studio, mturk, potato
from dialogue.ballots.answers import choice_column, each, picked, refuse_unread
from dialogue.ballots.judgement import JUDGEMENT_FIELDS, LEFT, Judgement, Tool, ToolRow
from dialogue.ballots.naming import IGNORED
from dialogue.ballots.systems import SystemColumns, system_columns
from dialogue.ballots.texts import SideCheck, quoted_side, sides_named, text_columns
from dialogue.errors import InputError, Unclear
from dialogue.judges import refuse_verdicts

LETTERS = {"a": "a", "b": "b", "tie": "tie"}  # as most tools' templates have it
USUAL = ("pair", "left", "submitted", "seconds", "item", "dialogue", "source")


@dataclass(frozen=True, eq=False)
class Judged:
    """All judgements of some files, and by which columns they were read."""

    tool: str
    found: Sequence[Judgement]
    columns: Mapping[str, str]  # our field -> the column that it was read from
    systems: SystemColumns | None


def judgements(paths: Sequence[Path], tool: str, stated: Mapping[str, str], question: str = "") -> Judged:
    """All judgements of the files, in their order; of several questions the one that is asked for."""
    legal = (*JUDGEMENT_FIELDS, "question")
    if unknown := [name for name in stated if name not in legal]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(legal)}.")
    kind = TOOLS[tool]
    rows = [row for path in paths for row in _whole(path, tool, stated)]
    if not rows:
        raise InputError(f"{', '.join(map(str, paths))} holds no judgements.")
    held = dict.fromkeys(name for _, row in rows for name in row)
    names = _names(kind, stated, held)
    if question and not names.get("choice") and names.get("question") not in held:
        names["choice"] = _called(question, rows, kind)
    _refuse_twins(rows[0][0], held, [name for name in names.values() if name])
    _complain_of_missing(rows, names, stated)
    names["choice"] = names.get("choice") or choice_column(rows, kind)
    if "choice" not in stated and not question:
        refuse_unread(rows, kind, names["choice"])
    systems = system_columns(held, stated)
    _refuse_twins(rows[0][0], held, [names["choice"], *([systems.a, systems.b] if systems else [])])
    if kind.names_models and systems is None:
        raise InputError(f"{rows[0][0]}: {tool}'s table needs model_1 and model_2, which its values stand for.")
    texts = text_columns(name for name in held if name not in names.values())
    check = None if texts is None else SideCheck(texts)
    found = [_judgement(where, row, one, systems, check) for where, row in rows for one in each(row, names)]
    kept = _of_question(found, question if names.get("question") in held else "")
    shown = {field: name for field, name in names.items() if name in held or "{n}" in name or field == "choice"}
    return Judged(tool, kept, shown, systems)


def _names(kind: Tool, stated: Mapping[str, str], held: Mapping[str, None]) -> dict[str, str]:
    """Field -> column: as stated, else the tool's own, else the first of those it may have instead."""
    usual = {name: name for name in USUAL} | dict(kind.columns)
    for field, others in kind.instead.items():
        if usual.get(field) not in held:
            usual[field] = next((name for name in others if name in held), usual.get(field, field))
    # A column that the user maps to one field no longer stands for the field it usually holds.
    names = {field: name for field, name in usual.items() if name not in stated.values()} | dict(stated)
    return {field: name for field, name in names.items() if name != IGNORED and not field.startswith("system_")}


def _called(question: str, rows: Sequence[ToolRow], kind: Tool) -> str:
    """The choice column that `--question` names, by its whole name or what follows the tool's prefix."""
    columns = dict.fromkeys(
        name for _, row in rows for key, value in row.items() if (name := kind.choice(key, value)) is not None
    )
    fits = [name for name in columns if question in (name, name.partition(".")[2])]
    if len(fits) != 1:
        raise InputError(f"--question is {question!r}; the questions are {', '.join(columns) or 'none'}.")
    return fits[0]


def _whole(path: Path, tool: str, columns: Mapping[str, str]) -> list[ToolRow]:
    """All rows of a file; a form that is not the tool's is one sentence too."""
    refuse_verdicts(path)
    try:
        found = TOOLS[tool].read(path, columns)
        if found is None:
            raise InputError(f"{path}: a {tool} export is expected as {TOOLS[tool].forms}.")
        rows = list(found)
        refuse_verdicts(path, list(rows[0][1]) if rows else ())
        return rows
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} does not have the form of a {tool} export ({error!r}).") from error


def _complain_of_missing(rows: Sequence[ToolRow], names: Mapping[str, str], stated: Mapping[str, str]) -> None:
    found = dict.fromkeys(name for _, row in rows for name in row)
    asked = [field for field in stated if stated[field] != IGNORED]
    for field in dict.fromkeys(["pair", *asked]):
        name = stated.get(field, names.get(field, field)).replace("{n}", "1")
        if field != "choice" and name not in found:
            raise InputError(
                f"{rows[0][0]}: no column {name!r} for {field} (found: {', '.join(found)}). "
                f"Map it: --columns {field}=..."
            )


def _refuse_twins(where: str, held: Mapping[str, None], used: Sequence[str]) -> None:
    """A column that is used must be the only one of its name."""
    for name in used:
        if name in held and f"{name} (2)" in held:
            raise InputError(f"{where}: there are two columns called {name!r}; rename one.")


def _judgement(
    where: str,
    row: Mapping[str, Any],
    fields: Mapping[str, str],
    systems: SystemColumns | None,
    check: SideCheck | None,
) -> Judgement:
    known: dict[str, Any] = {field: fields[field] for field in (*JUDGEMENT_FIELDS, "question") if field in fields}
    known.setdefault("rater", "")
    if not known["pair"]:
        raise InputError(f"{where}: pair is empty; every judgement needs one.")
    if systems is not None:
        known["models"] = picked(row, systems.a), picked(row, systems.b)
        if not all(known["models"]):
            raise InputError(f"{where}: {systems.a} or {systems.b} is empty; both systems are needed.")
    one = Judgement(where=where, **known)
    return one if check is None else _by_text(one, row, check, systems)


def _by_text(one: Judgement, row: Mapping[str, Any], check: SideCheck, systems: SystemColumns | None) -> Judgement:
    """With the side whose text the answer quotes; refused where the texts of its pair were swapped."""
    texts = picked(row, check.columns.a), picked(row, check.columns.b)
    known = one.left in LEFT or bool(one.models and one.left in one.models)
    turned = (LEFT.get(one.left) == "b" or bool(one.models and one.left == one.models[1])) if known else None
    sides = sides_named(check.columns, systems, one.models or ("", ""), turned)
    if sides is not None:
        check.see(one.pair, sides, texts, one.where)
    side = quoted_side(one.choice, texts, check.columns, one.where)
    if side != one.choice and check.columns.kind == "letters" and turned:
        side = "a" if side == "b" else "b"  # a letter is the place here, and response b was shown first
    known_by = dict(zip(sides, texts, strict=True)) if sides is not None and set(sides) != {"left", "right"} else {}
    return replace(one, choice=side, said=known_by)


def _of_question(found: Sequence[Judgement], question: str) -> list[Judgement]:
    asked = dict.fromkeys(one.question for one in found if one.question)
    if question and question not in asked:
        raise InputError(f"--question is {question!r}; the questions are {', '.join(asked) or 'none'}.")
    if len(asked) > 1 and not question:
        raise Unclear(
            f"{found[0].where}: the table holds {len(asked)} questions ({', '.join(asked)}), which are analysed one by "
            "one and never pooled.",
            *({"--question": name} for name in asked),
        )
    return [one for one in found if not question or one.question == question]


TOOLS = {
    "arena": Tool(
        columns={
            "pair": "question_id",
            "question": arena.TURN,
            "rater": "judge",
            "choice": "winner",
            "submitted": "tstamp",
        },
        instead={
            "pair": (*arena.IDS, arena.ROW),
            "rater": ("judge_hash", "user_id", "evaluator", "rater"),
            "submitted": ("timestamp", "submitted"),
        },
        values={
            "model_a": "a",
            "model_b": "b",
            **LETTERS,
            "tie (bothbad)": "tie",
            "both_bad": "tie",
            "bothbad": "tie",
        },
        read=arena.read_arena,
        known=arena.known_arena,
        names_models=True,
    ),
    "potato": Tool(
        columns={"pair": "instance_id", "rater": "user_id"},
        values=LETTERS,
        read=potato.read_potato,
        forms="a table, .jsonl or the annotation_output folder",
        choice=potato.dotted_choice,
        known=potato.known_potato,
    ),
    "label-studio": Tool(
        columns={
            "rater": "annotator",
            "submitted": "created_at",
            "seconds": "lead_time",
            "submission": "annotation_id",
            "status": "was_cancelled",
        },
        instead={"pair": ("pair_id", "task", "id")},
        values={"left": "a", "right": "b", "tie": "tie"},
        read=label_studio.read_label_studio,
        choice=label_studio.label_studio_choice,
        known=label_studio.known_label_studio,
    ),
    "mturk": Tool(
        columns={
            "pair": "Input.pair",
            "rater": "WorkerId",
            "left": "Input.left",
            "item": "Input.item",
            "dialogue": "Input.dialogue",
            "submitted": "SubmitTime",
            "seconds": "WorkTimeInSeconds",
            "submission": "AssignmentId",
            "status": "AssignmentStatus",
        },
        instead={"pair": ("Input.pair_id", "Input.id", "HITId")},
        values={**LETTERS, "left": "a", "right": "b"},
        read=mturk.read_mturk,
        choice=mturk.mturk_choice,
        known=mturk.known_mturk,
    ),
    "argilla": Tool(
        columns={"pair": "pair", "rater": "user_id", "status": "response_status"},
        instead={"pair": ("pair_id", "id", "external_id")},
        values=LETTERS,
        read=argilla.read_argilla,
        choice=argilla.argilla_choice,
        known=argilla.known_argilla,
    ),
    "chateval": Tool(
        columns={"pair": "prompt_id", "rater": "worker_id", "choice": "value", "submitted": "submit_datetime"},
        values={"0": "a", "1": "b", "-1": "tie"},
        known=lambda names: {"model_1", "model_2", "prompt_id", "worker_id", "value"} <= set(names),
        names_models=True,
    ),
}
