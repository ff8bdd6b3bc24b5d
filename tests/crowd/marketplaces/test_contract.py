"""One behaviour wherever raters come from: local, Mechanical Turk, Prolific and Mephisto."""

import threading
from collections import Counter

import httpx
import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.marketplaces.market import MARKETPLACES
from seedvote.crowd.marketplaces.mephisto.copies import restored
from seedvote.crowd.marketplaces.mephisto.entrance import MephistoEntrance
from seedvote.crowd.marketplaces.mephisto.market import task_module
from seedvote.crowd.rating import identities
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store import tables
from seedvote.crowd.store.migrations import ASKED_LATER as MIGRATED
from seedvote.crowd.store.tables import ASKED_LATER
from seedvote.crowd.web.entrance import OVER
from seedvote.dialogue.files import as_json
from tests.crowd.marketplaces.study import ADDRESSES, SITES, Person, make_study
from tests.crowd.questions import check_places
from tests.house.waiting import wait_for

SOURCES = ("local", "mturk", "prolific", "mephisto")


@pytest.fixture(scope="module")
def mephisto(tmp_path_factory):
    """Mephisto in this process, with its mock provider; its runs, each slow to end, end side by side."""
    module, ending = task_module(tmp_path_factory.mktemp("mephisto")), []
    yield module, ending
    for thread in ending:
        thread.join()


@pytest.fixture
def app(tmp_path, mephisto, request):
    """A study with all four entrances open; behind the fourth a run of Mephisto begins with the first who asks there.

    To begin and to end a run takes longer than a sitting, and most people here come by the other doors.
    """
    module, ending = mephisto

    class Reception(module.Reception):
        def take(self, *who, **more):
            if entrance.run is None:
                token = entrance.desk.study_token()
                task = module.MephistoTask(token, "A study", "Say which", reward=0.0, sittings=4)
                entrance.run = module.MephistoRun(task, module.Deployment(self, "https://x.org"))
                entrance.run.launch()
                ending.append(threading.Thread(target=entrance.run.wait))
                ending[-1].start()
            return super().take(*who, **more)

    entrance = MephistoEntrance(Reception())
    app = make_study(tmp_path, entrances=(entrance,), **getattr(request, "param", {}))
    entrance.desk = app.extensions["desk"]
    yield app
    if entrance.run:
        loop = entrance.run.operator._event_loop
        loop.call_soon_threadsafe(loop.stop)
    app.extensions["desk"].store.close()


def votes(app):
    with app.extensions["desk"].store.read() as connection:
        return exporting.export(connection, votes_per_pair=3).votes


def raters(app):
    with app.extensions["desk"].store.read() as connection:
        return exporting.export(connection, votes_per_pair=3).raters


def confirm_all(app):
    """What `crowd verify` does where the marketplaces list every visit."""
    with app.extensions["desk"].store.write() as connection:
        rules = rules_in_force(connection)
        for visit in connection.execute(sa.select(tables.payments)).all():
            identities.confirm_visit(connection, rules, visit.rater, visit.sitting, 0.0)


def test_later_sources_are_marketplaces_that_list_visits():
    assert {row.source for row in MARKETPLACES if row.kept} == set(ASKED_LATER)
    assert set(MIGRATED) < set(ASKED_LATER), "a panel's votes are younger than that migration"


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_is_stored_of_somebody_who_has_not_consented(app, source):
    page = Person(app, source, "AW1").arrive()
    assert page.status_code == 200 and "/consent" in page.text
    assert raters(app) == []


@pytest.mark.parametrize("source", SOURCES)
def test_a_sitting_ends_with_every_pair_judged_and_votes_of_this_source(app, source):
    person = Person(app, source, "AW1")
    assert person.work()["status"] == "done"
    assert sorted(vote.pair for vote in votes(app)) == [f"p{n}" for n in range(6)]
    counts = source not in ASKED_LATER  # the others' votes count once their marketplace has confirmed the visit
    assert {(vote.source, vote.choice, vote.counted) for vote in votes(app)} == {(source, "a", counts)}
    assert [(rater.source, rater.status) for rater in raters(app)] == [(source, "passed")]


