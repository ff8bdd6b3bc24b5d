"""A rater who means harm: no error of ours, no vote that was not cast, nothing seen that is not theirs."""

import dataclasses
import json
import string

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.gate import GateRule
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.tables import leases, votes
from seedvote.crowd.web.app import ServerConfig, create_app
from tests.crowd.study import database, desk_of, make_pairs

HIT = Hit(pairs_per_sitting=4, first_checks=1, later_checks=1, max_failures=2)
FETCH = {"X-Requested-With": "fetch"}
SECRETS = ("secretmodel", "secretcheckpoint", "secretcontrast", "secretpair", "secretdialogue", "987654")
NASTY = ["' OR 1=1 --", "<script>alert(1)</script>", "a\r\nSet-Cookie: x=1", "\x00", "x" * 10_000]
NASTY += ["../../etc/passwd", "💥" * 9]
PATHS = ["/", "/consent", "/instructions/1", "/instructions/0", "/instructions/99999999999", "/task", "/answer"]
PATHS += ["/undo", "/done", "/health", "/static/hit.js", "/static/../app.py", "/study", "/study/state", "/nothing"]


def secret(pair):
    """The pair with everything that a rater must not see made recognisable."""
    side = {"model": "secretmodel", "seed": 987654, "checkpoint": "secretcheckpoint"}
    a, b = (dataclasses.replace(one, **side) for one in (pair.a, pair.b))
    named = {"pair": f"secretpair{pair.pair}", "item": "secretdialogue:1", "dialogue": "secretdialogue"}
    return dataclasses.replace(pair, a=a, b=b, contrast="secretcontrast", **named)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def app(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with database(request.param, folder) as url:
        with desk_of(url, folder, HIT, [secret(pair) for pair in make_pairs(40, checks=8)]):
            pass
        app = create_app(ServerConfig(url, HIT, rate=0))
        desk = app.extensions["desk"]
        desk.rules = dataclasses.replace(desk.rules, gate=GateRule(max_failures=99))
        yield app
        app.extensions["desk"].store.close()


def votes_in(app):
    with app.extensions["desk"].store.read() as connection:
        return connection.execute(sa.select(votes).order_by(votes.c.vote)).all()


def begin(app, rater):
    client = app.test_client()
    page = client.get("/", query_string={"rater": rater})
    if page.status_code == 200:
        client.post("/consent", data=PageForm(page.text).fields)
        for number in range(1, 5):
            fields = PageForm(client.get(f"/instructions/{number}").text).fields
            client.post(f"/instructions/{number}", data=fields | {"choice": "left"})
    return client


def test_nobody_answers_with_another_s_lease_or_an_invented_one(app):
    ann, bob = begin(app, "ann"), begin(app, "bob")
    theirs, own = PageForm(ann.get("/task").text).fields, PageForm(bob.get("/task").text).fields
    before = votes_in(app)
    for lease in (theirs["lease"], "0" * 32, own["lease"][::-1], *NASTY):
        assert bob.post("/answer", data=own | {"lease": lease, "choice": "left"}, headers=FETCH).status_code == 400
    assert votes_in(app) == before


def test_form_without_its_seat_is_refused(app):
    ann = begin(app, "ann")
    fields = PageForm(ann.get("/task").text).fields | {"choice": "left"}
    bare = {name: value for name, value in fields.items() if name != "seat"}
    before = votes_in(app)
    for client in (ann, app.test_client(), begin(app, "carl")):
        assert client.post("/answer", data=bare).status_code == 400
    assert votes_in(app) == before
    for client in (ann, app.test_client(), ann):
        assert client.post("/answer", data=fields).status_code == 303
    assert len(votes_in(app)) == len(before) + 1


def test_a_tampered_cookie_is_no_cookie(app):
    ann = begin(app, "ann")
    value = ann.get_cookie("seedvote").value
    for forged in (value[:-3] + "abc", value.replace(".", "..", 1), "e30.e30.e30", "", "💥"):
        client = app.test_client()
        client.set_cookie("seedvote", forged)
        assert client.get("/task").location == "/"


@pytest.mark.parametrize("rater", NASTY)
def test_impossible_ids_are_refused_and_odd_ones_are_only_text(app, rater):
    reply = app.test_client().get("/", query_string={"rater": rater})
    assert reply.status_code in (200, 400)
    assert "<script>alert" not in reply.text and "Set-Cookie: x" not in str(reply.headers)


@pytest.mark.parametrize("choice", ["a", "b", "", "LEFT", "both", "left\x00"])
def test_a_choice_that_is_none_is_no_vote(app, choice):
    ann, before = begin(app, "ann"), votes_in(app)
    fields = PageForm(ann.get("/task").text).fields
    assert ann.post("/answer", data=fields | {"choice": choice}).status_code == 400
    assert votes_in(app) == before


def test_checks_answer_like_real_pairs(app):
    shapes = set()
    for number in range(6):
        client, seen = begin(app, f"looker-{number}"), 0
        place = client.get("/task", headers=FETCH).json
        while place["status"] == "task":
            form = PageForm(place["html"])
            plain = client.get("/task")
            for text in (json.dumps(place), plain.text, str(plain.headers), client.get_cookie("seedvote").value):
                assert not any(word in text.lower() for word in SECRETS)
            reply = client.post("/answer", data=form.fields | {"choice": "tie"}, headers=FETCH)
            shapes.add((tuple(form.fields), len(form.fields["lease"]), tuple(reply.json) if reply.json["html"] else ()))
            place, seen = reply.json, seen + 1
        assert seen == 6
    assert len(shapes) == 2  # one for every pair but the last of a sitting, and that one


def words():
    known = st.sampled_from([*NASTY, "left", "tie", "1"])
    return st.one_of(known, st.text(string.printable, max_size=30), st.text(max_size=20))


def as_path(text):
    """Below this host: the client would read what follows two slashes as the name of another one."""
    return "/" + text.replace("?", "").lstrip("/\t\r\n")


REQUESTS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"]),
        "path": st.one_of(st.sampled_from(PATHS), st.text(max_size=20).map(as_path)),
        "query_string": st.dictionaries(st.sampled_from(["rater", "sitting", "source", "token"]), words(), max_size=3),
        "data": st.dictionaries(
            st.sampled_from(["seat", "lease", "choice", "seconds", "agree", "state", "last"]), words()
        ),
        "headers": st.sampled_from([{}, FETCH, {"Accept": "application/json"}, {"X-Forwarded-For": "1, 2"}]),
        "valid": st.sets(st.sampled_from(["seat", "lease"])),
    }
)


