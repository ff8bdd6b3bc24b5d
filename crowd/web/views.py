"""The routes of the rater: each reads the form, asks the desk and draws the page that follows.

First of all, who arrives and whether they are let in: by a marketplace or an invitation, by a seat, or by name. Nothing
about a rater is stored before they consent. Whom a marketplace sends when nothing is left is sent back at once, before
they have read or answered anything. Whose page it is says study_request.py.
"""

from __future__ import annotations

import hmac
import math
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, cast
from urllib.parse import quote

from flask import Blueprint, Response, current_app, jsonify, make_response, session

from seedvote.crowd.forms.form import Incomplete, OnPage
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.forms.live import LiveOnPage
from seedvote.crowd.forms.pairs import PairOnPage
from seedvote.crowd.hit.about import TooLong, told_of_rater
from seedvote.crowd.rating.answer_sheet import CHOSEN, Given, read_sheet
from seedvote.crowd.rating.answering import Noticed, PageView
from seedvote.crowd.rating.leasing import ShownPair, Step
from seedvote.crowd.rating.moment import Refused, WrongKind
from seedvote.crowd.store.identity import self_test_proof
from seedvote.crowd.store.launches import admits
from seedvote.crowd.store.tables import ASKED_LATER
from seedvote.crowd.web import page, talking
from seedvote.crowd.web.entrance import LAST_PAGE, SELF_TEST, Arrival, WayOut, way_back, way_to_decline
from seedvote.crowd.web.health import Pulse
from seedvote.crowd.web.media import MediaShelf, send_media
from seedvote.crowd.web.study_request import KEPT, PageReply, PageVisit, StudyRequest, current_request
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Device, Source

rater_pages = Blueprint("hit", __name__)
OWN: tuple[Source, ...] = ("local", "simulated")  # whose sittings we give out; marketplaces give out theirs
LATER = 5  # seconds after which a page is asked for again that lacks a file
OWN_PACE_FROM = 3  # answers from which a rater's own pace is taken
View = Callable[..., PageReply]


def route(rule: str, *methods: str, endpoint: str | None = None) -> Callable[[View], View]:
    """Let a view answer requests to this address: it gets the request first."""

    def register(view: View) -> View:
        answer = lambda **keywords: view(current_request(), **keywords)  # noqa: E731
        rater_pages.add_url_rule(rule, endpoint or view.__name__, answer, methods=methods or ("GET",))
        return view

    return register


@route("/")
def start(request: StudyRequest) -> PageReply:
    """Arrive."""
    return receive_arrival(request)


@route("/consent", "POST")
def consent(request: StudyRequest) -> PageReply:
    """Agree to take part."""
    return accept_consent(request)


@route("/known", "POST")
def recognise(request: StudyRequest) -> PageReply:
    """Let in who has agreed in this browser before, where it keeps no cookie in frames: by the seat that it kept.

    It proves what a cookie would. Only the person's own raters are looked through, so another's seat shows nothing, nor
    does that of somebody who typed the same id where it needs no proof; and whoever loses what was kept fares no worse
    than before, as nothing says from now on that this browser can prove it.
    """
    visit, kept, desk = request.sender(), request.kept_visit, request.desk
    proven = {kept.rater} if kept and kept.source == visit.source and request.seat is None else ()
    if kept and proven and desk.has_consented(visit.worker, visit.sitting, visit.source, proven):
        seat = desk.arrive(visit.worker, visit.sitting, visit.source, proven)
        own = kept.own and seat.rater == kept.rater
        request.keep_visit(replace(visit.seated(seat), own=own, language=visit.language or kept.language))
    return jsonify(known=request.seat is not None, next=request.frame.to("/task"))


@route("/about", "GET", "POST")
def about(request: StudyRequest) -> PageReply:
    """What raters are asked about themselves, once."""
    hit, seat = request.desk.rules.hit, request.seat
    if seat is None:
        return request.go("/")
    if request.method != "POST":
        return page.about_page(hit, request.frame)
    profile = told_of_rater(hit.asked_of_rater("before"), request.form)
    if profile is None:
        return page.about_page(hit, request.frame, "incomplete", request.form)
    request.desk.tell_about(seat, profile.answers)
    return request.go("/task")


