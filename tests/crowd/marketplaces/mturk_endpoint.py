"""A Mechanical Turk on this machine: HTTP, checked in both directions by botocore's own service model.

It keeps HITs, assignments, qualifications and money as MTurk describes them, refuses what MTurk refuses, and has the
worker's side too: a page that shows the task in a frame, and the form target `externalSubmit`.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import botocore.session

MODEL = botocore.session.get_session().get_service_model("mturk")
TARGET = MODEL.metadata["targetPrefix"]
FORM = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd}"
EXTERNAL = "{http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd}"


class Refused(Exception):
    """An error reply of MTurk: `RequestError` with MTurk's own code, or an error of AWS."""

    def __init__(self, code, message="", kind="RequestError", status=400):
        super().__init__(code)
        self.status = status
        self.body = {"__type": kind, "Message": f"{message} ({code})", "TurkErrorCode": f"AWS.MechanicalTurk.{code}"}


def conform(shape, value, where="request"):
    """`value` as Python, if it is what the service model says; else ValueError. Stricter than botocore's own check:
    unknown members, enumerations, patterns and lengths count."""
    kind = shape.type_name
    if kind == "structure":
        if not isinstance(value, dict) or set(value) - set(shape.members) or set(shape.required_members) - set(value):
            raise ValueError(f"{where}: {sorted(value)} against {sorted(shape.members)}")
        return {name: conform(shape.members[name], part, f"{where}.{name}") for name, part in value.items()}
    if kind == "list":
        return [conform(shape.member, part, f"{where}[]") for part in value]
    if kind == "timestamp":
        return datetime.fromtimestamp(value, UTC) if type(value) in (int, float) else value.timestamp()
    wanted = {"string": str, "integer": int, "long": int, "boolean": bool}[kind]
    size = len(value) if kind == "string" else value
    limits = shape.metadata
    if (
        type(value) is not wanted
        or ("enum" in limits and value not in limits["enum"])
        or ("pattern" in limits and not re.search(limits["pattern"], value))
        or not limits.get("min", size) <= size <= limits.get("max", size)
    ):
        raise ValueError(f"{where}: {value!r} against {limits}")
    return value


def check_question(question):
    """Our page in a frame, or a form of MTurk's own: its elements in the order of the schema."""
    if question.tag == f"{EXTERNAL}ExternalQuestion":
        assert [part.tag for part in question] == [f"{EXTERNAL}ExternalURL", f"{EXTERNAL}FrameHeight"]
        return
    assert [part.tag for part in question] == [f"{FORM}Overview", f"{FORM}Question"]
    names = ("QuestionIdentifier", "IsRequired", "QuestionContent", "AnswerSpecification")
    assert [part.tag for part in question[1]] == [f"{FORM}{name}" for name in names]
    assert question[1].find(f"{FORM}AnswerSpecification/{FORM}FreeTextAnswer") is not None
    assert question[0].findtext(f"{FORM}Text") and question[1].findtext(f"{FORM}QuestionContent/{FORM}Text")


