"""Whose page it is: seats in addresses and forms, and what an attacker can do with them."""

import base64
import dataclasses
import hashlib
import json
import time

import pytest
from flask.sessions import SecureCookieSessionInterface
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from itsdangerous import URLSafeSerializer

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.identity import seat_proof
from seedvote.crowd.store.keys import keys_in
from seedvote.crowd.store.store import settings as store_settings
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.study_request import LIFE, PageVisit, visit_of
from tests.crowd.marketplaces.study import Person, make_study, served

SECRET, NOW = "key", 1_000_000.0


def seat_of(html):
    return PageForm(html).fields["seat"]


class Tab:
    """A tab of a browser that keeps no cookie: all that it knows is the page it shows."""

    def __init__(self, app, **query):
        self.client = app.test_client(use_cookies=False)
        self.page = self.client.get("/", query_string=query, follow_redirects=True)

    @property
    def fields(self):
        return PageForm(self.page.text).fields

    def send(self, path, **more):
        self.page = self.client.post(path, data=self.fields | more, follow_redirects=True)
        return self.page

    def begin(self):
        if "I have read this" in self.page.text:
            self.send("/consent", agree="yes")
        while "Example" in self.page.text.split("<title>")[1][:8]:
            number = self.page.request.path.rsplit("/", 1)[1]
            self.send(f"/instructions/{number}", choice="tie")
            self.page = self.client.get(self.page.text.split('id="next"')[1].split('href="')[1].split('"')[0])
            if self.page.status_code == 303:
                self.page = self.client.get(self.page.location, follow_redirects=True)
        return self

    def judge(self):
        """The better response, whatever side it stands on."""
        left = PageForm(self.page.text).shown_texts()[1]
        return self.send("/answer", choice="left" if left.endswith("says a") else "right")

    def work(self):
        while 'name="lease"' in self.page.text:
            self.judge()
        return self.page.text


@pytest.fixture
def app(tmp_path):
    app = make_study(tmp_path, invited=True)
    yield app
    app.extensions["desk"].store.close()


def hit(worker, assignment):
    site = "https://www.mturk.com"
    return {"workerId": worker, "assignmentId": assignment, "hitId": "H1", "turkSubmitTo": site}


def submission(person, session, study="S1"):
    return {"PROLIFIC_PID": person, "SESSION_ID": session, "STUDY_ID": study}


def test_without_any_cookie_the_whole_way_ends_at_the_marketplace(app):
    text = Tab(app, **submission("p1", "s1")).begin().work()
    assert "https://app.prolific.com/submissions/complete?cc=CDONE" in text


def test_two_tabs_are_two_visits(app):
    first, second = Tab(app, **hit("W1", "A1")), Tab(app, **hit("W1", "A2"))
    first.begin()
    second.page = second.client.get("/", query_string=hit("W1", "A2"), follow_redirects=True)
    second.begin()
    while 'name="lease"' in first.page.text + second.page.text:
        for tab in (first, second):
            if 'name="lease"' in tab.page.text:
                tab.judge()
    for tab, assignment in ((first, "A1"), (second, "A2")):
        assert f'name="assignmentId" value="{assignment}"' in tab.page.text
    with app.extensions["desk"].store.read() as connection:
        done = connection.exec_driver_sql("SELECT sitting, COUNT(*) FROM leases WHERE state = 'answered' GROUP BY 1")
        counts = dict(done.all())
        votes = connection.exec_driver_sql("SELECT COUNT(*), COUNT(DISTINCT pair) FROM votes").one()
    assert set(counts) == {1, 2} and sum(counts.values()) == votes[0] == votes[1]
    for tab, number in ((first, 1), (second, 2)):
        assert f'name="answers" value="{counts[number]}"' in tab.page.text


def test_consent_of_two_tabs_at_once_seats_both(app):
    first, second = Tab(app, **hit("W1", "A1")), Tab(app, **hit("W1", "A2"))
    for tab in (first, second):
        tab.send("/consent", agree="yes")
    assert visit_in(app, first).number == 1
    assert visit_in(app, second).number == 2


def test_each_tab_has_a_seat_of_its_own(app):
    seats = {Tab(app, **submission("p1", "s1")).fields["seat"] for _ in range(3)}
    assert len(seats) == 3


