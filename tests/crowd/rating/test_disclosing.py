"""What is asked at the end keeps nobody from pay; what is stored is shown to whom it is about, and nobody else."""

import dataclasses
import json
import re

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.hit.about import AboutQuestion, TooLong, told_of_rater
from seedvote.crowd.hit.hit import hit_as_kept, hit_from, hit_from_kept
from seedvote.crowd.rating.personal_data import forget
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import read_events
from seedvote.crowd.store.tables import events, raters, votes
from seedvote.crowd.web.invitations import invitation_link
from seedvote.crowd.web.study_request import visit_of
from seedvote.dialogue.errors import InputError
from tests.crowd.marketplaces.study import Person, make_study

AGE = {"name": "age", "ask": "How old are you?", "answers": ["young", "old"]}
HARD = {"name": "hard", "ask": "Was it hard?", "answers": ["easy", "hard"], "when": "after"}
SAY = {"name": "remarks", "ask": "Anything else?", "when": "after", "kind": "comment"}
SHORT = {"pairs_per_sitting": 2, "first_checks": 1, "later_checks": 0, "max_failures": 1}
WROTE = "My name is Ann, and pair 2 was odd."
LAST = "/last-questions"


@pytest.fixture
def app(tmp_path):
    made = make_study(tmp_path, about=[AGE, HARD, SAY], contact="ask@example.org", page_events=True, **SHORT)
    yield made
    made.extensions["desk"].store.close()


@pytest.fixture
def desk(app):
    return app.extensions["desk"]


def to_the_end(app, source, worker, prefers="a", **more):
    person = Person(app, source, worker, prefers, **more)
    reply = person.arrive()
    person.send("POST", "/consent", data=PageForm(reply.text).fields)
    about = PageForm(person.send("GET", "/about").text).fields
    person.send("POST", "/about", data=about | {"about-age": "young"})
    work(person)
    return person


def work(person, most=100):
    """In the browser in which they agreed."""
    place = person.look()
    if place["status"] == "instructions":
        place = [learn(person, number) for number in range(1, 5)][-1]
    while place["status"] == "task" and most:
        place, most = person.judge(place), most - 1


def learn(person, number):
    path = f"/instructions/{number}"
    person.send("POST", path, data=PageForm(person.send("GET", path).text).fields | {"choice": "tie"})
    return person.look()


def send(person, **told):
    fields = PageForm(person.end()).fields
    return person.send("POST", LAST, data=fields | {f"about-{name}": text for name, text in told.items()})


def kept(desk):
    with desk.store.read() as connection:
        return connection.scalars(sa.select(raters.c.told)).all()


WAYS_OUT = {
    "local": "CDONE",
    "mturk": "externalSubmit",
    "prolific": "https://app.prolific.com/submissions/complete?cc=CDONE",
}


@pytest.mark.parametrize("source", WAYS_OUT)
@pytest.mark.parametrize("prefers", ["a", "tie"])
def test_the_page_that_asks_is_the_page_that_pays(app, desk, source, prefers):
    """Whoever closes it, sends nonsense or comes back has the code and the way out before them all the same."""
    person = to_the_end(app, source, "anna", prefers)  # who prefers ties fails every check and is screened out
    out = WAYS_OUT[source] if prefers == "a" else WAYS_OUT[source].replace("CDONE", "COUT")
    page = person.end()
    assert out in page and f'action="{LAST}"' in page
    assert out in send(person).text and "Please choose an answer to each question" in send(person).text
    refused = send(person, hard="a thousand", remarks=WROTE)
    assert out in refused.text and WROTE in refused.text and kept(desk) == [None]
    assert send(person, hard="easy", remarks=WROTE).status_code == 303
    after = person.end()
    assert out in after and "Thank you for your answers" in after and f'action="{LAST}"' not in after


