"""The routes of the rater: each reads the form, asks the desk and draws the page that follows.

Whose page it is stands in its address and in its forms (visit.py). Nothing about a rater is stored before they consent.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Mapping
from typing import Any, NoReturn, cast, get_args

from flask import Blueprint, Response, current_app, g, jsonify, redirect, request, session

from crowd.hit import Button
from crowd.rating.desk import Desk
from crowd.rating.doors import ASKED_LATER, admits
from crowd.rating.leasing import ShownPair, Step
from crowd.rating.seating import Refused, Seat, WrongKind
from crowd.store.identity import self_test_proof
from crowd.web import page
from crowd.web.entrance import LAST_PAGE, SELF_TEST, Arrival, WayOut
from crowd.web.visit import TOKEN, PageVisit, visit_of
from dialogue.errors import InputError
from dialogue.records import Source

rater_pages = Blueprint("hit", __name__)
PageReply = str | Response
OWN: tuple[Source, ...] = ("local", "simulated")  # whose sittings we give out; marketplaces give out theirs


@rater_pages.get("/")
def start() -> PageReply:
    """Arrive: by a marketplace or an invitation, by ?rater=ID (and ?sitting=KEY), by the seat, or as somebody new."""
    desk = _desk()
    if arrival := _arrival():
        if arrival.preview:
            return page.glance_page(desk.hit, _frame(), desk.first_sitting)
        if proof := request.args.get(SELF_TEST):
            return _self_test(arrival, proof)
        if arrival.source in ASKED_LATER and not admits(desk.doors(), arrival.source, arrival.task):
            return _uninvited()
        if arrival.turned_away:
            return page.message_page(desk.hit, _frame(), "no_more")
        _sit(arrival.source, arrival.worker, arrival.sitting or _sitting_of(arrival.worker), arrival.task)
    elif current_app.extensions["config"].invited:
        # who is named in an address without proof could be anybody, so only what this study has signed is believed
        known = _visit()
        if known is None or "rater" in request.args:
            return _uninvited()
        _sit(known.source, known.worker, known.sitting, known.task)
    else:
        known = _visit()
        worker = request.args.get("rater") or (known.worker if known else f"visitor-{secrets.token_hex(12)}")
        sitting = request.args.get("sitting") or _sitting_of(worker)
        _sit(_source(request.args.get("source")), worker, sitting)
    return _go("/task") if _seat() else _consent_page()


def _uninvited() -> Response:
    g.visit = None
    return current_app.make_response((page.message_page(_desk().hit, _frame(), "uninvited"), 403))


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
    return page.message_page(desk.hit, _frame(), "done", page.SittingSoFar(1, "", out))


def _sitting_of(worker: str) -> str:
    """The sitting in which this person's browser was last, or their first."""
    known = _visit()
    return known.sitting if known and known.worker == worker else "1"


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
    told = _told()
    ways = (entrance.leave(told, step) for entrance in current_app.extensions["entrances"])
    return next((way for way in ways if way), None)


def _told() -> Mapping[str, Any]:
    known = _visit() or _refuse("nobody sits here")
    return known.told(_desk().rater_id(known.worker))


def _way_to_decline() -> WayOut | None:
    """The way back of somebody who does not consent, where the marketplace has one."""
    told, entrances = _told(), current_app.extensions["entrances"]
    ways = (entrance.decline(told) for entrance in entrances if hasattr(entrance, "decline"))
    return next((way for way in ways if way), None)


def _source(claimed: str | None) -> Source:
    """Simulated raters say that they are, and come only where a server was started for them; people nowhere else."""
    source, known = cast(Source, current_app.extensions["config"].source), _visit()
    said = claimed or (known.source if known else None)
    if said == "simulated" and source != "simulated":
        raise WrongKind("this server is for people")
    if source == "simulated" and said != "simulated":
        raise WrongKind("this server is for simulated raters")
    return source


def of_another_kind() -> Any:
    """What somebody sees who is a person where raters are simulated; programs are told by the status alone."""
    claims = request.args.get("source") == "simulated"
    return problem("bad_request" if claims else "simulation")


def _sit(source: Source, worker: str, sitting: str, task: str = "") -> None:
    """Begin a visit in this tab: with a seat for a rater who has consented before, otherwise only for who asks."""
    desk = _desk()
    desk.check_ids(worker, sitting)
    arrived = PageVisit(source, worker, sitting, task)
    if desk.has_consented(worker):
        arrived = arrived.seated(desk.arrive(worker, sitting, source).sitting)
    _keep(arrived)


def _keep(visit: PageVisit) -> None:
    """This is whose pages follow; a cookie remembers it, where there are cookies."""
    before = visit_of(_desk().secret, session.get(TOKEN, ""))
    last = session.get("last") if before and before.worker == visit.worker else None
    g.visit = visit
    session.clear()
    session.permanent = True  # a rater who closes the browser finds the sitting again
    session.update({TOKEN: visit.token(_desk().secret), "last": last})


@rater_pages.post("/consent")
def consent() -> PageReply:
    """Record the consent; this is where a rater's first row is written."""
    known, desk = _sender(), _desk()
    seat = desk.arrive(known.worker, known.sitting, known.source)
    desk.consent(seat)
    _keep(known.seated(seat.sitting))
    return _go("/task")


@rater_pages.route("/instructions/<int:number>", methods=["GET", "POST"])
def instructions(number: int) -> PageReply:
    """One worked example; an answer gets feedback."""
    desk, seat = _desk(), _seat()
    if seat is None:
        return _go("/")
    if not 1 <= number <= len(desk.hit.examples):
        raise Refused("there is no such example")
    chosen = None
    if request.method == "POST":
        chosen = _choice()
        desk.instructed(seat, number, chosen)
    return page.example_page(desk.hit, _frame(), number, chosen)


