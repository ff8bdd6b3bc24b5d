"""Who arrives, and whether they are let in: by a marketplace or an invitation, by a seat, or by name.

Nothing about a rater is stored before they consent. Whom a marketplace sends when nothing is left is sent back at once,
before they have read or answered anything.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import replace
from typing import Literal, cast

from flask import Response, jsonify, make_response

from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.rating.seating import Refused, WrongKind
from seedvote.crowd.store.identity import self_test_proof
from seedvote.crowd.store.launches import admits
from seedvote.crowd.store.tables import ASKED_LATER
from seedvote.crowd.web import page
from seedvote.crowd.web.entrance import LAST_PAGE, SELF_TEST, Arrival, WayOut, way_back, way_to_decline
from seedvote.crowd.web.study_request import PageReply, StudyRequest
from seedvote.crowd.web.visit import PageVisit
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source


def arrive(request: StudyRequest) -> PageReply:
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
        sit(request, arrival.source, arrival.worker, sitting, arrival.task, proven=arrival.proven)
    elif request.invited:
        # who is named in an address without proof could be anybody, so only what this study has signed is believed
        visit = request.named_visit()
        if visit is None or "rater" in query:
            return _turn_away(request, "uninvited")
        sit(request, visit.source, visit.worker, visit.sitting, visit.task)
    else:
        visit = request.named_visit()
        worker = query.get("rater") or (visit.worker if visit else f"visitor-{secrets.token_hex(12)}")
        sitting = query.get("sitting") or _sitting_of(request, worker)
        sit(request, _read_source(request), worker, sitting)
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
    return page.consent_page(request.desk.rules.hit, request.frame, request.desk.first_sitting, out)


def sit(
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
        return next((who for entrance in request.entrances if (who := entrance.arrive(request.args))), None)
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