class MTurk:
    """The state: what exists, who may do what, who was paid."""

    def __init__(self):
        self.ids, self.lock = count(1), threading.RLock()
        self.available = Decimal("1000.00")
        self.qualifications, self.granted = {}, {}  # type id -> type; type id -> workers who hold it
        self.types, self.hits, self.assignments, self.tokens, self.bonuses = {}, {}, {}, {}, []
        self.told = []  # qualifications of which a worker was told
        self.locales, self.calls, self.accounts = {}, Counter(), {"AWORKER", "AOTHER"}
        self.refuses = set()  # operations that are throttled
        self.faults = []  # (operation, status or None to cut the line, whether the work is done first)
        self.upset = None  # called with each operation: busy, stumbles, stumbles late, cut, or None
        self.page = 10

    def new(self, letter):
        return f"{letter}{next(self.ids):029d}"

    # Requester side: one method an operation, named as in the service model.

    def GetAccountBalance(self):
        return {"AvailableBalance": f"{self.available:.2f}"}

    def CreateQualificationType(self, Name, Description, QualificationTypeStatus):
        if any(kind["Name"] == Name for kind in self.qualifications.values()):
            raise Refused("QualificationTypeAlreadyExists")
        made = {"QualificationTypeId": self.new("Q"), "Name": Name, "Description": Description}
        self.qualifications[made["QualificationTypeId"]] = {**made, "QualificationTypeStatus": QualificationTypeStatus}
        self.granted[made["QualificationTypeId"]] = set()
        return {"QualificationType": made}

    def ListQualificationTypes(self, Query, MustBeRequestable, MustBeOwnedByCaller, MaxResults=100):
        found = [kind for kind in self.qualifications.values() if Query in kind["Name"]]
        return {"NumResults": len(found), "QualificationTypes": found}

    def CreateHITType(self, **values):
        for name, known in self.types.items():
            if known == values:
                return {"HITTypeId": name}
        name = self.new("T")
        self.types[name] = values
        return {"HITTypeId": name}

    def CreateHITWithHITType(
        self,
        HITTypeId,
        MaxAssignments,
        LifetimeInSeconds,
        Question,
        RequesterAnnotation="",
        UniqueRequestToken=None,
    ):
        if UniqueRequestToken in self.tokens:
            raise Refused("HITAlreadyExists", f"The HIT {self.tokens[UniqueRequestToken]} exists already")
        if HITTypeId not in self.types:
            raise Refused("HITTypeDoesNotExist")
        check_question(ET.fromstring(Question))
        kind = self.types[HITTypeId]
        reward = Decimal(kind["Reward"])
        fee = max(Decimal("0.01"), reward * Decimal("0.4" if MaxAssignments >= 10 else "0.2"))
        if self.available < (reward + fee) * MaxAssignments:
            raise Refused("InsufficientFunds")
        self.available -= (reward + fee) * MaxAssignments
        name = self.new("H")
        if UniqueRequestToken:
            self.tokens[UniqueRequestToken] = name
        self.hits[name] = {
            "HITId": name,
            "HITTypeId": HITTypeId,
            "MaxAssignments": MaxAssignments,
            "Expiration": datetime.now(UTC) + timedelta(seconds=LifetimeInSeconds),
            "Question": Question,
            "RequesterAnnotation": RequesterAnnotation,
            "Reward": kind["Reward"],
            "HITStatus": "Assignable",
            "NumberOfAssignmentsAvailable": MaxAssignments,
            "NumberOfAssignmentsPending": 0,
            "NumberOfAssignmentsCompleted": 0,
        }
        return {"HIT": self.hits[name]}

    def hit(self, name):
        if name not in self.hits:
            raise Refused("HITDoesNotExist")
        return self.hits[name]

    def GetHIT(self, HITId):
        return {"HIT": self.hit(HITId)}

    def pages(self, key, rows, token):
        start = int(token or 0)
        part = rows[start : start + self.page]
        more = {"NextToken": str(start + self.page)} if start + self.page < len(rows) else {}
        return {"NumResults": len(part), key: part, **more}

    def ListHITsForQualificationType(self, QualificationTypeId, NextToken=None):
        if QualificationTypeId not in self.qualifications:
            raise Refused("QualificationTypeDoesNotExist")
        using = [
            hit
            for hit in self.hits.values()
            for asked in self.types[hit["HITTypeId"]]["QualificationRequirements"]
            if asked["QualificationTypeId"] == QualificationTypeId
        ]
        return self.pages("HITs", using, NextToken)

    def ListAssignmentsForHIT(self, HITId, NextToken=None, **_):
        self.hit(HITId)
        mine = [row for row in self.assignments.values() if row["HITId"] == HITId and "AssignmentStatus" in row]
        rows = [{name: value for name, value in row.items() if name != "refuse"} for row in mine]
        return self.pages("Assignments", rows, NextToken)

    def ListWorkersWithQualificationType(self, QualificationTypeId, Status, NextToken=None):
        workers = sorted(self.granted[QualificationTypeId])
        rows = [{"QualificationTypeId": QualificationTypeId, "WorkerId": name, "Status": Status} for name in workers]
        return self.pages("Qualifications", rows, NextToken)

    def ListBonusPayments(self, AssignmentId, NextToken=None):
        rows = [row for row in self.bonuses if row["AssignmentId"] == AssignmentId]
        return self.pages("BonusPayments", rows, NextToken)

    def UpdateExpirationForHIT(self, HITId, ExpireAt):
        self.hit(HITId)["Expiration"] = ExpireAt
        return {}

    def AssociateQualificationWithWorker(self, QualificationTypeId, WorkerId, IntegerValue, SendNotification):
        if WorkerId not in self.known():
            raise Refused("WorkerDoesNotExist")
        if SendNotification:
            self.told.append((QualificationTypeId, WorkerId))
        self.granted[QualificationTypeId].add(WorkerId)
        return {}

    def DisassociateQualificationFromWorker(self, WorkerId, QualificationTypeId):
        if WorkerId not in self.granted[QualificationTypeId]:
            raise Refused("InvalidQualificationState")
        self.granted[QualificationTypeId].remove(WorkerId)
        return {}

    def DeleteHIT(self, HITId):
        rows = [row for row in self.assignments.values() if row["HITId"] == HITId]
        settled = all(row.get("AssignmentStatus") in ("Approved", "Rejected") for row in rows)
        if self.hit(HITId)["HITStatus"] != "Reviewable" or not settled:
            raise Refused("InvalidHITState")
        del self.hits[HITId]
        return {}

    def DeleteQualificationType(self, QualificationTypeId):
        if QualificationTypeId not in self.qualifications:
            raise Refused("QualificationTypeDoesNotExist")
        del self.qualifications[QualificationTypeId]
        return {}

    def known(self):
        """Workers whose accounts exist."""
        return {row["WorkerId"] for row in self.assignments.values()} | self.accounts

    def GetAssignment(self, AssignmentId):
        if AssignmentId not in self.assignments:
            raise Refused("AssignmentDoesNotExist")
        row = self.assignments[AssignmentId]
        if "AssignmentStatus" not in row:
            raise Refused("InvalidAssignmentState")
        return {"Assignment": {name: value for name, value in row.items() if name != "refuse"}}

    def ApproveAssignment(self, AssignmentId):
        row = self.assignments[AssignmentId]
        if row.get("AssignmentStatus") != "Submitted" or "refuse" in row:
            raise Refused("InvalidAssignmentState")
        row["AssignmentStatus"] = "Approved"
        return {}

    def SendBonus(self, WorkerId, AssignmentId, BonusAmount, Reason, UniqueRequestToken):
        if UniqueRequestToken in self.tokens:
            raise Refused("DuplicateRequest")
        if self.assignments[AssignmentId]["WorkerId"] != WorkerId:
            raise Refused("AssignmentDoesNotExist")
        self.tokens[UniqueRequestToken] = AssignmentId
        self.available -= Decimal(BonusAmount) * Decimal("1.2")
        self.bonuses.append(
            {"WorkerId": WorkerId, "AssignmentId": AssignmentId, "BonusAmount": BonusAmount, "Reason": Reason}
        )
        return {}

    # Worker side.

    def may_take(self, hit, worker):
        for asked in self.types[hit["HITTypeId"]]["QualificationRequirements"]:
            held = worker in self.granted.get(asked["QualificationTypeId"], ())
            if (asked["Comparator"] == "DoesNotExist" and held) or (asked["Comparator"] == "Exists" and not held):
                return False
            if "LocaleValues" in asked and {"Country": self.locales.get(worker)} not in asked["LocaleValues"]:
                return False
        taken = [row["WorkerId"] for row in self.assignments.values() if row["HITId"] == hit["HITId"]]
        open_ = hit["Expiration"] > datetime.now(UTC)
        return open_ and worker not in taken and len(taken) < hit["MaxAssignments"]

    def accept(self, hit, worker):
        """An assignment for this worker, or None where the HIT does not let the worker in."""
        with self.lock:
            if not self.may_take(self.hits[hit], worker):
                return None
            name = self.new("A")
            self.assignments[name] = {"AssignmentId": name, "WorkerId": worker, "HITId": hit}
            self.restate(hit)
            return name

    def restate(self, hit):
        """What becomes of a HIT whose places are all taken, or all handed in."""
        rows = [row for row in self.assignments.values() if row["HITId"] == hit]
        done = sum("AssignmentStatus" in row for row in rows)
        self.hits[hit]["NumberOfAssignmentsAvailable"] = self.hits[hit]["MaxAssignments"] - len(rows)
        self.hits[hit]["NumberOfAssignmentsPending"] = len(rows) - done
        if len(rows) == self.hits[hit]["MaxAssignments"]:
            self.hits[hit]["HITStatus"] = "Reviewable" if done == len(rows) else "Unassignable"

    def give_up(self, assignment):
        """Its time is over, or the worker returned it: the place is free, and nothing can be handed in."""
        row = self.assignments.pop(assignment)
        self.accounts.add(row["WorkerId"])
        self.hits[row["HITId"]]["HITStatus"] = "Assignable"

    def address(self, hit, base, **query):
        url = ET.fromstring(self.hits[hit]["Question"]).findtext(f"{EXTERNAL}ExternalURL")
        return f"{url}?{urlencode({'hitId': hit, 'turkSubmitTo': base, **query})}"

    def submit(self, fields):
        row = self.assignments.get(fields.get("assignmentId"))
        if row is None or "AssignmentStatus" in row or len(fields) < 2:
            return False
        row["AssignmentStatus"] = "Submitted"
        self.restate(row["HITId"])
        return True


