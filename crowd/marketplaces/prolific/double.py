"""A Prolific on this machine, over HTTP: its rules, without people and without money, for rehearsals and tests.

It keeps to what docs.prolific.com says, and is stricter where that leaves a choice: it refuses what is documented as
refused, approves and pays some time after it was asked to, pays a bonus again with every call, lists page by page, and
fails on request in every way a network can.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from seedvote.crowd.marketplaces.prolific.client import MOST_BONUSES, PAGE, REJECTION_CATEGORIES, SHORTEST_REJECTION
from seedvote.crowd.marketplaces.prolific.entrance import PROLIFIC_IDS

Row = dict[str, Any]
CODE_TYPES = (
    "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT",
    "OTHER", "FIXED_SCREENOUT",
)  # fmt: skip
ACTIONS: Mapping[str, tuple[str, ...]] = {  # what each needs besides its name
    "AUTOMATICALLY_APPROVE": (),
    "MANUALLY_REVIEW": (),
    "DYNAMIC_PAYMENT": (),
    "REQUEST_RETURN": ("return_reason",),
    "ADD_TO_PARTICIPANT_GROUP": ("participant_group",),
    "REMOVE_FROM_PARTICIPANT_GROUP": ("participant_group",),
    "FIXED_SCREEN_OUT_PAYMENT": ("fixed_screen_out_reward", "slots"),
}
STUDY_FIELDS = {
    "name": str, "internal_name": str, "description": str, "external_study_url": str, "prolific_id_option": str,
    "completion_codes": list, "total_available_places": int, "estimated_completion_time": int, "reward": int,
    "device_compatibility": list, "filters": list, "submissions_config": dict, "study_type": str, "project": str,
}  # fmt: skip
NEEDED = ("name", "description", "prolific_id_option", "completion_codes", "estimated_completion_time", "reward")
Upset = Callable[[str, str], str | None]  # method and path -> how this call fails, a word of FAILURES
FAILURES = ("busy", "stumbles", "stumbles late", "cut", "false success", "another answer")
GONE = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")  # whose place is free again
NEXT_STATUS = {"PUBLISH": "ACTIVE", "START": "ACTIVE", "PAUSE": "PAUSED", "STOP": "AWAITING REVIEW"}
FILTERS: Sequence[Row] = (
    {"filter_id": "age", "type": "range", "data_type": "integer", "min": 18, "max": 100},
    {"filter_id": "sex", "type": "select", "data_type": "ChoiceID", "choices": {"0": "Male", "1": "Female"}},
    {"filter_id": "approval_rate", "type": "range", "data_type": "integer", "min": 0, "max": 100},
)
TOKEN = "example"  # the one token that it accepts
PREFIX = "/api/v1"
ID = re.compile(r"[0-9a-f]{24}")


class RefusedCall(Exception):
    """What Prolific answers with an error and does not do."""

    def __init__(self, status: int, title: str, detail: object = "") -> None:
        super().__init__(title)
        self.status, self.body = status, {"error": {"title": title, "detail": detail, "status": status}}


def query_number(text: str, least: int) -> int:
    """A number of a query."""
    if not text.isdecimal() or int(text) < least:
        raise RefusedCall(400, "Error", f"{text!r} is not a whole number, {least} or more")
    return int(text)


def is_whole(value: object, least: int) -> bool:
    """Whether it is a whole number, and no less."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_filled(value: object) -> bool:
    """Whether it is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def refuse_bad_draft(body: Row) -> None:
    """Refuse it with everything that is wrong in it."""
    if complaints := list(_find_complaints(body)):
        raise RefusedCall(400, "Error creating", complaints)


def _find_complaints(body: Row) -> Iterator[str]:
    """Everything in the body of a draft that the documentation does not allow."""
    yield from (f"{name} is missing" for name in NEEDED if name not in body)
    yield from (f"{name} is not known" for name in body if name not in STUDY_FIELDS)
    for name, kind in STUDY_FIELDS.items():
        if name in body and (not isinstance(body[name], kind) or isinstance(body[name], bool)):
            yield f"{name} is not of its type"
            return
    for name in ("total_available_places", "estimated_completion_time"):
        if name in body and body[name] < 1:
            yield f"{name} is below 1"
    yield from _code_complaints(body.get("completion_codes", []), body.get("reward", 0))
    filters = body.get("filters", [])
    yield from (complaint for entry in filters for complaint in _filter_complaints(entry))
    if any("weightings" in entry for entry in filters) != (body.get("study_type", "SINGLE") == "QUOTA"):
        yield "weightings and study_type QUOTA go together"
    if body.get("study_type", "SINGLE") not in ("SINGLE", "QUOTA", "UK_REP_SAMPLE", "US_REP_SAMPLE"):
        yield "study_type is not known"


def _code_complaints(codes: Sequence[Row], reward: int) -> Iterator[str]:
    if not codes or len({code.get("code") for code in codes}) < len(codes):
        yield "completion_codes must differ, and there must be one"
    actions = [action for code in codes for action in code.get("actions", [])]
    if sum(action.get("action") == "FIXED_SCREEN_OUT_PAYMENT" for action in actions) > 1:
        yield "one code may screen out"
    for code in codes:
        if set(code) != {"code", "code_type", "actions"} or code["code_type"] not in CODE_TYPES or not code["actions"]:
            yield "a completion code has code, code_type and actions"
    for action in actions:
        needed = ACTIONS.get(action.get("action", ""))
        if needed is None or set(action) != {"action", *needed} or not all(action[name] for name in needed):
            yield f"action {action.get('action')} needs {needed}"
        elif action.get("fixed_screen_out_reward", 0) >= max(reward, 1):
            yield "the screen-out reward must be below the reward"


def _filter_complaints(entry: Row) -> Iterator[str]:
    ends, values = entry.get("selected_range"), entry.get("selected_values")
    if not is_filled(entry.get("filter_id")) or (ends is None) == (values is None):
        yield "a filter has filter_id, and selected_values or selected_range"
    elif ends is not None and not all(name in ("lower", "upper") and is_whole(end, 0) for name, end in ends.items()):
        yield "selected_range has whole numbers"
    elif values is not None and (not values or not all(map(is_filled, values))):
        yield "selected_values has texts"
    weights = entry.get("weightings")
    if weights is not None and (set(weights) != set(values or ()) or not all(is_whole(n, 1) for n in weights.values())):
        yield "weightings are whole numbers, one for each selected value"


@dataclass
class Prolific:
    """Studies, submissions, money."""

    fee: float = 0.333  # of rewards and bonuses
    vat: float = 0.0  # of the fee
    page: int = PAGE  # rows of one answer at most
    slow: bool = False  # approvals and bonuses wait until `deliver`
    lists_bonuses: bool = True
    retry_after: str = ""  # header of an answer that asks for patience
    upset: Upset | None = None
    studies: dict[str, Row] = field(default_factory=dict)
    submissions: dict[str, Row] = field(default_factory=dict)
    set_up: dict[str, list[str]] = field(default_factory=dict)  # bonuses that a name stands for
    coming: list[str] = field(default_factory=list)  # bonuses that were accepted
    approving: list[str] = field(default_factory=list)  # submissions whose approval was accepted
    paid: list[str] = field(default_factory=list)  # bonuses, in order
    messages: list[tuple[str, ...]] = field(default_factory=list)  # that participants have received
    faults: list[tuple[str, str]] = field(default_factory=list)  # calls that fail once
    spent: int = 0  # places that were paid for
    balance: int = 100_000_00  # cents
    currency: str = "GBP"
    workspaces: list[str] = field(default_factory=lambda: ["0" * 23 + "f"])
    also_refuses: Callable[[str, str, Any], str | None] | None = None  # of a method, a path and a body: why
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.ids = itertools.count(1)

    def new(self) -> str:
        """A name such as Prolific gives."""
        return f"{next(self.ids):024x}"

    # People, and the researcher on Prolific's page

    def publish(self, study: str) -> None:
        """What the researcher does on Prolific's page: from here on places cost money."""
        self._move_study(study, "PUBLISH")

    def taken(self, study: str) -> int:
        """Places that somebody has."""
        names = self._with_parts(study)
        return sum(row["study_id"] in names and row["status"] not in GONE for row in self.submissions.values())

    def join(self, study: str, participant: str) -> str | None:
        """A participant takes a place; gives the submission, which is the SESSION_ID of the address."""
        with self.lock:
            state, names = self.studies[study], self._with_parts(study)
            came = participant in [
                row["participant_id"] for row in self.submissions.values() if row["study_id"] in names
            ]
            if state["status"] != "ACTIVE" or came or self.taken(study) >= state["total_available_places"]:
                return None
            part = self._part_for(study)
            name = self.new()
            self.submissions[name] = {
                "id": name,
                "participant_id": participant,
                "study_id": part,
                "parent_study_id": study if part != study else None,
                "status": "ACTIVE",
                "started_at": _iso_now(),
                "completed_at": None,
                "study_code": "",
                "bonus_payments": [],
            }
            return name

    def address(self, submission: str) -> str:
        """Where the participant is sent: the address of the draft, with their ids in it."""
        row = self.submissions[submission]
        url = str(self.studies[row["study_id"]]["external_study_url"])
        for name, value in zip(PROLIFIC_IDS, (row["participant_id"], row["study_id"], submission), strict=True):
            url = url.replace(f"{{{{%{name}%}}}}", value)
        return url

    def complete(self, submission: str, code: str) -> None:
        """The participant comes back with a completion code, and its actions follow."""
        with self.lock:
            row = self.submissions[submission]
            study = self.studies[row["parent_study_id"] or row["study_id"]]
            codes = {option["code"]: option["actions"] for option in study["completion_codes"]}
            row.update(
                status="AWAITING REVIEW", study_code=code if code in codes else "NOCODE", completed_at=_iso_now()
            )
            for action in codes.get(code, []):
                if action["action"] == "FIXED_SCREEN_OUT_PAYMENT":
                    row["status"] = "SCREENED OUT"
                    row["bonus_payments"].append(action["fixed_screen_out_reward"])  # Prolific lists it among these
                if action["action"] == "REQUEST_RETURN":
                    row["return_requested"] = _iso_now()

    def returns(self, submission: str) -> None:
        """The participant gives the place back."""
        self.submissions[submission]["status"] = "RETURNED"

    def deliver(self) -> None:
        """What was accepted is done, some minutes later."""
        with self.lock:
            for name in self.approving:
                if self.submissions[name]["status"] == "AWAITING REVIEW":
                    self.submissions[name]["status"] = "APPROVED"
            for line in self.coming:
                name, amount = line.split(",")
                self.submissions[name]["bonus_payments"].append(round(float(amount) * 100))
                self.paid.append(line)
            self.coming, self.approving = [], []

    def _with_parts(self, study: str) -> list[str]:
        return [study, *self.studies[study].get("parts", [])]

    def _part_for(self, study: str) -> str:
        """Where the next participant goes: of a study with quotas, the part that lacks most of its weight."""
        parts = self.studies[study].get("parts", [])
        if not parts:
            return study
        weights = {name: self.studies[name]["weight"] for name in parts}
        _, part = min((self.taken(name) / weights[name], name) for name in weights)
        return str(part)

    def _publish_parts(self, study: Row) -> None:
        """A study with quotas becomes one study a group, each with a name of its own."""
        weighted = [entry["weightings"] for entry in study["filters"] if "weightings" in entry]
        for weights in itertools.product(*(entry.values() for entry in weighted)):
            part = {**study, "id": self.new(), "status": "ACTIVE", "study_type": "SINGLE"}
            part["weight"] = math.prod(weights)
            part["total_available_places"] = 0
            self.studies[part["id"]] = part
            study.setdefault("parts", []).append(part["id"])

    # The interface: each gives a status and an answer

    def answer(self, method: str, path: str, name: str, body: Any, query: Mapping[str, str]) -> tuple[int, Any]:
        """`path` with ID for the name in it."""
        if self.also_refuses and (why := self.also_refuses(method, path, body)):
            raise RefusedCall(400, "Error", why)
        if path.startswith("/studies/ID") and name not in self.studies:
            raise RefusedCall(404, "Not found")
        if path.startswith("/submissions/ID") and name not in self.submissions:
            raise RefusedCall(404, "Not found")
        handlers: dict[tuple[str, str], Callable[[], tuple[int, Any]]] = {
            ("GET", "/users/me/"): lambda: (200, {"id": "0"}),
            ("GET", "/filters/"): lambda: (200, {"results": list(FILTERS)}),
            ("GET", "/workspaces/"): lambda: (200, {"results": [{"id": name} for name in self.workspaces]}),
            ("GET", "/workspaces/ID/balance/"): lambda: (200, self._show_balance(name)),
            ("POST", "/study-cost-calculator/"): lambda: (200, {"total_cost": self._count_cost(body)}),
            ("GET", "/studies/"): lambda: (200, self._list_studies(query)),
            ("POST", "/studies/"): lambda: (201, self._create_draft(body)),
            ("GET", "/studies/ID/"): lambda: (200, self.studies[name]),
            ("PATCH", "/studies/ID/"): lambda: (200, self._update_study(self.studies[name], body)),
            ("GET", "/studies/ID/cost/"): lambda: (200, self._study_cost(name)),
            ("POST", "/studies/ID/transition/"): lambda: (200, self._move_study(name, body.get("action"))),
            ("GET", "/studies/ID/submissions/"): lambda: (200, self._list_submissions(name, query)),
            ("GET", "/submissions/ID/"): lambda: (200, _show_submission(self.submissions[name])),
            ("POST", "/submissions/ID/transition/"): lambda: (200, self._review_submission(name, body)),
            ("POST", "/submissions/ID/request-return/"): lambda: (200, self._ask_back(name, body)),
            ("POST", "/submissions/bulk-approve/"): lambda: (200, self._bulk_approve(body)),
            ("POST", "/submissions/bonus-payments/"): lambda: (201, self._set_up(body)),
            ("POST", "/bulk-bonus-payments/ID/pay/"): lambda: (202, self._pay_bonuses(name)),
        }
        if (method, path) not in handlers:
            raise RefusedCall(404, "Not found")
        return handlers[method, path]()

    def _show_balance(self, workspace: str) -> Row:
        if workspace not in self.workspaces:
            raise RefusedCall(404, "Not found")
        return {"currency_code": self.currency, "total_balance": self.balance, "available_balance": self.balance}

    def _count_cost(self, body: Any) -> float:
        return float(body["reward"]) * float(body["total_available_places"]) * (1 + self.fee * (1 + self.vat))

    def _study_cost(self, study: str) -> Row:
        """By what was approved, screened out or is still at work, as Prolific bills it."""
        state, names = self.studies[study], self._with_parts(study)
        rows = [row for row in self.submissions.values() if row["study_id"] in names]
        gone = ("RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT")
        rewards = state["reward"] * sum(row["status"] not in gone for row in rows)
        rewards += sum(row["bonus_payments"][0] for row in rows if row["status"] == "SCREENED OUT")
        fees = rewards * self.fee
        return {"rewards": self._show_money(rewards, fees), "bonuses": self._show_money(0, 0)}

    def _show_money(self, rewards: float, fees: float) -> Row:
        amounts = {"rewards": rewards, "fees": round(fees), "tax": round(fees * self.vat)}
        return {name: {"amount": amount, "currency": self.currency} for name, amount in amounts.items()}

    def _list_studies(self, query: Mapping[str, str]) -> Row:
        known = (
            "ACTIVE",
            "PAUSED",
            "UNPUBLISHED",
            "PUBLISHING",
            "COMPLETED",
            "AWAITING REVIEW",
            "UNKNOWN",
            "SCHEDULED",
        )
        if query.get("state") not in known:
            raise RefusedCall(400, "Error", "state")
        rows = [study for study in self.studies.values() if study["status"] == query["state"]]
        return self._page_of(rows, "/studies/", query, {"state": query["state"]})

    def _page_of(self, rows: Sequence[Row], path: str, query: Mapping[str, str], more: Mapping[str, str]) -> Row:
        start, limit = query_number(query.get("offset", "0"), 0), query_number(query.get("limit", str(self.page)), 1)
        if limit > PAGE:
            raise RefusedCall(400, "Error", f"limit is at most {PAGE}")
        end = start + min(limit, self.page)
        words = "&".join(f"{name}={value}" for name, value in {**more, "offset": end, "limit": limit}.items())
        href = f"{path}?{words}" if end < len(rows) else None
        return {"results": rows[start:end], "_links": {"next": {"href": href}}, "meta": {"count": len(rows)}}

    def _create_draft(self, body: Row) -> Row:
        refuse_bad_draft(body)
        study = {"id": self.new(), "status": "UNPUBLISHED", "study_type": "SINGLE", "filters": [], **body}
        self.studies[study["id"]] = study
        return study

    def _update_study(self, study: Row, body: Row) -> Row:
        places = body.get("total_available_places")
        if set(body) != {"total_available_places"} or not is_whole(places, 1):
            raise RefusedCall(400, "Error updating", "only total_available_places, a whole number")
        more = places - study["total_available_places"]
        if study["status"] != "UNPUBLISHED":
            if more < 0:
                raise RefusedCall(400, "Error updating", "places can only be added")
            self._take_money(more * study["reward"])
            self.spent += more
        study["total_available_places"] = places
        return study

    def _take_money(self, cents: int) -> None:
        cost = round(cents * (1 + self.fee * (1 + self.vat)))
        if cost > self.balance:
            raise RefusedCall(400, "Error", "Insufficient funds")
        self.balance -= cost

    def _move_study(self, name: str, action: str | None) -> Row:
        study = self.studies[name]
        if action not in NEXT_STATUS:
            raise RefusedCall(400, "Error", "action")
        if action == "PUBLISH":
            if study["status"] != "UNPUBLISHED":
                raise RefusedCall(400, "Error", "it is published already")
            self._take_money(study["total_available_places"] * study["reward"])
            self.spent += study["total_available_places"]
            if study["study_type"] == "QUOTA":
                self._publish_parts(study)
        elif study["status"] == "UNPUBLISHED":
            raise RefusedCall(400, "Error", "it is not published")
        study["status"] = NEXT_STATUS[action]
        return study

    def _list_submissions(self, study: str, query: Mapping[str, str]) -> Row:
        rows = [row for row in self.submissions.values() if row["study_id"] == study]
        fields = ["id", "participant_id", "status", "started_at", "completed_at", "study_code"]
        fields += ["bonus_payments"] if self.lists_bonuses else []
        results = [{name: row[name] for name in fields} for row in rows]
        return self._page_of(results, f"/studies/{study}/submissions/", query, {})

    def _review_submission(self, name: str, body: Row) -> Row:
        row, action = self.submissions[name], body.get("action")
        status = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}.get(str(action))
        if status is None:
            raise RefusedCall(400, "Error", "action")
        if action == "REJECT":
            if body.get("rejection_category") not in REJECTION_CATEGORIES:
                raise RefusedCall(400, "Error", {"rejection_category": ["not a category"]})
            if len(str(body.get("message", ""))) < SHORTEST_REJECTION:
                raise RefusedCall(400, "Error", {"message": [f"at least {SHORTEST_REJECTION} characters"]})
        if row["status"] not in ("AWAITING REVIEW", status):
            raise RefusedCall(400, "Error", f"a submission that is {row['status']} cannot be {status}")
        row["status"] = status  # said twice, it is ignored
        return _show_submission(row)

    def _ask_back(self, name: str, body: Row) -> Row:
        reasons = body.get("request_return_reasons")
        if set(body) != {"request_return_reasons"} or not reasons or not all(map(is_filled, reasons)):
            raise RefusedCall(400, "Error", "request_return_reasons")
        self.messages.append((name, *reasons))  # with every call
        row = self.submissions[name]
        row["return_requested"] = _iso_now()
        return {**{key: row[key] for key in ("id", "status", "return_requested")}, "participant": row["participant_id"]}

    def _bulk_approve(self, body: Row) -> str:
        names = body.get("submission_ids")
        if set(body) != {"submission_ids"} or not isinstance(names, list) or not names:
            raise RefusedCall(400, "Error", "submission_ids")
        if unknown := [name for name in names if name not in self.submissions]:
            raise RefusedCall(400, "Error", {"submission_ids": [f"not known: {', '.join(unknown)}"]})
        wrong = [name for name in names if self.submissions[name]["status"] not in ("AWAITING REVIEW", "APPROVED")]
        if wrong:
            raise RefusedCall(400, "Error", {"submission_ids": [f"not awaiting review: {', '.join(wrong)}"]})
        self.approving += names
        if not self.slow:
            self.deliver()
        return "Bulk approve in progress"

    def _set_up(self, body: Row) -> Row:
        if set(body) != {"study_id", "csv_bonuses"} or body["study_id"] not in self.studies:
            raise RefusedCall(400, "Error", "study_id and csv_bonuses")
        lines = [line for line in str(body["csv_bonuses"]).split("\n") if line]
        if not lines or not all(re.fullmatch(r"[0-9a-z]+,\d+\.\d\d", line) for line in lines):
            raise RefusedCall(400, "Error", "csv_bonuses is lines of <submission_id>,<amount>")
        if len(lines) > MOST_BONUSES:
            raise RefusedCall(400, "Error", f"at most {MOST_BONUSES} bonuses in one payment")
        names = [line.split(",")[0] for line in lines]
        members = {name for name, row in self.submissions.items() if row["study_id"] == body["study_id"]}
        if unknown := [name for name in names if name not in members]:
            raise RefusedCall(400, "Error", f"not in this study: {', '.join(unknown)}")
        if len(set(names)) < len(names):
            raise RefusedCall(400, "Error", "a submission is named twice")
        plan = self.new()
        self.set_up[plan] = lines
        amount = sum(round(float(line.split(",")[1]) * 100) for line in lines)
        fees, vat = round(amount * self.fee, 2), round(amount * self.fee * self.vat, 2)
        money = {"amount": amount, "fees": fees, "vat": vat, "total_amount": amount + fees + vat}
        return {"id": plan, "study": body["study_id"], **money}

    def _pay_bonuses(self, name: str) -> str:
        if name not in self.set_up:
            raise RefusedCall(404, "Not found")
        self._take_money(sum(round(float(line.split(",")[1]) * 100) for line in self.set_up[name]))
        self.coming += self.set_up[name]  # with every call
        if not self.slow:
            self.deliver()
        return f"Bulk bonus payment with ID {name} is being processed asynchronously."


