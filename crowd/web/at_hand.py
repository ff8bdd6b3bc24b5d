"""The request at hand: which study it asks, whose page it is, and where it goes from here.

Whose page it is stands in its address and in its forms (visit.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, cast

from flask import Response, current_app, g, redirect, request, session

from crowd.rating.desk import Desk
from crowd.rating.leasing import Step
from crowd.rating.seating import Refused, Seat
from crowd.web import languages, page
from crowd.web.entrance import WayOut
from crowd.web.visit import TOKEN, PageVisit, visit_of

PageReply = str | Response


def the_desk() -> Desk:
    """Of the study that is served."""
    return cast(Desk, current_app.extensions["desk"])


def read_visit() -> bool:
    """Whose page is asked for: a form says it itself, an address too; the cookie is asked only where neither speaks.

    False where a token is there that this study has not signed.
    """
    given = request.form.get(TOKEN, "") if request.method == "POST" else request.args.get(TOKEN)
    g.visit = visit_of(the_desk().secret, session.get(TOKEN, "") if given is None else given)
    return not given or g.visit is not None


def visit_at_hand() -> PageVisit | None:
    """Whose page it is, if it is somebody's."""
    return cast("PageVisit | None", g.get("visit"))


def keep_visit(visit: PageVisit) -> None:
    """This is whose pages follow; a cookie remembers it, where there are cookies."""
    before = visit_of(the_desk().secret, session.get(TOKEN, ""))
    last = session.get("last") if before and before.worker == visit.worker else None
    g.visit = visit
    session.clear()
    session.permanent = True  # a rater who closes the browser finds the sitting again
    session.update({TOKEN: visit.token(the_desk().secret), "last": last})


def sender() -> PageVisit:
    """Who sends this form; refused if it was not made by us for somebody."""
    return visit_at_hand() or refuse("the form was not made by this study")


def seat_at_hand() -> Seat | None:
    """The seat of whose page it is; None before they consent."""
    known = visit_at_hand()
    return Seat(the_desk().rater_id(known.worker), known.number) if known and known.number else None


def sender_s_seat() -> Seat:
    """The seat of who sends this form."""
    return seat_at_hand() or refuse("nobody sits here")


def told_of_visit() -> Mapping[str, Any]:
    """What an entrance is told of whose page it is."""
    known = visit_at_hand() or refuse("nobody sits here")
    return known.told(the_desk().rater_id(known.worker))


def way_out(step: Step) -> WayOut | None:
    """The way back to where they came from, once there is one."""
    told = told_of_visit()
    ways = (entrance.leave(told, step) for entrance in current_app.extensions["entrances"])
    return next((way for way in ways if way), None)


def language_at_hand() -> str:
    """What they chose, else the first language that their browser asks for and the study has."""
    known, offered = visit_at_hand(), the_desk().hit.languages
    if known and known.language in offered:
        return known.language
    return languages.preferred(list(request.accept_languages.values()), offered) if offered[1:] else offered[0]


def refuse(why: str) -> NoReturn:
    """Nothing is done for a request that does not fit."""
    raise Refused(why)


def frame_at_hand() -> page.Frame:
    """What every page needs of the request."""
    known = visit_at_hand()
    token = known.token(the_desk().secret) if known else ""
    return page.Frame(request.script_root, token, g.nonce, language_at_hand())


def go(path: str) -> Response:
    """On to another page of this visit."""
    return cast(Response, redirect(frame_at_hand().to(path), 303))
