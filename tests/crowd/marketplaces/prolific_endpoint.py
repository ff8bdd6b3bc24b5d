"""Prolific on this machine: the part of its REST interface that we use, checked against the published schema.

Paths, fields, types and enumerations as on docs.prolific.com (Create a draft study, List study submissions, Approve or
reject a submission, Set up and pay bonuses, ...). What does not fit is answered as Prolific answers it: HTTP 400 with
an error. It is as unkind as the documentation allows: bonuses are paid later and again with every call, replies are
lost, and any call may find it busy (429), stumbling before or after the work (500), or cut off.
"""

import json
import re
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import urlsplit

import jsonschema_rs

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
    code_type={"enum": CODE_TYPES},
    actions={"type": "array", "minItems": 1, "items": ACTION},
)
ENDS = {"lower": {"type": "integer"}, "upper": {"type": "integer"}}
FILTER = {
    "oneOf": [
        closed(
            ["filter_id", "selected_values"],
            filter_id=TEXT,
            selected_values={"type": "array", "minItems": 1, "items": TEXT},
            weightings={"type": "object", "additionalProperties": {"type": "number"}},
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
    submissions_config=closed([], max_submissions_per_participant={"type": "integer", "minimum": -1}),
)
FILTERS = [
    {"filter_id": "age", "type": "range", "data_type": "integer", "min": 18, "max": 100},
    {"filter_id": "sex", "type": "select", "data_type": "ChoiceID", "choices": {"0": "Male", "1": "Female"}},
    {"filter_id": "approval_rate", "type": "range", "data_type": "integer", "min": 0, "max": 100},
]
SCHEMAS = {
    ("POST", "/studies/"): STUDY,
    ("PATCH", "/studies/ID/"): closed([], total_available_places={"type": "integer", "minimum": 1}),
    ("POST", "/studies/ID/transition/"): closed(["action"], action={"enum": ["PUBLISH", "START", "PAUSE", "STOP"]}),
    ("POST", "/submissions/ID/transition/"): closed(["action"], action={"enum": ["APPROVE", "REJECT", "COMPLETE"]}),
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
NEXT = {"PUBLISH": "ACTIVE", "START": "ACTIVE", "PAUSE": "PAUSED", "STOP": "AWAITING REVIEW"}


class Refused(Exception):
    """What Prolific answers with an error and does not do."""

    def __init__(self, status, title, detail=""):
        super().__init__(title)
        self.status, self.body = status, {"error": {"title": title, "detail": detail, "status": status}}


class Prolific:
    """Studies, submissions, money."""

    def __init__(self):
        self.ids, self.studies, self.submissions, self.set_up, self.paid = count(1), {}, {}, {}, []
        self.calls, self.faults, self.page, self.lock = Counter(), [], 3, threading.RLock()
        self.fee, self.spent, self.coming = 0.333, 0, []
        self.messages = []  # that participants have received
        self.slow = False  # bonuses wait in `coming` until `deliver`
        self.upset = None  # called with (method, path) for each call: a word of FAULTS, or None

    def new(self):
        return f"{next(self.ids):024x}"

    def publish(self, study):
        """What the researcher does on Prolific's page: from here on places cost money."""
        self.studies[study]["status"] = "ACTIVE"
        self.spent += self.studies[study]["total_available_places"]

    def taken(self, study):
        gone = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")
        return sum(row["study_id"] == study and row["status"] not in gone for row in self.submissions.values())

    def join(self, study, participant):
        """A participant takes a place; gives the submission, which is the SESSION_ID of the address."""
        found = self.studies[study]
        mine = (row for row in self.submissions.values() if row["study_id"] == study)
        known = participant in [row["participant_id"] for row in mine]
        if found["status"] != "ACTIVE" or known or self.taken(study) >= found["total_available_places"]:
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
        """The participant comes back with a completion code, and its actions follow."""
        row = self.submissions[submission]
        codes = {one["code"]: one["actions"] for one in self.studies[row["study_id"]]["completion_codes"]}
        row.update(status="AWAITING REVIEW", study_code=code if code in codes else "NOCODE")
        for action in codes.get(code, []):
            if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                row["status"] = "SCREENED OUT"
            if action["action"] == "REQUEST_RETURN":
                row["return_requested"] = "2025-01-01T00:00:00Z"

    def deliver(self):
        """Bonuses that were accepted are paid, some minutes later."""
        for line in self.coming:
            name, amount = line.split(",")
            self.submissions[name]["bonus_payments"].append(round(float(amount) * 100))
            self.paid.append(line)
        self.coming = []


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

    def cut(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def handle_any(self):
        state, method = self.server.prolific, self.command
        url = urlsplit(self.path)
        path = url.path.removeprefix("/api/v1")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        general = re.sub(r"[0-9a-f]{24}", "ID", path)
        with state.lock:
            state.calls[method, general] += 1
            if (method, general) in state.faults:
                state.faults.remove((method, general))
                return self.reply(503, {"error": {"title": "unavailable"}})
            upset = state.upset and state.upset(method, general)
            if upset == "busy":
                return self.reply(429, {"error": {"title": "Too many requests"}})
            if upset == "stumbles":
                return self.reply(500, {"error": {"title": "Server error"}})
            if upset == "false success":
                return self.reply(200, {"error": {"title": "Server error"}})
            try:
                status, answer = self.do(state, method, general, path, body, url.query)
            except Refused as refused:
                status, answer = refused.status, refused.body
        if upset == "another answer":
            return self.reply(200, ["of a proxy"])
        if upset == "stumbles late":
            return self.reply(500, {"error": {"title": "Server error"}})
        return self.cut() if upset == "cut" else self.reply(status, answer)

    do_GET = do_POST = do_PATCH = handle_any

    def do(self, state, method, general, path, body, query):
        if self.headers["Authorization"] != "Token example":
            raise Refused(401, "Authentication credentials were not provided")
        schema = SCHEMAS.get((method, general))
        values = json.loads(body or b"{}")
        if schema and not jsonschema_rs.is_valid(schema, values):
            raise Refused(400, "Error creating", "invalid")
        if method != "GET" and not schema and not general.endswith("/pay/"):
            raise Refused(404, "Not found")
        found = re.search(r"[0-9a-f]{24}", path)
        return self.route(state, method, general, found and found[0], values, query)

    def route(self, state, method, general, name, body, query):
        if general.startswith("/studies/ID") and name not in state.studies:
            raise Refused(404, "Not found")
        if general.startswith("/submissions/ID") and name not in state.submissions:
            raise Refused(404, "Not found")
        if (method, general) == ("GET", "/users/me/"):
            return 200, {"id": "0"}
        if (method, general) == ("GET", "/filters/"):
            return 200, {"results": FILTERS}
        if (method, general) == ("POST", "/study-cost-calculator/"):
            return 200, {"total_cost": body["reward"] * body["total_available_places"] * (1 + state.fee)}
        if (method, general) == ("GET", "/studies/"):
            assert query == "state=UNPUBLISHED"
            return 200, {"results": [study for study in state.studies.values() if study["status"] == "UNPUBLISHED"]}
        if (method, general) == ("POST", "/studies/"):
            return 201, self.draft(state, body)
        if (method, general) in (("GET", "/studies/ID/"), ("PATCH", "/studies/ID/")):
            return 200, self.study(state, name, body)
        if (method, general) == ("POST", "/studies/ID/transition/"):
            state.studies[name]["status"] = NEXT[body["action"]]
            return 200, state.studies[name]
        if (method, general) == ("GET", "/studies/ID/submissions/"):
            return self.list(state, name, query)
        return self.money(state, method, general, name, body)

    def draft(self, state, body):
        codes = [one["code"] for one in body["completion_codes"]]
        kinds = [action["action"] for one in body["completion_codes"] for action in one["actions"]]
        fixed = [a for one in body["completion_codes"] for a in one["actions"] if "fixed_screen_out_reward" in a]
        if len(set(codes)) < len(codes) or kinds.count("FIXED_SCREEN_OUT_PAYMENT") > 1:
            raise Refused(400, "Error creating", "codes must differ, and one may screen out")
        if any(action["fixed_screen_out_reward"] >= body["reward"] for action in fixed):
            raise Refused(400, "Error creating", "the screen-out reward must be below the reward")
        made = {"id": state.new(), "status": "UNPUBLISHED", **body}
        state.studies[made["id"]] = made
        return made

    def study(self, state, name, body):
        study = state.studies[name]
        if body:
            more = body["total_available_places"] - study["total_available_places"]
            if more < 0:
                raise Refused(400, "Error updating", "places can only be added")
            state.spent += more if study["status"] != "UNPUBLISHED" else 0
            study.update(body)
        return study

    def list(self, state, study, query):
        start = int(query.removeprefix("offset=") or 0)
        rows = [row for row in state.submissions.values() if row["study_id"] == study]
        following = f"http://{self.headers['Host']}/api/v1/studies/{study}/submissions/?offset={start + state.page}"
        more = {"next": {"href": following if start + state.page < len(rows) else None}}
        told = ("id", "participant_id", "status", "started_at", "study_code")
        shown = [{name: row[name] for name in told} for row in rows]
        return 200, {"results": shown[start : start + state.page], "_links": more}

    def money(self, state, method, general, name, body):
        if (method, general) == ("GET", "/submissions/ID/"):
            row = state.submissions[name]
            return 200, {**row, "participant": row["participant_id"], "entered_code": row["study_code"]}
        if (method, general) == ("POST", "/submissions/ID/transition/"):
            row = state.submissions[name]
            if row["status"] not in ("AWAITING REVIEW", "APPROVED"):
                raise Refused(400, "Error", f"a submission that is {row['status']} cannot be approved")
            row["status"] = "APPROVED"  # said twice, it is ignored
            return 200, row
        if (method, general) == ("POST", "/submissions/ID/request-return/"):
            state.messages.append((name, *body["request_return_reasons"]))  # with every call
            row = state.submissions[name]
            row["return_requested"] = "2025-01-01T00:00:00Z"
            told = {key: row[key] for key in ("id", "status", "return_requested")}
            return 200, {**told, "participant": row["participant_id"]}
        if (method, general) == ("POST", "/submissions/bonus-payments/"):
            lines = body["csv_bonuses"].split("\n")
            if unknown := [line for line in lines if line.split(",")[0] not in state.submissions]:
                raise Refused(400, "Error", f"not in this study: {unknown}")
            made = state.new()
            state.set_up[made] = lines
            return 201, {"id": made}
        if (method, general) == ("POST", "/bulk-bonus-payments/ID/pay/"):
            if name not in state.set_up:
                raise Refused(404, "Not found")
            state.coming += state.set_up[name]  # with every call
            if not state.slow:
                state.deliver()
            return 202, "is being processed asynchronously"
        raise Refused(404, "Not found")


def serve():
    """Start one on a free port; gives the server, its state (`.prolific`) and its address (`.url`)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.prolific, server.url = Prolific(), f"http://127.0.0.1:{server.server_port}/api/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server
