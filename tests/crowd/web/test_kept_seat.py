"""In a frame without cookies: the seat that the page's script kept shows at the next HIT who has agreed before."""

from collections import Counter
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa

from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.keys import rotate
from seedvote.crowd.store.tables import leases, raters, sittings, votes
from seedvote.crowd.web.study_request import COOKIE_LIFE, PageVisit
from tests.crowd.marketplaces.study import SITES, make_study
from tests.crowd.rating.test_replaying import check_books
from tests.crowd.study import database

FEW = {"reals": 6, "votes_per_pair": 3, "pairs_per_sitting": 2, "first_checks": 1, "later_checks": 0, "max_failures": 1}


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request, tmp_path):
    with database(request.param, tmp_path) as url:
        app = make_study(tmp_path, database=url, **FEW)
        yield app
        app.extensions["desk"].store.close()


class Frame:
    """A browser that takes no cookie. `kept` is what its script keeps: the seat of the last page with a pair."""

    def __init__(self, app, worker="AWORKER"):
        self.app, self.worker, self.seat, self.kept, self.seen = app, worker, "", "", []

    def ask(self, method, path, **options):
        return self.app.test_client(use_cookies=False).open(path, method=method, base_url="https://x.org", **options)

    def open(self, assignment):
        """Open a HIT; whether the text of consent is shown."""
        ids = {"workerId": self.worker, "assignmentId": assignment, "hitId": "H1", "turkSubmitTo": SITES[0]}
        reply = self.ask("GET", "/", query_string=ids)
        if reply.status_code == 303:
            self.seat = self.seat_in(reply.headers["Location"])
            return False
        self.seat = PageForm(reply.text).fields["seat"]
        return "/consent" in reply.text

    @staticmethod
    def seat_in(address):
        return parse_qs(urlsplit(address).query)["seat"][0]

    def agree(self):
        reply = self.ask("POST", "/consent", data={"seat": self.seat, "agree": "yes"})
        self.seat = self.seat_in(reply.headers["Location"])

    def recall(self, kept=None):
        """What the script does before the text of consent; whether the server knows them."""
        reply = self.ask("POST", "/known", data={"seat": self.seat, "kept": self.kept if kept is None else kept})
        assert reply.status_code == 200
        if reply.json["known"]:
            self.seat = self.seat_in(reply.json["next"])
        return reply.json["known"]

    def look(self):
        return self.ask("GET", "/task", query_string={"seat": self.seat}, headers=FETCH).json or {"status": "nobody"}

    def work(self, prefers="a"):
        """Learn and judge until there is nothing more; the pairs seen, and how it ended."""
        learnt, seen, place = 0, [], self.look()
        while place["status"] == "instructions":
            learnt += 1
            self.ask("POST", f"/instructions/{place['number']}", data={"seat": self.seat, "choice": "tie"})
            place = self.look()
        while place["status"] == "task":
            form = PageForm(place["html"])
            self.kept = form.fields["seat"]
            context, left, _ = form.shown_texts()
            seen.append(context[-1].text.removeprefix("About ").removesuffix("?"))
            fields = form.fields | {"choice": "left" if left[-1] == prefers else "right", "seconds": "1"}
            place = self.ask("POST", "/answer", data=fields, headers=FETCH).json
        self.seen += seen
        return learnt, seen, place["status"]


def rows(app, table):
    with app.extensions["desk"].store.read() as connection:
        return connection.execute(sa.select(table)).all()


def count_rows(app):
    return Counter({table.name: len(rows(app, table)) for table in (raters, sittings, leases, votes)})


def test_who_has_agreed_in_this_frame_is_not_asked_again(app):
    worker = Frame(app)
    assert worker.open("A1")
    worker.agree()
    learnt, seen, end = worker.work()
    assert learnt and len(seen) == 3 and end == "done"
    for assignment in ("A2", "A3"):
        assert worker.open(assignment) and worker.recall()
        learnt, seen, end = worker.work()
        assert (learnt, len(seen), end) == (0, 2, "done")
    assert len(worker.seen) == len(set(worker.seen)) and len(rows(app, raters)) == 1
    assert sorted(row.sitting for row in rows(app, sittings)) == [1, 2, 3]
    check_books(app.extensions["desk"])


def test_a_page_loaded_again_within_one_assignment_asks_for_nothing(app):
    worker = Frame(app)
    assert worker.open("A1")
    worker.agree()
    worker.work()
    before = count_rows(app)
    assert not worker.open("A1") and worker.look()["status"] == "done" and count_rows(app) == before


def forged_seats(app, worker, other):
    """What somebody may send who knows the worker's id, and has a seat of their own and every public thing."""
    desk = app.extensions["desk"]
    (own,) = (row.rater for row in rows(app, raters) if row.rater == desk.rater_id(worker.worker))
    visit = PageVisit("mturk", "", "", "H1", number=1, own=True, rater=own)
    body, _, proof = worker.kept.rpartition(".")
    yield ""
    yield "nonsense"
    yield own  # the published name of the rater
    yield f"{body}.{proof[:-1]}{'A' if proof[-1] != 'A' else 'B'}"
    yield f"{other.kept.rpartition('.')[0]}.{proof}"
    yield visit.token("another secret", desk.clock())
    yield visit.token(desk.secret, desk.clock() - COOKIE_LIFE - 3 * 86_400)  # ours, and over
    yield other.kept  # a person's own seat is no proof of another
    fresh = Frame(app, worker.worker)
    fresh.open("A9")
    yield fresh.seat  # signed by us for whoever types the id, before any consent


def test_a_forged_seat_is_nobody_s_and_takes_nothing_from_the_person(app):
    worker, other, forger = Frame(app), Frame(app, "AOTHER"), Frame(app)
    for somebody in (worker, other):
        somebody.open(f"of {somebody.worker}".replace(" ", "-"))
        somebody.agree()
        somebody.work()
    before = count_rows(app)
    for number, seat in enumerate(forged_seats(app, worker, other)):
        assert forger.open(f"F{number}") and not forger.recall(seat), seat
        assert forger.look()["status"] == "nobody"
    assert count_rows(app) == before  # not a row, so not a pair and not a check
    assert worker.open("A2") and worker.recall() and worker.work()[1:] == (worker.seen[-2:], "done")
    assert len(set(worker.seen)) == 5 and len(rows(app, raters)) == 2
    check_books(app.extensions["desk"])


def test_consent_under_a_proven_id_gains_nothing(app):
    worker, forger = Frame(app), Frame(app)
    worker.open("A1")
    worker.agree()
    worker.work()
    assert forger.open("F1") and not forger.recall("")
    forger.agree()
    forger.work("b")
    assert worker.open("A2") and worker.recall()
    _, seen, end = worker.work()
    assert (len(seen), end) == (2, "done") and not set(seen) & set(forger.seen + worker.seen[:3])
    check_books(app.extensions["desk"])


def test_a_seat_that_was_kept_ends_with_the_keys_of_the_study(app):
    worker, desk = Frame(app), app.extensions["desk"]
    worker.open("A1")
    worker.agree()
    worker.work()
    with desk.store.write() as connection:
        rotate(connection, "links")
    desk.read_rules()
    assert worker.open("A2") and not worker.recall()


def test_a_kept_seat_in_an_address_says_nothing(app):
    worker = Frame(app)
    worker.open("A1")
    worker.agree()
    worker.work()
    before = count_rows(app)
    worker.open("A2")
    query = {"seat": worker.seat, "kept": worker.kept}
    assert worker.ask("GET", "/known", query_string=query).status_code == 405
    assert worker.look()["status"] == "nobody" and count_rows(app) == before
