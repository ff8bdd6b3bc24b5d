"""Behind a real nginx that ends TLS and shows the study under a path, set up as docs/crowd.md says."""

import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.real_server import free_port
from tests.crowd.study import make_pairs
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import SERVING, warm

ROOT = Path(__file__).resolve().parents[3]
NGINX = shutil.which("nginx") or ("/usr/sbin/nginx" if Path("/usr/sbin/nginx").exists() else None)
pytestmark = pytest.mark.skipif(not (NGINX and shutil.which("openssl")), reason="no nginx or no openssl here")
CONF = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        error_log {folder}/error.log info;
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
        {location}
    }}
}}
"""


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def documented(port):
    """The nginx location of docs/crowd.md, for a server that listens here."""
    text = (ROOT / "docs" / "crowd.md").read_text(encoding="utf-8")
    return re.search(r"```nginx\n(.*?)```", text, re.S)[1].replace("127.0.0.1:8765", f"127.0.0.1:{port}")


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def behind_nginx(folder, inner):
    """The port of an nginx that is set up as the document says, in front of a server that listens on `inner`."""
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2", "-nodes"]
    curve = ["-pkeyopt", "ec_paramgen_curve:prime256v1"]  # made at once
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", *curve, *key, *names], check=True, capture_output=True)
    port = free_port()
    (folder / "conf").write_text(CONF.format(folder=folder, port=port, location=documented(inner)))
    with running([NGINX, "-e", str(folder / "error.log"), "-c", str(folder / "conf")]):
        wait_for(lambda: listens(port))
        yield port


@pytest.fixture
def outside(tmp_path):
    """The address under which raters see the study, what their browsers trust, the study's folder."""
    folder = tmp_path / "study"
    folder.mkdir()
    write_records(folder / "pairs.jsonl", make_pairs(4), signature="test", kind=Pair)
    (folder / "hit.toml").write_text("pairs_per_sitting = 2\nfirst_checks = 0\nlater_checks = 0\n")
    serve = [*warm(SERVING), "-m", "crowd", "serve", str(folder), "--port", "0", "--quiet", "--walk-in"]
    serve += ["--https", "--proxies", "1", "--prefix", "/study-1"]
    with running(serve, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        inner = int(re.search(r":(\d+)/", server.stdout.readline())[1])
        with behind_nginx(tmp_path, inner) as port:
            yield f"https://127.0.0.1:{port}/study-1/", ssl.create_default_context(cafile=tmp_path / "cert.pem"), folder


class Action(HTMLParser):
    """Where the page's form goes, and what it loads."""

    def __init__(self, html):
        super().__init__()
        self.form, self.loads = None, []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "form" and self.form is None:
            self.form = values["action"]
        self.loads += [values[name] for name in ("src", "href") if tag in ("script", "link") and name in values]


def test_a_whole_sitting_through_a_proxy_under_a_path_with_tls(outside):
    address, trust, folder = outside
    with httpx.Client(verify=trust, follow_redirects=True, trust_env=False, timeout=PATIENCE) as rater:

        def send(page, **more):
            return rater.post(page.url.join(Action(page.text).form), data=PageForm(page.text).fields | more)

        page = rater.get(address, params={"rater": "ann"})
        assert "path=/study-1" in page.headers["set-cookie"].lower() and "secure" in page.headers["set-cookie"].lower()
        for asset in Action(page.text).loads:
            assert asset.startswith("/study-1/") and rater.get(page.url.join(asset)).status_code == 200
        page = send(page, agree="yes")
        for number in range(1, 5):
            assert str(page.url).startswith(f"{address}instructions/{number}?seat=")
            send(page, choice="left")
            page = rater.get(f"{address}task")
        replayed = (page.url.join(Action(page.text).form), PageForm(page.text).fields | {"choice": "left"})
        for _ in range(2):
            assert str(page.url).partition("?")[0] == f"{address}task"
            page = send(page, choice="tie")
            assert [str(hop.url) for hop in page.history] == [f"{address}answer"]
        assert "You have finished this sitting" in page.text
    with httpx.Client(verify=trust, follow_redirects=False, trust_env=False, timeout=PATIENCE) as other:
        assert other.post(replayed[0], data=replayed[1] | {"seat": ""}).status_code == 400
        assert other.get(f"{address}task").headers["location"] in ("/study-1/", address)
        assert other.get(f"{address}health").json() == {"status": "ok"}
        assert other.get(address.replace("/study-1/", "/elsewhere")).status_code == 404
    store = open_store(sqlite_url(folder))
    with store.read() as connection:
        assert connection.scalars(sa.select(votes.c.choice)).all() == ["tie", "tie"]
    store.close()


def test_documented_nginx_logs_no_id(outside, tmp_path):
    address, trust, _ = outside
    gone = tmp_path / "gone"
    gone.mkdir()
    with (
        behind_nginx(gone, free_port()) as port,
        httpx.Client(
            verify=ssl.create_default_context(cafile=gone / "cert.pem"), trust_env=False, timeout=PATIENCE
        ) as lost,
        httpx.Client(verify=trust, trust_env=False, timeout=PATIENCE) as rater,
    ):
        assert lost.get(f"https://127.0.0.1:{port}/study-1/?rater=ann-smith").status_code == 502
        assert rater.get(address, params={"rater": "ann-smith"}).status_code == 200
        assert rater.get(address.replace("/study-1/", "/elsewhere")).status_code == 404
    written = {path: path.read_text() for folder in (tmp_path, gone) for path in folder.glob("*.log")}
    assert "/elsewhere" in written[tmp_path / "access.log"]  # the log itself works
    assert not any("ann-smith" in text for text in written.values())


def test_nginx_shields_gunicorn_from_half_requests(tmp_path):
    folder, inner = tmp_path / "study", free_port()
    folder.mkdir()
    write_records(folder / "pairs.jsonl", make_pairs(4), signature="test", kind=Pair)
    (folder / "hit.toml").write_text("pairs_per_sitting = 2\nfirst_checks = 0\nlater_checks = 0\n")
    environment = os.environ | {"SEEDVOTE_STUDY": str(folder), "SEEDVOTE_QUIET": "1", "SEEDVOTE_PROXIES": "1"}
    environment["SEEDVOTE_PREFIX"] = "/study-1"
    gunicorn = [*warm(SERVING), "-m", "gunicorn", "--threads", "2", "--bind", f"127.0.0.1:{inner}"]
    command = [*gunicorn, "--log-level", "error", "seedvote.crowd.wsgi:from_environment()"]
    with running(command, cwd=ROOT, env=environment), behind_nginx(tmp_path, inner) as port:
        wait_for(lambda: listens(inner))
        trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        with contextlib.ExitStack() as waiting, httpx.Client(verify=trust, trust_env=False, timeout=PATIENCE) as rater:
            for half in (
                b"GET /study-1/ HTTP/1.1\r\n",
                b"POST /study-1/answer HTTP/1.1\r\nContent-Length: 9\r\n\r\nab",
            ):
                for _ in range(16):
                    plain = waiting.enter_context(socket.create_connection(("127.0.0.1", port)))
                    waiting.enter_context(trust.wrap_socket(plain, server_hostname="127.0.0.1")).sendall(half)
            assert rater.get(f"https://127.0.0.1:{port}/study-1/health").json() == {"status": "ok"}
