"""The routes of the rater: each reads the form, asks the desk and draws the page that follows.

Who arrives is decided in arriving.py; whose page it is, in at_hand.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, cast
from urllib.parse import quote

from flask import Blueprint, Response, current_app, g, jsonify, redirect, request, session

from crowd.forms.form import Incomplete, OnPage
from crowd.forms.known import FORMS
from crowd.hit.about import TooLong, told_of_rater
from crowd.rating.answer_sheet import CHOSEN, Given, read_sheet
from crowd.rating.answering import Noticed
from crowd.rating.leasing import ShownPair, Step
from crowd.rating.seating import Refused
from crowd.web import arriving, page
from crowd.web.at_hand import (
    PageReply,
    announced_visit,
    frame_at_hand,
    go,
    rater_of,
    seat_at_hand,
    sender,
    sender_s_seat,
    the_desk,
    visit_at_hand,
    wants_json,
    way_out,
)
from crowd.web.health import Pulse
from dialogue.records import Source

rater_pages = Blueprint("hit", __name__)
OWN: tuple[Source, ...] = ("local", "simulated")  # whose sittings we give out; marketplaces give out theirs


@rater_pages.get("/")
def start() -> PageReply:
    """Arrive."""
    return arriving.arrive()


def of_another_kind() -> Any:
    """What somebody sees who is a person where raters are simulated; programs are told by the status alone."""
    claims = request.args.get("source") == "simulated"
    return problem("bad_request" if claims else "simulation")


@rater_pages.post("/consent")
def consent() -> PageReply:
    """Agree to take part."""
    return arriving.consented()


@rater_pages.route("/about", methods=["GET", "POST"])
def about() -> PageReply:
    """What raters are asked about themselves, once."""
    desk, seat = the_desk(), seat_at_hand()
    if seat is None:
        return go("/")
    if request.method != "POST":
        return page.about_page(desk.hit, frame_at_hand())
    told = told_of_rater(desk.hit.asked_of_rater("before"), request.form)
    if told is None:
        return page.about_page(desk.hit, frame_at_hand(), "incomplete", request.form)
    desk.tell_about(seat, told.answers)
    return go("/task")


@rater_pages.post("/last-questions")
def last_questions() -> PageReply:
    """What raters are asked at the end; the page of the end comes again, with the code and the way back as before."""
    desk, seat, leaving = the_desk(), sender_s_seat(), "leaving" in request.form
    try:
        told = told_of_rater(desk.hit.asked_of_rater("after"), request.form, leaving=leaving)
    except TooLong:
        return _page_of(desk.next_step(seat), "too_long")
    if told is None:
        return _page_of(desk.next_step(seat), "incomplete")
    if told.answers or told.comments or not leaving:
        desk.tell_at_end(seat, told)
    if leaving:  # by the way out, with the page's script: nobody reads this reply
        return Response(status=204)
    return cast(Response, redirect(frame_at_hand().to("/task", last=_last()), 303))


@rater_pages.get("/stored")
def stored() -> PageReply:
    """What is stored about who looks; nothing for an address that anyone may type."""
    known = visit_at_hand()
    stored_facts = the_desk().known_of(rater_of(known)) if known else None
    return page.stored_page(the_desk().hit, frame_at_hand(), stored_facts, own=bool(known and known.own))


@rater_pages.route("/instructions/<int:number>", methods=["GET", "POST"])
def instructions(number: int) -> PageReply:
    """One worked example; an answer gets feedback."""
    desk, seat = the_desk(), seat_at_hand()
    if seat is None:
        return go("/")
    if not 1 <= number <= len(desk.hit.examples):
        raise Refused("there is no such example")
    if request.method != "POST":
        return page.example_page(desk.hit, frame_at_hand(), number, None)
    try:
        chosen = _choice()
    except Incomplete:
        return page.example_page(desk.hit, frame_at_hand(), number, None, "incomplete", request.form)
    desk.instructed(seat, number, chosen)
    return page.example_page(desk.hit, frame_at_hand(), number, chosen)


@rater_pages.post("/language")
def choose_language() -> PageReply:
    """Go on in another language."""
    arriving.speak(_field("language"))
    return go("/task") if seat_at_hand() else arriving.ask_consent()


@rater_pages.get("/task")
def task() -> PageReply:
    """The pair that is due, or why there is none."""
    seat = seat_at_hand()
    if seat is None:
        return go("/")
    try:
        step = the_desk().next_step(seat)
    except Refused:  # somebody who was forgotten meanwhile
        session.clear()
        g.visit = None
        return go("/")
    note = request.args.get("note", "")
    return _json_of(step, "") if wants_json() else _page_of(step, note if note in page.NOTES else "")


@rater_pages.get("/done", endpoint="done")
def thank() -> PageReply:
    """The same place; a sitting that is over shows its thank-you page."""
    return task()


@rater_pages.post("/answer", endpoint="answer")
def receive_answer() -> PageReply:
    """Save an answer, then the next pair: as JSON for the page's script, by redirect without it."""
    seat = sender_s_seat()
    try:
        trapped = bool(_field("for-programs").strip())
        note, step = the_desk().answer(seat, _field("lease"), _given(), _seconds(), _noticed(), trapped=trapped)
    except (Incomplete, TooLong) as error:
        why: page.Note = "too_long" if isinstance(error, TooLong) else "incomplete"
        step = _as_sent(the_desk().next_step(seat))
        return _and_then(step, why) if wants_json() else _page_of(step, why)
    if note == "saved":
        _may_take_back(_field("lease"))
    return _and_then(step, note)