def _iso_now() -> str:
    return datetime.now(UTC).isoformat()


def _show_submission(row: Row) -> Row:
    return {**row, "participant": row["participant_id"], "entered_code": row["study_code"]}


class DoubleServer(ThreadingHTTPServer):
    """A server with a Prolific behind it."""

    daemon_threads = True

    def __init__(self, prolific: Prolific, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.prolific = prolific
        self.url = f"http://127.0.0.1:{self.server_port}{PREFIX}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's error."""


@contextmanager
def serving_double(prolific: Prolific, port: int = 0) -> Iterator[DoubleServer]:
    """Serve it until this ends."""
    server = DoubleServer(prolific, port)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def _send_reply(self, status: int, body: object, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _cut_connection(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _handle_call(self) -> None:
        state, url = cast(DoubleServer, self.server).prolific, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = url.path.removeprefix(PREFIX)
        general = ID.sub("ID", path)
        with state.lock:
            state.calls[self.command, general] += 1
            if (self.command, general) in state.faults:
                state.faults.remove((self.command, general))
                return self._send_reply(503, {"error": {"title": "unavailable"}})
            failure = state.upset(self.command, general) if state.upset else None
            if failure == "busy":
                wait = {"Retry_After": state.retry_after} if state.retry_after else {}
                return self._send_reply(429, {"error": {"title": "Too many requests"}}, **wait)
            if failure == "stumbles":
                return self._send_reply(500, {"error": {"title": "Server error"}})
            if failure == "false success":
                return self._send_reply(200, {"error": {"title": "Server error"}})
            status, answer = self._answer_call(state, general, path, body, dict(parse_qsl(url.query)))
        if failure == "another answer":
            return self._send_reply(200, ["of a proxy"])
        if failure == "stumbles late":
            return self._send_reply(500, {"error": {"title": "Server error"}})
        return self._cut_connection() if failure == "cut" else self._send_reply(status, answer)

    do_GET = do_POST = do_PATCH = _handle_call

    def _answer_call(
        self, state: Prolific, general: str, path: str, body: bytes, query: dict[str, str]
    ) -> tuple[int, object]:
        try:
            if self.headers["Authorization"] != f"Token {TOKEN}":
                raise RefusedCall(401, "Authentication credentials were not provided")
            name = ID.search(path)
            status, answer = state.answer(self.command, general, name[0] if name else "", _read_json(body), query)
        except RefusedCall as refused:
            return refused.status, refused.body
        return status, self._with_whole_links(answer)

    def _with_whole_links(self, answer: Any) -> Any:
        """Links to next pages lead to this server."""
        if isinstance(answer, dict) and (href := ((answer.get("_links") or {}).get("next") or {}).get("href")):
            return {**answer, "_links": {"next": {"href": f"http://{self.headers['Host']}{PREFIX}{href}"}}}
        return answer


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError:
        raise RefusedCall(400, "Error", "not JSON") from None
