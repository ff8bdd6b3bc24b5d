"""What an administrator watches: /metrics, ids of requests, and the headers of a public server."""

import contextlib
import json
import os
import re
import subprocess

import httpx
import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from seedvote.crowd.store.tables import votes
from seedvote.crowd.web.app import ServerConfig, create_app, log_to_stderr
from tests.crowd.real_server import ROOT, free_port, make_study
from tests.crowd.study import SHORT, check_books, database, desk_of, make_pairs, seated, vote
from tests.crowd.web.test_proxy import listens
from tests.house.waiting import PATIENCE, wait_for

HIT = SHORT


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request, tmp_path):
    with database(request.param, tmp_path) as url:
        with desk_of(url, tmp_path, HIT, make_pairs(6)) as desk:
            for name in ("ann", "bob"):
                seat = seated(desk, name)
                for _ in range(3):
                    vote(desk, seat)
            check_books(desk)
        app = create_app(ServerConfig(url, HIT, rate=0, source="simulated"))
        yield app
        app.extensions["desk"].store.close()


def metrics(text):
    """(name, labels) -> value."""
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(app, token=None):
    token = token or app.extensions["desk"].reading_token()
    return app.test_client().get("/metrics", headers={"Authorization": f"Bearer {token}"})


def test_the_numbers_are_those_of_the_store(app):
    known = metrics(scraped(app).text)
    with app.extensions["desk"].store.write() as connection:
        connection.execute(sa.update(votes).where(votes.c.vote == 1).values(late=1))
        counted = connection.scalar(sa.select(sa.func.sum(votes.c.counted)))
    assert known["seedvote_judgements", "counted"] == counted == 6
    assert known["seedvote_raters", "passed"] == 2 and known["seedvote_running",] == 1
    assert known["seedvote_pairs_open",] == 6 and known["seedvote_late_answers",] == 0
    assert metrics(scraped(app).text)["seedvote_late_answers",] == 1
    assert abs(known["seedvote_clock_difference_seconds",]) < 60  # the database is on this machine


def test_replies_and_waits_are_counted_and_made_up_addresses_are_one_route(app):
    client = app.test_client()
    for n in range(5):
        client.get("/health")
        client.get(f"/made-up-{n}")
    known = metrics(scraped(app).text)
    assert known["seedvote_request_seconds_count", "hit.health"] == 5
    assert known["seedvote_request_seconds_count", "none"] == 5
    assert known["seedvote_replies_total", "2xx"] == 5 and known["seedvote_replies_total", "4xx"] == 5
    assert known["seedvote_lock_wait_seconds_count",] >= 1, "/health writes"


def test_a_change_that_has_to_wait_for_its_turn_is_counted_as_long(app):
    desk = app.extensions["desk"]
    noted = []
    desk.store.on_wait = noted.append
    with desk.store.write():
        pass
    assert len(noted) == 1 and noted[0] >= 0


def test_without_the_token_there_are_no_metrics_and_no_rater_is_in_them(app):
    client = app.test_client()
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer ü"}, {"Authorization": "Basic abc"}):
        assert client.get("/metrics", headers=headers).status_code == 404
    desk = app.extensions["desk"]
    for token in (desk.study_token(), desk.reading_token()):
        reply = scraped(app, token)
        assert reply.status_code == 200
        assert desk.rater_id("ann") not in reply.text and "ann" not in reply.text


def logged(app, capsys, **options):
    from seedvote.crowd.web.app import LOG

    before = LOG.handlers[:], LOG.propagate, LOG.level
    log_to_stderr()
    reply = app.test_client().get("/health", **options)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    LOG.handlers, LOG.propagate, LOG.level = before
    return reply, lines


@pytest.mark.parametrize(("given", "proxies", "kept"), [
    ("abc-1.2_3", 1, True), ("abc-1.2_3", 0, False), ("a b", 1, False), ("x" * 65, 1, False), ("é", 1, False),
])  # fmt: skip
def test_a_request_has_one_id_in_the_log_and_in_the_reply(tmp_path, capsys, given, proxies, kept):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, HIT):
        app = create_app(ServerConfig(url, HIT, rate=0, source="simulated", proxies=proxies))
        reply, lines = logged(app, capsys, headers={"X-Request-ID": given.encode("utf-8").decode("latin-1")})
        app.extensions["desk"].store.close()
    assert [line["id"] for line in lines] == [reply.headers["X-Request-ID"]]
    assert (reply.headers["X-Request-ID"] == given) is kept
    assert kept or re.fullmatch("[0-9a-f]{16}", reply.headers["X-Request-ID"])


@pytest.mark.parametrize("https", [True, False])
def test_pages_are_kept_on_https_and_away_from_who_opened_them(tmp_path, https):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, HIT):
        app = create_app(ServerConfig(url, HIT, rate=0, source="simulated", https=https))
        for path in ("/", "/health", "/nothing", "/study"):
            headers = app.test_client().get(path).headers
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert headers.get("Strict-Transport-Security") == ("max-age=31536000" if https else None)
        app.extensions["desk"].store.close()


@contextlib.contextmanager
def gunicorn(folder, url, shared):
    port = free_port()
    environment = os.environ | {"SEEDVOTE_STUDY": str(folder), "SEEDVOTE_DATABASE": url, "SEEDVOTE_QUIET": "1"}
    environment |= {"SEEDVOTE_WALK_IN": "1", "SEEDVOTE_RATE": "0", "PROMETHEUS_MULTIPROC_DIR": str(shared)}
    command = [".venv/bin/python", "-m", "gunicorn", "--workers", "2", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        [*command, "--log-level", "error", "seedvote.crowd.wsgi:from_environment()"], cwd=ROOT, env=environment
    )
    try:
        wait_for(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_several_workers_share_what_they_have_counted(tmp_path):
    """Whichever of them Prometheus happens to ask."""
    folder = make_study(tmp_path / "study", "first_checks = 0\nlater_checks = 0\n", real=4)
    with database("postgresql", tmp_path) as url, gunicorn(folder, url, tmp_path / "shared") as address:
        for _ in range(40):
            httpx.get(f"{address}/health", trust_env=False, timeout=PATIENCE)
        app = create_app(ServerConfig(url, HIT, rate=0))
        token = app.extensions["desk"].reading_token()
        app.extensions["desk"].store.close()
        for n in range(6):
            reply = httpx.get(
                f"{address}/metrics", headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=PATIENCE
            )
            known = metrics(reply.text)
            assert known["seedvote_request_seconds_count", "hit.health"] == 40, n
            assert known["seedvote_pairs_open",] == 4
