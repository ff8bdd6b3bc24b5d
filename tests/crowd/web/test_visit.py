"""Whose page it is: seats in addresses and forms, and what an attacker can do with them."""

import base64
import json

import pytest

from crowd.rating.desk import Desk
from crowd.simulation.browser import FETCH, PageForm
from crowd.web.visit import PageVisit, visit_of
from tests.crowd.marketplaces.study import Person, make_study, served

SECRET = "key"


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
        left = PageForm(self.page.text).shown()[1]
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


def test_two_tabs_are_two_visits_and_each_is_handed_in_on_its_own_assignment(app):
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
    assert visit_of(app.extensions["desk"].secret, first.fields["seat"]).number == 1
    assert visit_of(app.extensions["desk"].secret, second.fields["seat"]).number == 2


def test_each_tab_has_a_seat_of_its_own(app):
    seats = {Tab(app, **submission("p1", "s1")).fields["seat"] for _ in range(3)}
    assert len(seats) == 3


def forged(seat, **change):
    """The same seat with other words and its old proof."""
    body, _, proof = seat.rpartition(".")
    names = ("source", "worker", "sitting", "task", "number", "tab", "language", "own")
    values = dict(zip(names, opened(body), strict=True)) | change
    text = json.dumps(list(values.values()), separators=(",", ":"))
    return f"{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}.{proof}"


def opened(body):
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


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
    from crowd.rating.forgetting import forget

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
    seat = visit.token(SECRET)
    assert visit_of(SECRET, seat) == visit
    for cut in range(len(seat)):
        assert visit_of(SECRET, seat[:cut]) is None
    assert visit_of(SECRET, seat + "=") is None and visit_of(SECRET, " " + seat) is None


def test_no_seat_stands_in_the_log(app, capsys):
    from crowd.web.app import LOG, log_to_stderr

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
    seats = {name: visit_of(app.extensions["desk"].secret, tab.fields["seat"]) for name, tab in
             (("prolific", at_prolific), ("mturk", at_mturk))}  # fmt: skip
    assert {name: visit.source for name, visit in seats.items()} == {"prolific": "prolific", "mturk": "mturk"}
    at_prolific.begin()
    mixed = at_prolific.fields | {"seat": at_mturk.fields["seat"], "choice": "left"}
    assert at_mturk.client.post("/answer", data=mixed).status_code == 400, "that tab has not consented"
    swapped = at_prolific.fields["seat"].partition(".")[0] + "." + at_mturk.fields["seat"].partition(".")[2]
    assert at_prolific.client.get("/task", query_string={"seat": swapped}).status_code == 400


def test_who_was_forgotten_may_come_again_as_somebody_new(app):
    from crowd.rating.forgetting import forget

    old = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    stale = old.fields
    forget(desk.store, desk.rater_id("p1"), votes_per_pair=3, now=desk.clock())
    assert old.client.post("/answer", data=stale | {"choice": "left"}).status_code == 400
    assert "complete?cc=CDONE" in Tab(app, **submission("p1", "s1")).begin().work()


def test_no_clock_makes_a_seat_invalid_and_another_key_makes_all_of_them_nobodys(app):
    tab = Tab(app, **submission("p1", "s1")).begin()
    desk: Desk = app.extensions["desk"]
    now, query = desk.clock(), {"seat": tab.fields["seat"]}
    for at in (now - 10 * 365 * 86_400, now + 10 * 365 * 86_400, 0.0):
        desk.clock = lambda at=at: at
        assert tab.client.get("/task", query_string=query).status_code == 200
    desk.secret = "another"
    assert tab.client.get("/task", query_string=query).status_code == 400
