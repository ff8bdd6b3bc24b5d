"""Our page in an https frame of another site, in a Chromium that takes cookies, refuses them in frames, or takes none.

A worker has two HITs open in two tabs and works in both by turns; each is handed in on its own assignment.
"""

import json
import shutil
import ssl
import subprocess
import threading
from contextlib import contextmanager

import pytest
from flask import Flask, request
from werkzeug.serving import make_server

from tests.conftest import FLAGS, miss
from tests.crowd.marketplaces.study import make_study
from tests.house.waiting import PATIENCE

pytestmark = pytest.mark.browser
COOKIES = {
    "taken": {},
    "refused in frames": {"block_third_party_cookies": True, "cookie_controls_mode": 1},
    "refused": {"default_content_setting_values": {"cookies": 2}},
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """For this machine under both of its names, signed by nobody."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificate of this test")
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -out"
    subprocess.run(["openssl", *words.split(), "cert.pem", "-keyout", "key.pem"], cwd=folder, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@contextmanager
def secured(app, certificate):
    """The application over https; gives its port."""
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=certificate)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class Market:
    """A site that shows the study in a frame and takes finished forms."""

    def __init__(self):
        self.app, self.handed_in, self.study = Flask(__name__), {}, ""
        self.app.add_url_rule("/hit", view_func=self.hit)
        self.app.add_url_rule("/mturk/externalSubmit", view_func=self.take, methods=["POST"])

    def hit(self):
        ids = (
            f"workerId=AWORKER&hitId=H1&assignmentId={request.args['assignment']}&turkSubmitTo={request.host_url[:-1]}"
        )
        return f'<!doctype html><iframe src="{self.study}/?{ids}" width="1200" height="700"></iframe>'

    def take(self):
        self.handed_in[request.form["assignmentId"]] = int(request.form["answers"])
        return "Thank you!"


@pytest.fixture
def market(certificate, tmp_path):
    """The marketplace is `localhost`, the page `127.0.0.1`: two sites."""
    found = Market()
    with secured(found.app, certificate) as port:
        found.url = f"https://localhost:{port}"
        few = {"reals": 2, "pairs_per_sitting": 1, "first_checks": 1, "later_checks": 0, "max_failures": 1}
        app = make_study(tmp_path, sites=(found.url,), invited=True, **few)
        with secured(app, certificate) as page:
            found.study = f"https://127.0.0.1:{page}"
            found.desk = app.extensions["desk"]
            yield found
        found.desk.store.close()


# Where none is taken at all, a frame of another site fares as where none is taken in frames.
@pytest.fixture(
    scope="module",
    params=["refused in frames", *(pytest.param(one, marks=pytest.mark.slow) for one in ("taken", "refused"))],
)
def whole_browser(request, chromium, tmp_path_factory):
    """A browser of its own with these settings, and what they are called; the headless build reads no settings."""
    if (program := shutil.which("chromium")) is None:
        miss("The whole Chromium is not installed (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("profile")
    (folder / "Default").mkdir()
    (folder / "Default" / "Preferences").write_text(json.dumps({"profile": COOKIES[request.param]}))
    context = chromium.browser.browser_type.launch_persistent_context(
        str(folder), executable_path=program, args=FLAGS, ignore_https_errors=True, timeout=0
    )
    context.set_default_timeout(PATIENCE * 1000)
    yield request.param, context
    context.close()


@pytest.fixture
def browser(whole_browser):
    """The same without the pages and cookies of the test before; what a page keeps beside them goes by its port."""
    name, context = whole_browser
    yield name, context
    for page in context.pages[1:]:
        page.close()
    context.clear_cookies()


# From the first worked example to the first pair: the page itself sends the other three, and its link leads on.
SKIP = """async (next) => {
    const body = new URLSearchParams({seat: new URL(next.href).searchParams.get("seat"), choice: "tie"});
    for (const number of [2, 3, 4]) await fetch(next.href.replace("/2?", `/${number}?`), {method: "POST", body});
    next.href = next.href.replace("instructions/2?", "task?");
    setTimeout(() => next.click());
}"""


def begin(page):
    """Consent and a worked example; gives the frame. Who refuses cookies consents at every HIT, and learns once."""
    frame = page.frame_locator("iframe")
    consent = frame.get_by_role("button", name="I have read this")
    first = frame.locator("#pair")
    consent.or_(first).first.wait_for()
    if consent.count():
        consent.click()
        first.wait_for()
        if not frame.locator("h1", has_text="Pair 1").count():
            frame.get_by_role("button", name="Tie").click()
            frame.locator("#next").evaluate(SKIP)
    frame.locator("h1", has_text="Pair 1").wait_for()
    return frame


def judge(page, frame):
    """One pair, or what follows the last one; whether there was one."""
    submit = frame.get_by_role("button", name="Submit the HIT")
    frame.locator("section.response").first.or_(submit).first.wait_for()
    if submit.count():
        return False
    number = frame.locator("h1").inner_text()
    left = " says a" in frame.locator("section.response").first.inner_text()
    frame.locator(f"button[name=choice][value={'left' if left else 'right'}]").click()
    frame.locator("h1", has_text=number).wait_for(state="detached")
    return True


def test_two_tabs_in_frames_are_handed_in_each_on_its_own_assignment(browser, market):
    name, context = browser
    tabs = []
    for assignment in ("A1", "A2"):
        page = context.new_page()
        page.goto(f"{market.url}/hit?assignment={assignment}")
        tabs.append((page, begin(page)))
    kept = [cookie for cookie in context.cookies() if cookie["name"] == "seedvote"]
    assert {"taken": bool(kept), "refused": not kept}.get(name, True), "the browser does not do as it was told"
    while sum(judge(*tab) for tab in tabs):
        pass
    for _, frame in tabs:
        frame.get_by_role("button", name="Submit the HIT").click()
        frame.get_by_text("Thank you!").wait_for()
    with market.desk.store.read() as connection:
        votes = connection.exec_driver_sql("SELECT COUNT(*) FROM votes").scalar()
    assert set(market.handed_in) == {"A1", "A2"} and all(market.handed_in.values())
    assert sum(market.handed_in.values()) == votes


def test_frame_asks_consent_again_only_without_storage(browser, market):
    name, context = browser
    page = context.new_page()
    page.goto(f"{market.url}/hit?assignment=A1")
    frame = begin(page)
    while judge(page, frame):
        pass
    page.goto(f"{market.url}/hit?assignment=A2")
    frame = page.frame_locator("iframe")
    consent, pair = frame.get_by_role("button", name="I have read this"), frame.locator("h1", has_text="Pair 1")
    if name == "refused":
        consent.wait_for()
        page.wait_for_timeout(1000)
        assert consent.count() and not pair.count()
    else:
        pair.wait_for()