@route("/last-questions", "POST")
def last_questions(request: StudyRequest) -> PageReply:
    """What raters are asked at the end; the page of the end comes again, with the code and the way back as before."""
    desk, seat, leaving = request.desk, request.sender_s_seat(), "leaving" in request.form
    try:
        profile = told_of_rater(request.desk.rules.hit.asked_of_rater("after"), request.form, leaving=leaving)
    except TooLong:
        return _page_of(request, desk.next_step(seat), "too_long")
    if profile is None:
        return _page_of(request, desk.next_step(seat), "incomplete")
    if profile.answers or profile.comments or not leaving:
        desk.tell_at_end(seat, profile)
    if leaving:  # by the way out, with the page's script: nobody reads this reply
        return Response(status=204)
    return request.go("/task", last=_last_lease(request))


@route("/stored")
def stored(request: StudyRequest) -> PageReply:
    """What is stored about who looks; nothing for an address that anyone may type."""
    visit = request.visit
    stored_facts = request.desk.known_of(request.rater_of(visit)) if visit else None
    return page.stored_page(request.desk.rules.hit, request.frame, stored_facts, own=bool(visit and visit.own))


@route("/instructions/<int:number>", "GET", "POST")
def instructions(request: StudyRequest, number: int) -> PageReply:
    """One worked example; an answer gets feedback."""
    hit, seat = request.desk.rules.hit, request.seat
    if seat is None:
        return request.go("/")
    if not 1 <= number <= len(hit.examples):
        raise Refused("there is no such example")
    if request.method != "POST":
        return page.example_page(hit, request.frame, number, None)
    try:
        chosen = FORMS[hit.form].read_pressed(request.form)
    except Incomplete:
        return page.example_page(hit, request.frame, number, None, "incomplete", request.form)
    request.desk.instructed(seat, number, chosen)
    return page.example_page(request.desk.rules.hit, request.frame, number, chosen)


@route("/language", "POST")
def choose_language(request: StudyRequest) -> PageReply:
    """Go on in another language."""
    change_language(request, request.form.get("language", ""))
    return request.go("/task") if request.seat else ask_consent(request)


@route("/media/<name>")
def media(request: StudyRequest, name: str) -> PageReply:
    """An image, a recording or its captions, for whoever sits here."""
    file = current_app.extensions["media"].find(request.desk.secret, name) if request.seat else None
    return send_media(file) if file else Response(status=404)


@route("/task")
def task(request: StudyRequest) -> PageReply:
    """The pair that is due, or why there is none."""
    if request.seat is None:
        return request.go("/")
    try:
        step = request.desk.next_step(request.seat)
    except Refused:  # somebody who was forgotten meanwhile
        session.clear()
        request.forget_visit()
        return request.go("/")
    note = request.args.get("note", "")
    if request.wants_json:
        return _json_of(request, step)
    return _page_of(request, step, note if note in page.NOTES else "")


@route("/done")
def done(request: StudyRequest) -> PageReply:
    """The same place; a sitting that is over shows its thank-you page."""
    return task(request)


@route("/answer", "POST")
def answer(request: StudyRequest) -> PageReply:
    """Save an answer, then the next pair: as JSON for the page's script, by redirect without it."""
    form, seat = request.form, request.sender_s_seat()
    lease, trapped = form.get("lease", ""), bool(form.get("for-programs", "").strip())
    seconds, noticed = _read_seconds(form.get("seconds", "")), _read_page_events(form.get("noticed", ""))
    view = _read_page_view(form.get("view", ""))
    try:
        note, step = request.desk.answer(
            seat,
            lease,
            _read_answer(request),
            seconds,
            noticed,
            view=view,
            trapped=trapped,
            marks=form.get("marks", ""),
        )
    except (Incomplete, TooLong) as error:
        why: page.Note = "too_long" if isinstance(error, TooLong) else "incomplete"
        step = _as_sent(request, request.desk.next_step(seat))
        return _json_of(request, step, why) if request.wants_json else _page_of(request, step, why)
    if note == "saved":  # who gave an answer may take it back, and nobody else who knows an id
        request.saved_lease = session["last"] = lease
    return _go_on(request, step, note)


@route("/say", "POST")
def say(request: StudyRequest) -> PageReply:
    """Say something to both sides of a live conversation; they are asked meanwhile."""
    talking.say(request)
    return _go_on(request, request.desk.next_step(request.sender_s_seat()), "")


@route("/ask-again", "POST")
def ask_again(request: StudyRequest) -> PageReply:
    """Ask again for the replies that did not come."""
    talking.ask_again(request)
    return _go_on(request, request.desk.next_step(request.sender_s_seat()), "")


