"""Many people at once, behind one address or many: who is held back, what they read, and how they get in."""

import re
import shlex
from pathlib import Path

import pytest

from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.web.app import UNTOLD_PROXY, ServerConfig, create_app
from seedvote.crowd.web.invitations import invitation_link
from tests.crowd.marketplaces.study import make_study

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def serve(tmp_path):
    """Applications of one invited study, as a server has them: with limits."""
    first, made = make_study(tmp_path, reals=100, invited=True), []  # 300 places
    config = first.extensions["config"]

    def app(**options):
        known = {"entrances": config.entrances, "invited": True, **options}
        made.append(create_app(ServerConfig(config.database, config.hit, **known)))
        return made[-1]

    yield app
    for one in (first, *made):
        one.extensions["desk"].store.close()


def addresses(app, number):
    secret = app.extensions["desk"].secret
    return [invitation_link(secret, "", f"guest-{n}") for n in range(number)]


def from_prolific(number):
    return f"/?PROLIFIC_PID=p{number}&SESSION_ID=s{number}&STUDY_ID=S1"


def test_class_of_200_behind_one_address_is_let_in(serve):
    app = serve()
    for address in addresses(app, 200):
        browser = app.test_client()
        page = browser.get(address)
        assert page.status_code == 200
        assert browser.post("/consent", data=PageForm(page.text).fields).status_code == 303


def test_a_made_up_invitation_counts_for_the_address_from_which_it_comes(serve):
    app = serve(rate=1)
    codes = [app.test_client().get(f"/?invite=guest-{n}.{'0' * 32}").status_code for n in range(60)]
    assert codes.count(429) >= 19


def test_crowded_page_tries_again_by_itself(serve):
    app = serve(rate=1)
    replies = [app.test_client().get(from_prolific(n)) for n in range(60)]
    busy = [(n, reply) for n, reply in enumerate(replies) if reply.status_code == 429]
    assert busy and not any(reply.status_code == 403 for reply in replies)
    waits = set()
    for n, reply in busy:
        assert "Many people are using this page at once" in reply.text
        assert "not saved" not in reply.text and "Back to the pair" not in reply.text
        seconds = re.search(r'<meta http-equiv="refresh" content="(\d+)">', reply.text)[1]  # the address as it is
        assert reply.headers["Retry-After"] == seconds
        assert f'href="{from_prolific(n)}"'.replace("&", "&amp;") in reply.text
        waits.add(seconds)
    assert len(waits) > 1, "they would all come back at the same moment"


def test_a_form_that_came_with_a_crowd_is_sent_again_whole(serve):
    app = serve(rate=1)
    page = app.test_client().get(from_prolific(1))
    fields = PageForm(page.text).fields | {"agree": "yes"}
    browser = app.test_client(use_cookies=False)
    replies = [browser.post("/consent", data=fields) for _ in range(60)]
    busy = next(reply for reply in replies if reply.status_code == 429)
    assert re.search(r'<form id="retry" data-seconds="[2-7]" method="post" action="/consent">', busy.text)
    assert 'http-equiv="refresh"' not in busy.text, "the browser would ask for the page and lose the form"
    assert PageForm(busy.text).fields.items() >= fields.items()
    script = next(
        r for r in [browser.post("/consent", data=fields, headers=FETCH) for _ in range(60)] if r.status_code == 429
    )
    assert script.json["status"] == "busy" and not script.json["saved"]


def test_address_rate_lets_a_classroom_in(serve):
    app = serve(address_rate=200)
    assert {app.test_client().get(from_prolific(n)).status_code for n in range(200)} == {200}


def docker_environment():
    """What the Dockerfile sets for the server."""
    line = re.search(r"^ENV (.*)$", (ROOT / "examples/server/Dockerfile").read_text(encoding="utf-8"), re.M)[1]
    return dict(word.split("=", 1) for word in shlex.split(line))


def test_made_up_addresses_escape_no_limit_in_the_default_image(serve, tmp_path, monkeypatch):
    from seedvote.crowd.wsgi import from_environment

    serve()
    for name, value in docker_environment().items():
        if name.startswith("SEEDVOTE_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("SEEDVOTE_STUDY", str(tmp_path))
    monkeypatch.setenv("SEEDVOTE_RATE", "1")
    app = from_environment()
    codes = [app.test_client().get("/", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(90)]
    assert codes.count(429) >= 49
    app.extensions["desk"].store.close()


def test_trusted_proxy_gives_each_address_a_limit(serve):
    app = serve(rate=1, proxies=1)
    codes = {
        app.test_client().get(from_prolific(n), headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code
        for n in range(90)
    }
    assert codes == {200}


def test_a_proxy_that_the_server_was_not_told_of_is_named_in_the_log_once(serve, caplog):
    app = serve()
    with caplog.at_level("WARNING", logger="crowd"):
        for _ in range(3):
            app.test_client().get("/", headers={"X-Forwarded-For": "10.0.0.1"})
    told = [record.facts["told"] for record in caplog.records if hasattr(record, "facts") and "told" in record.facts]
    assert told == [UNTOLD_PROXY]
