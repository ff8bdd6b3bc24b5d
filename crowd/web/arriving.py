"""Who arrives, and whether they are let in: by a marketplace or an invitation, by a seat, or by name.

Nothing about a rater is stored before they consent. Whom a marketplace sends when nothing is left is sent back at once,
before they have read or answered anything.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import replace
from typing import Literal, cast

from flask import Response, current_app, g, jsonify, request

from crowd.rating.doors import ASKED_LATER, admits
from crowd.rating.leasing import Step
from crowd.rating.seating import Refused, Seat, WrongKind
from crowd.store.identity import self_test_proof
from crowd.web import page
from crowd.web.at_hand import (
    PageReply,
    announced_visit,
    facts_of_visit,
    frame_at_hand,
    go,
    keep_visit,
    language_at_hand,
    rater_of,
    seat_at_hand,
    sender,
    the_desk,
    visit_at_hand,
    wants_json,
    way_out,
)
from crowd.web.entrance import LAST_PAGE, SELF_TEST, Arrival, WayOut, way_back, way_to_decline
from crowd.web.visit import PageVisit
from dialogue.errors import InputError
from dialogue.records import Source


def arrive() -> PageReply:
    """By a marketplace or an invitation, by ?rater=ID (and ?sitting=KEY), by the seat, or as somebody new."""
    desk = the_desk()
    if arrival := _arrival():
        if arrival.preview:
            return page.glance_page(desk.hit, frame_at_hand(), desk.first_sitting)
        if proof := request.args.get(SELF_TEST):
            return _self_test(arrival, proof)
        if arrival.lapsed:
            return _turned_away("lapsed")
        if arrival.source in ASKED_LATER and not admits(desk.doors(), arrival.source, arrival.task):
            return _turned_away("uninvited")
        if arrival.turned_away:
            return page.message_page(desk.hit, frame_at_hand(), "no_more")
        sitting = arrival.sitting or _sitting_of(arrival.worker)
        sit(arrival.source, arrival.worker, sitting, arrival.task, proven=arrival.proven)
    elif current_app.extensions["config"].invited:
        # who is named in an address without proof could be anybody, so only what this study has signed is believed
        known = announced_visit()
        if known is None or "rater" in request.args:
            return _turned_away("uninvited")
        sit(known.source, known.worker, known.sitting, known.task)
    else:
        known = announced_visit()
        worker = request.args.get("rater") or (known.worker if known else f"visitor-{secrets.token_hex(12)}")
        sitting = request.args.get("sitting") or _sitting_of(worker)
        sit(_source(request.args.get("source")), worker, sitting)
    if seat_at_hand():
        return go("/task")
    if closed := desk.closed_to_newcomers():
        if wants_json():
            return jsonify(status=closed, html="", progress={"done": 0, "of": 0})
        return page.message_page(desk.hit, frame_at_hand(), closed, page.SittingSoFar(out=way_back_unworked()))
    return ask_consent()


def way_back_unworked() -> WayOut | None:
    """The way back of somebody who has done nothing, where the marketplace has one."""
    return way_out(Step("complete"))


def ask_consent() -> str:
    """The first page."""
    desk = the_desk()
    decline = way_to_decline(current_app.extensions["entrances"], facts_of_visit())
    return page.consent_page(desk.hit, frame_at_hand(), desk.first_sitting, decline)


def sit(source: Source, worker: str, sitting: str, task: str = "", *, proven: bool = False) -> None:
    """Begin a visit in this tab: with a seat for a rater who has consented before, otherwise only for who asks."""
    desk = the_desk()
    desk.check_ids(worker, sitting)
    known = visit_at_hand()
    chosen, own = (known.language, known.own) if known and rater_of(known) == desk.rater_id(worker) else ("", False)
    arrived = PageVisit(source, worker, sitting, task, language=chosen, own=own or proven)
    if desk.has_consented(worker):
        arrived = arrived.seated(desk.arrive(worker, sitting, source))
    keep_visit(arrived)


def consented() -> PageReply:
    """Record the consent of who sends the form; this is where a rater's first row is written."""
    known, desk = sender(), the_desk()
    own = known.own or not desk.knows(rater_of(known))  # who agrees for somebody else sees nothing of theirs
    seat = seat_at_hand() or desk.arrive(known.worker, known.sitting, known.source)
    desk.consent(seat)
    note_language(seat)
    keep_visit(replace(known.seated(seat), own=own))
    return go("/task")


def note_language(seat: Seat) -> None:
    """Record in which language they read, where the study has several."""
    desk = the_desk()
    if desk.hit.languages[1:]:
        desk.reads(seat, language_at_hand())


def speak(language: str) -> None:
    """The rest of this visit in another language of the study."""
    if language not in the_desk().hit.languages:
        raise Refused("the study does not speak this language")
    keep_visit(replace(sender(), language=language))
    if seat := seat_at_hand():
        note_language(seat)


def _turned_away(why: Literal["uninvited", "lapsed"]) -> Response:
    g.visit = None
    return current_app.make_response((page.message_page(the_desk().hit, frame_at_hand(), why), 403))


def _self_test(arrival: Arrival, proof: str) -> PageReply:
    """The test worker of a launch: the first page or the last one, as a worker sees them; nothing is stored."""
    desk = the_desk()
    if not hmac.compare_digest(proof.encode(), self_test_proof(desk.secret).encode()):
        raise Refused("not a self-test of this study")
    if LAST_PAGE not in request.args:
        return page.consent_page(desk.hit, frame_at_hand(), desk.first_sitting)
    visit = {"source": arrival.source, "worker": arrival.worker, "sitting": arrival.sitting}
    out = way_back(current_app.extensions["entrances"], visit, Step("done", done=1))
    return page.message_page(desk.hit, frame_at_hand(), "done", page.SittingSoFar(1, "", out))


def _sitting_of(worker: str) -> str:
    """The sitting in which this person's browser was last, or their first."""
    known = announced_visit()
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


def _source(claimed: str | None) -> Source:
    """Simulated raters say that they are, and come only where a server was started for them; people nowhere else."""
    source, known = cast(Source, current_app.extensions["config"].source), visit_at_hand()
    said = claimed or (known.source if known else None)
    if said == "simulated" and source != "simulated":
        raise WrongKind("this server is for people")
    if source == "simulated" and said != "simulated":
        raise WrongKind("this server is for simulated raters")
    return source