@route("/hand-back", "POST")
def hand_back(request: StudyRequest) -> PageReply:
    """Give up a conversation in which a system does not answer, and go on to the next place."""
    talking.hand_back(request)
    return _go_on(request, request.desk.next_step(request.sender_s_seat()), "")


@route("/undo", "POST")
def undo(request: StudyRequest) -> PageReply:
    """Take back the last answer."""
    undone, step = request.desk.undo(request.sender_s_seat(), request.form.get("last", ""))
    if step.filled and not request.wants_json:  # the answers are kept nowhere, so the page is this very reply
        return _page_of(request, step, "undone")
    return _go_on(request, step, "undone" if undone else "")


@route("/hand-in", "POST")
def hand_in(request: StudyRequest) -> PageReply:
    """End a sitting that would have to wait, with what is done."""
    request.desk.hand_in(request.sender_s_seat())
    return request.go("/task")


@route("/answer", endpoint="answered")
@route("/undo", endpoint="undone")
@route("/last-questions", endpoint="told")
@route("/say", endpoint="said")
@route("/ask-again", endpoint="asked_again")
@route("/hand-back", endpoint="handed_back")
def look_again(request: StudyRequest) -> PageReply:
    """A page that came as the reply to a form, and is asked for again by its address: where the rater stands."""
    return request.go("/task")


@route("/another", "POST")
def another(request: StudyRequest) -> PageReply:
    """Begin the next sitting after one that is over."""
    visit, seat = request.named_visit(), request.sender_s_seat()
    if visit and visit.source in OWN and request.desk.next_step(seat).more:
        # named after the sitting that is over, so that a double click begins one, not two
        begin_visit(request, visit.source, visit.worker, f"after-{seat.sitting}")
    return request.go("/task")


@route("/health")
def health(request: StudyRequest) -> PageReply:
    """200 while a vote could be stored and systems asked, for load balancers; tells nothing about the study."""
    pulse: Pulse = current_app.extensions["pulse"]
    pulse.feel()
    if request.desk.rules.form.is_live:
        talking.ready_endpoints(request.desk)
    ahead = pulse.clock_difference()
    return jsonify(status="ok", **({"clock_seconds_ahead": round(ahead, 1)} if ahead else {}))


def of_another_kind(request: StudyRequest) -> Any:
    """What somebody sees who is a person where raters are simulated; programs are told by the status alone."""
    claims = request.args.get("source") == "simulated"
    return problem(request, "bad_request" if claims else "simulation")


def problem(request: StudyRequest, kind: page.MessageKind, retry_seconds: int = 0) -> Any:
    """What a rater sees when a request failed: a page, which may ask again by itself, or JSON for the page's script."""
    hit, frame = request.desk.rules.hit, request.frame
    if request.wants_json:
        message = page.say_note(hit, frame, "too_long") if kind == "too_large" else ""
        return jsonify(status=kind, saved=False, html="", progress=None, said=message)
    sends = request.method == "POST"
    retry = page.Retry(_address_asked(request), retry_seconds, sends) if retry_seconds else None
    again = request.form if sends and (retry or (kind == "not_saved" and request.endpoint == "hit.answer")) else {}
    return page.message_page(hit, frame, kind, page.SittingSoFar(sent=again, retry=retry))


def _address_asked(request: StudyRequest) -> str:
    query = request.query_string.decode("ascii", "ignore")
    return f"{request.script_root}{quote(request.path)}{'?' if query else ''}{query}"


def _as_sent(request: StudyRequest, step: Step) -> Step:
    """The same, with the page filled in as it was sent: what somebody wrote is nowhere else where no script runs."""
    if step.shown is None or step.shown.token != request.form.get("lease"):
        return step
    sent = {name: text.replace("\0", "") for name, text in request.form.items() if _holds_answer(name)}
    return replace(step, filled=sent)


def _holds_answer(name: str) -> bool:
    return name.startswith("q-") or name in ("first", "second", "marks")


def _last_lease(request: StudyRequest) -> str:
    """The answer that this very tab gave last; the cookie's where the address names none."""
    own = session.get("last") if request.visit == request.remembered else None
    return str(request.saved_lease or request.args.get("last") or request.form.get("last") or own or "")


