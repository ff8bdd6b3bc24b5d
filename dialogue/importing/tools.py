"""The tools whose exports are known, each a row: its columns, its words, and how its rows become one judgement a row.

To add a tool: a row of `TOOLS`, and a file with its reshaping where its files are no plain tables. The commands, what
they recognise and the words for its choices follow from the row.
"""

from __future__ import annotations

from dialogue.importing import arena, argilla, label_studio, mturk, potato
from dialogue.importing.published import PUBLISHED
from dialogue.importing.tool import Tool

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
        values={"model_a": "a", "model_b": "b", "tie (bothbad)": "tie", "both_bad": "tie", "bothbad": "tie"},
        reshape=arena.with_winner,
        known=arena.known_arena,
        names_models=True,
    ),
    "potato": Tool(
        columns={"pair": "instance_id", "rater": "user_id"},
        reshape=potato.with_labels,
        choice=potato.dotted_choice,
        known=potato.known_potato,
        letters="place",
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
        reshape=label_studio.one_row_an_annotation,
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
        reshape=mturk.with_task_answers,
        choice=mturk.mturk_choice,
        known=mturk.known_mturk,
        letters="asked",
    ),
    "argilla": Tool(
        columns={"rater": "user_id", "status": "response_status"},
        instead={"pair": ("pair_id", "id", "external_id")},
        reshape=argilla.one_row_a_person,
        choice=argilla.argilla_choice,
        known=argilla.known_argilla,
    ),
    "chateval": Tool(
        columns={"pair": "prompt_id", "rater": "worker_id", "choice": "value", "submitted": "submit_datetime"},
        values={"0": "a", "1": "b", "-1": "tie"},
        known=lambda names: {"model_1", "model_2", "prompt_id", "worker_id", "value"} <= set(names),
        names_models=True,
    ),
    **PUBLISHED,
}
