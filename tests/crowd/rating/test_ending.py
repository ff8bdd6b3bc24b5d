"""Each way in which a sitting ends says what is true, and gives the code for work done."""

import dataclasses
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.moment import Refused
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import sittings, votes
from seedvote.crowd.watching.progress import set_state
from seedvote.crowd.web.app import ServerConfig, create_app
from tests.crowd.study import SHORT, Clock, check_books, database, desk_of, make_pairs, press, seated, work

FETCH = {"X-Requested-With": "fetch"}
PAID = Hit(
    pairs_per_sitting=3,
    votes_per_pair=2,
    first_checks=0,
    later_checks=0,
    examples=(),
    completion_code="DONE-1",
    screened_out_code="OUT-2",
    pay_per_sitting=2.5,
    currency="EUR",
)
GATED = dataclasses.replace(PAID, first_checks=1, later_checks=1, max_failures=1)
IN_FULL = "This sitting is paid in full: 2.50 EUR."


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


class Person:
    """A browser at the page, with the script or without."""

    def __init__(self, app, rater):
        self.client = app.test_client()
        self.client.post("/consent", data=PageForm(self.client.get("/", query_string={"rater": rater}).text).fields)

    def look(self):
        return self.client.get("/task", follow_redirects=True).text

    def answer(self, choice="a"):
        """The page's own form; the response chosen is the one whose text ends with `choice`."""
        html = self.look()
        form = PageForm(html)
        side = "left" if form.shown_texts()[1].endswith(f"text {choice}") else "right"
        return self.client.post("/answer", data=form.fields | {"choice": side})

    def press(self, path):
        """One of the buttons of a page without a pair."""
        html = self.look()
        assert f'action="{path}"' in html
        self.client.post(path, data={"seat": re.search(r'name="seat" value="([\w.-]+)"', html)[1]})
        return self.look()


@pytest.fixture
def served(url, tmp_path):
    """Makes an application of a study; its desk is at hand."""
    apps = []

    def made(hit=PAID, **pairs):
        with desk_of(url, tmp_path, hit, make_pairs(**pairs)):
            pass
        apps.append(create_app(ServerConfig(url, hit, rate=0)))
        apps[-1].extensions["desk"].clock = Clock()
        return apps[-1]

    yield made
    for app in apps:
        check_books(app.extensions["desk"])
        app.extensions["desk"].store.close()


def fill(app, *raters):
    """Let others do a sitting each."""
    for rater in raters:
        work(app.extensions["desk"], seated(app.extensions["desk"], rater))


def test_a_whole_sitting_is_thanked_for_and_another_one_is_offered(served):
    app = served(real=5)
    ann = Person(app, "ann")
    for _ in range(3):
        ann.answer()
    page = ann.look()
    assert "You have finished this sitting" in page and IN_FULL in page and "DONE-1" in page
    for _ in range(2):  # the second press of a double click finds the sitting that the first one began
        ann.client.post("/another", data={"seat": re.search(r'name="seat" value="([\w.-]+)"', page)[1]})
    assert "Pair 1" in ann.look()
    with app.extensions["desk"].store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(sittings)) == 2


def test_rater_who_saw_every_open_pair_is_told_so(served):
    ann = Person(served(real=2), "ann")
    for _ in range(2):
        ann.answer()
    page = ann.look()
    assert "You have seen every pair that still needs answers. Your 2 answers are saved. " + IN_FULL in page
    assert "DONE-1" in page and "/another" not in page


def test_complete_study_says_so_and_gives_the_code(served):
    app = served(real=2)
    ann = Person(app, "ann")
    ann.answer()
    app.extensions["desk"].clock.now += 601  # the pair that ann was shown next goes back
    fill(app, "one", "two")
    ann.answer()  # it comes again for all that, as a check would
    page = ann.look()
    assert "Every pair has its answers. Your 2 answers are saved. " + IN_FULL in page and "DONE-1" in page
    late = Person(app, "late").look()
    assert "Every pair has its answers. Thank you for your interest." in late
    assert "DONE-1" not in late and "paid" not in late


def test_stopped_study_says_that_it_was_ended(served):
    app = served(real=6)
    ann, bob = Person(app, "ann"), Person(app, "bob")
    ann.answer()
    set_state(app.extensions["desk"].store, "stopped")
    page = ann.look()
    assert "The researchers have ended it" in page and "Every pair" not in page
    assert "Your answer is saved. " + IN_FULL in page and "DONE-1" in page and "/undo" not in page
    assert "The researchers have ended it" in bob.look() and "DONE-1" not in bob.look()


def test_the_cap_says_what_it_is(served):
    ann = Person(served(dataclasses.replace(PAID, max_votes_per_rater=2), real=6), "ann")
    for _ in range(2):
        ann.answer()
    page = ann.look()
    assert "as many answers as one person may give" in page and "DONE-1" in page and "/another" not in page
    assert "Your 2 answers are saved. " + IN_FULL in page