def _read_answer(request: StudyRequest) -> Given:
    """What the page asked for: one button, or the answers to all questions of hit.toml."""
    hit, form = request.desk.rules.hit, request.form
    if not hit.questions:
        return FORMS[hit.form].read_pressed(form)
    sheet = read_sheet(hit.questions, form, of_sets=FORMS[hit.form].is_set)
    return sheet if hit.lead else {CHOSEN: {"choice": FORMS[hit.form].read_pressed(form)}, **sheet}


def _read_page_events(text: str) -> Noticed | None:
    """How often the page was left, copied from and pasted into, as its script counted; nonsense is nothing."""
    counts = text.split(",")
    if len(counts) != 3 or not all(count.isascii() and count.isdigit() and len(count) < 4 for count in counts):
        return None
    return Noticed(*map(int, counts))


def _read_page_view(text: str) -> PageView | None:
    """The device, the turns that were on the screen and for how long; nonsense is nothing.

    >>> _read_page_view("phone,11,34.25"), _read_page_view("toaster,11,34.25")
    (PageView(device='phone', turns_seen=11, context_seconds=34.25), None)
    """
    view = re.fullmatch(r"(phone|tablet|desktop),(\d{1,4}),(\d{1,5}(?:\.\d{1,2})?)", text, re.ASCII)
    return PageView(cast(Device, view[1]), int(view[2]), float(view[3])) if view else None


def _read_seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _page_of(request: StudyRequest, step: Step, note: page.Note) -> PageReply:
    if step.stage == "consent":
        return ask_consent(request)
    if step.stage == "about":
        return request.go("/about")
    if step.stage == "instructions":
        return request.go(f"/instructions/{step.number}")
    hit, frame = request.desk.rules.hit, request.frame
    if step.stage == "task":
        if _lacks_media(request, step):
            return _show_later(request)
        return page.task_page(
            hit, frame, *_pair_on_page(request, step, _lease_to_undo(request, step)), note, step.filled
        )
    return page.message_page(hit, frame, step.stage, _sum_up_sitting(request, step, note))


def _sum_up_sitting(request: StudyRequest, step: Step, note: page.Note = "") -> page.SittingSoFar:
    """Where no pair is shown: whoever did something gets the code for it, whatever ended the sitting."""
    hit, out = request.desk.rules.hit, request.way_out(step)
    if step.stage in ("wait", "paused") and not step.judged:
        out = way_back_unworked(request, step.done)
    code = hit.screened_out_code if step.stage == "no_more" else hit.completion_code
    earned = step.is_paid and step.stage in page.ENDINGS and not out
    may_continue = step.more and request.sender().source in OWN
    # without a way back it is handed in already
    undo = _lease_to_undo(request, step) if not (out and not out.url) else ""
    asks = _asks_at_end(request, step)
    sent = request.form if note in page.REFUSALS else {}
    why = page.say_note(hit, request.frame, note) if note == "too_long" else ""
    return page.SittingSoFar(
        step.done,
        code if earned else "",
        out,
        step.may_hand_in,
        may_continue,
        undo,
        asks,
        bool(sent),
        sent,
        why,
        is_paid=step.is_paid,
    )


def _asks_at_end(request: StudyRequest, step: Step) -> Literal["", "asked", "told"]:
    """Only who has answered something is asked, and on the page that holds the code and the way back: never before."""
    seat = request.seat
    return request.desk.asks_at_end(seat) if seat and step.done and step.stage in page.ENDINGS else ""


def _lease_to_undo(request: StudyRequest, step: Step) -> str:
    """The answer that can be taken back, if this very browser gave it."""
    return step.undo if step.undo is not None and step.undo == _last_lease(request) else ""


def _pair_on_page(request: StudyRequest, step: Step, undo: str) -> tuple[OnPage, page.SittingProgress]:
    """What leaves the server of a pair: texts in the order shown, never which is which."""
    due = cast(ShownPair, step.shown)
    minutes = max(1, math.ceil(due.seconds_left / 60))
    progress = page.SittingProgress(step.done, step.of, minutes, undo, _minutes_to_go(request, step))
    content = FORMS[request.desk.rules.hit.form].on_page(due.token, due.pair, due.layout, step.done + 1)
    if isinstance(content, LiveOnPage):
        return talking.with_talk(request, content, due.layout), progress
    if isinstance(content, PairOnPage):
        return replace(content, differs=due.differs), progress
    return content, progress


