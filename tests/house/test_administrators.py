"""What docs/administrators.md shows is tried as far as this machine allows: unit, nginx, compose file, headers, log."""

import json
import re
import shutil
import ssl
import subprocess

import httpx
import pytest

from seedvote.crowd.web.health import SHARED
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.real_server import free_port
from tests.crowd.study import make_pairs
from tests.crowd.web.test_proxy import CONF, NGINX, documented, listens, running
from tests.house.doc_blocks import ROOT, blocks
from tests.house.waiting import PATIENCE, wait_for
from tests.house.warm import SERVING, warm

PAGE = ROOT / "docs" / "administrators.md"


def block(language):
    """The only block of the page in this language."""
    (text,) = blocks(PAGE, language)
    return text


def variables():
    """The variables of the server that its program reads."""
    read = (ROOT / "crowd" / "wsgi.py").read_text(encoding="utf-8")
    return set(re.findall(r"SEEDVOTE_[A-Z_]+", read)) | {"SEEDVOTE_PROLIFIC", "SEEDVOTE_MTURK", "SEEDVOTE_PANEL"}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / "seedvote@study-1.service"
    program = tmp_path / "gunicorn"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit.write_text(block("ini").replace("/opt/seedvote/.venv/bin/gunicorn", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE)
    told = [line for line in done.stderr.splitlines() if "seedvote@" in line]  # others' units are none of ours
    assert done.returncode == 0 and told == []


def test_the_unit_and_the_compose_file_set_variables_that_the_server_reads():
    containers = [(ROOT / "examples/server" / name).read_text() for name in ("compose.yaml", "Dockerfile")]
    for text in (block("ini"), *containers):
        assert set(re.findall(r"SEEDVOTE_[A-Z_]+", text)) <= variables()
    assert SHARED in block("ini")


def test_the_command_of_the_unit_is_one_that_gunicorn_takes():
    command = re.search(r"^ExecStart=\S+ (.*)$", block("ini"), re.M)[1].split()
    python = ROOT / ".venv" / "bin" / "python"
    options = [word for word in command if word != "seedvote.crowd.wsgi:from_environment()"]
    told = subprocess.run([python, "-m", "gunicorn", *options, "--help"], capture_output=True, text=True)
    assert told.returncode == 0 and options != command


@pytest.fixture
def public(tmp_path):
    """A server behind the nginx of the page: its addresses with TLS and without, its log, and what browsers trust."""
    if not (NGINX and shutil.which("openssl")):
        pytest.skip("no nginx or no openssl here")
    folder = tmp_path / "study"
    folder.mkdir()
    write_records(folder / "pairs.jsonl", make_pairs(4), signature="test", kind=Pair)
    (folder / "hit.toml").write_text("first_checks = 0\nlater_checks = 0\n")
    key = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem"), "-days", "2", "-nodes"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-pkeyopt"]
    names += ["ec_paramgen_curve:prime256v1"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", *key, *names], check=True, capture_output=True)
    serve = [*warm(SERVING), "-m", "crowd", "serve", str(folder), "--port", "0", "--walk-in", "--https"]
    serve += ["--proxies", "1", "--prefix", "/study-1"]
    log = tmp_path / "server.log"
    with log.open("w") as errors, running(serve, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True) as server:
        inner = int(re.search(r":(\d+)/", server.stdout.readline())[1])
        token = re.search(r"token=(\w+)", server.stdout.readline())[1]
        tls, plain = free_port(), free_port()
        text = block("nginx").replace("    # the location block of crowd.md\n", documented(inner))
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{tls} ssl").replace(
            "listen 80", f"listen 127.0.0.1:{plain}"
        )
        text = re.sub(r"/etc/letsencrypt/\S+/(fullchain|privkey)\.pem;", lambda path: str(
            tmp_path / {"fullchain": "cert.pem", "privkey": "key.pem"}[path[1]]) + ";", text)  # fmt: skip
        whole = CONF.format(folder=tmp_path, port=free_port(), location="")
        start = whole.index("    server {")
        (tmp_path / "conf").write_text(f"{whole[:start]}{text}\n}}\n")
        with running([NGINX, "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "conf")]):
            wait_for(lambda: listens(tls))
            trust = ssl.create_default_context(cafile=tmp_path / "cert.pem")
            yield f"https://127.0.0.1:{tls}", f"http://127.0.0.1:{plain}", log, trust, token, inner


def test_nginx_serves_the_study_but_not_its_metrics(public):
    secure, plain, log, trust, token, inner = public
    with httpx.Client(verify=trust, trust_env=False, timeout=PATIENCE) as browser:
        reply = browser.get(f"{secure}/study-1/", params={"rater": "ann-smith"})
        assert reply.status_code == 200
        assert reply.headers.get_list("Strict-Transport-Security") == ["max-age=31536000"]
        assert reply.headers.get_list("Cross-Origin-Opener-Policy") == ["same-origin"]
        request_id = reply.headers["X-Request-ID"]
        moved = browser.get(f"{plain}/study-1/?rater=ann-smith")
        assert moved.status_code == 301 and moved.headers["Location"].startswith("https://")
        bearer = {"Authorization": f"Bearer {token}"}
        assert browser.get(f"{secure}/study-1/metrics", headers=bearer).status_code == 404
        inside = browser.get(f"http://127.0.0.1:{inner}/study-1/metrics", headers=bearer)
        assert inside.status_code == 200 and "seedvote_pairs_open 4.0" in inside.text
    assert re.fullmatch("[0-9a-f]{32}", request_id), "the id that nginx gave"
    wait_for(lambda: request_id in log.read_text())
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert [line["route"] for line in lines if line.get("id") == request_id] == ["hit.start"]
    assert "ann-smith" not in log.read_text()