def visit_in(app, tab):
    """What the seat of a tab holds."""
    desk = app.extensions["desk"]
    return visit_of(desk.secret, tab.fields["seat"], desk.clock())


def forged(seat, **change):
    """The same seat with other words and its old proof."""
    version, _, signed = seat.partition(".")
    body, _, proof = signed.rpartition(".")
    names = ("until", *(field.name for field in dataclasses.fields(PageVisit)))
    values = dict(zip(names, URLSafeSerializer("").load_payload(body.encode()), strict=True)) | change
    other = URLSafeSerializer("").dump_payload(list(values.values())).decode()
    return f"{version}.{other}.{proof}"


@pytest.mark.parametrize(
    "change",
    [
        {"worker": "p2"},
        {"sitting": "s2"},
        {"task": "S9"},
        {"source": "local"},
        {"number": 2},
        {"tab": "0"},
        {"language": "de"},
        {"own": False},
        {"rater": "0" * 20},
        {"until": 2**40},
    ],
)
def test_a_forged_seat_is_nobodys(app, change):
    tab = Tab(app, **submission("p1", "s1")).begin()
    seat = forged(tab.fields["seat"], **change)
    client = app.test_client(use_cookies=False)
    for path in ("/", "/task", "/instructions/1", "/done"):
        assert client.get(path, query_string={"seat": seat}).status_code == 400
    for path in ("/consent", "/answer", "/undo", "/hand-in", "/another", "/instructions/1"):
        reply = client.post(path, data=tab.fields | {"seat": seat, "choice": "left"})
        assert reply.status_code == 400 and "Set-Cookie" not in reply.headers


@pytest.mark.parametrize("seat", ["", ".", "e30.x", "\0", "💥.💥", "a" * 9000, ".." * 40])
def test_what_is_no_seat_is_refused_and_never_read_from_the_cookie_instead(app, seat):
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/", query_string=submission("p1", "s1")).text).fields)
    assert client.get("/task").status_code == 303  # by the cookie, to the examples
    assert client.post("/answer", data={"seat": seat, "choice": "left", "lease": "x"}).status_code == 400
    if seat:
        assert client.get("/task", query_string={"seat": seat}).status_code == 400


def test_the_seat_of_another_study_is_nobodys(app, tmp_path):
    (tmp_path / "other").mkdir()
    other = make_study(tmp_path / "other", invited=True)
    theirs = Tab(other, **submission("p1", "s1")).begin()
    client = app.test_client(use_cookies=False)
    assert client.get("/task", query_string={"seat": theirs.fields["seat"]}).status_code == 400
    other.extensions["desk"].store.close()


def test_a_seat_does_not_answer_what_another_rater_was_shown(app):
    one, two = Tab(app, **submission("p1", "s1")).begin(), Tab(app, **submission("p2", "s2")).begin()
    mixed = one.fields | {"lease": two.fields["lease"], "choice": "left"}
    assert one.client.post("/answer", data=mixed).status_code == 400
    mixed = two.fields | {"seat": one.fields["seat"], "choice": "left"}
    assert one.client.post("/answer", data=mixed).status_code == 400


def test_a_seat_before_consent_opens_no_pair(app):
    tab = Tab(app, **submission("p1", "s1"))
    seat = tab.fields["seat"]
    assert tab.client.get("/task", query_string={"seat": seat}).location.startswith("/?seat=")
    assert tab.client.post("/answer", data={"seat": seat, "lease": "x", "choice": "left"}).status_code == 400
    with app.extensions["desk"].store.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM raters").scalar() == 0


def test_who_was_forgotten_is_not_let_in_by_an_old_seat(app):
    from seedvote.crowd.rating.personal_data import forget

    tab = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    forget(desk.store, desk.rater_id("p1"), votes_per_pair=3, now=desk.clock())
    reply = tab.client.get("/task", query_string={"seat": tab.fields["seat"]})
    assert reply.status_code == 303 and reply.location == "/"
    assert tab.client.post("/answer", data=tab.fields | {"choice": "left"}).status_code == 400