@pytest.mark.parametrize("app", [{"form": "choice", "max_failures": 1}], indirect=True)
def test_a_study_of_questions_is_the_same_through_every_entrance(app):
    careless = Person(app, "mturk", "AW0", prefers="b")
    assert careless.work()["status"] == "no_more" and len(careless.seen) == 1
    for number, source in enumerate((*SOURCES, "local", "mturk")):
        Person(app, source, f"AW{number + 1}", sitting=f"s{number}").work()
    confirm_all(app)
    counted = [one for one in votes(app) if one.counted]
    assert Counter(one.question for one in counted) == {f"q{n}": 3 for n in range(6)}
    assert all(one.first == int(one.question[1:]) % 5 and one.second is not None for one in counted)
    assert {one.source for one in counted} >= {"local", "mturk", "prolific"}
    assert {one.profile["knowledge"] for one in raters(app)} == {"nothing"}
    check_places(app.extensions["desk"])


@pytest.mark.parametrize("app", [{"form": "choice"}], indirect=True)
def test_answers_to_questions_are_restored_from_mephisto_s_own_store(app, mephisto):
    person = Person(app, "mephisto", "AW1")
    assert person.work()["status"] == "done"
    module, name = mephisto[0], app.extensions["desk"].study_token()
    wait_for(lambda: len(list(module.handed_in(name))) == 1)
    mine = {one.question: (one.first, one.second, one.shown) for one in votes(app)}
    found = restored(module.handed_in(name), 3, 3, "choice")
    assert {one.question: (one.first, one.second, one.shown) for one in found} == mine and len(mine) == 6


@pytest.mark.parametrize("source", SOURCES)
def test_three_failed_checks_close_every_entrance_under_the_same_id(app, source):
    assert Person(app, source, "AW1", prefers="b").work()["status"] == "no_more"
    for other in SOURCES:
        again = Person(app, other, "AW1", sitting="s2")
        assert again.begin()["status"] in ("no_more", "turned away") and again.seen == []
        assert "no more tasks" in again.arrive().text + again.end()
    assert Person(app, source, "AW2").begin()["status"] == "task"


@pytest.mark.parametrize("source", SOURCES)
def test_who_is_blocked_is_told_nothing_of_checks(app, source):
    person = Person(app, source, "AW1", prefers="b")
    person.work()
    text = person.end().lower()
    assert "no more tasks" in text and not any(word in text for word in ("check", "fail", "block", "wrong"))


def test_three_different_raters_a_pair_across_sources(app):
    people = [Person(app, source, f"AW{n}") for n, source in enumerate((*SOURCES, "local", "mturk"))]
    places = [person.begin() for person in people]
    while any(place["status"] not in OVER for place in places):
        turns = zip(people, places, strict=True)
        places = [who.judge(place) if place["status"] == "task" else who.look() for who, place in turns]
    confirm_all(app)
    counted = [vote for vote in votes(app) if vote.counted]
    assert Counter(vote.pair for vote in counted) == {f"p{n}": 3 for n in range(6)}
    assert len({(vote.pair, vote.rater) for vote in counted}) == 18
    assert {vote.source for vote in counted} == set(SOURCES)


@pytest.mark.parametrize("source", ["local", "mephisto"])
def test_one_person_through_two_entrances_never_sees_a_pair_twice(app, source):
    first, second = Person(app, "mturk", "AW1"), Person(app, source, "AW1", sitting="s2")
    first.work()
    second.work()
    seen = [name for name, _ in first.seen + second.seen if name.startswith("p")]
    assert len(seen) == len(set(seen)) == 6
    assert len(raters(app)) == 1


def test_same_browser_is_the_same_rater_until_confirmed(app):
    first = Person(app, "prolific", "AW1")
    first.work()
    address = {"PROLIFIC_PID": "AW1", "STUDY_ID": "H1", "SESSION_ID": "s2"}
    again = first.send("GET", "/", params=address)
    assert again.status_code == 303 and "/task" in again.headers["Location"]  # known by its cookie, and has consented
    assert len(raters(app)) == 1
    forger = Person(app, "prolific", "AW1", sitting="s3")
    assert forger.begin()["status"] == "task"
    assert len(raters(app)) == 2
    client = httpx.Client(base_url="https://x.org", transport=httpx.WSGITransport(app))  # keeps no cookie at all
    fields = PageForm(client.get("/", params=address | {"SESSION_ID": "s4"}).text).fields
    client.cookies.clear()
    assert client.post("/consent", data=fields).status_code == 303
    assert len(raters(app)) == 3


@pytest.mark.parametrize("source", SOURCES)
def test_sides_are_balanced_within_a_rater(app, source):
    person = Person(app, source, "AW1")
    person.work()
    assert abs(person.lefts()["a"] - person.lefts()["b"]) <= 1