def test_first_about_answers_hold_from_any_tab(app, desk):
    person = to_the_end(app, "local", "anna")
    form, other = PageForm(person.end()).fields, PageForm(person.end()).fields
    person.send("POST", LAST, data=form | {"about-hard": "", "about-remarks": " \0" + WROTE})
    person.send("POST", LAST, data=other | {"about-hard": "hard", "about-remarks": "No."})  # a second tab, or Back
    assert [json.loads(one) for one in kept(desk)] == [{"answers": {}, "comments": {"remarks": WROTE}}]
    undone = person.send("POST", "/undo", data=form)
    assert undone.status_code == 303 and person.look()["status"] == "task"  # the last pair may be taken back as ever
    person.judge(person.look())
    assert "Thank you for your answers" in person.end()
    with desk.store.read() as connection:
        found = export(connection, votes_per_pair=3)
        log = [*connection.scalars(sa.select(events.c.data)), *connection.scalars(sa.select(votes.c.answers))]
    assert found.raters[0].profile == {"age": "young"}  # the other one was withheld
    assert [(one.pair, one.question, one.text, one.counted) for one in found.comments] == [("", "remarks", WROTE, True)]
    assert not any("Ann" in str(line) for line in log) and not any("profile" in vote.extra for vote in found.votes)


def test_last_answers_stand_beside_first_and_are_forgotten(app, desk):
    send(to_the_end(app, "local", "anna"), hard="hard", remarks=WROTE)
    with desk.store.read() as connection:
        assert export(connection, votes_per_pair=3).raters[0].profile == {"age": "young", "hard": "hard"}
    forget(desk.store, desk.rater_id("anna"), votes_per_pair=3, now=2e9)
    with desk.store.read() as connection:
        found = export(connection, votes_per_pair=3)
        assert not list(read_events(connection, "described"))
    assert kept(desk) == [None] and found.comments == [] and found.raters[0].profile == {} and found.votes


def test_idle_or_forgotten_raters_are_asked_nothing(app, desk):
    person = Person(app, "local", "bert")
    reply = person.arrive()
    person.send("POST", "/consent", data=PageForm(reply.text).fields)
    seat = PageForm(person.send("GET", "/about").text).fields
    person.send("POST", LAST, data=seat | {"about-hard": "easy", "about-remarks": "before any pair"})
    assert kept(desk) == [None]
    assert person.send("POST", LAST, data={"about-hard": "easy", "about-remarks": ""}).status_code == 400  # no seat
    anna = to_the_end(app, "local", "anna")
    fields = PageForm(anna.end()).fields
    forget(desk.store, desk.rater_id("anna"), votes_per_pair=3, now=2e9)
    gone = anna.send("POST", LAST, data=fields | {"about-hard": "easy", "about-remarks": WROTE})
    assert gone.status_code == 400 and kept(desk) == [None, None]


def test_a_table_is_refused_with_a_sentence_and_comes_back_from_the_store():
    for wrong, said in (
        (SAY | {"when": "before"}, 'a comment: it is asked when = "after"'),
        (SAY | {"answers": ["a", "b"]}, "has no answers to choose from"),
        (HARD | {"when": "later"}, "when is before or after"),
        (HARD | {"required": True}, "needs name, ask and answers"),
        ({"name": "x", "ask": "?", "when": "after"}, "a comment needs no answers"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            hit_from({"about": [wrong]}, "hit.toml")
    hit = hit_from({"about": [AGE, HARD, SAY]}, "hit.toml")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit
    old = {"about": [{"name": "age", "ask": "?", "answers": ["a", "b"]}]}  # as a store of an older version has it
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit))) | old).about == (
        AboutQuestion("age", "?", ("a", "b")),
    )
    long = told_of_rater(hit.asked_of_rater("after"), {"about-hard": "", "about-remarks": "x" * 2000})
    assert len(long.comments["remarks"]) == 2000 and long.answers == {}
    with pytest.raises(TooLong):
        told_of_rater(hit.asked_of_rater("after"), {"about-hard": "", "about-remarks": "x" * 2001})


