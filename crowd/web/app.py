"""The web application: a factory, its settings, and what every request and reply has in common.

`create_app(ServerConfig(...))` is the whole of it; crowd/wsgi.py has the same for servers that import an application.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from flask import Flask, Request, Response, g, request
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface
from itsdangerous import BadData, URLSafeTimedSerializer
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.middleware.proxy_fix import ProxyFix

from seedvote.crowd.forms.form import NoAnswer
from seedvote.crowd.hit.about import LONGEST_COMMENT
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import Refused, WrongKind
from seedvote.crowd.store.identity import cookie_key
from seedvote.crowd.store.replies import LostTurn
from seedvote.crowd.store.store import open_store
from seedvote.crowd.web import dashboard, page, views
from seedvote.crowd.web.entrance import Entrance, origin_of
from seedvote.crowd.web.health import Metrics, Pulse, metrics_page
from seedvote.crowd.web.invitations import InvitationEntrance
from seedvote.crowd.web.media import POLICY, MediaShelf
from seedvote.crowd.web.study_request import SIGNED, StudyRequest, current_request
from seedvote.crowd.web.talking import NoEndpoints
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

AHEAD_EVERY = 0.1  # seconds between two looks, at least, at whether the next batch is due
AHEAD_LONGEST = 0.5  # more seconds until the next one where nothing happens here
MOST_KEYS = 10_000  # beyond it full buckets are dropped, so that made-up ids cannot fill the memory


class RateLimit:
    """A token bucket for each key: `rate` requests a second, with bursts of `burst`; a rate of 0 limits nothing."""

    def __init__(self, rate: float, burst: int = 40, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Take one request from the key's bucket, if there is one in it."""
        if not self.rate:
            return True
        now = self.clock()
        with self._lock:
            if len(self._buckets) > MOST_KEYS:
                self._drop_full(now)
            level, since = self._buckets.get(key, (float(self.burst), now))
            level = min(self.burst, level + (now - since) * self.rate)
            self._buckets[key] = (max(0.0, level - 1), now)
            return level >= 1

    def _drop_full(self, now: float) -> None:
        """Forget the buckets that have filled up again: they limit nothing."""
        full = self.burst / self.rate
        self._buckets = {key: value for key, value in self._buckets.items() if now - value[1] < full}


