"""A request to a study: the rules that hold there, whose page it is, their seat, and where they go from here.

It is Flask's own request, which learns all this once, before the view. Whose page it is stands in its address and in
its forms (visit.py). The rules are the desk's, which may read new ones while it serves this very request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn, cast

import flask
from flask import Response, g, redirect, session

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.rating.seating import Refused, Seat
from seedvote.crowd.web import languages, page
from seedvote.crowd.web.entrance import Entrance, WayOut, way_back
from seedvote.crowd.web.visit import COOKIE_LIFE, LIFE, TOKEN, PageVisit, visit_of
from seedvote.dialogue.records import Source

PageReply = str | Response


class StudyRequest(flask.Request):
    """One request; `receive` tells it which study it asks."""

    desk: Desk
    entrances: Sequence[Entrance] = ()
    source: Source = "local"  # of whoever comes by no entrance
    invited: bool = False  # nobody comes in but by an entrance
    visit: PageVisit | None = None  # whose page it is, if it is somebody's
    remembered: PageVisit | None = None  # whom the browser's cookie names
    seat: Seat | None = None  # of whose page it is; None before they consent
    saved_lease: str = ""  # of the answer that this request saved

    def receive(self, desk: Desk, entrances: Sequence[Entrance], source: Source, *, invited: bool) -> None:
        """Ask the study of this desk."""
        self.desk, self.entrances, self.source, self.invited = desk, entrances, source, invited

    @cached_property
    def now(self) -> float:
        """The time by the study's clock."""
        return self.desk.clock()

    def read_visit(self) -> bool:
        """Whose page is asked for: a form says it itself, an address too; the cookie is asked where neither speaks.

        False where a token is there that this study has not signed, or that has ended.
        """
        token = self.form.get(TOKEN, "") if self.method == "POST" else self.args.get(TOKEN)
        cookie = session.get(TOKEN)
        visit = self._visit_of(token)
        remembered = visit if visit and token == cookie else self._visit_of(cookie, longer=COOKIE_LIFE - LIFE)
        if token is None:
            visit = remembered
        elif visit and remembered and self._is_from_outside() and self.rater_of(visit) != self.rater_of(remembered):
            visit = remembered  # a link with the seat of somebody else does not turn this browser into them
        self.remembered = remembered
        self._go_by(visit)
        return not token or visit is not None

    def _visit_of(self, token: object, longer: float = 0.0) -> PageVisit | None:
        """The visit of a token, if it still lets anybody in; one from before tokens had a version, as one of today."""
        if not token:
            return None
        desk = self.desk
        visit = visit_of(desk.secret, token, self.now - longer, desk.keys.older_seats - longer)
        if visit and not visit.rater:
            if desk.keys.is_revoked(visit.worker):
                return None
            if visit.number:
                return visit.seated(Seat(desk.rater_id(visit.worker), visit.number))
        return visit

    def _is_from_outside(self) -> bool:
        """Whether the address was followed from elsewhere. Browsers that do not say so are believed but at `/`."""
        site = self.headers.get("Sec-Fetch-Site", "none" if self.path == "/" else "same-origin")
        return self.method == "GET" and site != "same-origin"

    @property
    def person(self) -> str | None:
        """The keyed hash of whose page it is."""
        return self.rater_of(self.visit) if self.visit else None

    def _go_by(self, visit: PageVisit | None) -> None:
        self.visit = visit
        self.seat = Seat(visit.rater, visit.number) if visit and visit.number else None
        self.__dict__.pop("frame", None)

    def forget_visit(self) -> None:
        """The reply is nobody's page."""
        self._go_by(None)

    def keep_visit(self, visit: PageVisit) -> None:
        """This is whose pages follow; a cookie remembers it, where there are cookies."""
        before = self.remembered
        last = session.get("last") if before and self.rater_of(before) == self.rater_of(visit) else None
        self.remembered = visit
        self._go_by(visit)
        session.clear()
        session.permanent = True  # a rater who closes the browser finds the sitting again
        session.update({TOKEN: visit.token(self.desk.secret, self.now), "last": last})

    def rater_of(self, visit: PageVisit) -> str:
        """The keyed hash of whose visit it is."""
        return visit.rater or self.desk.rater_id(visit.worker)

    @property
    def proven_raters(self) -> Collection[str]:
        """The raters whose signed visits the page or the browser's cookie names."""
        return {visit.rater for visit in (self.visit, self.remembered) if visit and visit.rater}

    def named_visit(self) -> PageVisit | None:
        """The visit with its names at the marketplace, as it was before anything was stored; None where unknown."""
        visit = self.visit
        if visit is None or not visit.rater:
            return visit
        names = self.desk.names_of(Seat(visit.rater, visit.number))
        return replace(visit, worker=names.worker, sitting=names.sitting, number=0, rater="") if names else None

    def sender(self) -> PageVisit:
        """Who sends this form; refused if it was not made by us for somebody."""
        return self.visit or refuse("the form was not made by this study")

    def sender_s_seat(self) -> Seat:
        """The seat of who sends this form."""
        return self.seat or refuse("nobody sits here")

    def visit_facts(self) -> Mapping[str, Any]:
        """What an entrance hears of whose page it is."""
        visit, names = self.visit, self.named_visit()
        if visit is None or names is None:
            refuse("nobody sits here")
        return replace(visit, worker=names.worker, sitting=names.sitting).facts()

    def way_out(self, step: Step) -> WayOut | None:
        """The way back to where they came from, once there is one."""
        return way_back(self.entrances, self.visit_facts(), step)

    @property
    def language(self) -> str:
        """What they chose, else the first language that their browser asks for and the study has."""
        offered = self.desk.rules.hit.languages
        if self.visit and self.visit.language in offered:
            return self.visit.language
        return languages.preferred(list(self.accept_languages.values()), offered) if offered[1:] else offered[0]

    @property
    def wants_json(self) -> bool:
        """Whether the page's script asks, which draws pages itself."""
        return self.headers.get("X-Requested-With") == "fetch" or self.accept_mimetypes.best == "application/json"

    @cached_property
    def frame(self) -> page.Frame:
        """What every page needs of the request."""
        language = self.language
        token = self.visit.token(self.desk.secret, self.now) if self.visit else ""
        return page.Frame(self.script_root, token, g.nonce, language)

    def go(self, path: str, **parameters: str) -> Response:
        """On to another page of this visit."""
        return cast(Response, redirect(self.frame.to(path, **parameters), 303))


def study_request() -> StudyRequest:
    """The one that is being answered."""
    return cast(StudyRequest, flask.request)


def refuse(why: str) -> NoReturn:
    """Nothing is done for a request that does not fit."""
    raise Refused(why)
