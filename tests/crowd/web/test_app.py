"""What every reply has in common: headers, cookies, forms, limits, prefix, logs."""

import io
import json
import logging
import re
from dataclasses import replace

import pytest
from flask.sessions import SecureCookieSessionInterface

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.launches import open_door
from seedvote.crowd.web.app import LOG, RateLimit, ServerConfig, create_app, log_to_stderr
from seedvote.crowd.wsgi import from_environment
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.study import desk_of, make_pairs

HIT = Hit(pairs_per_sitting=3, first_checks=0, later_checks=0)


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, HIT, make_pairs(8)):
        pass
    return url


@pytest.fixture
def serve(url):
    """Applications on one store, closed at the end."""
    apps = []

    def made(**options):
        apps.append(create_app(ServerConfig(**{"database": url, "hit": HIT, "rate": 0, **options})))
        return apps[-1]

    yield made
    for app in apps:
        app.extensions["desk"].store.close()


def test_pages_run_nothing_but_their_own_script_and_are_framed_by_nobody(serve):
    client = serve().test_client()
    one, two = client.get("/"), client.get("/")
    policy = one.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert one.headers["X-Frame-Options"] == "DENY" and one.headers["Cache-Control"] == "no-store"
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)[1]
    assert f'nonce="{nonce}"' in one.text and nonce not in two.text


def test_market_script_talks_to_its_own_host(serve):
    script = "https://checks.example.org/v1/check.js"
    hit = replace(HIT, market_script=script)
    app = serve(hit=hit)
    take_up(app.extensions["desk"].store, hit, 1.0)  # as every start does, see prepare_study
    client = app.test_client()
    first = client.get("/?rater=ann")
    assert script not in first.text and script not in first.headers["Content-Security-Policy"]
    client.post("/consent", data=PageForm(first.text).fields)
    page = client.get("/task", follow_redirects=True)
    policy = dict(part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; "))
    assert f'<script src="{script}" defer></script>' in page.text
    assert policy["script-src"].split()[1:] == [script]
    assert policy["connect-src"] == "'self' https://checks.example.org" and policy["default-src"] == "'none'"
    assert "checks.example.org" not in client.get("/study").headers["Content-Security-Policy"]


def test_only_the_marketplace_chosen_may_frame_the_page(serve):
    client = serve(frame_ancestors=("https://workersandbox.mturk.com",)).test_client()
    reply = client.get("/", base_url="https://localhost")
    assert "frame-ancestors https://workersandbox.mturk.com" in reply.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in reply.headers
    assert "SameSite=None" in reply.headers["Set-Cookie"] and "Secure" in reply.headers["Set-Cookie"]


def test_the_cookie_is_signed_and_out_of_reach_of_scripts(serve):
    client = serve(https=True).test_client()
    cookie = client.get("/", base_url="https://localhost").headers["Set-Cookie"]
    assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=Lax"))
    client.set_cookie("seedvote", "forged.value.signature")
    assert client.get("/task", base_url="https://localhost").location == "/"


@pytest.mark.parametrize("seat", ["", "0" * 32, "ü" * 10])
def test_a_form_without_the_rater_s_own_token_is_refused(serve, seat):
    client = serve().test_client()
    client.get("/?rater=ann")
    for path in ("/consent", "/answer", "/undo", "/instructions/1"):
        assert client.post(path, data={"seat": seat, "choice": "left"}).status_code in (303, 400)
    assert client.get("/task").location.startswith("/?seat=")  # the visit of the cookie, who has not consented


def test_cookies_are_those_that_flask_would_write_and_read(serve):
    """So a browser with a cookie from before an upgrade is still who it was."""
    app = serve()
    ours, flasks = app.session_interface, SecureCookieSessionInterface()
    values = {"seat": "2.abc-é", "last": None, "_permanent": True}
    for writer, reader in ((ours, flasks), (flasks, ours)):
        text = writer.get_signing_serializer(app).dumps(values)
        assert reader.get_signing_serializer(app).loads(text) == values


def test_a_form_speaks_for_who_it_was_made_for_and_never_for_the_cookie(serve):
    app = serve()
    ann, bob = app.test_client(), app.test_client()
    fields = PageForm(ann.get("/?rater=ann").text).fields
    bob.get("/?rater=bob")
    assert bob.post("/consent").status_code == bob.post("/consent", data={"agree": "yes"}).status_code == 400
    assert bob.post("/consent", data=fields).status_code == 303
    desk = app.extensions["desk"]
    assert desk.has_consented("ann", "1", "local") and not desk.has_consented("bob", "1", "local")


def test_a_body_beyond_the_limit_is_refused(serve):
    client = serve().test_client()
    client.get("/?rater=ann")
    assert client.post("/consent", data={"seat": "x" * 20_000}).status_code == 413


def test_app_works_under_a_path_prefix(serve):
    app = serve(prefix="/study-1")
    for base in ("/study-1", ""):
        client = app.test_client()
        page = client.get(base + "/?rater=ann")
        assert 'action="/study-1/consent"' in page.text and "Path=/study-1" in page.headers["Set-Cookie"]
        static = re.search(r'src="(/study-1/static/hit.js[^"]*)"', page.text)[1]
        reply = client.get(static.removeprefix("/study-1") if not base else static)
        assert reply.status_code == 200 and "max-age=31536000" in reply.headers["Cache-Control"]
        reply.close()


def test_a_trusted_proxy_says_whether_raters_come_by_https(serve):
    app = serve(proxies=1)
    client = app.test_client()
    reply = client.get("/task", headers={"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/outer"})
    assert reply.location == "/outer/"


@pytest.mark.parametrize("given", ["//evil.example", "javascript:alert(1)", "/a b", '/"><script>', "/a, evil", "x"])
def test_a_forwarded_prefix_that_is_no_path_is_as_if_it_had_not_been_sent(serve, given):
    for prefix in ("", "/own"):
        client = serve(proxies=1, prefix=prefix).test_client()
        headers = {"X-Forwarded-Prefix": given}
        assert client.get("/task", headers=headers).location == f"{prefix}/"
        assert f'action="{prefix}/consent"' in client.get("/", headers=headers).text


def test_a_rater_who_asks_too_often_is_told_to_wait(serve):
    client = serve(rate=1).test_client()
    codes = [client.get("/task", headers={"X-Requested-With": "fetch"}).status_code for _ in range(60)]
    assert codes[0] == 303 and 429 in codes
    assert client.get("/health").status_code == 200


def test_the_limit_fills_up_again_and_forgets_who_left():
    now = [0.0]
    limit = RateLimit(2.0, burst=2, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]
    assert limit.allows("b")
    now[0] += 0.5
    assert limit.allows("a") and not limit.allows("a")
    for number in range(10_001):
        limit.allows(f"visitor {number}")
    now[0] += 5
    limit.allows("a")
    limit.allows("c")
    assert len(limit._buckets) <= 3


def test_health_answers_without_saying_anything_of_the_study(serve):
    reply = serve().test_client().get("/health")
    assert reply.json == {"status": "ok"} and "Set-Cookie" not in reply.headers


@pytest.fixture
def logs():
    """The two logs that a server sets up, as they were before."""
    before = {log: (log.handlers, log.propagate, log.level) for log in (LOG, logging.getLogger("waitress.queue"))}
    yield
    for log, (handlers, propagate, level) in before.items():
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.mark.usefixtures("logs")
def test_logs_are_json_lines_without_ids_addresses_queries_or_agents(serve):
    stream = io.StringIO()
    log_to_stderr()
    LOG.handlers[0].stream = stream
    client = serve().test_client()
    client.get("/?rater=ann-smith", headers={"User-Agent": "Secret/1.0"})
    client.post("/consent", data={"seat": "no"})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["route"], line["status"]) for line in lines] == [("hit.start", 200), ("hit.consent", 400)]
    assert set(lines[0]) == {"at", "level", "event", "route", "status", "ms", "id"}
    assert not any(word in stream.getvalue() for word in ("ann-smith", "127.0.0.1", "Secret"))


