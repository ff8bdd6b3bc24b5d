"""In a frame without cookies: the seat that the page's script kept shows at the next HIT who has agreed before."""

import base64
import io
import json
import threading
from collections import Counter
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from werkzeug.datastructures import MultiDict

from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.keys import rotate
from seedvote.crowd.store.tables import leases, raters, sittings, votes
from seedvote.crowd.web.study_request import COOKIE_LIFE, PageVisit, _make_serializer, visit_of
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
    """A browser that takes no cookie. `kept` is what its script keeps: what the last answer brought."""

    def __init__(self, app, worker="AWORKER", source="mturk"):
        self.app, self.worker, self.source, self.seat, self.kept, self.seen = app, worker, source, "", "", []

    def ask(self, method, path, **options):
        return self.app.test_client(use_cookies=False).open(path, method=method, base_url="https://x.org", **options)

    def open(self, assignment):
        """Open a HIT; whether the text of consent is shown."""
        ids = {"workerId": self.worker, "assignmentId": assignment, "hitId": "H1", "turkSubmitTo": SITES[0]}
        ids = ids if self.source == "mturk" else {"rater": self.worker, "sitting": assignment}
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
            context, left, _ = form.shown_texts()
            seen.append(context[-1].text.removeprefix("About ").removesuffix("?"))
            fields = form.fields | {"choice": "left" if left[-1] == prefers else "right", "seconds": "1"}
            place = self.ask("POST", "/answer", data=fields, headers=FETCH).json
            self.kept = place["kept"]
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
    yield f"{other.kept.rpartition('.')[0]}.{proof}"
    yield visit.token("another secret", desk.clock(), "kept")
    yield visit.token(desk.secret, desk.clock() - COOKIE_LIFE - 3 * 86_400, "kept")  # ours, and over
    yield other.kept  # a person's own seat is no proof of another
    yield worker.seat  # out of an address, which may be passed on
    yield visit.token(desk.secret, desk.clock())
    fresh = Frame(app, worker.worker)
    fresh.open("A9")
    yield fresh.seat  # signed by us for whoever types the id, before any consent
    yield from (worker.kept[:place] for place in range(0, len(worker.kept), 5))
    for place in range(len(worker.kept) - 1):  # the last character of a proof has bits that mean nothing
        yield f"{worker.kept[:place]}{'A' if worker.kept[place] != 'A' else 'B'}{worker.kept[place + 1 :]}"
    for text in (body, proof, own, "2", "2.", "2..", ".", "2.W10.x", "\0", "\r\nSet-Cookie: seedvote=x", "座席💥"):
        yield from (
            f"{text}\r\n",
            f" {text}",
            f"\0{text}",
            f"{text}\ufeff",
            f"{text}.{text}",
            text * 20,
            text.swapcase(),
        )
    yield from ("[" * 5000, "x" * 16_000, "💥" * 1000, json.dumps({"rater": own}), "null", "true", "0", "-1", "1e999")
    yield base64.urlsafe_b64encode(json.dumps([9e9, "mturk", "", "", "H1", 1, "", "", True, own]).encode()).decode()
    signer = _make_serializer(desk.secret, "kept")
    until = int(desk.clock()) + 86_400
    facts = ["mturk", "", "", "H1", 1, "t", "", True, own]
    yield from (
        f"1.{signer.dumps([until, *facts])}",
        f"2.{_make_serializer(desk.secret, 'seat').dumps([until, *facts])}",
    )
    for values in (  # what we never sign: other shapes, and other types in their places
        *([], None, 1, "2", {}, {"rater": own}, [until], [[until, *facts]]),
        *([until, *facts, own], [until, *facts[:-1]]),
        *([until, *facts[:place], odd, *facts[place + 1 :]] for place in range(9) for odd in (None, [], {}, 1.5)),
        *([odd, *facts] for odd in (None, "9" * 20, True, float("inf"), 1e300, [until], -until)),
        [until, "nowhere", *facts[1:]],
        [until, *facts[:-1], f"{own}' OR 1=1 --"],
        [until, *facts[:-1], f"{own}\0"],
        [until, *facts[:-1], own.upper()],
    ):
        yield f"2.{signer.dumps(values)}"


def test_a_forged_seat_is_nobody_s_and_takes_nothing_from_the_person(app):
    worker, other, forger = Frame(app), Frame(app, "AOTHER"), Frame(app)
    for somebody in (worker, other):
        somebody.open(f"of {somebody.worker}".replace(" ", "-"))
        somebody.agree()
        somebody.work()
    before = count_rows(app)
    assert forger.open("F1")
    seats = list(forged_seats(app, worker, other))
    for seat in seats:
        assert not forger.recall(seat), seat
        assert forger.look()["status"] == "nobody"
    assert len(seats) > 300 and count_rows(app) == before  # not a row, so not a pair and not a check
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


def begin(app, worker="AWORKER", assignment="A1", source="mturk"):
    frame = Frame(app, worker, source)
    frame.open(assignment)
    frame.agree()
    frame.work()
    return frame


def test_two_people_at_one_computer_stay_two(app):
    worker, other = begin(app), Frame(app, "AOTHER")
    other.kept = worker.kept  # one storage for both
    assert other.open("B1") and not other.recall()
    other.agree()
    other.work()
    assert worker.open("A2") and not worker.recall(other.kept)
    names = {row.rater for row in rows(app, raters)}
    assert names == {app.extensions["desk"].rater_id(name) for name in ("AWORKER", "AOTHER")}
    check_books(app.extensions["desk"])


