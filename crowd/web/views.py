"""The routes of the rater: each reads the form, asks the desk and draws the page that follows.

The signed cookie holds the rater's seat. Nothing about a rater is stored before they consent.
"""

from __future__ import annotations

import hmac
import math
import secrets
from typing import Any, cast, get_args

from flask import Blueprint, Response, current_app, g, jsonify, redirect, request, session

from crowd.hit import Button
from crowd.rating.answering import ASKED_LATER
from crowd.rating.desk import Desk
from crowd.rating.doors import admits
from crowd.rating.leasing import ShownPair, Step
from crowd.rating.seating import Refused, Seat, WrongKind
from crowd.store.identity import form_token, self_test_proof
from crowd.web import page
from crowd.web.entrance import LAST_PAGE, SELF_TEST, Arrival, WayOut
from dialogue.errors import InputError
from dialogue.records import Source

rater_pages = Blueprint("hit", __name__)
PageReply = str | Response
OWN: tuple[Source, ...] = ("local", "simulated")  # whose sittings we give out; marketplaces give out theirs


@rater_pages.get("/")
def start() -> PageReply:
    """Arrive: by ?rater=ID (and ?sitting=KEY for a further sitting), by the cookie, or as somebody new."""
    desk = _desk()
    if arrival := _arrival():
        if arrival.preview:
            return page.glance_page(desk.hit, _frame(), desk.first_sitting)
        if proof := request.args.get(SELF_TEST):
            return _self_test(arrival, proof)
        if arrival.source in ASKED_LATER and not admits(desk.doors(), arrival.source, arrival.task):
            return current_app.make_response((page.message_page(desk.hit, _frame(), "uninvited"), 403))
        if arrival.turned_away:
            return page.message_page(desk.hit, _frame(), "no_more")
        _sit(arrival.worker, arrival.sitting or _sitting_of(arrival.worker), arrival.source)
    elif current_app.extensions["config"].invited:
        # who is named in an address without proof could be anybody, so only the signed cookie is believed
        if "worker" not in session or "rater" in request.args:
            return current_app.make_response((page.message_page(desk.hit, _frame(), "uninvited"), 403))
        _sit(session["worker"], session["sitting"], session["source"])
    else:
        worker = request.args.get("rater") or session.get("worker") or f"visitor-{secrets.token_hex(12)}"
        sitting = request.args.get("sitting") or _sitting_of(worker)
        _sit(worker, sitting, _source(request.args.get("source")))
    return _go("/task") if "seat" in session else _consent_page()


def _consent_page() -> str:
    desk = _desk()
    return page.consent_page(desk.hit, _frame(), desk.first_sitting, _way_to_decline())


def _self_test(arrival: Arrival, proof: str) -> PageReply:
    """The test worker of a launch: the first page or the last one, as a worker sees them; nothing is stored."""
    desk = _desk()
    if not hmac.compare_digest(proof.encode(), self_test_proof(desk.secret).encode()):
        raise Refused("not a self-test of this study")
    if LAST_PAGE not in request.args:
        return page.consent_page(desk.hit, _frame(), desk.first_sitting)
    visit = {"source": arrival.source, "worker": arrival.worker, "sitting": arrival.sitting}
    ways = (entrance.leave(visit, Step("done", done=1)) for entrance in current_app.extensions["entrances"])
    out = next((way for way in ways if way), None)
    return page.message_page(desk.hit, _frame(), "done", page.SittingSoFar(1, "", out, False, False))


def _sitting_of(worker: str) -> str:
    """The sitting in which this person's browser was last, or their first."""
    return str(session["sitting"]) if session.get("worker") == worker else "1"


def _arrival() -> Arrival | None:
    """Who a marketplace says is coming, if one does."""
    try:
        for entrance in current_app.extensions["entrances"]:
            if arrival := entrance.arrive(request.args):
                return cast(Arrival, arrival)
    except InputError as error:
        raise Refused(str(error)) from error
    return None


def _way_out(step: Step) -> WayOut | None:
    ways = (entrance.leave(session, step) for entrance in current_app.extensions["entrances"])
    return next((way for way in ways if way), None)


def _way_to_decline() -> WayOut | None:
    """The way back of somebody who does not consent, where the marketplace has one."""
    entrances = current_app.extensions["entrances"]
    ways = (entrance.decline(session) for entrance in entrances if hasattr(entrance, "decline"))
    return next((way for way in ways if way), None)


