"""The researcher's page at /study: how the study stands, and the switch that stops, pauses and resumes it.

Without its token every address here answers like one that does not exist. A second token opens the page for who may
only read it: no switch, no export. The numbers come from crowd/watching;
figures are files of the study, which `python -m analysis watch STUDY` refreshes in a process of its own.
"""

from __future__ import annotations

import hmac
import io
import math
import os
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Blueprint, abort, g, redirect, request, send_file, send_from_directory
from werkzeug import Response

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.moment import kept_hit
from seedvote.crowd.rating.talk_books import read_money_lines
from seedvote.crowd.store.identity import keyed
from seedvote.crowd.store.store import Store, iso
from seedvote.crowd.watching.checks import DOUBTFUL, SLIPS
from seedvote.crowd.watching.overview import Overview, RaterLine, overview
from seedvote.crowd.watching.progress import StudyState, set_state
from seedvote.crowd.watching.refreshing import SoFar, export_anew, read_so_far
from seedvote.crowd.watching.share_interval import law_of_ties, polyline, set_size
from seedvote.crowd.web import page
from seedvote.dialogue.shell.wording import as_typed

COOKIE = "seedvote_study"
SWITCHES: dict[StudyState, str] = {"running": "Resume", "paused": "Pause", "stopped": "Stop"}
FILES = ("ties.png", "ties.pdf", "ties.json")
FORMS = ("jsonl", "csv")
EXPORTS = (
    *(f"{name}.{form}" for form in FORMS for name in ("votes", "choices", "raters")),
    "conversations.jsonl",
    "so_far.json",
)
FRESH = 5.0  # seconds for which one reading of the store is shown again, or
SHARE = 20  # so many times what the reading took: a large study must not slow its raters
WIDTH, HEIGHT = 480.0, 170.0
SORTS: dict[str, Callable[[RaterLine], Any]] = {
    "rater": lambda line: line.rater,
    "status": lambda line: line.status,
    "votes": lambda line: line.votes,
    "ties": lambda line: line.tie_rate,
    "left": lambda line: line.left_rate,
    "checks": lambda line: line.checks_failed,
    "seconds": lambda line: line.median_seconds,
    "agreement": lambda line: line.agreement,
}


@dataclass(frozen=True, slots=True)
class ExperimentCurve:
    """HumanExp-k as the page draws it; `points` of its SVG line are empty while it has too few votes."""

    k: int
    votes: int
    share: float
    points: str


class Watch:
    """The overview of a study, read again now and then however many windows look at it."""

    def __init__(self, store: Store, hit: Hit, clock: Callable[[], float]) -> None:
        self.store, self.hit, self.clock = store, hit, clock
        self._lock, self._until = threading.Lock(), -math.inf
        self._last: Overview | None = None
        self.money_lines: list[str] = []
        """Of live conversations, as old as the overview."""

    def now(self) -> Overview:
        """The overview, a few seconds old at most (a minute or two with hundreds of thousands of votes)."""
        with self._lock:
            begun = time.monotonic()
            if self._last is None or begun >= self._until:
                with self.store.read() as connection:
                    self.hit = kept_hit(connection) or self.hit  # another server may have started with another one
                    self._last = overview(connection, self.hit, self.clock())
                    self.money_lines = read_money_lines(connection, self.hit, self.clock())
                self._until = begun + max(FRESH, SHARE * (time.monotonic() - begun))
            return self._last

    def switch(self, state: StudyState) -> None:
        """Set the study running, paused or stopped."""
        set_state(self.store, state)
        with self._lock:
            self._last = None


@dataclass(frozen=True, slots=True)
class Tokens:
    """What opens the page: for the researcher, and for who may only read it."""

    full: str
    reading: str


def make_blueprint(
    store: Store,
    hit: Hit,
    tokens: Callable[[], Tokens],
    folder: Path | None = None,
    clock: Callable[[], float] | None = None,
    database: str | None = None,
) -> Blueprint:
    """The routes below /study for who has a token; `folder` is where the figures lie, `database` what is exported."""
    researcher_pages = Blueprint("study", __name__, url_prefix="/study")
    watch = Watch(store, hit, clock or store.now)
    study = "" if folder is None else folder.resolve().name

    @researcher_pages.before_request
    def admit() -> Response | None:
        known = tokens()
        if (query_token := request.args.get("token")) is not None:
            for token in (known.full, known.reading):
                if _are_equal(query_token, token):
                    return _with_cookie(_proof_of(token))
        cookie_proof = request.cookies.get(COOKIE, "")
        g.may_change, g.proof = _are_equal(cookie_proof, _proof_of(known.full)), cookie_proof
        if not g.may_change and (request.method == "POST" or not _are_equal(cookie_proof, _proof_of(known.reading))):
            abort(404)
        g.admitted = True
        return None

    @researcher_pages.get("")
    def show() -> str:
        sort, order = request.args.get("sort", "votes"), request.args.get("order", "down")
        csrf = _csrf_token(g.proof) if g.may_change else ""
        files, so_far = _find_files(folder), read_so_far(folder)
        return render_page(watch.now(), watch.hit, csrf, sort, order, files, so_far, study, money=watch.money_lines)

    @researcher_pages.post("/state")
    def switch() -> Response:
        state = request.form.get("state", "")
        if state not in SWITCHES or not _is_from_page(g.proof):
            abort(400)
        watch.switch(state)
        return _redirect_back()

    @researcher_pages.post("/export")
    def export() -> Response:
        form = request.form.get("form", "")
        if folder is None or form not in FORMS or not _is_from_page(g.proof):
            abort(400)
        if os.access(folder, os.W_OK):
            if failure := export_anew(folder, database, form):
                raise ExportFailed(failure)
            return redirect(f"{request.script_root}/study#files", 303)
        return _zipped_export(folder, database, form)  # the folder may only be read, as in compose.yaml

    @researcher_pages.errorhandler(ExportFailed)
    def export_failed(error: ExportFailed) -> tuple[str, int]:
        return problem_page("The export failed", f"No vote is lost. The command says: {error}"), 503

    @researcher_pages.get("/file/<name>")
    def file(name: str) -> Response:
        if folder is None or name not in ((*FILES, *EXPORTS) if g.may_change else FILES):
            abort(404)
        return send_from_directory(folder.resolve(), name, as_attachment=name in EXPORTS)

    return researcher_pages