def test_only_the_tab_that_gave_an_answer_takes_it_back(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    again = Tab(app, **submission("p1", "s1"))
    tab.judge()
    last = tab.fields["last"]
    assert last and "Undo<kbd>" in tab.page.text
    again.page = again.client.get("/", query_string=submission("p1", "s1"), follow_redirects=True)
    assert again.fields["last"] == "" and "Undo<kbd>" not in again.page.text
    assert "Undone" not in again.send("/undo").text
    assert "Undone" in tab.send("/undo").text


def test_a_script_is_told_where_it_is(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    reply = tab.client.post("/answer", data=tab.fields | {"choice": "left"}, headers=FETCH).json
    assert reply["next"] == f"/task?seat={tab.fields['seat']}&last={tab.fields['lease']}"
    assert "Undo<kbd>" in tab.client.get(reply["next"]).text


def test_a_seat_says_what_it_was_made_of_and_nothing_else_opens():
    visit = PageVisit("mturk", "Wörker", "A1", "H1", 3)
    seat = visit.token(SECRET, NOW)
    assert visit_of(SECRET, seat, NOW) == visit
    for cut in range(len(seat)):
        assert visit_of(SECRET, seat[:cut], NOW) is None
    assert visit_of(SECRET, " " + seat, NOW) is None


def test_no_seat_stands_in_the_log(app, capsys):
    from seedvote.crowd.web.app import LOG, log_to_stderr

    before = LOG.handlers[:], LOG.propagate, LOG.level
    log_to_stderr()
    tab = Tab(app, **submission("p1", "s1")).begin()
    tab.judge()
    told = capsys.readouterr().err
    LOG.handlers, LOG.propagate, LOG.level = before
    assert '"route": "hit.answer"' in told
    assert "seat" not in told and tab.fields["seat"] not in told and "p1" not in told


def test_over_http_a_person_who_keeps_no_cookie_is_let_in(app):
    with served(app) as url:
        person = Person(url, "prolific", "p9", sitting="s9", task="S1")
        reply = person.arrive()
        assert reply.status_code == 200 and seat_of(reply.text)


def test_a_seat_of_one_marketplace_or_tab_never_speaks_for_another(app):
    """Same ids at two marketplaces, and two tabs: each answer lands in the visit that its own page was made for."""
    at_prolific, at_mturk = Tab(app, **submission("W1", "A1")), Tab(app, **hit("W1", "A1"))
    seats = {name: visit_in(app, tab) for name, tab in
             (("prolific", at_prolific), ("mturk", at_mturk))}  # fmt: skip
    assert {name: visit.source for name, visit in seats.items()} == {"prolific": "prolific", "mturk": "mturk"}
    at_prolific.begin()
    mixed = at_prolific.fields | {"seat": at_mturk.fields["seat"], "choice": "left"}
    assert at_mturk.client.post("/answer", data=mixed).status_code == 400, "that tab has not consented"
    swapped = at_prolific.fields["seat"].rpartition(".")[0] + "." + at_mturk.fields["seat"].rpartition(".")[2]
    assert at_prolific.client.get("/task", query_string={"seat": swapped}).status_code == 400


def test_who_was_forgotten_may_come_again_as_somebody_new(app):
    from seedvote.crowd.rating.personal_data import forget

    old = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    stale = old.fields
    forget(desk.store, desk.rater_id("p1"), votes_per_pair=3, now=desk.clock())
    assert old.client.post("/answer", data=stale | {"choice": "left"}).status_code == 400
    assert "complete?cc=CDONE" in Tab(app, **submission("p1", "s1")).begin().work()


def test_a_seat_outlives_any_clock_that_is_set_and_ends_after_two_weeks(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    now, query = desk.clock(), {"seat": tab.fields["seat"]}
    for at, status in ((0.0, 200), (now - LIFE, 200), (now + LIFE, 200), (now + LIFE + 86_400, 400)):
        desk.clock = lambda at=at: at
        assert tab.client.get("/task", query_string=query).status_code == status


def test_each_page_gives_its_seat_two_more_weeks(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    now = desk.clock()
    for week in range(1, 6):
        desk.clock = lambda week=week: now + week * 7 * 86_400
        tab.page = tab.client.get("/task", query_string={"seat": tab.fields["seat"]})
        assert tab.page.status_code == 200


@pytest.mark.parametrize(("days", "is_known"), [(1, True), (100, True), (360, True), (400, False)])
def test_browser_is_remembered_for_a_year(tmp_path, days, is_known):
    app = make_study(tmp_path)
    desk, browser = app.extensions["desk"], app.test_client()
    first = browser.get("/")
    browser.post("/consent", data=PageForm(first.text).fields)
    now = desk.clock()
    desk.clock = lambda: now + days * 86_400
    back = browser.get("/", follow_redirects=True)
    assert ("I have read this" not in back.text) is is_known
    desk.store.close()


def test_another_key_makes_every_seat_nobodys(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    app.extensions["desk"].secret = "another"
    assert tab.client.get("/task", query_string={"seat": tab.fields["seat"]}).status_code == 400


def test_the_address_of_a_page_names_nobody(app):
    """Whoever gets an address that a rater passed on reads neither their id nor their visit in it."""
    tab = Tab(app, **submission("person1", "session1")).begin()
    tab.judge()
    version, _, signed = tab.fields["seat"].partition(".")
    told = str(URLSafeSerializer("").load_payload(signed.rpartition(".")[0].encode()))
    assert version == "2" and "person1" not in told and "session1" not in told
    visit = visit_in(app, tab)
    assert (visit.worker, visit.sitting, visit.number) == ("", "", 1)
    assert visit.rater == app.extensions["desk"].rater_id("person1")


def older_seat(secret, *values):
    """A seat as it was before it had a version."""
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
    body = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return f"{body}.{seat_proof(secret, body)}"


OLDER_VALUES = ("prolific", "p1", "s1", "S1", 1, "0a0b0c0d", "en", True)


@pytest.mark.parametrize("length", [6, 7, 8])
def test_a_study_that_runs_keeps_its_links_through_the_upgrade(app, length):
    tab, desk = Tab(app, **submission("p1", "s1")).begin(), app.extensions["desk"]
    older = older_seat(desk.secret, *OLDER_VALUES[:length])
    assert tab.client.get("/task", query_string={"seat": older}).status_code == 400, "a new study has none"
    desk.keys = dataclasses.replace(desk.keys, older_seats=desk.clock() + 60)
    page = tab.client.get("/task", query_string={"seat": older})
    fresh = PageForm(page.text).fields["seat"]
    assert page.status_code == 200 and fresh.startswith("2.")
    assert tab.client.post("/answer", data=PageForm(page.text).fields | {"choice": "left"}).status_code == 303
    desk.keys = dataclasses.replace(desk.keys, older_seats=desk.clock())
    assert tab.client.get("/task", query_string={"seat": older}).status_code == 400


def test_older_seats_are_believed_for_a_month(tmp_path):
    app = make_study(tmp_path)
    desk: Desk = app.extensions["desk"]
    with desk.store.write() as connection:
        connection.exec_driver_sql("DELETE FROM study WHERE key = 'older_seats'")  # as an older program made it
    prepare_study(tmp_path, None, desk.rules.hit, None, seed=0, simulated=False)
    with desk.store.read() as connection:
        until = keys_in(store_settings(connection)).older_seats
    assert time.time() + 29 * 86_400 < until < time.time() + 31 * 86_400
    prepare_study(tmp_path, None, desk.rules.hit, None, seed=0, simulated=False)
    with desk.store.read() as connection:
        assert keys_in(store_settings(connection)).older_seats == until, "a start does not prolong it"
    desk.store.close()


FROM_ELSEWHERE = ({}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"})


@pytest.mark.parametrize("path", ["/", "/task", "/stored", "/instructions/1"])
@pytest.mark.parametrize("headers", FROM_ELSEWHERE)
def test_foreign_seat_in_a_link_is_refused(app, path, headers):
    """Whoever gets others to work in their name would be paid for it."""
    theirs = Tab(app, **submission("thief", "s9")).begin().fields["seat"]
    victim = app.test_client()
    victim.post("/consent", data=PageForm(victim.get("/", query_string=submission("p1", "s1")).text).fields)
    if path != "/" and not headers:
        return  # a browser that says nothing is believed, and its cookie stays as it is: see the next test
    victim.get(path, query_string={"seat": theirs}, headers=headers)
    page = victim.get("/", follow_redirects=True)
    mine = visit_of(app.extensions["desk"].secret, PageForm(page.text).fields["seat"], app.extensions["desk"].clock())
    assert mine.rater == app.extensions["desk"].rater_id("p1")
    reply = victim.get(path, query_string={"seat": theirs}, headers=headers, follow_redirects=True)
    assert theirs not in reply.text


def test_two_people_at_one_browser_each_go_on_in_their_own_tab(app):
    """A page that our own pages lead to is believed: its address says whose it is, and the cookie is the last one's."""
    browser, own = app.test_client(), {"Sec-Fetch-Site": "same-origin"}
    seats = {}
    for person, session in (("p1", "s1"), ("p2", "s2")):
        first = browser.get("/", query_string=submission(person, session))
        sent = browser.post("/consent", data=PageForm(first.text).fields)
        seats[person] = sent.location.partition("seat=")[2]
    for person, seat in seats.items():
        page = browser.get("/instructions/1", query_string={"seat": seat}, headers=own)
        shown = visit_of(
            app.extensions["desk"].secret, PageForm(page.text).fields["seat"], app.extensions["desk"].clock()
        )
        assert shown.rater == app.extensions["desk"].rater_id(person)


def cookie_of(app, values):
    """A cookie of this study that holds these values, whatever they are, as Flask writes them."""
    return SecureCookieSessionInterface().get_signing_serializer(app).dumps(values)


# What the programs of earlier days kept: before the visit had a token, and before that a note of what was saved.
EARLIER_COOKIES = [
    {"_permanent": True, "worker": "p1", "sitting": "s1", "source": "local"},
    {"_permanent": True, "worker": "p1", "sitting": "s1", "source": "local", "seat": ["0" * 20, 1]},
    {"_permanent": True, "worker": "p1", "sitting": "s1", "source": "mturk", "seat": ["0" * 20, 1], "note": "late"},
    {"_permanent": True, "worker": "p1", "sitting": "s1", "source": "prolific", "seat": ["0" * 20, 2], "last": "ab"},
    {"_permanent": True, "seat": "WyJsb2NhbCJd.0123", "last": None},
]
PAGES = ["/", "/task", "/done", "/stored", "/about", "/instructions/1", "/answer", "/undo", "/health"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=8,
    )


SHAPES = nested(LEAVES | st.binary(max_size=9))
SEATS = nested(LEAVES) | st.tuples(st.integers(), st.sampled_from(["local", "x"]), *[st.text(max_size=9)] * 3).map(list)
HELD = st.fixed_dictionaries({}, optional=dict.fromkeys(("seat", "last", "worker", "note", "_permanent"), SHAPES))


def is_a_newcomer(app, cookie, path):
    client = app.test_client()
    client.set_cookie("seedvote", cookie)
    reply = client.get(path)
    assert reply.status_code < 500, (path, reply.status_code)
    arrived = client.get("/", query_string=submission("p7", "s7"))
    return arrived.status_code == 200 and "I have read this" in arrived.text


@pytest.mark.parametrize("path", PAGES)
def test_whoever_has_a_cookie_of_an_earlier_program_is_a_newcomer(app, path):
    for values in EARLIER_COOKIES:
        assert is_a_newcomer(app, cookie_of(app, values), path), values


def test_a_cookie_of_any_shape_is_at_worst_a_newcomer(app):
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(values=st.one_of(HELD, SHAPES), path=st.sampled_from(PAGES))
    def look(values, path):
        assert is_a_newcomer(app, cookie_of(app, values), path)

    look()


@pytest.mark.parametrize(
    ("worker", "number", "rater"),
    [("", 2**63, "p1"), ("", 10**30, "p1"), ("", -1, "p1"), ("x" * 500, 0, ""), ("a\0b", 0, ""), ("", 1, "a\0b")],
)
def test_a_seat_that_no_store_can_hold_is_a_newcomer_s(app, worker, number, rater):
    desk: Desk = app.extensions["desk"]
    seat = PageVisit("local", worker, "", "", number, rater=rater).token(desk.secret, desk.clock())
    assert visit_of(desk.secret, seat, desk.clock()) is None
    for path in PAGES:
        assert is_a_newcomer(app, cookie_of(app, {"seat": seat}), path)


def test_a_seat_of_any_shape_that_the_study_has_signed_is_at_worst_refused(app):
    desk: Desk = app.extensions["desk"]
    sign = URLSafeSerializer(desk.secret, salt="seat 2", signer_kwargs={"digest_method": hashlib.sha256})

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(values=SEATS, path=st.sampled_from(PAGES))
    def look(values, path):
        client = app.test_client(use_cookies=False)
        assert client.get(path, query_string={"seat": f"2.{sign.dumps(values)}"}).status_code < 500

    look()