@rater_pages.get("/task")
def task() -> PageReply:
    """The pair that is due, or why there is none."""
    seat = _seat()
    if seat is None:
        return _go("/")
    try:
        step = _desk().next_step(seat)
    except Refused:  # somebody who was forgotten meanwhile
        session.clear()
        g.visit = None
        return _go("/")
    note = request.args.get("note", "")
    return _json_of(step, "") if _wants_json() else _page_of(step, note if note in page.NOTES else "")


@rater_pages.get("/done", endpoint="done")
def thank() -> PageReply:
    """The same place; a sitting that is over shows its thank-you page."""
    return task()


@rater_pages.post("/answer", endpoint="answer")
def receive_answer() -> PageReply:
    """Save an answer, then the next pair: as JSON for the page's script, by redirect without it."""
    note, step = _desk().answer(_sender_s_seat(), _field("lease"), _choice(), _seconds())
    if note == "saved":
        _may_take_back(_field("lease"))
    return _and_then(step, note)


@rater_pages.post("/undo")
def undo() -> PageReply:
    """Take back the last answer."""
    undone, step = _desk().undo(_sender_s_seat(), _field("last"))
    return _and_then(step, "undone" if undone else "")


@rater_pages.post("/hand-in")
def hand_in() -> PageReply:
    """End a sitting that would have to wait, with what is done."""
    _desk().hand_in(_sender_s_seat())
    return _go("/task")


@rater_pages.post("/another")
def another() -> PageReply:
    """Begin the next sitting after one that is over."""
    desk, known, seat = _desk(), _sender(), _sender_s_seat()
    if known.source in OWN and desk.next_step(seat).more:
        # named after the sitting that is over, so that a double click begins one, not two
        _sit(known.source, known.worker, f"after-{seat.sitting}")
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


def read_visit() -> bool:
    """Whose page is asked for: a form says it itself, an address too; the cookie is asked only where neither speaks.

    False where a token is there that this study has not signed.
    """
    given = request.form.get(TOKEN, "") if request.method == "POST" else request.args.get(TOKEN)
    g.visit = visit_of(_desk().secret, session.get(TOKEN, "") if given is None else given)
    return not given or g.visit is not None


def _visit() -> PageVisit | None:
    return cast("PageVisit | None", g.get("visit"))


def _sender() -> PageVisit:
    """Who sends this form; refused if it was not made by us for somebody."""
    return _visit() or _refuse("the form was not made by this study")


def _seat() -> Seat | None:
    known = _visit()
    return Seat(_desk().rater_id(known.worker), known.number) if known and known.number else None


def _sender_s_seat() -> Seat:
    return _seat() or _refuse("nobody sits here")


def _refuse(why: str) -> NoReturn:
    raise Refused(why)


def _may_take_back(lease: str) -> None:
    """Who gave an answer may take it back, and nobody else who knows an id."""
    g.last = session["last"] = lease


def _last() -> str:
    """The answer that this very tab gave last; the cookie's where the address names none."""
    kept = session.get("last") if session.get(TOKEN) == _frame().seat else None
    return str(g.get("last") or request.args.get("last") or _field("last") or kept or "")


def _wants_json() -> bool:
    return request.headers.get("X-Requested-With") == "fetch" or request.accept_mimetypes.best == "application/json"


def _go(path: str) -> Response:
    return cast(Response, redirect(_frame().to(path), 303))


def _frame() -> page.Frame:
    known = _visit()
    return page.Frame(request.script_root, known.token(_desk().secret) if known else "", g.nonce)


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
    more = step.more and _sender().source in OWN
    undo = _undo(step) if not (out and not out.url) else ""  # without a way back it is handed in already
    return page.SittingSoFar(step.done, code if earned else "", out, more, undo)


def _undo(step: Step) -> str:
    """The answer that can be taken back, if this very browser gave it."""
    return step.undo if step.undo is not None and step.undo == _last() else ""


def _shown(step: Step) -> tuple[page.PairOnPage, page.SittingProgress]:
    """What leaves the server of a pair: texts in the order shown, never which is a or b."""
    due = cast(ShownPair, step.shown)
    a, b = due.pair.a.text, due.pair.b.text
    left, right = (a, b) if due.left == "a" else (b, a)
    minutes = max(1, math.ceil((due.expires - _desk().clock()) / 60))
    shown = page.PairOnPage(due.token, due.pair.context, left, right, step.done + 1)
    return shown, page.SittingProgress(step.done, step.of, minutes, _undo(step))


def _and_then(step: Step, note: page.Note) -> Response:
    """What follows an answer: the next pair as JSON for the page's script, a redirect to it without one."""
    if _wants_json():
        return _json_of(step, note)
    return cast(Response, redirect(_frame().to("/task", last=_undo(step), note=note), 303))


def _json_of(step: Step, note: page.Note) -> Response:
    frame = _frame()
    saving = {"note": note, "said": page.NOTES[note], "saved": note in ("saved", "again", "late")}
    saving["next"] = frame.to("/task", last=_undo(step))
    if step.stage != "task":
        _way_out(step)  # a marketplace may have to hear of the end before the page of it is asked for
        so_far = {"done": step.done, "of": step.of}
        return jsonify(status=step.stage, html="", progress=so_far, number=step.number, **saving)
    shown, progress = _shown(step)
    html = page.pair_fragment(_desk().hit, frame, shown, progress)
    return jsonify(status="task", html=html, progress={"done": progress.done, "of": progress.of}, **saving)