def test_a_worker_s_id_typed_into_the_address_is_not_proven_by_the_seat_of_another(app):
    worker, other = begin(app), begin(app, "AOTHER", "B1")
    before = count_rows(app)
    other.worker = "AWORKER"
    assert other.open("B2") and not other.recall() and other.look()["status"] == "nobody"
    assert count_rows(app) == before and worker.open("A2") and worker.recall()


def test_the_seat_of_a_walk_in_who_typed_the_id_proves_no_worker_of_a_marketplace(app):
    """Else one study with two doors would let the open one make proofs for the other."""
    impostor = begin(app, assignment="1", source="local")
    worker = Frame(app)
    assert worker.open("A1") and not worker.recall(impostor.kept) and worker.look()["status"] == "nobody"


def test_what_was_kept_is_worth_nothing_once_its_owner_is_forgotten(app):
    worker, desk = begin(app), app.extensions["desk"]
    (rater,) = (row.rater for row in rows(app, raters))
    forget(desk.store, rater, votes_per_pair=3, now=desk.clock())
    before = count_rows(app)
    assert worker.open("A2") and not worker.recall() and worker.look()["status"] == "nobody"
    assert count_rows(app) == before


def test_who_is_blocked_finds_the_end_and_no_pair(app):
    worker, desk = begin(app), app.extensions["desk"]
    rule_on(desk.store, worker_hash := desk.rater_id("AWORKER"), "block", None, desk.clock())
    before = len(rows(app, leases))
    worker.open("A2")
    worker.recall()
    assert worker.look()["status"] == "no_more" and len(rows(app, leases)) == before
    assert {row.rater for row in rows(app, raters)} == {worker_hash}


def test_a_preview_has_nobody_s_seat(app):
    worker = begin(app)
    ids = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H1", "workerId": "AWORKER"}
    preview = PageForm(worker.ask("GET", "/", query_string=ids).text).fields
    assert "seat" not in preview
    for seat in ("", "nonsense", worker.kept):
        assert worker.ask("POST", "/known", data={"seat": seat, "kept": worker.kept}).status_code == 400


def test_only_a_field_of_the_form_is_believed(app):
    worker = begin(app)
    worker.open("A2")
    ways = (
        {"json": {"seat": worker.seat, "kept": worker.kept}},
        {"data": {"seat": worker.seat}, "query_string": {"kept": worker.kept}},
        {"data": {"seat": worker.seat}, "headers": {"kept": worker.kept, "Cookie": f"kept={worker.kept}"}},
        {"data": {"seat": worker.seat, "kept": (io.BytesIO(worker.kept.encode()), "kept")}},
        {"data": MultiDict([("seat", worker.seat), ("kept", "nonsense"), ("kept", worker.kept)])},
    )
    for way in ways:
        reply = worker.ask("POST", "/known", **way)
        assert reply.status_code == 400 or not reply.json["known"], way
    reply = worker.ask("POST", "/known", data={"seat": worker.seat, "kept": "x\r\nSet-Cookie: seedvote=x"})
    assert "seedvote=x" not in str(reply.headers)
    assert worker.ask("POST", "/known", data={"seat": worker.seat, "kept": "x" * 200_000}).status_code == 413


def test_a_form_on_another_site_does_not_make_a_browser_somebody_else_s(app):
    """The worker would judge in the other's name, and that one would be paid for it."""
    mallory = begin(app, "AMALLORY", "M1")
    mallory.open("M2")
    browser = app.test_client()
    page = browser.get("/", base_url="https://x.org", query_string={"rater": "ann"})
    browser.post("/consent", base_url="https://x.org", data=PageForm(page.text).fields | {"agree": "yes"})
    seat = parse_qs(urlsplit(browser.get("/", base_url="https://x.org").location).query)["seat"]
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    fields = {"seat": mallory.seat, "kept": mallory.kept}
    reply = browser.post("/known", base_url="https://x.org", data=fields, headers=headers)
    assert "Access-Control-Allow-Origin" not in reply.headers and "Set-Cookie" not in reply.headers
    after = parse_qs(urlsplit(browser.get("/", base_url="https://x.org").location).query)["seat"]
    desk = app.extensions["desk"]
    assert {visit_of(desk.secret, *token, desk.clock()).rater for token in (seat, after)} == {desk.rater_id("ann")}


def test_assignments_opened_at_the_same_time_are_visits_of_one_rater(app):
    worker = begin(app)
    frames = [Frame(app) for _ in range(6)]
    known = []

    def enter(frame, assignment):
        frame.open(assignment)
        known.append(frame.recall(worker.kept))
        frame.work()

    threads = [threading.Thread(target=enter, args=(frame, f"A{2 + n // 2}")) for n, frame in enumerate(frames)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert known == [True] * 6
    assert len(rows(app, raters)) == 1 and sorted(row.sitting for row in rows(app, sittings)) == [1, 2, 3, 4]
    judged = [row.pair for row in rows(app, votes)]
    assert len(judged) == len(set(judged))
    check_books(app.extensions["desk"])