def test_an_unknown_page_is_a_page_of_ours(serve):
    reply = serve().test_client().get("/wp-admin")
    assert reply.status_code == 404 and "<h1>" in reply.text


def test_an_error_inside_is_no_traceback_for_the_rater(serve, monkeypatch):
    app = serve()
    monkeypatch.setattr(app.extensions["desk"], "has_consented", lambda worker: 1 / 0)
    logging.disable(logging.CRITICAL)
    try:
        reply = app.test_client().get("/?rater=ann")
    finally:
        logging.disable(logging.NOTSET)
    assert reply.status_code == 500 and "Something failed on our side" in reply.text
    assert "not saved" not in reply.text, "nothing had been sent"
    assert "ZeroDivision" not in reply.text


@pytest.mark.usefixtures("logs")
def test_app_is_set_up_by_its_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("SEEDVOTE_STUDY", raising=False)
    with pytest.raises(InputError, match="SEEDVOTE_STUDY"):
        from_environment()
    write_records(tmp_path / "pairs.jsonl", make_pairs(4, checks=4), signature="test", kind=Pair)
    monkeypatch.setenv("SEEDVOTE_STUDY", str(tmp_path))
    monkeypatch.setenv("SEEDVOTE_PREFIX", "/x")
    for walk_in, code in ((None, 403), ("1", 200)):
        if walk_in:
            monkeypatch.setenv("SEEDVOTE_WALK_IN", walk_in)
        app = from_environment()
        reply = app.test_client().get("/x/")
        assert reply.status_code == code and ('action="/x/consent"' in reply.text) == bool(walk_in)
        app.extensions["desk"].store.close()


@pytest.mark.usefixtures("logs")
def test_doors_are_set_by_the_environment_as_by_options(tmp_path, monkeypatch):
    write_records(tmp_path / "pairs.jsonl", make_pairs(4, checks=4), signature="test", kind=Pair)
    monkeypatch.setenv("SEEDVOTE_STUDY", str(tmp_path))
    monkeypatch.delenv("AWS_ENDPOINT_URL_MTURK", raising=False)
    monkeypatch.setenv("SEEDVOTE_MTURK", "yes")
    with pytest.raises(InputError, match="SEEDVOTE_MTURK is 'yes'; it may be live or sandbox"):
        from_environment()
    monkeypatch.setenv("SEEDVOTE_MTURK", "sandbox")
    monkeypatch.setenv("SEEDVOTE_PROLIFIC", "1")
    app = from_environment()
    store, site = app.extensions["desk"].store, "https://workersandbox.mturk.com"
    worker = {"workerId": "A1", "assignmentId": "X", "hitId": "H", "turkSubmitTo": site}
    person = {"PROLIFIC_PID": "p1", "STUDY_ID": "s1", "SESSION_ID": "x1"}
    assert [app.test_client().get("/", query_string=query).status_code for query in (worker, person)] == [403, 403]
    with store.write() as connection:
        open_door(connection, "mturk", [])
        open_door(connection, "prolific", ["s1"])
    replies = [app.test_client().get("/", query_string=query) for query in (worker, person)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert f"frame-ancestors {site}" in replies[0].headers["Content-Security-Policy"]
    store.close()
    monkeypatch.setenv("SEEDVOTE_WALK_IN", "1")
    with pytest.raises(InputError, match="launched on Mechanical Turk and Prolific, so nobody may walk in"):
        from_environment()