@pytest.mark.parametrize("source", SOURCES)
def test_the_last_answer_can_be_taken_back(app, source):
    person = Person(app, source, "AW1")
    place = person.judge(person.begin())
    undone = person.send("POST", "/undo", data=PageForm(place["html"]).fields, headers=FETCH).json()
    assert undone["progress"]["done"] == place["progress"]["done"] - 1


@pytest.mark.parametrize("source", SOURCES)
def test_who_comes_back_goes_on_where_they_stopped_without_cookies(app, source):
    person = Person(app, source, "AW1")
    before = person.work(most=4)
    assert person.arrive().status_code == 303
    after = person.look()
    assert after["progress"] == before["progress"]
    assert PageForm(after["html"]).fields["lease"] == PageForm(before["html"]).fields["lease"]


@pytest.mark.parametrize("source", SOURCES)
def test_an_answer_sent_twice_is_one_vote(app, source):
    person = Person(app, source, "AW1")
    person.work(most=5)
    number = len(votes(app))
    for _ in range(3):
        assert person.send("POST", "/answer", data=person.form, headers=FETCH).json()["saved"]
    assert len(votes(app)) == number


@pytest.mark.parametrize("source", SOURCES)
def test_no_marketplace_id_leaves_the_server(app, source, caplog):
    caplog.set_level("INFO", "crowd")
    Person(app, source, "AWSECRET", sitting="ASITTING").work()
    with app.extensions["desk"].store.read() as connection:
        export = exporting.export(connection, votes_per_pair=3)
        rows = [as_json(one) for one in (*export.votes, *export.raters)] + list(exporting.exported_events(connection))
        logged = [vars(record) for record in caplog.records if record.name == "crowd"]
        (line,) = connection.execute(sa.select(tables.payments)).all()
    assert not any(word in f"{rows} {logged}" for word in ("AWSECRET", "ASITTING", "CDONE"))
    assert (line.worker, line.key, line.source) == ("AWSECRET", "ASITTING", source)


def test_at_the_end_mturk_gets_its_form_and_only_mturk_may_have_it(app):
    person = Person(app, "mturk", "AW1", sitting="A77")
    person.work()
    reply = person.send("GET", "/task")
    assert 'action="https://www.mturk.com/mturk/externalSubmit"' in reply.text
    assert 'name="assignmentId" value="A77"' in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert "form-action 'self' https://www.mturk.com;" in policy and "frame-ancestors https://www.mturk.com" in policy


def test_at_the_end_prolific_gets_its_code(app):
    person, other = Person(app, "prolific", "p1"), Person(app, "prolific", "p2", prefers="b")
    person.work()
    other.work()
    assert "submissions/complete?cc=CDONE" in person.end()
    assert "submissions/complete?cc=COUT" in other.end() and "CDONE" not in other.end()


def test_at_the_end_mephisto_has_the_sitting_and_closes_to_who_is_blocked(app, mephisto):
    module, _ = mephisto
    Person(app, "mephisto", "w1").work()
    Person(app, "mephisto", "w2", prefers="b").work()
    entrance = app.extensions["config"].entrances[-1]
    wait_for(lambda: len(list(module.handed_in(entrance.run.task.name))) == 2)
    kept = list(module.handed_in(entrance.run.task.name))
    assert [one["rater_status"] for one in kept] == ["passed", "blocked"]
    assert {vote["pair"] for vote in kept[0]["votes"]} == {f"p{n}" for n in range(6)}
    assert entrance.reception.take("w2", "s2", provider_type="mock").refusal
    assert entrance.reception.take("w3", "s1", provider_type="mock").agent


def test_a_preview_shows_the_task_and_gives_no_work(app):
    client = app.test_client()
    page = client.get("/", query_string={"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H1"})
    assert page.status_code == 200 and "This is a preview" in page.text and "<form" not in page.text
    assert "Set-Cookie" not in page.headers and client.get("/task").status_code == 303
    assert raters(app) == []


@pytest.mark.parametrize(
    "query",
    [
        {**ADDRESSES["mturk"], "turkSubmitTo": "https://evil.org"},
        {**ADDRESSES["mturk"], "turkSubmitTo": SITES[0], "workerId": "a b"},
        {**ADDRESSES["mturk"], "turkSubmitTo": SITES[0], "workerId": "A" * 65},
        {"PROLIFIC_PID": "p1"},
        {**ADDRESSES["prolific"], "SESSION_ID": "\0"},
    ],
)
def test_an_address_that_no_marketplace_sends_is_refused(app, query):
    reply = app.test_client().get("/", query_string=query)
    assert reply.status_code == 400 and "evil" not in reply.text
