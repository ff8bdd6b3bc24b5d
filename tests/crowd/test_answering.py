"""A hidden check and a real pair, played through every reply: nothing in any of them tells which was which."""

import re
from dataclasses import replace

import pytest

from crowd.hit import Hit
from crowd.simulation.browser import PageForm
from crowd.watching.progress import set_state
from crowd.web.app import ServerConfig, create_app
from tests.crowd.study import Clock, database, desk_of, make_pairs

FETCH = {"X-Requested-With": "fetch"}
# Where the pair under test comes first, and where it comes last, in sittings that say the same number of pairs.
PLAIN = Hit(first_checks=0, later_checks=0, max_failures=2, examples=(), completion_code="CODE")
FIRST = {"check": replace(PLAIN, pairs_per_sitting=2, first_checks=1, max_failures=1), "real": PLAIN}
FIRST["real"] = replace(PLAIN, pairs_per_sitting=3)
LAST = {"check": replace(PLAIN, pairs_per_sitting=1, later_checks=1, max_failures=1)}
LAST["real"] = replace(PLAIN, pairs_per_sitting=2)
HIDDEN = [  # what differs between any two pairs: their texts, and the tokens of forms, leases and scripts
    (re.compile(r"\b[pc]\d+ text ([ab])\b"), "TEXT"),
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
        data = {"csrf": self.fields.get("csrf", ""), **fields} if method == "POST" else None
        reply = self.client.open(path, method=method, data=data, headers=headers)
        html = reply.json["html"] if reply.is_json else reply.text
        if "csrf" in html:
            self.fields = PageForm(html).fields
        known = (reply.status_code, {k: v for k, v in reply.json.items() if k != "html"} if reply.is_json else "")
        self.seen.append((path, known, masked(html), sorted(reply.headers.keys())))
        if reply.status_code == 303:
            self.ask("GET", reply.location)

    def look(self):
        self.ask("GET", "/task")

    def right(self):
        """The lease of the pair shown, and the side of response a, which is the right answer to every check."""
        form = PageForm(self.client.get("/task").text)
        return form.fields["lease"], "left" if form.shown()[1].endswith("a") else "right"

    def answer(self):
        self.look()
        lease, side = self.right()
        self.ask("POST", "/answer", lease=lease, choice=side, seconds="2")
        return lease

    def undo(self):
        self.ask("POST", "/undo")


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


STORIES = (plain, twice, regret, stale, late, slow, away, stopped)


def played(folder, hit, story, *, script, last):
    """Every reply of one story, on a study of its own, from the pair in question on."""
    folder.mkdir()
    with database("sqlite", folder) as url:
        with desk_of(url, folder, hit, make_pairs(9, checks=6)):
            pass
        app = create_app(ServerConfig(url, hit, rate=0))
        app.extensions["desk"].clock = Clock()
        player = Player(app, script=script)
        if last:
            player.answer()
        story(player)
        app.extensions["desk"].store.close()
        return player.seen


@pytest.mark.parametrize("script", [True, False], ids=["with the script", "without it"])
@pytest.mark.parametrize("last", [False, True], ids=["first pair", "last pair"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
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
        with database("sqlite", folder) as url, desk_of(url, folder, hits["check"], make_pairs(9, checks=6)) as desk:
            seat = desk.arrive("ann", "1", "local")
            desk.consent(seat)
            kinds = []
            while (place := desk.next_step(seat)).stage == "task":
                kinds.append(place.shown.pair.kind)
                desk.answer(seat, place.shown.token, "left" if place.shown.left == "a" else "right", 1.0)
        assert kinds[-1 if last else 0] == "check" and kinds.count("check") == 1
