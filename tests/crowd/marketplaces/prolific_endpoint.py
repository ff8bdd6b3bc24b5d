"""The product's Prolific on this machine, with every request held against the published schema as well.

Paths, fields, types and enumerations as on docs.prolific.com (Create a draft study, List study submissions, Approve or
reject a submission, Bulk approve submissions, Set up and pay bonuses, ...). The double has rules of its own, written by
hand; this schema is another reading of the same pages, so a slip in one of them is noticed by the other.
"""

import threading

import jsonschema_rs

from seedvote.crowd.marketplaces.prolific.client import REJECTION_CATEGORIES
from seedvote.crowd.marketplaces.prolific.double import CODE_TYPES, DoubleServer, Prolific


def closed(required, **properties):
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
WHOLE = {"type": "integer", "minimum": 1}
ACTION = {
    "oneOf": [
        closed(["action"], action={"enum": ["AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW", "DYNAMIC_PAYMENT"]}),
        closed(["action", "return_reason"], action={"const": "REQUEST_RETURN"}, return_reason=TEXT),
        closed(
            ["action", "participant_group"],
            action={"enum": ["ADD_TO_PARTICIPANT_GROUP", "REMOVE_FROM_PARTICIPANT_GROUP"]},
            participant_group=TEXT,
        ),
        closed(
            ["action", "fixed_screen_out_reward", "slots"],
            action={"const": "FIXED_SCREEN_OUT_PAYMENT"},
            fixed_screen_out_reward=WHOLE,
            slots=WHOLE,
        ),
    ]
}
CODE = closed(
    ["code", "code_type", "actions"],
    code=TEXT,
    code_type={"enum": list(CODE_TYPES)},
    actions={"type": "array", "minItems": 1, "items": ACTION},
)
ENDS = {"lower": {"type": "integer"}, "upper": {"type": "integer"}}
FILTER = {
    "oneOf": [
        closed(
            ["filter_id", "selected_values"],
            filter_id=TEXT,
            selected_values={"type": "array", "minItems": 1, "items": TEXT},
            weightings={"type": "object", "additionalProperties": WHOLE},
        ),
        closed(["filter_id", "selected_range"], filter_id=TEXT, selected_range=closed([], **ENDS)),
    ]
}
STUDY = closed(
    ["name", "description", "prolific_id_option", "completion_codes", "estimated_completion_time", "reward"],
    name={"type": "string", "minLength": 1, "maxLength": 255},
    internal_name=TEXT,
    description=TEXT,
    external_study_url={"type": "string", "pattern": "^https?://"},
    prolific_id_option={"enum": ["question", "url_parameters", "not_required"]},
    completion_codes={"type": "array", "minItems": 1, "items": CODE},
    total_available_places={"type": "integer", "minimum": 1},
    estimated_completion_time={"type": "integer", "minimum": 1},
    reward={"type": "integer", "minimum": 0},
    device_compatibility={"type": "array", "items": {"enum": ["desktop", "tablet", "mobile"]}},
    filters={"type": "array", "items": FILTER},
    study_type={"enum": ["SINGLE", "QUOTA", "UK_REP_SAMPLE", "US_REP_SAMPLE"]},
    submissions_config=closed([], max_submissions_per_participant={"type": "integer", "minimum": -1}),
)
SCHEMAS = {
    ("POST", "/studies/"): STUDY,
    ("PATCH", "/studies/ID/"): closed([], total_available_places={"type": "integer", "minimum": 1}),
    ("POST", "/studies/ID/transition/"): closed(["action"], action={"enum": ["PUBLISH", "START", "PAUSE", "STOP"]}),
    ("POST", "/submissions/ID/transition/"): closed(
        ["action"],
        action={"enum": ["APPROVE", "REJECT", "COMPLETE"]},
        message={"type": "string", "minLength": 100},
        rejection_category={"enum": list(REJECTION_CATEGORIES)},
    ),
    ("POST", "/submissions/bulk-approve/"): closed(
        ["submission_ids"], submission_ids={"type": "array", "minItems": 1, "items": TEXT}
    ),
    ("POST", "/bulk-bonus-payments/ID/pay/"): closed([]),
    ("POST", "/submissions/ID/request-return/"): closed(
        ["request_return_reasons"], request_return_reasons={"type": "array", "minItems": 1, "items": TEXT}
    ),
    ("POST", "/study-cost-calculator/"): closed(
        ["reward", "total_available_places"], reward={"type": "number"}, total_available_places={"type": "number"}
    ),
    ("POST", "/submissions/bonus-payments/"): closed(
        ["study_id", "csv_bonuses"],
        study_id=TEXT,
        csv_bonuses={"type": "string", "pattern": r"^([0-9a-z]+,\d+\.\d\d\n?)+$"},
    ),
}


def against_schema(method, path, body):
    schema = SCHEMAS.get((method, path))
    if method != "GET" and schema is None:
        return "no such call"
    return None if schema is None or jsonschema_rs.is_valid(schema, body) else "invalid"


def serve(**settings):
    """Start one on a free port; gives the server, its state (`.prolific`) and its address (`.url`)."""
    server = DoubleServer(Prolific(**{"page": 3, "also_refuses": against_schema} | settings))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server