def stored(person, **query):
    return person.send("GET", "/stored", params=query)


def test_every_page_leads_to_what_is_stored_and_it_says_what_that_is(app, desk):
    person = Person(app, "prolific", "p-anna", sitting="visit-1")
    pages = [person.arrive().text]
    (link,) = re.findall(r'href="(/stored[^"]*)"', pages[0])
    before = person.send("GET", link).text
    assert "before you agree" in before and "p-anna" not in before and "ask@example.org" in before
    person.send("POST", "/consent", data=PageForm(pages[0]).fields)
    about = person.send("GET", "/about").text
    person.send("POST", "/about", data=PageForm(about).fields | {"about-age": "young"})
    pages += [about, person.send("GET", "/instructions/1").text]
    work(person, 1)
    place = person.look()
    pages.append(person.send("GET", "/task").text)
    fields = PageForm(place["html"]).fields | {"choice": "left", "seconds": "60", "noticed": "3,0,0"}
    person.send("POST", "/answer", data=fields)
    work(person)
    send(person, hard="easy", remarks=WROTE)
    pages.append(person.end())
    assert all(re.search(r'href="/stored\?seat=', page) for page in pages)
    text = stored(person).text
    told = desk.rater_id("p-anna"), "p-anna", "visit-1", "young", "easy", "3 answers", "One comment", "left 3 times"
    assert all(one in text for one in told) and "Version 2 of the text" in text
    assert WROTE not in text and "passed" not in text and "blocked" not in text and "check" not in text


def test_nobody_else_sees_it_whatever_they_type(app, desk):
    """An address holds no proof: who types another one's name gets a seat, and nothing of what is stored."""
    anna = to_the_end(app, "local", "anna")
    send(anna, hard="hard", remarks=WROTE)
    secret = (desk.rater_id("anna"), "young", "hard</dd>", "answers.</dd>")
    assert all(one in stored(anna).text for one in secret[:3])
    stranger = Person(app, "local", "anna")
    stranger.arrive()
    seat = re.search(r"seat=([^&]+)", stranger.arrive().headers["location"])[1]
    for query in ({}, {"seat": seat}):
        assert not any(one in stored(stranger, **query).text for one in secret)
    own = PageForm(anna.end()).fields["seat"]
    visit = visit_of(desk.secret, own, desk.clock())
    forged = [
        own[:-5] + ("0" if own[-5] != "0" else "1") + own[-4:],  # the last sign has bits that mean nothing
        dataclasses.replace(visit, worker="x").token("guess", desk.clock()),
        "x.y",
        ".",
    ]
    for token in forged:
        reply = stored(Person(app, "local", "x"), seat=token)
        assert reply.status_code == 400 and not any(one in reply.text for one in secret)
    assert "before you agree" in stored(Person(app, "local", "x")).text  # no seat at all


def test_who_agrees_anew_for_somebody_else_sees_nothing_of_theirs(app, desk):
    anna = to_the_end(app, "local", "anna")
    desk.rules = dataclasses.replace(desk.rules, hit=dataclasses.replace(desk.rules.hit, consent_version="3"))
    stranger = Person(app, "local", "anna")
    page = stranger.arrive()
    assert "before you agree" in stored(stranger).text
    stranger.send("POST", "/consent", data=PageForm(page.text).fields)
    assert desk.rater_id("anna") not in stored(stranger).text
    assert desk.rater_id("anna") in stored(anna).text


def test_an_invitation_proves_who_comes_in_whatever_browser(app, desk):
    address = invitation_link(desk.secret, "https://x.org", "guest")
    for first in (True, False):
        person = Person(app, "local", "guest")
        page = person.send("GET", address.removeprefix("https://x.org"))
        if first:
            person.send("POST", "/consent", data=PageForm(page.text).fields)
        assert "Your name in the stored answers" in stored(person).text