def _lacks_media(request: StudyRequest, step: Step) -> bool:
    """Whether a file of the pair is not here: nobody votes on what they cannot see."""
    shelf: MediaShelf = current_app.extensions["media"]
    return request.frame.is_rich and step.shown is not None and shelf.lacks(step.shown.pair)


def _show_later(request: StudyRequest) -> Response:
    retry = page.Retry(request.frame.to("/task"), LATER, sends=False)
    at = page.SittingSoFar(retry=retry)
    return make_response((page.message_page(request.desk.rules.hit, request.frame, "failed", at), 503))


def _minutes_to_go(request: StudyRequest, step: Step) -> int | None:
    """What the rest of the sitting takes at the rater's own pace, before a few answers at that of the study."""
    pace = step.pace if step.pace and step.done >= OWN_PACE_FROM else request.desk.typical_pace()
    return max(1, math.ceil((step.of - step.done) * pace / 60)) if pace else None


def _go_on(request: StudyRequest, step: Step, note: page.Note) -> Response:
    """What follows an answer: the next pair as JSON for the page's script, a redirect to it without one."""
    if request.wants_json:
        return _json_of(request, step, note)
    return request.go("/task", last=_lease_to_undo(request, step), note=note)


def _json_of(request: StudyRequest, step: Step, note: page.Note = "") -> Response:
    undo = _lease_to_undo(request, step)
    is_shown = step.stage == "task" and not _lacks_media(request, step)
    pair_page = _pair_on_page(request, step, undo) if is_shown else None
    hit, frame = request.desk.rules.hit, request.frame
    is_saved = note in ("saved", "again", "late")
    saving: dict[str, Any] = {"note": note, "said": page.say_note(hit, frame, note), "saved": is_saved}
    saving |= {"next": frame.to("/task", last=undo), "progress": {"done": step.done, "of": step.of}}
    if is_saved and request.visit and current_app.extensions["config"].frame_ancestors:  # which loses cookies
        saving[KEPT] = request.visit.token(request.desk.secret, request.now, "kept")
    if step.stage == "task" and not is_shown:  # the page that is asked for instead says so, and asks again
        return jsonify(status="later", html="", **saving)
    if pair_page:
        return jsonify(status="task", html=page.pair_fragment(hit, frame, *pair_page, step.filled), **saving)
    request.way_out(step)  # a marketplace may have to hear of the end before the page of it is asked for
    asks = _asks_at_end(request, step) == "asked"
    return jsonify(status=step.stage, html="", number=step.number, asks=asks, **saving)


def receive_arrival(request: StudyRequest) -> PageReply:
    """By a marketplace or an invitation, by ?rater=ID (and ?sitting=KEY), by the seat, or as somebody new."""
    desk, query = request.desk, request.args
    if arrival := _read_arrival(request):
        if arrival.preview:
            return page.glance_page(request.desk.rules.hit, request.frame, desk.first_sitting)
        if proof := query.get(SELF_TEST):
            return _self_test(request, arrival, proof)
        if arrival.lapsed:
            return _turn_away(request, "lapsed")
        if arrival.source in ASKED_LATER and not admits(desk.doors(), arrival.source, arrival.task):
            return _turn_away(request, "uninvited")
        if arrival.turned_away:
            return page.message_page(request.desk.rules.hit, request.frame, "no_more")
        sitting = arrival.sitting or _sitting_of(request, arrival.worker)
        begin_visit(request, arrival.source, arrival.worker, sitting, arrival.task, proven=arrival.proven)
    elif request.invited:
        # who is named in an address without proof could be anybody, so only what this study has signed is believed
        visit = request.named_visit()
        if visit is None or "rater" in query:
            return _turn_away(request, "uninvited")
        begin_visit(request, visit.source, visit.worker, visit.sitting, visit.task)
    else:
        visit = request.named_visit()
        worker = query.get("rater") or (visit.worker if visit else f"visitor-{secrets.token_hex(12)}")
        sitting = query.get("sitting") or _sitting_of(request, worker)
        begin_visit(request, _read_source(request), worker, sitting)
    if request.seat:
        return request.go("/task")
    if closed := desk.closed_to_newcomers():
        if request.wants_json:
            return jsonify(status=closed, html="", progress={"done": 0, "of": 0})
        so_far = page.SittingSoFar(out=way_back_unworked(request))
        return page.message_page(request.desk.rules.hit, request.frame, closed, so_far)
    return ask_consent(request)