class Handler(BaseHTTPRequestHandler):
    """HTTP: the JSON protocol under /, the worker's pages beside it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # on a kept connection a body would wait 40 ms for the word that its headers came

    def log_message(self, *args):
        pass

    def reply(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        turk, path = self.server.turk, urlsplit(self.path)
        query = dict(parse_qsl(path.query))
        base = f"http://{self.headers['Host']}"
        if path.path not in ("/preview", "/worker"):
            return self.reply(404, b"", "text/html")
        if path.path == "/preview":
            frame = turk.address(query["hit"], base, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE")
        else:
            assignment = turk.accept(query["hit"], query["worker"])
            if assignment is None:
                return self.reply(403, b"You do not qualify for this task.", "text/html")
            frame = turk.address(query["hit"], base, assignmentId=assignment, workerId=query["worker"])
        page = f'<!doctype html><iframe src="{escape(frame)}" width="1280" height="720"></iframe>'
        return self.reply(200, page.encode(), "text/html")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if urlsplit(self.path).path == "/mturk/externalSubmit":
            fields = dict(parse_qsl(urlsplit(self.path).query)) | dict(parse_qsl(body.decode()))
            done = self.server.turk.submit(fields)
            return self.reply(200 if done else 400, b"Thank you!" if done else b"No such assignment", "text/html")
        prefix, _, operation = self.headers["X-Amz-Target"].partition(".")
        assert prefix == TARGET
        return self.answer(operation, json.loads(body))

    def answer(self, operation, request):
        turk = self.server.turk
        with turk.lock:
            turk.calls[operation] += 1
            fault = next((one for one in turk.faults if one[0] == operation), None)
            if fault:
                turk.faults.remove(fault)
            upset = turk.upset and turk.upset(operation)
            try:
                self.check_signature()
                if operation in turk.refuses or upset == "busy":
                    raise Refused("Throttled")
                if upset == "stumbles":
                    raise Refused("ServiceFault", kind="ServiceFault", status=500)
                if upset == "false success":
                    raise Refused("ServiceFault", kind="ServiceFault", status=200)
                if fault and not fault[2]:
                    raise Refused("ServiceFault", kind="ServiceFault", status=fault[1])
                status, reply = 200, self.perform(turk, operation, request)
            except Refused as refused:
                status, reply = refused.status, refused.body
        if upset == "another answer":
            status, reply = 200, ["of a proxy"]
        if upset == "stumbles late":
            status, reply = 500, Refused("ServiceFault", kind="ServiceFault").body
        if (fault and fault[2]) or upset == "cut":
            self.close_connection = True  # the work is done, the answer never arrives
            return None
        return self.reply(status, json.dumps(reply).encode(), "application/x-amz-json-1.1")

    def perform(self, turk, operation, request):
        model = MODEL.operation_model(operation)
        values = conform(model.input_shape, request)
        return conform(model.output_shape, getattr(turk, operation)(**values), "reply")

    def check_signature(self):
        scope = re.search(r"Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request", self.headers["Authorization"])
        assert (scope[2], scope[3]) == ("us-east-1", "mturk-requester"), scope[0]
        if scope[1] == "expired":
            raise Refused("Expired", kind="ExpiredTokenException")


def serve():
    """Start one on a free port; gives the server, its state (`.turk`) and its address (`.url`)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.turk, server.url = MTurk(), f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server
