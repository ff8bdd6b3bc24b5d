"""Prolific on this machine: the part of its REST interface that we use, checked against the published schema.

Paths, fields, types and enumerations as on docs.prolific.com (Create a draft study, List study submissions, Publish,
Bulk approve, Set up and pay bonuses). What does not fit is answered as Prolific answers it: HTTP 400 with an error.
"""

import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import urlsplit

import jsonschema_rs

ACTIONS = [
    "AUTOMATICALLY_APPROVE",
    "MANUALLY_REVIEW",
    "REQUEST_RETURN",
    "ADD_TO_PARTICIPANT_GROUP",
    "REMOVE_FROM_PARTICIPANT_GROUP",
    "FIXED_SCREEN_OUT_PAYMENT",
    "DYNAMIC_PAYMENT",
]
CODE_TYPES = [
    "COMPLETED",
    "FAILED_ATTENTION_CHECK",
    "FOLLOW_UP_STUDY",
    "GIVE_BONUS",
    "INCOMPATIBLE_DEVICE",
    "NO_CONSENT",
    "OTHER",
    "FIXED_SCREENOUT",
]


def closed(required, **properties):
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
CODE = closed(
    ["code", "code_type", "actions"],
    code=TEXT,
    code_type={"enum": CODE_TYPES},
    actions={"type": "array", "minItems": 1, "items": closed(["action"], action={"enum": ACTIONS})},
)
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
)
SCHEMAS = {
    ("POST", "/studies/"): STUDY,
    ("PATCH", "/studies/ID/"): closed([], total_available_places={"type": "integer", "minimum": 1}),
    ("POST", "/studies/ID/transition/"): closed(["action"], action={"enum": ["PUBLISH", "START", "PAUSE", "STOP"]}),
    ("POST", "/submissions/bulk-approve/"): closed(
        ["submission_ids"], submission_ids={"type": "array", "minItems": 1, "maxItems": 100, "items": TEXT}
    ),
    ("POST", "/submissions/bonus-payments/"): closed(
        ["study_id", "csv_bonuses"],
        study_id=TEXT,
        csv_bonuses={"type": "string", "pattern": r"^([0-9a-z]+,\d+\.\d\d\n?)+$"},
    ),
}
NEXT = {"PUBLISH": "ACTIVE", "START": "ACTIVE", "PAUSE": "PAUSED", "STOP": "AWAITING REVIEW"}


class Prolific:
    """Studies, submissions, money."""

    def __init__(self):
        self.ids, self.studies, self.submissions, self.set_up, self.paid = count(1), {}, {}, {}, []
        self.calls, self.faults, self.page = Counter(), [], 3

    def new(self):
        return f"{next(self.ids):024x}"

    def join(self, study, participant):
        """A participant takes a place; gives the submission, which is the SESSION_ID of the address."""
        if self.studies[study]["status"] != "ACTIVE":
            return None
        name = self.new()
        self.submissions[name] = {
            "id": name,
            "participant_id": participant,
            "study_id": study,
            "status": "ACTIVE",
            "started_at": "2025-01-01T00:00:00Z",
            "study_code": "",
            "bonus_payments": [],
        }
        return name

    def complete(self, submission, code):
        """The participant comes back with a completion code."""
        row = self.submissions[submission]
        known = [one["code"] for one in self.studies[row["study_id"]]["completion_codes"]]
        row.update(status="AWAITING REVIEW", study_code=code if code in known else "NOCODE")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        state, method = self.server.prolific, self.command
        url = urlsplit(self.path)
        path = url.path.removeprefix("/api/v1")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        general = re.sub(r"[0-9a-f]{24}", "ID", path)
        state.calls[method, general] += 1
        if (method, general) in state.faults:
            state.faults.remove((method, general))
            return self.reply(503, {"error": {"title": "unavailable"}})
        if self.headers["Authorization"] != "Token example":
            return self.reply(401, {"error": {"title": "Authentication credentials were not provided"}})
        schema = SCHEMAS.get((method, general))
        if schema and not jsonschema_rs.is_valid(schema, json.loads(body)):
            return self.reply(400, {"error": {"title": "Error creating", "detail": "invalid"}})
        found = re.search(r"[0-9a-f]{24}", path)
        return self.route(state, method, general, found and found[0], json.loads(body or b"{}"), url.query)

    do_GET = do_POST = do_PATCH = handle_any

    def route(self, state, method, general, name, body, query):
        if general.startswith("/studies/ID") and name not in state.studies:
            return self.reply(404, {"error": {"title": "Not found"}})
        if (method, general) == ("GET", "/users/me/"):
            return self.reply(200, {"id": "0"})
        if (method, general) == ("GET", "/studies/"):
            assert query == "state=UNPUBLISHED"
            drafts = [study for study in state.studies.values() if study["status"] == "UNPUBLISHED"]
            return self.reply(200, {"results": drafts})
        if (method, general) == ("POST", "/studies/"):
            made = {"id": state.new(), "status": "UNPUBLISHED", **body}
            state.studies[made["id"]] = made
            return self.reply(201, made)
        if (method, general) in (("GET", "/studies/ID/"), ("PATCH", "/studies/ID/")):
            state.studies[name].update(body)
            return self.reply(200, state.studies[name])
        if (method, general) == ("POST", "/studies/ID/transition/"):
            state.studies[name]["status"] = NEXT[body["action"]]
            return self.reply(200, state.studies[name])
        if (method, general) == ("GET", "/studies/ID/submissions/"):
            return self.list(state, name, query)
        return self.money(state, method, general, name, body)

    def list(self, state, study, query):
        start = int(query.removeprefix("offset=") or 0)
        rows = [row for row in state.submissions.values() if row["study_id"] == study]
        following = f"http://{self.headers['Host']}/api/v1/studies/{study}/submissions/?offset={start + state.page}"
        more = {"next": {"href": following if start + state.page < len(rows) else None}}
        return self.reply(200, {"results": rows[start : start + state.page], "_links": more})

    def money(self, state, method, general, name, body):
        if (method, general) == ("POST", "/submissions/bulk-approve/"):
            for one in body["submission_ids"]:
                state.submissions[one]["status"] = "APPROVED"
            return self.reply(200, {"message": "approved"})
        if (method, general) == ("POST", "/submissions/bonus-payments/"):
            made = state.new()
            state.set_up[made] = body["csv_bonuses"].split("\n")
            return self.reply(201, {"id": made})
        if (method, general) == ("POST", "/bulk-bonus-payments/ID/pay/"):
            state.paid += state.set_up.pop(name)
            for line in state.paid:
                state.submissions[line.split(",")[0]]["bonus_payments"] = [50]
            return self.reply(202, {})
        return self.reply(404, {"error": {"title": "Not found"}})


def serve():
    """Start one on a free port; gives the server, its state (`.prolific`) and its address (`.url`)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.prolific, server.url = Prolific(), f"http://127.0.0.1:{server.server_port}/api/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server