@rater_pages.post("/undo")
def undo() -> PageReply:
    """Take back the last answer."""
    undone, step = the_desk().undo(sender_s_seat(), _field("last"))
    if step.filled and not wants_json():  # the answers are kept nowhere, so the page is this very reply
        return _page_of(step, "undone")
    return _and_then(step, "undone" if undone else "")


@rater_pages.post("/hand-in")
def hand_in() -> PageReply:
    """End a sitting that would have to wait, with what is done."""
    the_desk().hand_in(sender_s_seat())
    return go("/task")


@rater_pages.get("/answer", endpoint="answered")
@rater_pages.get("/undo", endpoint="undone")
@rater_pages.get("/last-questions", endpoint="told")
def look_again() -> PageReply:
    """A page that came as the reply to a form, and is asked for again by its address: where the rater stands."""
    return go("/task")


@rater_pages.post("/another")
def another() -> PageReply:
    """Begin the next sitting after one that is over."""
    desk, known, seat = the_desk(), announced_visit(), sender_s_seat()
    if known and known.source in OWN and desk.next_step(seat).more:
        # named after the sitting that is over, so that a double click begins one, not two
        arriving.sit(known.source, known.worker, f"after-{seat.sitting}")
    return go("/task")


@rater_pages.get("/health")
def health() -> PageReply:
    """200 while a vote could be stored, for load balancers; tells nothing about the study."""
    pulse: Pulse = current_app.extensions["pulse"]
    pulse.feel()
    ahead = pulse.clock_difference()
    return jsonify(status="ok", **({"clock_seconds_ahead": round(ahead, 1)} if ahead else {}))


def problem(kind: page.MessageKind, retry_seconds: int = 0) -> Any:
    """What a rater sees when a request failed: a page, which may ask again by itself, or JSON for the page's script."""
    if wants_json():
        said = page.said(the_desk().hit, frame_at_hand(), "too_long") if kind == "too_large" else ""
        return jsonify(status=kind, saved=False, html="", progress=None, said=said)
    sends = request.method == "POST"
    retry = page.Retry(_address_asked(), retry_seconds, sends) if retry_seconds else None
    again = request.form if sends and (retry or (kind == "not_saved" and request.endpoint == "hit.answer")) else {}
    return page.message_page(the_desk().hit, frame_at_hand(), kind, page.SittingSoFar(sent=again, retry=retry))


def _address_asked() -> str:
    query = request.query_string.decode("ascii", "ignore")
    return f"{request.script_root}{quote(request.path)}{'?' if query else ''}{query}"


def _as_sent(step: Step) -> Step:
    """The same, with the page filled in as it was sent: what somebody wrote is nowhere else where no script runs."""
    if step.shown is None or step.shown.token != _field("lease"):
        return step
    sent = {name: text.replace("\0", "") for name, text in request.form.items() if _holds_answer(name)}
    return replace(step, filled=sent)


def _holds_answer(name: str) -> bool:
    return name.startswith("q-") or name in ("first", "second")


def _may_take_back(lease: str) -> None:
    """Who gave an answer may take it back, and nobody else who knows an id."""
    g.last = session["last"] = lease


def _last() -> str:
    """The answer that this very tab gave last; the cookie's where the address names none."""
    own = session.get("last") if visit_at_hand() == g.get("remembered") else None
    return str(g.get("last") or request.args.get("last") or _field("last") or own or "")