def way_back_unworked(request: StudyRequest, done: int = 0) -> WayOut | None:
    """The way back of somebody who has judged no pair, where the marketplace has one."""
    return request.way_out(Step("complete", done))


def ask_consent(request: StudyRequest) -> str:
    """The first page, with the way back of somebody who does not consent, where the marketplace has one."""
    out = way_to_decline(request.entrances, request.visit_facts())
    desk = request.desk
    return page.consent_page(desk.rules.hit, request.frame, desk.first_sitting, out, desk.minutes_of_sitting())


def begin_visit(
    request: StudyRequest, source: Source, worker: str, sitting: str, task: str = "", *, proven: bool = False
) -> None:
    """Begin a visit in this tab: with a seat for a rater who has consented before, otherwise only for who asks."""
    desk, visit = request.desk, request.visit
    desk.check_ids(worker, sitting)
    is_same = visit is not None and request.rater_of(visit) == desk.rater_id(worker)
    language, own = (visit.language, visit.own) if visit and is_same else ("", False)
    arrived = PageVisit(source, worker, sitting, task, language=language, own=own or proven)
    raters_proven = request.proven_raters
    if desk.has_consented(worker, sitting, source, raters_proven):
        seat = desk.arrive(worker, sitting, source, raters_proven, proves=bool(raters_proven))
        arrived = arrived.seated(seat)
    request.keep_visit(arrived)


def accept_consent(request: StudyRequest) -> PageReply:
    """Record the consent of who sends the form; this is where a rater's first row is written."""
    visit, desk = request.sender(), request.desk
    own = visit.own or not desk.knows(request.rater_of(visit))  # who agrees for somebody else sees nothing of theirs
    seat = request.seat or desk.arrive(
        visit.worker, visit.sitting, visit.source, request.proven_raters, proves=request.remembered is not None
    )
    desk.consent(seat)
    request.keep_visit(replace(visit.seated(seat), own=own))
    note_language(request)
    return request.go("/task")


def note_language(request: StudyRequest) -> None:
    """Record in which language they read, where the study has several."""
    if request.seat and request.desk.rules.hit.languages[1:]:
        request.desk.reads(request.seat, request.language)


def change_language(request: StudyRequest, language: str) -> None:
    """The rest of this visit in another language of the study."""
    if language not in request.desk.rules.hit.languages:
        raise Refused("the study does not speak this language")
    request.keep_visit(replace(request.sender(), language=language))
    note_language(request)


def _turn_away(request: StudyRequest, why: Literal["uninvited", "lapsed"]) -> Response:
    request.forget_visit()
    return make_response((page.message_page(request.desk.rules.hit, request.frame, why), 403))


def _self_test(request: StudyRequest, arrival: Arrival, proof: str) -> PageReply:
    """The test worker of a launch: the first page or the last one, as a worker sees them; nothing is stored."""
    desk = request.desk
    if not hmac.compare_digest(proof.encode(), self_test_proof(desk.secret).encode()):
        raise Refused("not a self-test of this study")
    hit, frame = desk.rules.hit, request.frame
    if LAST_PAGE not in request.args:
        return page.consent_page(hit, frame, desk.first_sitting)
    facts = PageVisit(arrival.source, arrival.worker, arrival.sitting).facts()
    out = way_back(request.entrances, facts, Step("done", done=1, judged=1))
    return page.message_page(hit, frame, "done", page.SittingSoFar(1, "", out))


def _sitting_of(request: StudyRequest, worker: str) -> str:
    """The sitting in which this person's browser was last, or their first."""
    visit = request.named_visit()
    return visit.sitting if visit and visit.worker == worker else "1"


def _read_arrival(request: StudyRequest) -> Arrival | None:
    """Who a marketplace says is coming, if one does."""
    try:
        return next((who for entrance in request.entrances if (who := entrance.read_arrival(request.args))), None)
    except InputError as error:
        raise Refused(str(error)) from error


def _read_source(request: StudyRequest) -> Source:
    """Simulated raters say that they are, and come only where a server was started for them; people nowhere else."""
    claimed_source = cast("Source | None", request.args.get("source")) or (
        request.visit.source if request.visit else None
    )
    if claimed_source == "simulated" and request.source != "simulated":
        raise WrongKind("this server is for people")
    if request.source == "simulated" and claimed_source != "simulated":
        raise WrongKind("this server is for simulated raters")
    return request.source