class ExportFailed(Exception):
    """The command that exports ended with an error, which this holds."""


def _zipped_export(folder: Path, database: str | None, form: str) -> Response:
    """The exported files in one download; they are kept nowhere."""
    with tempfile.TemporaryDirectory() as out:
        if failure := export_anew(folder, database, form, Path(out)):
            raise ExportFailed(failure)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(Path(out).iterdir()):
                archive.write(path, path.name)
    packed.seek(0)
    return send_file(packed, "application/zip", as_attachment=True, download_name=f"votes-{form}.zip")


def problem_page(title: str, words: str) -> str:
    """What the researcher reads when something failed."""
    template = page.jinja_environment().get_template("study/problem.html")
    return as_typed(template.render(base=request.script_root, nonce=g.nonce, title=title, words=words))


def render_page(
    summary: Overview,
    hit: Hit,
    csrf: str,
    sort: str,
    order: str,
    files: Mapping[str, float],
    so_far: SoFar | None = None,
    study: str = "",
    *,
    money: Sequence[str] = (),
) -> str:
    """The page of `study` as HTML; `sort` and `order` arrange the raters' table, `files` are there, with their times.

    `money` is what live conversations cost, in sentences.

    An empty `csrf` is for who may only read: no switch and no export.
    """
    key = SORTS.get(sort, SORTS["votes"])
    known = [line for line in summary.raters if key(line) is not None]
    lines = sorted(known, key=key, reverse=order != "up") + [line for line in summary.raters if key(line) is None]
    values = {"csrf": csrf, "study": study, "hit": hit, "s": summary, "lines": lines, "sort": sort, "order": order}
    values |= {"figures": [name for name in FILES if name in files], "so_far": so_far, "forms": FORMS}
    values |= {"exports": [(name, iso(files[name])) for name in EXPORTS if name in files]}
    values |= {"slips": SLIPS, "doubtful": DOUBTFUL, "money": money}
    drawing = {
        "curves": draw_curves(summary),
        "size": set_size(summary.progress.pairs),
        "width": WIDTH,
        "height": HEIGHT,
    }
    template = page.jinja_environment().get_template("study/dashboard.html")
    return as_typed(template.render(base=request.script_root, nonce=g.nonce, states=SWITCHES, **values, **drawing))


def draw_curves(summary: Overview) -> list[ExperimentCurve]:
    """HumanExp-1, -2, ... as SVG lines on one scale; an experiment is drawn once it has more votes than a set."""
    size = set_size(summary.progress.pairs)
    laws = {k: law_of_ties(n, t, size) for k, (n, t) in enumerate(summary.rounds, 1) if n > size}
    top = max((max(law) for law in laws.values()), default=1.0)
    return [
        ExperimentCurve(k, n, t / n, polyline(laws[k], top, WIDTH, HEIGHT) if k in laws else "")
        for k, (n, t) in enumerate(summary.rounds, 1)
    ]


def _find_files(folder: Path | None) -> dict[str, float]:
    """The files that may be fetched and are there, with the time of each."""
    paths = {} if folder is None else {name: folder / name for name in (*FILES, *EXPORTS)}
    return {name: path.stat().st_mtime for name, path in paths.items() if path.exists()}


def _are_equal(text: str, right: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), right.encode())


def _proof_of(token: str) -> str:
    return keyed(token, "study")


def _is_from_page(proof: str) -> bool:
    """Whether a form comes from this page, and not from another site."""
    return _are_equal(request.form.get("csrf", ""), _csrf_token(proof))


def _csrf_token(proof: str) -> str:
    return keyed(proof, "state")[:32]


def _redirect_back() -> Response:
    return redirect(request.script_root + "/study", 303)


def _with_cookie(proof: str) -> Response:
    """Swap the token in the address for a cookie, so that it is not left in the browser's history bar."""
    reply = _redirect_back()
    path = request.script_root + "/study"
    reply.set_cookie(COOKIE, proof, httponly=True, samesite="Strict", secure=request.is_secure, path=path)
    return reply