def _source(claimed: str | None) -> Source:
    """Simulated raters say that they are, and come only where a server was started for them; people nowhere else."""
    source = cast(Source, current_app.extensions["config"].source)
    if (claimed or session.get("source")) == "simulated" and source != "simulated":
        raise WrongKind("this server is for people")
    if source == "simulated" and (claimed or session.get("source")) != "simulated":
        raise WrongKind("this server is for simulated raters")
    return source


def of_another_kind() -> Any:
    """What somebody sees who is a person where raters are simulated; programs are told by the status alone."""
    claims = request.args.get("source") == "simulated"
    return problem("bad_request" if claims else "simulation")


def _sit(worker: str, sitting: str, source: Source) -> None:
    """Write the cookie: a seat for a rater who has consented before, otherwise only who asks."""
    desk = _desk()
    desk.check_ids(worker, sitting)
    last = session.get("last") if session.get("worker") == worker else None
    session.clear()
    session.permanent = True  # a rater who closes the browser finds the sitting again
    session.update(worker=worker, sitting=sitting, source=source, last=last)
    if desk.has_consented(worker):
        seat = desk.arrive(worker, sitting, source)
        session["seat"] = [seat.rater, seat.sitting]


@rater_pages.post("/consent")
def consent() -> PageReply:
    """Record the consent; this is where a rater's first row is written."""
    _check_form(_frame())
    desk = _desk()
    seat = desk.arrive(session["worker"], session["sitting"], session["source"])
    desk.consent(seat)
    session["seat"] = [seat.rater, seat.sitting]
    return _go("/task")


@rater_pages.route("/instructions/<int:number>", methods=["GET", "POST"])
def instructions(number: int) -> PageReply:
    """One worked example; an answer gets feedback."""
    desk, seat = _desk(), _seat()
    if seat is None:
        return _go("/")
    if not 1 <= number <= len(desk.hit.examples):
        raise Refused("there is no such example")
    frame, chosen = _frame(), None
    if request.method == "POST":
        _check_form(frame)
        chosen = _choice()
        desk.instructed(seat, number, chosen)
    return page.example_page(desk.hit, frame, number, chosen)


@rater_pages.get("/task")
def task() -> PageReply:
    """The pair that is due, or why there is none."""
    seat = _seat()
    if seat is None:
        return _go("/")
    try:
        step = _desk().next_step(seat)
    except Refused:  # a cookie of somebody who was forgotten meanwhile
        session.clear()
        return _go("/")
    return _json_of(step, "", _frame()) if _wants_json() else _page_of(step, session.pop("note", ""))


@rater_pages.get("/done", endpoint="done")
def thank() -> PageReply:
    """The same place; a sitting that is over shows its thank-you page."""
    return task()


@rater_pages.post("/answer", endpoint="answer")
def receive_answer() -> PageReply:
    """Save an answer, then the next pair: as JSON for the page's script, by redirect without it."""
    frame = _frame()
    _check_form(frame)
    seat = _seat() or _refuse("nobody sits here")
    note, step = _desk().answer(seat, _field("lease"), _choice(), _seconds())
    if note == "saved":
        session["last"] = _field("lease")  # who gave an answer may take it back, and nobody else who knows an id
    return _and_then(step, note, frame)


@rater_pages.post("/undo")
def undo() -> PageReply:
    """Take back the last answer."""
    frame = _frame()
    _check_form(frame)
    seat = _seat() or _refuse("nobody sits here")
    undone, step = _desk().undo(seat, str(session.get("last") or ""))
    return _and_then(step, "undone" if undone else "", frame)


@rater_pages.post("/hand-in")
def hand_in() -> PageReply:
    """End a sitting that would have to wait, with what is done."""
    _check_form(_frame())
    _desk().hand_in(_seat() or _refuse("nobody sits here"))
    return _go("/task")


@rater_pages.post("/another")
def another() -> PageReply:
    """Begin the next sitting after one that is over."""
    _check_form(_frame())
    desk, seat = _desk(), _seat() or _refuse("nobody sits here")
    if session["source"] in OWN and desk.next_step(seat).more:
        # named after the sitting that is over, so that a double click begins one, not two
        _sit(session["worker"], f"after-{seat.sitting}", session["source"])
    return _go("/task")


