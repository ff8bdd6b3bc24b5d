"""What the pages of live conversations ask for: something is said, asked for again, or handed back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from flask import current_app

from seedvote.crowd.forms.live import LiveOnPage
from seedvote.crowd.rating import talks
from seedvote.crowd.web.study_request import StudyRequest, refuse_request
from seedvote.dialogue.errors import InputError

if TYPE_CHECKING:
    from seedvote.crowd.rating.desk import Desk
    from seedvote.crowd.web.endpoints import Endpoints

MAKING = threading.Lock()
LARGEST_NUMBER = 1000  # of a message


def say(request: StudyRequest) -> None:
    """Store what was said, once, and have both sides asked. Nothing is said by nothing."""
    rule, seat = request.desk.rules.hit.live, request.sender_s_seat()
    text = request.form.get("text", "").replace("\0", "").replace("\r\n", "\n").strip()
    number, lease = _read_number(request), request.form.get("lease", "")
    if rule is None or len(text) > rule.characters:
        refuse_request("a message is too long, or the study has no conversations")
    if text:
        endpoints = ready_endpoints(request.desk)
        endpoints.ask(request.desk.change(lambda moment: talks.say(moment, seat, lease, number, text)))


def ask_again(request: StudyRequest) -> None:
    """Have those asked again that did not answer."""
    seat, number, lease = request.sender_s_seat(), _read_number(request), request.form.get("lease", "")
    ready_endpoints(request.desk).ask(request.desk.change(lambda moment: talks.ask_again(moment, seat, lease, number)))


def hand_back(request: StudyRequest) -> None:
    """The conversation goes back to the pool."""
    seat, lease = request.sender_s_seat(), request.form.get("lease", "")
    request.desk.change(lambda moment: talks.hand_back(moment, seat, lease))


def with_talk(request: StudyRequest, content: LiveOnPage, layout: str) -> LiveOnPage:
    """The page with what was said so far; what nobody asks for any more is seen to."""
    desk, endpoints = request.desk, ready_endpoints(request.desk)
    shown, talk = desk.look(lambda moment: talks.show_talk(moment, content, layout))
    if shown.stage != "wait":
        return shown
    if not talk.replies:  # to an opening
        seat = request.sender_s_seat()
        keys = desk.change(lambda moment: talks.open_talk(moment, seat, content.lease))
        endpoints.ask(keys)
        changed = True
    else:
        changed = endpoints.look_after(talk)
    return desk.look(lambda moment: talks.show_talk(moment, content, layout))[0] if changed else shown


def _read_number(request: StudyRequest) -> int:
    text = request.form.get("turn", "")
    if not (text.isascii() and text.isdigit() and int(text[:5]) < LARGEST_NUMBER):
        refuse_request("no message has such a number")
    return int(text)


class NoEndpoints(Exception):
    """This server cannot ask the systems of the study: its text says why, for the operator."""


def ready_endpoints(desk: Desk) -> Endpoints:
    """The endpoints of this process; made anew where the study has had conversations only since it started."""
    with MAKING:
        endpoints = current_app.extensions.get("endpoints")
        if endpoints is None:
            from seedvote.crowd.web.endpoints import Endpoints  # with httpx, which no other form needs

            try:
                endpoints = current_app.extensions["endpoints"] = Endpoints(desk)
            except InputError as error:
                raise NoEndpoints(str(error)) from error
    return cast("Endpoints", endpoints)
