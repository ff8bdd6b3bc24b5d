"""The request at hand: which study it asks, whose page it is, and where it goes from here.

Whose page it is stands in its address and in its forms (visit.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn, cast

from flask import Response, current_app, g, redirect, request, session

from crowd.rating.desk import Desk
from crowd.rating.leasing import Step
from crowd.rating.seating import Refused, Seat
from crowd.web import languages, page
from crowd.web.entrance import WayOut, way_back
from crowd.web.invitations import InvitationEntrance
from crowd.web.visit import COOKIE_LIFE, LIFE, TOKEN, PageVisit, visit_of

PageReply = str | Response


def the_desk() -> Desk:
    """Of the study that is served."""
    return cast(Desk, current_app.extensions["desk"])


def read_visit() -> bool:
    """Whose page is asked for: a form says it itself, an address too; the cookie is asked only where neither speaks.

    False where a token is there that this study has not signed, or that has ended.
    """
    given = request.form.get(TOKEN, "") if request.method == "POST" else request.args.get(TOKEN)
    remembered = _known(session.get(TOKEN), longer=COOKIE_LIFE - LIFE)
    named = remembered if given is None else _known(given)
    if named and remembered and _is_from_outside() and rater_of(named) != rater_of(remembered):
        named = remembered  # a link with the seat of somebody else does not turn this browser into them
    g.visit, g.remembered = named, remembered
    return not given or named is not None


def _known(token: object, longer: float = 0.0) -> PageVisit | None:
    """The visit of a token, if it still lets anybody in; one from before tokens had a version becomes one of today."""
    desk = the_desk()
    visit = visit_of(desk.secret, token, desk.clock() - longer, desk.keys.older_seats - longer)
    if visit and not visit.rater:
        if desk.keys.is_revoked(visit.worker):
            return None
        if visit.number:
            return visit.seated(Seat(desk.rater_id(visit.worker), visit.number))
    return visit


def _is_from_outside() -> bool:
    """Whether the address was followed from elsewhere. Browsers that do not say are believed but at the entrance."""
    site = request.headers.get("Sec-Fetch-Site", "none" if request.path == "/" else "same-origin")
    return request.method == "GET" and site != "same-origin"


def visit_at_hand() -> PageVisit | None:
    """Whose page it is, if it is somebody's."""
    return cast("PageVisit | None", g.get("visit"))


def rater_of(visit: PageVisit) -> str:
    """The keyed hash of whose visit it is."""
    return visit.rater or the_desk().rater_id(visit.worker)


def person_at_hand() -> str | None:
    """The name under which a limit counts who asks: of a visit or an invitation that this study has signed."""
    if visit := visit_at_hand():
        return rater_of(visit)
    arrival = InvitationEntrance(the_desk()).arrive(request.args) if request.path == "/" else None
    return the_desk().rater_id(arrival.worker) if arrival else None


def announced_visit() -> PageVisit | None:
    """The visit at hand with its names at the marketplace, as it was before anything was stored; None where unknown."""
    known = visit_at_hand()
    if known is None or not known.rater:
        return known
    names = the_desk().names_of(Seat(known.rater, known.number))
    return replace(known, worker=names.worker, sitting=names.sitting, number=0, rater="") if names else None


def keep_visit(visit: PageVisit) -> None:
    """This is whose pages follow; a cookie remembers it, where there are cookies."""
    before = g.get("remembered")
    last = session.get("last") if before and rater_of(before) == rater_of(visit) else None
    g.visit = g.remembered = visit
    session.clear()
    session.permanent = True  # a rater who closes the browser finds the sitting again
    session.update({TOKEN: visit.token(the_desk().secret, the_desk().clock()), "last": last})


def sender() -> PageVisit:
    """Who sends this form; refused if it was not made by us for somebody."""
    return visit_at_hand() or refuse("the form was not made by this study")


def seat_at_hand() -> Seat | None:
    """The seat of whose page it is; None before they consent."""
    known = visit_at_hand()
    return Seat(known.rater, known.number) if known and known.number else None


def sender_s_seat() -> Seat:
    """The seat of who sends this form."""
    return seat_at_hand() or refuse("nobody sits here")


def facts_of_visit() -> Mapping[str, Any]:
    """What an entrance hears of whose page it is."""
    known, named = visit_at_hand(), announced_visit()
    if known is None or named is None:
        refuse("nobody sits here")
    return replace(known, worker=named.worker, sitting=named.sitting).facts()


def way_out(step: Step) -> WayOut | None:
    """The way back to where they came from, once there is one."""
    return way_back(current_app.extensions["entrances"], facts_of_visit(), step)


def language_at_hand() -> str:
    """What they chose, else the first language that their browser asks for and the study has."""
    known, offered = visit_at_hand(), the_desk().hit.languages
    if known and known.language in offered:
        return known.language
    return languages.preferred(list(request.accept_languages.values()), offered) if offered[1:] else offered[0]


def wants_json() -> bool:
    """Whether the page's script asks, which draws pages itself."""
    return request.headers.get("X-Requested-With") == "fetch" or request.accept_mimetypes.best == "application/json"


def refuse(why: str) -> NoReturn:
    """Nothing is done for a request that does not fit."""
    raise Refused(why)


def frame_at_hand() -> page.Frame:
    """What every page needs of the request."""
    known = visit_at_hand()
    token = known.token(the_desk().secret, the_desk().clock()) if known else ""
    return page.Frame(request.script_root, token, g.nonce, language_at_hand())


def go(path: str) -> Response:
    """On to another page of this visit."""
    return cast(Response, redirect(frame_at_hand().to(path), 303))
