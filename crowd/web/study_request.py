"""A request to a study: the rules that hold there, whose page it is, their seat, and where they go from here.

It is Flask's own request, which learns all this once, before the view. The rules are the desk's, which may read new
ones while it serves this very request.

Whose page it is says a signed token in every address and every form of ours. It names the marketplace, the person, the
task and the visit, and only this study's store can sign it. Once the visit is in the store, the person stands in it as
their keyed hash, so that an address that is passed on names nobody. It has a version and an end. Each tab carries its
own, so two tabs are two visits, and a browser that refuses cookies loses nothing. A cookie holds the last token, for
who opens the bare address again; no form is believed for a cookie's sake, so no other site can send one. What a page's
script keeps where there are no cookies is signed apart, so that nobody can show a seat out of an address for it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NoReturn, cast, get_args

import flask
from flask import Response, g, redirect, session
from itsdangerous import BadData, URLSafeSerializer

from seedvote.crowd.rating.desk import LONGEST_ID, Desk
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.rating.moment import Refused, Seat
from seedvote.crowd.store.identity import media_name, seat_proof
from seedvote.crowd.web import page
from seedvote.crowd.web.entrance import Entrance, WayOut, way_back
from seedvote.crowd.web.page import TOKEN
from seedvote.dialogue.records import Source

KEPT = "kept"  # the name in which the page's script gets and sends the token that it keeps, see hit.js
VERSION = "2"
DAY = 86_400
LIFE = 14 * DAY  # seconds after its page was made, to the end of the day
# of the one in a cookie, or kept by a script, which nobody passes on: its owner is to come back as who they were
COOKIE_LIFE = 365 * DAY
Use = Literal["seat", "kept"]
MOST_SITTINGS = 2**31 - 1  # that a store can number
SIGNED = 4096  # tokens whose signature a process remembers, because each request of a rater shows and makes the same
_KINDS = (str, str, str, str, int, str, str, bool, str)
_OLDER = (_KINDS[:8], _KINDS[:7], _KINDS[:6])  # what a token held before it had a version


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One person in one visit, in one tab."""

    source: Source
    worker: str  # as the marketplace names the person; empty once `rater` stands for it
    sitting: str  # as the marketplace names the visit; empty likewise
    task: str = ""
    number: int = 0  # of the sitting in the store; 0: nothing is stored before they consent
    tab: str = field(default_factory=lambda: secrets.token_hex(4))
    language: str = ""  # that they chose; empty while they have not
    own: bool = False  # whether it comes from where they agreed, not from an address that anyone may type
    rater: str = ""  # the keyed hash of who sits there; empty before the visit is in the store

    def seated(self, seat: Seat) -> PageVisit:
        """The same visit, whose sitting is in the store by now."""
        return replace(self, worker="", sitting="", number=seat.sitting, rater=seat.rater)

    def facts(self) -> Mapping[str, Any]:
        """What an entrance hears of it; `seat` once there is one."""
        known = {"source": self.source, "worker": self.worker, "sitting": self.sitting, "task": self.task}
        return {**known, "seat": (self.rater, self.number)} if self.number else known

    def token(self, secret: str, now: float, use: Use = "seat") -> str:
        """Letters, digits, -, _ and full stops; the same one for a whole day."""
        life = LIFE if use == "seat" else COOKIE_LIFE
        return _sign_visit(secret, use, (int(now) // DAY + 1) * DAY + life, self)


@lru_cache(SIGNED)
def _sign_visit(secret: str, use: Use, until: int, visit: PageVisit) -> str:
    return f"{VERSION}.{_make_serializer(secret, use).dumps([until, *astuple(visit)])}"


def visit_of(
    secret: str, token: object, now: float, older_until: float = math.inf, use: Use = "seat"
) -> PageVisit | None:
    """The visit of a token that this study has signed for this use and that has not ended; None for anything else.

    `older_until` is the end of all tokens from before they had a version.

    >>> visit = PageVisit("prolific", "p1", "s1", "t1")
    >>> token = visit.token("k", now=0)
    >>> visit_of("k", token, now=0) == visit, visit_of("other", token, now=0), visit_of("k", token, now=16 * DAY)
    (True, None, None)
    """
    if not isinstance(token, str):
        return None
    if token.startswith(f"{VERSION}."):
        until, *values = _signed_values(secret, use, token.removeprefix(f"{VERSION}."))
        fits = type(until) is int and tuple(map(type, values)) == _KINDS
    else:
        until, values = older_until, _older_values(secret, token)
        fits = tuple(map(type, values)) in _OLDER
    fits = fits and now < until and values[0] in get_args(Source) and _is_storable(values)
    return PageVisit(cast(Source, values[0]), *values[1:]) if fits else None


def _is_storable(values: Sequence[Any]) -> bool:
    """Whether a store can hold these ids and the number of the sitting."""
    return 0 <= values[4] <= MOST_SITTINGS and all(
        len(text) <= LONGEST_ID and (not text or text.isprintable()) for text in (values[1], values[2], *values[8:])
    )


@lru_cache(16)
def _make_serializer(secret: str, use: Use) -> URLSafeSerializer:
    return URLSafeSerializer(secret, salt=f"{use} {VERSION}", signer_kwargs={"digest_method": hashlib.sha256})


def _signed_values(secret: str, use: Use, body: str) -> Sequence[Any]:
    try:
        return _verify_body(secret, use, body)
    except BadData:
        return (0,)


@lru_cache(SIGNED)  # which remembers nothing that was not signed
def _verify_body(secret: str, use: Use, body: str) -> Sequence[Any]:
    values = _make_serializer(secret, use).loads(body)
    return values if isinstance(values, list) and values else (0,)


def _older_values(secret: str, token: str) -> list[Any]:
    body, _, proof = token.rpartition(".")
    if not body or not hmac.compare_digest(proof.encode("utf-8", "replace"), seat_proof(secret, body).encode()):
        return []
    try:
        values = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return []
    return values if isinstance(values, list) else []


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
    wants_json: bool = False  # whether the page's script asks, which draws pages itself
    saved_lease: str = ""  # of the answer that this request saved

    def receive(self, desk: Desk, entrances: Sequence[Entrance], source: Source, *, invited: bool) -> None:
        """Ask the study of this desk."""
        self.desk, self.entrances, self.source, self.invited = desk, entrances, source, invited
        by_script = self.headers.get("X-Requested-With") == "fetch"
        self.wants_json = by_script or self.accept_mimetypes.best == "application/json"

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
        if self.method == "POST" and self.headers.get("Sec-Fetch-Site") == "cross-site":
            return  # a form on another site does not say who this browser is
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

    @property
    def kept_visit(self) -> PageVisit | None:
        """The visit that the page's script has kept in this browser: one in which somebody answered."""
        return visit_of(self.desk.secret, self.form.get(KEPT), self.now, 0.0, "kept")

    def named_visit(self) -> PageVisit | None:
        """The visit with its names at the marketplace, as it was before anything was stored; None where unknown."""
        visit = self.visit
        if visit is None or not visit.rater:
            return visit
        names = self.desk.names_of(Seat(visit.rater, visit.number))
        return replace(visit, worker=names.worker, sitting=names.sitting, number=0, rater="") if names else None

    def sender(self) -> PageVisit:
        """Who sends this form; refused if it was not made by us for somebody."""
        return self.visit or refuse_request("the form was not made by this study")

    def sender_s_seat(self) -> Seat:
        """The seat of who sends this form."""
        return self.seat or refuse_request("nobody sits here")

    def visit_facts(self) -> Mapping[str, Any]:
        """What an entrance hears of whose page it is."""
        visit, names = self.visit, self.named_visit()
        if visit is None or names is None:
            refuse_request("nobody sits here")
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
        return page.preferred_language(list(self.accept_languages.values()), offered) if offered[1:] else offered[0]

    @cached_property
    def frame(self) -> page.Frame:
        """What every page needs of the request."""
        language = self.language
        token = self.visit.token(self.desk.secret, self.now) if self.visit else ""
        name_media, is_rich = partial(media_name, self.desk.secret), self.desk.rules.is_rich
        return page.Frame(self.script_root, token, g.nonce, language, name_media, is_rich=is_rich)

    def go(self, path: str, **parameters: str) -> Response:
        """On to another page of this visit."""
        return cast(Response, redirect(self.frame.to(path, **parameters), 303))


def current_request() -> StudyRequest:
    """The one that is being answered: itself, for Flask's stand-in looks it up anew for everything that is asked."""
    return cast(StudyRequest, flask.request._get_current_object())  # type: ignore[attr-defined]


def refuse_request(why: str) -> NoReturn:
    """Nothing is done for a request that does not fit."""
    raise Refused(why)
