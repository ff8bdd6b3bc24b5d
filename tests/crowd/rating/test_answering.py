"""A hidden check and a real pair, played through every reply: nothing in any of them tells which was which."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import DirectPipe
from seedvote.crowd.store.tables import votes
from seedvote.crowd.watching.progress import set_state
from seedvote.crowd.web.app import ServerConfig, create_app
from tests.crowd.study import Clock, database, desk_of, make_pairs, seated, work

REALS = 5  # as few as the longest story needs, for one of them fills every pair
FETCH = {"X-Requested-With": "fetch"}
# Where the pair under test comes first, and where it comes last, in sittings that say the same number of pairs.
PLAIN = Hit(first_checks=0, later_checks=0, max_failures=2, examples=(), completion_code="CODE")
FIRST = {"check": replace(PLAIN, pairs_per_sitting=2, first_checks=1, max_failures=1), "real": PLAIN}
FIRST["real"] = replace(PLAIN, pairs_per_sitting=3)
LAST = {"check": replace(PLAIN, pairs_per_sitting=1, later_checks=1, max_failures=1)}
LAST["real"] = replace(PLAIN, pairs_per_sitting=2)
HIDDEN = [  # what differs between any two pairs: their texts, and the tokens of forms, leases and scripts
    (re.compile(r"\b[pc]\d+ text ([ab])\b"), "TEXT"),
    (re.compile(r"\b2\.\.?[\w-]+\.[\w-]{43}"), "SEAT"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "TOKEN"),
    (re.compile(r"(nonce[=-]\"?)[\w-]{22}"), r"\1NONCE"),
]


class Player:
    """A rater who writes down every reply, without what differs between any two pairs."""

    def __init__(self, app, *, script):
        self.app, self.script, self.seen, self.fields = app, script, [], {}
        self.client = app.test_client()
        self.ask("GET", "/?rater=ann")
        self.ask("POST", "/consent", agree="yes")

    @property
    def clock(self):
        return self.app.extensions["desk"].clock

    def ask(self, method, path, **fields):
        headers = FETCH if self.script and path in ("/task", "/answer", "/undo") else {}
        data = {"seat": self.fields.get("seat", ""), **fields} if method == "POST" else None
        reply = self.client.open(path, method=method, data=data, headers=headers)
        html = reply.json["html"] if reply.is_json else reply.text
        if "seat" in html:
            self.fields = {"seat": self.fields.get("seat", ""), **PageForm(html).fields}
        elif reply.is_json:  # where the script goes on tells what can be taken back
            self.fields["last"] = dict(parse_qsl(urlsplit(reply.json.get("next", "")).query)).get("last", "")
        told = {k: v for k, v in reply.json.items() if k != "html"} if reply.is_json else ""
        known = (reply.status_code, masked(json.dumps(told)), masked(reply.headers.get("Location", "")))
        self.seen.append((masked(path), known, masked(html), sorted(reply.headers.keys())))
        if reply.status_code == 303:
            self.ask("GET", reply.location)

    def look(self):
        self.ask("GET", "/task")

    def right(self):
        """The lease of the pair shown, and the side of response a, which is the right answer to every check."""
        form = PageForm(self.client.get("/task").text)
        return form.fields.get("lease"), "left" if "lease" in form.fields and form.shown_texts()[1].endswith(
            "a"
        ) else "right"

    def answer(self):
        self.look()
        lease, side = self.right()
        if lease is None:  # no pair is shown any more
            return None
        self.ask("POST", "/answer", lease=lease, choice=side, seconds="2")
        return lease

    def undo(self):
        self.ask("POST", "/undo", last=self.fields.get("last", ""))


def masked(text):
    for pattern, word in HIDDEN:
        text = pattern.sub(word, text)
    return text


def twice(player):
    lease = player.answer()
    player.ask("POST", "/answer", lease=lease, choice="left")


def regret(player):
    player.answer()
    player.undo()
    player.undo()
    player.answer()


def stale(player):
    lease = player.answer()
    player.undo()
    player.ask("POST", "/answer", lease=lease, choice="left")


def late(player):
    player.look()
    lease, side = player.right()
    player.clock.now += 601
    player.ask("POST", "/answer", lease=lease, choice=side)
    player.undo()


def slow(player):
    player.look()
    player.clock.now += 599
    player.look()
    player.clock.now += 2
    player.look()
    player.answer()


def away(player):
    """Off to a new sitting with the pair unanswered, and back."""
    player.look()
    player.ask("GET", "/?rater=ann&sitting=s2")
    player.look()
    player.clock.now += 601
    player.ask("GET", "/?rater=ann&sitting=s3")
    player.answer()
    player.undo()


def filled(player):
    """Away while others give every pair its votes."""
    player.look()
    player.clock.now += 601
    desk = player.app.extensions["desk"]
    for n in range(3 * REALS):
        work(desk, seated(desk, f"other {n}"))
    assert desk.next_step(seated(desk, "late-comer")).stage == "complete"
    player.look()
    player.answer()
    player.undo()
    player.answer()
    player.look()


def stopped(player):
    for state in ("paused", "running", "stopped", "running"):
        player.look()
        set_state(player.app.extensions["desk"].store, state)
        player.look()
        player.ask("POST", "/hand-in")
        player.undo()
    player.answer()
    player.undo()


def plain(player):
    player.look()
    player.answer()
    player.look()


STORIES = (plain, twice, regret, stale, late, slow, away, filled, stopped)


def played(folder, hit, story, *, script, last):
    """Every reply of one story, on a study of its own, from the pair in question on."""
    folder.mkdir()
    with database("sqlite", folder) as url:
        with desk_of(url, folder, hit, make_pairs(REALS, checks=6)):
            pass
        app = create_app(ServerConfig(url, hit, rate=0))
        app.extensions["desk"].clock = Clock()
        player = Player(app, script=script)
        if last:
            player.answer()
        story(player)
        app.extensions["desk"].store.close()
        return player.seen


# By turns with the script on the last pair and without it on the first; the rest of this table in make test-slow.
@pytest.mark.parametrize(
    ("story", "last", "script"),
    [
        pytest.param(
            story, last, script, id=f"{story.__name__}-{last}-{script}", marks=[] if quick else pytest.mark.slow
        )
        for number, story in enumerate(STORIES)
        for last in (True, False)
        for script in (True, False)
        for quick in [last == script == (number % 2 == 0)]
    ],
)
def test_a_check_and_a_real_pair_get_the_same_replies(tmp_path, story, last, script):
    hits = LAST if last else FIRST
    replies = {kind: played(tmp_path / kind, hit, story, script=script, last=last) for kind, hit in hits.items()}
    for check, real in zip(replies["check"], replies["real"], strict=True):
        assert check == real
    assert any("TEXT" in html for _, _, html, _ in replies["check"])


def test_the_stories_do_meet_a_check(tmp_path):
    """Otherwise the comparison above would compare real pairs with real pairs."""
    for last, hits in ((False, FIRST), (True, LAST)):
        folder = tmp_path / str(last)
        folder.mkdir()
        made = make_pairs(REALS, checks=6)
        with database("sqlite", folder) as url, desk_of(url, folder, hits["check"], made) as desk:
            seat = desk.arrive("ann", "1", "local")
            desk.consent(seat)
            kinds = []
            while (place := desk.next_step(seat)).stage == "task":
                kinds.append(place.shown.pair.kind)
                desk.answer(seat, place.shown.token, "left" if place.shown.layout == "a" else "right", 1.0)
        assert kinds[-1 if last else 0] == "check" and kinds.count("check") == 1


def statements_of(desk, seat, monkeypatch):
    """What a desk asks of its store for each answer of a sitting and of the next: (kind of the pair, statements)."""
    said, found = [], []
    run = DirectPipe.run
    monkeypatch.setattr(DirectPipe, "run", lambda pipe, text, *values: (said.append(text), run(pipe, text, *values))[1])
    while (place := desk.next_step(seat)).stage == "task":
        said.clear()
        desk.answer(seat, place.shown.token, "left" if place.shown.layout == "a" else "right", 1.0)
        found.append((place.shown.pair.kind, tuple(said)))
    return found


def test_store_is_asked_the_same_after_checks_and_pairs(tmp_path, monkeypatch):
    """So the times of the replies cannot tell them apart; only where a status changes more has to be done."""
    hit = replace(PLAIN, pairs_per_sitting=9, first_checks=2, later_checks=3, max_votes_per_rater=20)
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, make_pairs(30, checks=9)) as desk:
        found = statements_of(desk, seated(desk, "ann"), monkeypatch)
        kinds = [kind for kind, _ in found]
        assert len(found) == 14 and kinds.count("check") == 5 and kinds[1] == "check"
        del found[1], found[-1]  # ann passes; the sitting ends
        assert len({said for _, said in found}) == 1


def test_an_undo_asks_the_same_for_a_check_and_for_a_real_pair(tmp_path, monkeypatch):
    hit = replace(PLAIN, pairs_per_sitting=6, first_checks=0, later_checks=3)
    asked = {}
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, hit, make_pairs(30, checks=9)) as desk:
        seat = seated(desk, "ann")
        while (place := desk.next_step(seat)).stage == "task":
            right = "left" if place.shown.layout == "a" else "right"
            desk.answer(seat, place.shown.token, right, 1.0)
            said = []
            sa.event.listen(
                desk.store.engine, "before_cursor_execute", listener := lambda *a, said=said: said.append(a[2])
            )
            desk.undo(seat, place.shown.token)
            sa.event.remove(desk.store.engine, "before_cursor_execute", listener)
            asked.setdefault(place.shown.pair.kind, set()).add(len(said))
            desk.answer(seat, desk.next_step(seat).shown.token, right, 1.0)
    assert asked["check"] == asked["real"]


def test_the_time_of_an_answer_is_kept_to_the_millisecond(tmp_path):
    with database("sqlite", tmp_path) as url, desk_of(url, tmp_path, PLAIN, make_pairs(2)) as desk:
        seat = seated(desk, "ann")
        desk.answer(seat, desk.next_step(seat).shown.token, "left", 1.23456)
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(votes.c.seconds)) == 1.235