def test_a_blocked_rater_reads_the_same_friendly_words_as_ever(served):
    ann = Person(served(GATED, real=6, checks=4), "ann")
    ann.answer("b")
    page = ann.look()
    assert "There are no more tasks for you in this study. What you have done is saved and will be paid." in page
    assert "OUT-2" in page and "DONE-1" not in page and "/undo" not in page and "/another" not in page


def test_who_has_to_wait_may_hand_in_what_is_done(served):
    app = served(dataclasses.replace(PAID, votes_per_pair=1), real=2)
    desk = app.extensions["desk"]
    ann = Person(app, "ann")
    ann.look()
    desk.next_step(seated(desk, "one"))
    ann.answer()
    page = ann.look()
    assert "One moment" in page and "You need not wait" in page and IN_FULL in page and "DONE-1" not in page
    page = ann.press("/hand-in")
    assert "Your sitting is handed in. Your answer is saved. " + IN_FULL in page and "DONE-1" in page
    assert ann.look() == page or "DONE-1" in ann.look()
    nobody = Person(app, "idle").look()
    assert "One moment" in nobody and "/hand-in" not in nobody


def test_a_paused_study_may_be_waited_for_or_left_with_the_code(served):
    app = served(real=6)
    ann = Person(app, "ann")
    ann.answer()
    set_state(app.extensions["desk"].store, "paused")
    page = ann.look()
    assert "you will go on where you stopped" in page and "DONE-1" not in page
    assert "Your sitting is handed in" in ann.press("/hand-in") and "DONE-1" in ann.look()
    newcomer = Person(app, "idle").look()
    assert "come back later" in newcomer and "saved" not in newcomer and "/hand-in" not in newcomer


def test_nobody_hands_in_in_the_middle_of_the_work_or_without_any(served):
    app = served(real=6)
    ann = Person(app, "ann")
    for _ in range(2):
        html = ann.look()
        ann.client.post("/hand-in", data=PageForm(html).fields)
        assert "Pair" in ann.look()
        ann.answer()
    set_state(app.extensions["desk"].store, "paused")
    bob = Person(app, "bob")
    assert "/hand-in" not in bob.look() and "DONE-1" not in bob.look()


@pytest.mark.parametrize("script", [True, False])
def test_the_last_answer_of_a_sitting_can_be_taken_back_and_given_anew(served, script):
    app = served(real=3)
    ann = Person(app, "ann")
    for _ in range(2):
        ann.answer()
    before = PageForm(ann.look()).shown_texts()
    ann.answer("a")
    page = ann.look()
    assert "Take back the last answer" in page
    reply = ann.client.post("/undo", data=PageForm(page).fields, headers=FETCH if script else {})
    assert PageForm(reply.json["html"] if script else ann.look()).shown_texts() == before
    ann.answer("b")
    assert "You have finished this sitting" in ann.look()
    with app.extensions["desk"].store.read() as connection:
        rows = connection.execute(sa.select(votes).order_by(votes.c.vote)).all()
    assert [row.choice for row in rows] == ["a", "a", "b"]


def test_completed_study_goes_on_when_pairs_return(served):
    app = served(real=1)
    desk = app.extensions["desk"]
    seats = [seated(desk, name) for name in ("one", "two")]
    for seat in seats:
        work(desk, seat)
    seated(desk, "ann")
    ann = Person(app, "ann")
    assert "Every pair has its answers" in ann.look()
    assert desk.undo(seats[1], desk.next_step(seats[1]).undo)[0]
    assert "One moment" in ann.look()  # somebody is about to answer it again
    desk.clock.now += 601
    assert "Pair 1" in ann.look()


def test_a_second_browser_that_knows_the_id_cannot_take_an_answer_back(served):
    app = served(real=3)
    ann, other = Person(app, "ann"), Person(app, "ann")
    ann.answer()
    page = other.look()
    assert 'formaction="/undo"' not in page
    other.client.post("/undo", data=PageForm(page).fields)
    with app.extensions["desk"].store.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 1
    assert 'formaction="/undo"' in ann.look()


def test_what_a_marketplace_has_been_handed_cannot_be_taken_back(served):
    desk = served(real=3).extensions["desk"]
    seat = seated(desk, "ann")
    place = desk.next_step(seat)
    desk.answer(seat, place.shown.token, press(place, "a"), 1.0)
    desk.settle(seat)
    assert desk.undo(seat, place.shown.token)[0] is False


def test_an_undo_under_another_sitting_does_nothing(served):
    desk = served(real=6).extensions["desk"]
    one = seated(desk, "ann")
    place = desk.next_step(one)
    desk.answer(one, place.shown.token, "left", 1.0)
    two = seated(desk, "ann", "2")
    assert desk.undo(two, place.shown.token)[0] is False
    with pytest.raises(Refused):
        desk.answer(two, "0" * 32, "left", 1.0)


def test_short_studies_end_as_they_should(tmp_path):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, SHORT, make_pairs(2)) as desk:
        assert work(desk, seated(desk, "r")) == "none_left"
