"""The tools whose exports are known, each a row: its columns, its words, and how its rows become one judgement a row.

To add a tool: a row of `TOOLS`, and a file with its reshaping where its files are no plain tables. The commands, what
they recognise and the words for its choices follow from the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from seedvote.dialogue.importing import annotation_tools, published
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


def _has(*names: str) -> Any:
    def known(columns: Iterable[str]) -> bool:
        return set(names) <= set(columns)

    return known


TOOLS = {
    "arena": Tool(
        columns={
            "pair": "question_id",
            "question": published.ARENA_TURN,
            "rater": "judge",
            "choice": "winner",
            "submitted": "tstamp",
        },
        instead={
            "pair": (*published.ARENA_IDS, published.ARENA_ROW),
            "rater": ("judge_hash", "user_id", "evaluator", "rater"),
            "submitted": ("timestamp", "submitted"),
        },
        values={"model_a": "a", "model_b": "b", "tie (bothbad)": "tie", "both_bad": "tie", "bothbad": "tie"},
        reshape=published.with_arena_winner,
        known=published.known_arena,
        names_models=True,
    ),
    "potato": Tool(
        columns={"pair": "instance_id", "rater": "user_id"},
        instead={"rater": ("user",)},
        reshape=annotation_tools.with_labels,
        choice=annotation_tools.dotted_choice,
        known=annotation_tools.known_potato,
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
        reshape=annotation_tools.one_row_an_annotation,
        choice=annotation_tools.label_studio_choice,
        known=annotation_tools.known_label_studio,
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
        reshape=annotation_tools.with_task_answers,
        choice=annotation_tools.mturk_choice,
        known=annotation_tools.known_mturk,
        letters="asked",
    ),
    "argilla": Tool(
        columns={"rater": "user_id", "status": "response_status"},
        instead={"pair": ("pair_id", "id", "external_id")},
        reshape=annotation_tools.one_row_a_person,
        choice=annotation_tools.argilla_choice,
        known=annotation_tools.known_argilla,
    ),
    "chateval": Tool(
        columns={"pair": "prompt_id", "rater": "worker_id", "choice": "value", "submitted": "submit_datetime"},
        values={"0": "a", "1": "b", "-1": "tie"},
        known=lambda names: {"model_1", "model_2", "prompt_id", "worker_id", "value"} <= set(names),
        names_models=True,
    ),
    "alpaca-eval": Tool(
        columns={"pair": "instruction", "rater": "annotator", "choice": "preference"},
        reshape=published.with_judges_marked,
        values={"<1.5": "a", ">1.5": "b", "1.5": "tie", "0": "tie"},
        names_models=True,
        known=_has("generator_1", "generator_2", "preference", "output_1", "output_2"),
    ),
    "webgpt": Tool(
        columns={"choice": published.WINNER},
        instead={"pair": ("question.id", "question.full_text", "question", "id")},
        reshape=published.with_winner_by_score,
        letters="response",
        known=_has("score_0", "score_1", "answer_0", "answer_1"),
    ),
    "helpsteer": Tool(
        columns={"pair": "prompt", "choice": "preference_strength"},
        reshape=published.checked_strengths,
        values={"<0": "a", ">0": "b", "0": "tie"},
        letters="response",
        known=_has("preference_strength", "response_1", "response_2"),
    ),
    "shp": Tool(
        columns={"pair": "post_id", "choice": "labels"},
        values={"1": "a", "0": "b"},
        letters="response",
        known=_has("human_ref_A", "human_ref_B", "labels"),
    ),
    "toloka": Tool(
        columns={"rater": "ASSIGNMENT:worker_id", "status": "ASSIGNMENT:status", "submitted": "ASSIGNMENT:submitted"},
        instead={"pair": ("INPUT:pair", "INPUT:pair_id", "INPUT:id", "INPUT:item", "ASSIGNMENT:task_id"),
                 "submitted": ("ASSIGNMENT:submitted", "ASSIGNMENT:started")},
        choice=lambda name, _value: name if name.startswith("OUTPUT:") else None,
        letters="asked",
        known=lambda names: any(name.startswith("OUTPUT:") for name in names) and "ASSIGNMENT:worker_id" in set(names),
    ),
    "prodigy": Tool(
        columns={"pair": "_task_hash", "choice": "accepted", "status": "status", "submitted": "_timestamp"},
        instead={"pair": ("_input_hash", "_task_hash"), "rater": ("_annotator_id", "_session_id")},
        reshape=published.from_options,
        known=_has("options", "accept", "answer"),
    ),
    "prodigy-compare": Tool(
        columns={"pair": "id", "choice": "better", "status": "status", "submitted": "_timestamp"},
        instead={"pair": ("id", "_input_hash"), "rater": ("_annotator_id", "_session_id")},
        reshape=published.compared,
        letters="response",
        known=_has("A", "B", "mapping", "answer"),
    ),
    "jspsych": Tool(
        columns={"choice": "response", "seconds": "rt"},
        instead={"rater": ("subject", "participant", "subject_id", "participant_id", "run_id", "PROLIFIC_PID"),
                 "pair": ("pair", "pair_id", "item", "item_id", "stimulus_id")},
        values={"0": "a", "1": "b"},
        reshape=published.button_trials,
        known=_has("trial_type", "trial_index", "response"),
    ),
}  # fmt: skip