@rater_pages.get("/health")
def health() -> PageReply:
    """200 while a vote could be stored, for load balancers; tells nothing about the study."""
    current_app.extensions["pulse"].feel()
    return jsonify(status="ok")


def problem(kind: page.MessageKind) -> Any:
    """What a rater sees when a request failed: a page, or JSON for the page's script."""
    if _wants_json():
        return jsonify(status=kind, saved=False, html="", progress=None)
    return page.message_page(_desk().hit, _frame(), kind)


def _desk() -> Desk:
    return cast(Desk, current_app.extensions["desk"])


def _seat() -> Seat | None:
    return Seat(*session["seat"]) if "seat" in session else None


def _refuse(why: str) -> Seat:
    raise Refused(why)


def _wants_json() -> bool:
    return request.headers.get("X-Requested-With") == "fetch" or request.accept_mimetypes.best == "application/json"


def _go(path: str) -> Response:
    return cast(Response, redirect(request.script_root + path, 303))


def _frame() -> page.Frame:
    csrf = form_token(_desk().secret, str(session.get("worker", "")), str(session.get("sitting", "")))
    return page.Frame(request.script_root, csrf, g.nonce)


def _check_form(frame: page.Frame) -> None:
    """Refuse a form that was not made by us for this very rater: it carries the token that the reply will carry."""
    if "worker" not in session or not hmac.compare_digest(_field("csrf").encode(), frame.csrf.encode()):
        raise Refused("the form was not made for this rater")


def _field(name: str) -> str:
    return request.form.get(name, "")


def _choice() -> Button:
    choice = _field("choice")
    if choice not in get_args(Button):
        raise Refused("a choice is left, right or tie")
    return cast(Button, choice)


def _seconds() -> float | None:
    try:
        seconds = float(_field("seconds"))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _page_of(step: Step, note: page.Note) -> PageReply:
    hit, frame = _desk().hit, _frame()
    if step.stage == "consent":
        return _consent_page()
    if step.stage == "instructions":
        return _go(f"/instructions/{step.number}")
    if step.stage == "task":
        return page.task_page(hit, frame, *_shown(step), note)
    return page.message_page(hit, frame, step.stage, _so_far(step))


def _so_far(step: Step) -> page.SittingSoFar:
    """Where no pair is shown: whoever did something gets the code for it, whatever ended the sitting."""
    hit, out = _desk().hit, _way_out(step)
    code = hit.screened_out_code if step.stage == "no_more" else hit.completion_code
    earned = step.done and step.stage in page.ENDINGS and not out
    more = step.more and session["source"] in OWN
    may_undo = _may_undo(step) and not (out and not out.url)  # without a way back it is handed in already
    return page.SittingSoFar(step.done, code if earned else "", out, more, may_undo)


def _may_undo(step: Step) -> bool:
    """Whether this very browser gave the answer that can be taken back."""
    return step.undo is not None and step.undo == session.get("last")


def _shown(step: Step) -> tuple[page.PairOnPage, page.SittingProgress]:
    """What leaves the server of a pair: texts in the order shown, never which is a or b."""
    due = cast(ShownPair, step.shown)
    a, b = due.pair.a.text, due.pair.b.text
    left, right = (a, b) if due.left == "a" else (b, a)
    minutes = max(1, math.ceil((due.expires - _desk().clock()) / 60))
    shown = page.PairOnPage(due.token, due.pair.context, left, right, step.done + 1)
    return shown, page.SittingProgress(step.done, step.of, minutes, _may_undo(step))


def _and_then(step: Step, note: page.Note, frame: page.Frame) -> Response:
    """What follows an answer: the next pair as JSON for the page's script, a redirect to it without one."""
    if _wants_json():
        return _json_of(step, note, frame)
    session["note"] = note
    return _go("/task")


def _json_of(step: Step, note: page.Note, frame: page.Frame) -> Response:
    saving = {"note": note, "said": page.NOTES[note], "saved": note in ("saved", "again", "late")}
    if step.stage != "task":
        _way_out(step)  # a marketplace may have to hear of the end before the page of it is asked for
        so_far = {"done": step.done, "of": step.of}
        return jsonify(status=step.stage, html="", progress=so_far, number=step.number, **saving)
    shown, progress = _shown(step)
    html = page.pair_fragment(_desk().hit, frame, shown, progress)
    return jsonify(status="task", html=html, progress={"done": progress.done, "of": progress.of}, **saving)