LOG = logging.getLogger("crowd")
LARGEST_BODY = 16_384  # bytes of a form without texts
LONGEST_CHARACTER = len("%E4%BD%A0")  # what one character of a text box takes at most in a form, as browsers encode it
A_YEAR = 31_536_000
RETRIES = range(2, 8)  # seconds after which a page that could not be shown is asked for again
UNTOLD_PROXY = (
    "Requests carry X-Forwarded-For, which is not believed: all of them count as one address. If a proxy of yours is "
    "in front, start the server with --proxies 1 (SEEDVOTE_PROXIES=1)."
)
WITH_MARKET_SCRIPT = (
    "hit.task",
    "hit.done",
    "hit.about",
    "hit.instructions",
    "hit.answer",
    "hit.undo",
    "hit.say",
    "hit.ask_again",
    "hit.hand_back",
    "hit.last_questions",
)  # pages after consent
MEDIA = "hit.media"
REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
PATH = re.compile(r"(/[\w.~-]+)+", re.ASCII)
WSGI = Callable[[dict[str, Any], Any], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server of one study."""

    database: str
    hit: Hit
    folder: Path | None = None  # of the study: where the dashboard finds figures
    media: Path | None = None  # of the pairs: where the files lie that they name; None: the study's own
    source: Source = "local"
    prefix: str = ""  # path under which a proxy shows the study, e.g. /study-1
    proxies: int = 0  # trusted reverse proxies in front
    https: bool = False  # cookies for https only
    frame_ancestors: tuple[str, ...] = ()  # the marketplace that may frame the page
    submit_to: str = ""  # the marketplace's origin that takes finished forms (MTurk)
    entrances: tuple[Entrance, ...] = ()  # of the marketplaces; that of invitations is always open
    invited: bool = False  # nobody comes in but by an invitation or a marketplace; else anybody, by any name
    rate: float = 20.0  # requests a second for one rater; 0: no limit
    address_rate: float | None = None  # and for one network address, before it is known who asks; None: the same

    def __post_init__(self) -> None:
        """Refuse what would make addresses and headers that no browser understands."""
        if self.prefix and not PATH.fullmatch(self.prefix):
            raise InputError(
                f"The prefix is {self.prefix!r}; it must be a path that begins with a slash, e.g. /study-1."
            )
        if wrong := [site for site in self.frame_ancestors if not re.fullmatch(r"https?://[^\s;,]+", site)]:
            raise InputError(
                f"A frame ancestor is {wrong[0]!r}; it must be the address of a site, e.g. https://example.org."
            )
        if min(self.rate, self.address_limit, self.proxies) < 0:
            raise InputError(
                f"The rate is {self.rate:g}, that of an address {self.address_limit:g} and the number of proxies "
                f"{self.proxies}; none may be below 0."
            )

    @property
    def address_limit(self) -> float:
        """Requests a second from one network address, before it is known who asks."""
        return self.rate if self.address_rate is None else self.address_rate


class _PlainJson:
    """What the cookie holds needs none of Flask's marks for other kinds of values, which take longer than signing."""

    @staticmethod
    def dumps(value: Any) -> str:
        """As Flask writes texts, yes and no."""
        return json.dumps(value, separators=(",", ":"))

    loads = staticmethod(json.loads)


class SeatCookie(SecureCookieSessionInterface):
    """A signed cookie that no clock makes invalid: the seat in it has an end of its own, see study_request.py.

    The usual one is refused where its time of signing lies in the future, which is where it lies after a clock went
    back, or for the second of two servers whose clocks differ by a second.
    """

    serializer = _PlainJson  # type: ignore[assignment]
    _serializer: tuple[object, URLSafeTimedSerializer | None] = (None, None)

    def get_signing_serializer(self, app: Flask) -> URLSafeTimedSerializer | None:
        """The same one while the key is the same: making one takes longer than using it."""
        if self._serializer[0] != app.secret_key:
            self._serializer = app.secret_key, super().get_signing_serializer(app)
        return self._serializer[1]

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession:
        """What the cookie says, whenever it was signed; a cookie of any other shape says nothing."""
        serializer, text = self.get_signing_serializer(app), request.cookies.get(self.get_cookie_name(app))
        try:
            values = _verify_cookie(serializer, text) if serializer and text else {}
        except BadData:
            values = {}
        return self.session_class(values if isinstance(values, dict) else {})


@lru_cache(SIGNED)  # which remembers nothing that was not signed
def _verify_cookie(serializer: URLSafeTimedSerializer, text: str) -> Any:
    return serializer.loads(text)


class _Site(Flask):
    """Flask behind what a proxy in front makes necessary, whose requests know their study."""

    request_class = StudyRequest

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.front: WSGI = self.wsgi_app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return self.front(environ, start_response)


def create_app(config: ServerConfig) -> Flask:
    """The application on a store that holds its study already."""
    app = _Site("crowd", static_folder=page.STATIC, template_folder=None)
    desk = Desk(open_store(config.database, serving=True), config.hit)
    app.extensions["desk"], app.extensions["config"] = desk, config
    app.extensions["media"] = MediaShelf(desk.store, config.media or config.folder)
    app.extensions["pulse"] = pulse = Pulse(desk.store)
    pulse.tell_clock()
    app.secret_key, app.session_interface = cookie_key(desk.secret), SeatCookie()
    framed = bool(config.frame_ancestors)
    app.config.update(
        MAX_CONTENT_LENGTH=largest_body(config.hit),
        SEND_FILE_MAX_AGE_DEFAULT=A_YEAR,  # a file that changes gets another address, see page.asset_path
        SESSION_COOKIE_NAME="seedvote",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_REFRESH_EACH_REQUEST=False,
        PERMANENT_SESSION_LIFETIME=A_YEAR,
        SESSION_COOKIE_SECURE=config.https or framed,
        SESSION_COOKIE_SAMESITE="None" if framed else "Lax",  # in a frame of another site, Lax cookies are not sent
        SESSION_COOKIE_PARTITIONED=framed,
        SESSION_COOKIE_PATH=config.prefix or "/",
    )
    metrics = Metrics(desk.store, desk.rules.hit)
    _add_guards(app, config, desk, metrics)
    app.register_blueprint(views.rater_pages)
    app.register_blueprint(
        dashboard.make_blueprint(
            desk.store,
            desk.rules.hit,
            lambda: dashboard.Tokens(desk.study_token(), desk.reading_token()),
            config.folder,
            database=config.database,
        )
    )
    app.register_blueprint(metrics_page(metrics, lambda token: is_token_of(desk, token)))
    if desk.rules.hit.live is not None:
        from seedvote.crowd.web.endpoints import Endpoints  # with httpx, which no other form needs

        app.extensions["endpoints"] = Endpoints(desk)
    if desk.rules.hit.is_adaptive and config.source != "simulated":  # whose studies repeat to the letter
        threading.Thread(target=_draw_ahead, args=(desk,), daemon=True).start()
    if config.proxies:
        n = config.proxies
        app.front = _with_sound_prefix(ProxyFix(app.front, x_for=n, x_proto=n, x_host=n, x_prefix=n))
    if config.prefix:
        app.front = _serve_below(config.prefix, app.front)
    return app


def _draw_ahead(desk: Desk) -> None:
    """Draw the batches of an adaptive study before raters wait for them; ends with the process."""
    while True:
        try:
            desk.drawer.draw(desk.rules.hit, desk.clock(), ahead=True)
        except (SQLAlchemyError, LostTurn) as error:  # the next rater who needs a batch draws it
            LOG.warning("batch", extra={"facts": {"error": str(error)}})
        time.sleep(AHEAD_EVERY)
        desk.drawer.wait(AHEAD_LONGEST)


def largest_body(hit: Hit) -> int:
    """Bytes of the largest form that the pages of this HIT can send, whatever script its raters write."""
    comments = sum(question.kind == "comment" for question in hit.questions)
    comments += sum(question.kind == "comment" for question in hit.about)
    longest = comments * LONGEST_COMMENT + (hit.live.characters if hit.live else 0)
    return LARGEST_BODY + longest * LONGEST_CHARACTER


def is_token_of(desk: Desk, text: str) -> bool:
    """Whether this opens the researcher's page, to change it or to read it."""
    desk.refresh_keys()
    tokens = (desk.study_token(), desk.reading_token())
    return any(hmac.compare_digest(text.encode("utf-8", "replace"), token.encode()) for token in tokens)


def study_token(app: Flask) -> str:
    """What opens /study: the same in every process that serves this store, and after every start."""
    return cast(Desk, app.extensions["desk"]).study_token()


def log_to_stderr(*, quiet: bool = False) -> None:
    """One JSON object a line: time, level, event, route, status, milliseconds, the id of the request.

    No id of a person, no address, query or agent.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.WARNING if quiet else logging.INFO)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a queue is where requests wait, not news


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        line = {"at": stamp, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**line, **getattr(record, "facts", {})})


def _serve_below(prefix: str, inner: WSGI) -> WSGI:
    """Serve `inner` under a path prefix, whether or not the proxy in front has cut it off already."""

    def serve_request(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == prefix or path.startswith(prefix + "/"):
            environ["PATH_INFO"] = path[len(prefix) :] or "/"
        environ["SCRIPT_NAME"] = prefix
        return inner(environ, start_response)

    return serve_request


def _with_sound_prefix(inner: WSGI) -> WSGI:
    """Drop an X-Forwarded-Prefix that is no path: it would stand before every link and redirect of ours."""

    def check_prefix(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        prefixes = environ.get("HTTP_X_FORWARDED_PREFIX", "")
        # several proxies write several of them, separated by commas
        if not all(
            PATH.fullmatch(prefix.strip().rstrip("/")) for prefix in prefixes.split(",") if prefix.strip().strip("/")
        ):
            del environ["HTTP_X_FORWARDED_PREFIX"]
        return inner(environ, start_response)

    return check_prefix


def _add_guards(app: Flask, config: ServerConfig, desk: Desk, metrics: Metrics) -> None:
    """What happens before and after every view, and when one fails."""
    invitations = InvitationEntrance(desk)
    entrances = (invitations, *config.entrances)
    raters, addresses = (
        RateLimit(config.rate),
        RateLimit(config.address_limit, burst=max(40, int(2 * config.address_limit))),
    )
    caution = _ProxyCaution(config.proxies)

    @app.before_request
    def begin_request() -> tuple[str, int, dict[str, str]] | None:
        g.nonce, g.begun, g.request_id = secrets.token_urlsafe(16), time.perf_counter(), _request_id(config)
        caution.look()
        incoming = current_request()
        incoming.receive(desk, entrances, config.source, invited=config.invited)
        if incoming.endpoint in ("static", "hit.health"):
            return None
        desk.refresh_keys()
        app.secret_key = cookie_key(desk.secret)
        is_known = incoming.blueprint != views.rater_pages.name or incoming.read_visit()
        person = incoming.person or _invited_person(incoming, invitations)
        if incoming.endpoint == MEDIA and incoming.seat:
            return None  # a page of many images and a player's parts are no requests of the rater's own
        allowed = raters.allows(person) if person else addresses.allows(str(incoming.remote_addr))
        if not allowed:
            seconds = secrets.choice(RETRIES)  # so that a crowd does not come back all at once
            return views.problem(incoming, "busy", seconds), 429, {"Retry-After": str(seconds)}
        if not is_known:
            raise Refused("not a seat of this study")
        return None

    @app.after_request
    def finish_reply(reply: Response) -> Response:
        endpoint, status, request_id = request.endpoint, reply.status_code, g.get("request_id", "")
        reply.headers.update(_make_headers(config, desk.rules.hit.market_script))
        if endpoint == MEDIA and status < 400:
            reply.headers["Content-Security-Policy"] = POLICY
            reply.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        elif endpoint != "static":
            reply.headers["Cache-Control"] = "no-store"
        spent = time.perf_counter() - g.get("begun", time.perf_counter())
        metrics.seconds.labels(endpoint or "none").observe(spent)  # so that nobody makes up routes
        metrics.replies.labels(f"{status // 100}xx").inc()
        reply.headers["X-Request-ID"] = request_id
        facts = {"route": endpoint, "status": status, "ms": round(spent * 1000, 1)}
        LOG.info("request", extra={"facts": {**facts, "id": request_id}})
        return reply

    @app.errorhandler(WrongKind)
    def of_another_kind(_error: WrongKind) -> tuple[Any, int]:
        return views.of_another_kind(current_request()), 403

    @app.errorhandler(NoAnswer)
    @app.errorhandler(Refused)
    def refuse_form(_error: Exception) -> tuple[str, int]:
        return views.problem(current_request(), "bad_request"), 400

    @app.errorhandler(RequestEntityTooLarge)
    def too_large(_error: RequestEntityTooLarge) -> tuple[str, int]:
        return views.problem(current_request(), "too_large"), 413

    @app.errorhandler(HTTPException)
    def show_error(error: HTTPException) -> tuple[str, int]:
        code = error.code or 500
        if code >= 500:
            LOG.error("failed", extra={"facts": _error_facts(getattr(error, "original_exception", None) or error)})
        if g.get("admitted") and code < 500:
            return dashboard.problem_page(
                "Nothing was changed", "The page was out of date. Go back and try again."
            ), code
        return (views.problem(current_request(), "bad_request") if code < 500 else _show_failure()), code

    @app.errorhandler(NoEndpoints)
    def ask_nobody(error: NoEndpoints) -> tuple[str, int]:
        LOG.error("endpoint", extra={"facts": {"told": str(error), "id": g.get("request_id", "")}})
        return _show_failure(), 503

    @app.errorhandler(SQLAlchemyError)
    def not_stored(error: SQLAlchemyError) -> tuple[str, int]:
        LOG.error("store", extra={"facts": _error_facts(error)})
        return _show_failure(), 503


def _show_failure() -> Any:
    """Who sent an answer is told that it was not saved; who only looked at a page is shown it again."""
    if g.get("admitted"):
        words = "Something failed on the server; its log says what. No vote is lost. Load the page again in a moment."
        return dashboard.problem_page("The page failed", words)
    if request.method == "POST":
        return views.problem(current_request(), "not_saved")
    return views.problem(current_request(), "failed", secrets.choice(RETRIES))


def _invited_person(incoming: StudyRequest, invitations: InvitationEntrance) -> str | None:
    """The name under which a limit counts who comes by an invitation that this study has signed."""
    arrival = invitations.read_arrival(incoming.args) if incoming.path == "/" else None
    return incoming.desk.rater_id(arrival.worker) if arrival else None


class _ProxyCaution:
    """Says once that a proxy seems to stand in front of a server that was told of none."""

    def __init__(self, proxies: int) -> None:
        self._due = proxies == 0

    def look(self) -> None:
        """At the request at hand."""
        if self._due and "X-Forwarded-For" in request.headers:
            self._due = False
            LOG.warning("study", extra={"facts": {"told": UNTOLD_PROXY}})


def _request_id(config: ServerConfig) -> str:
    """By which the log, a proxy's log and a reply speak of one request: that of a trusted proxy, else a new one."""
    proxy_id = request.headers.get("X-Request-ID", "") if config.proxies else ""
    return proxy_id if REQUEST_ID.fullmatch(proxy_id) else secrets.token_hex(8)


def _error_facts(error: BaseException) -> dict[str, str]:
    """What the log says of an error: its kind and where it arose, never its text, which may name a rater."""
    *_, last = traceback.extract_tb(error.__traceback__) or [None]
    where = f"{Path(last.filename).name}:{last.lineno}" if last else ""
    return {"error": type(error).__name__, "where": where, "id": g.get("request_id", "")}


def _make_headers(config: ServerConfig, market_script: str) -> dict[str, str]:
    framing, forms = " ".join(config.frame_ancestors) or "'none'", f"'self' {config.submit_to}".rstrip()
    # the one exception: a marketplace's script, by its whole address, where its page is shown, and its own host
    theirs = market_script if request.endpoint in WITH_MARKET_SCRIPT else ""
    scripts = f"'nonce-{g.get('nonce')}' {theirs}".rstrip()
    talks = f"'self' {origin_of(theirs) if theirs else ''}".rstrip()
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'nonce-{g.get('nonce')}'; "
        f"img-src 'self'; media-src 'self'; connect-src {talks}; form-action {forms}; base-uri 'none'; "
        f"frame-ancestors {framing}"
    )
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    if config.https:
        headers["Strict-Transport-Security"] = f"max-age={A_YEAR}"
    return headers if config.frame_ancestors else {**headers, "X-Frame-Options": "DENY"}