def bombard(app, requests):
    """Send anything as a rater who is half known; leave when something that must not happen happens."""
    client = begin(app, "fuzz")
    known = PageForm(client.get("/task").text).fields
    if "lease" not in known:
        client = begin(app, "fuzz-2")
    cookie = client.get_cookie("seedvote").value

    @settings(max_examples=requests, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(REQUESTS)
    def send(request):
        client.set_cookie("seedvote", cookie)
        valid = {name: known[name] for name in request.pop("valid") if name in known}
        data = request["data"] | valid if request["method"] == "POST" else {}
        before = len(votes_in(app))
        reply = client.open(**{**request, "data": data})
        text = reply.get_data(as_text=True).lower()
        reply.close()
        assert reply.status_code < 500
        assert not any(word in text or word in str(reply.headers).lower() for word in SECRETS)
        cast = request["path"] == "/answer" and data.get("choice") in ("left", "right", "tie") and len(valid) == 2
        assert len(votes_in(app)) <= before + cast

    send()


def test_hundreds_of_fuzzed_requests_find_no_error_no_vote_and_no_leak(app):
    bombard(app, 100)


@pytest.mark.slow
def test_ten_thousand_fuzzed_requests_find_no_error_no_vote_and_no_leak(app):
    bombard(app, 10_000)


def test_tokens_of_leases_tell_nothing_of_pair_or_kind(app):
    with app.extensions["desk"].store.read() as connection:
        tokens = connection.scalars(sa.select(leases.c.token)).all()
    assert len(set(tokens)) == len(tokens)
    assert all(len(token) == 32 and set(token) <= set("0123456789abcdef") for token in tokens)