def _field(name: str) -> str:
    return request.form.get(name, "")


def _given() -> Given:
    """What the page asked for: one button, or the answers to all questions of hit.toml."""
    hit = the_desk().hit
    if not hit.questions:
        return _choice()
    sheet = read_sheet(hit.questions, request.form, of_sets=hit.form == "responses")
    return sheet if hit.lead else {CHOSEN: {"choice": _choice()}, **sheet}


def _choice() -> str:
    return FORMS[the_desk().hit.form].pressed(request.form)


def _noticed() -> Noticed | None:
    """How often the page was left, copied from and pasted into, as its script counted; nonsense is nothing."""
    counts = _field("noticed").split(",")
    if len(counts) != 3 or not all(one.isascii() and one.isdigit() and len(one) < 4 for one in counts):
        return None
    return Noticed(*map(int, counts))


def _seconds() -> float | None:
    try:
        seconds = float(_field("seconds"))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _page_of(step: Step, note: page.Note) -> PageReply:
    hit, frame = the_desk().hit, frame_at_hand()
    if step.stage == "consent":
        return arriving.ask_consent()
    if step.stage == "about":
        return go("/about")
    if step.stage == "instructions":
        return go(f"/instructions/{step.number}")
    if step.stage == "task":
        return page.task_page(hit, frame, *_shown(step), note, step.filled)
    return page.message_page(hit, frame, step.stage, _so_far(step, note))


def _so_far(step: Step, note: page.Note = "") -> page.SittingSoFar:
    """Where no pair is shown: whoever did something gets the code for it, whatever ended the sitting."""
    hit, out = the_desk().hit, way_out(step)
    if step.stage in ("wait", "paused") and not step.done:
        out = arriving.way_back_unworked()
    code = hit.screened_out_code if step.stage == "no_more" else hit.completion_code
    earned = step.done and step.stage in page.ENDINGS and not out
    more = step.more and sender().source in OWN
    undo = _undo(step) if not (out and not out.url) else ""  # without a way back it is handed in already
    asks = _asks_at_end(step)
    sent = request.form if note in page.REFUSALS else {}
    why = page.said(hit, frame_at_hand(), note) if note == "too_long" else ""
    return page.SittingSoFar(step.done, code if earned else "", out, more, undo, asks, bool(sent), sent, why)


def _asks_at_end(step: Step) -> Literal["", "asked", "told"]:
    """Only who has answered something is asked, and on the page that holds the code and the way back: never before."""
    seat = seat_at_hand()
    return the_desk().asks_at_end(seat) if seat and step.done and step.stage in page.ENDINGS else ""


def _undo(step: Step) -> str:
    """The answer that can be taken back, if this very browser gave it."""
    return step.undo if step.undo is not None and step.undo == _last() else ""


def _shown(step: Step) -> tuple[OnPage, page.SittingProgress]:
    """What leaves the server of a pair: texts in the order shown, never which is which."""
    due = cast(ShownPair, step.shown)
    minutes = max(1, math.ceil((due.expires - the_desk().clock()) / 60))
    shown = FORMS[the_desk().hit.form].on_page(due.token, due.pair, due.left, step.done + 1)
    return shown, page.SittingProgress(step.done, step.of, minutes, _undo(step))


def _and_then(step: Step, note: page.Note) -> Response:
    """What follows an answer: the next pair as JSON for the page's script, a redirect to it without one."""
    if wants_json():
        return _json_of(step, note)
    return cast(Response, redirect(frame_at_hand().to("/task", last=_undo(step), note=note), 303))


def _json_of(step: Step, note: page.Note) -> Response:
    frame = frame_at_hand()
    saving = {"note": note, "said": page.said(the_desk().hit, frame, note), "saved": note in ("saved", "again", "late")}
    saving["next"] = frame.to("/task", last=_undo(step))
    if step.stage != "task":
        way_out(step)  # a marketplace may have to hear of the end before the page of it is asked for
        so_far = {"done": step.done, "of": step.of}
        asks = _asks_at_end(step) == "asked"
        return jsonify(status=step.stage, html="", progress=so_far, number=step.number, asks=asks, **saving)
    shown, progress = _shown(step)
    html = page.pair_fragment(the_desk().hit, frame, shown, progress, step.filled)
    return jsonify(status="task", html=html, progress={"done": progress.done, "of": progress.of}, **saving)
