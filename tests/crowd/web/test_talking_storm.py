"""Live conversations under everything at once: nothing lost, nothing charged that is not counted, nobody named."""

import random
import time
from contextlib import ExitStack

import httpx
import pytest

from seedvote.crowd.exchange.exporting import export
from seedvote.crowd.rating.deciding import rule_on
from seedvote.crowd.store.tables import raters
from seedvote.crowd.watching.progress import set_state
from seedvote.crowd.web import endpoints as asking
from tests.crowd.arena import NAMES, hit_of, make_topics, rows_of
from tests.crowd.storm import Talker, audit, client_of, give_up_the_rest, talk_to_the_end
from tests.crowd.study import database, desk_of
from tests.crowd.unkind import UnkindServer
from tests.crowd.visitor import live


class Either(httpx.BaseTransport):
    """Each request goes to one of the servers of a study."""

    def __init__(self, arena, draw):
        self.arena, self.draw = arena, draw

    def handle_request(self, request):
        app = self.draw.choice(self.arena.apps)
        return httpx.WSGITransport(app, raise_app_exceptions=False).handle_request(request)


class Arena:
    """Two servers of one study in this process, on a clock that jumps; either may die at any moment."""

    def __init__(self, url, hit, stack):
        self.url, self.hit, self.stack, self.jumps = url, hit, stack, 0.0
        self.apps = [self.start(), self.start()]

    def start(self):
        app = self.stack.enter_context(live(self.url, self.hit))
        desk = app.extensions["desk"]
        desk.clock = lambda: desk.store.clock.now() + self.jumps
        return app

    def kill(self, number):
        """What it was told and has not written is gone."""
        dead = self.apps[number].extensions["endpoints"]
        dead._ending.set()
        dead._settle = lambda *_, **__: False
        asking.ALIVE.discard(dead._name)
        self.apps[number] = self.start()


def disturb(arena, draw):
    """What operators, clocks and machines do meanwhile."""
    desk, act = arena.apps[0].extensions["desk"], draw.randrange(12)
    if act == 0:
        arena.jumps += 700
    elif act == 1:
        arena.kill(draw.randrange(2))
    elif act == 2:
        set_state(desk.store, "paused" if draw.random() < 0.8 else "stopped")
    elif act == 3 and (known := rows_of(desk, raters)):
        rule_on(desk.store, draw.choice(known).rater, draw.choice(("block", None)), "drawn", desk.clock())
    elif act == 4:
        with desk.store.read() as connection:
            export(connection, votes_per_pair=2)
    else:
        set_state(desk.store, "running")


def run_storm(folder, seed, kind="sqlite"):
    """One study from its beginning until nothing more can be done."""
    draw = random.Random(seed)
    live_rule = {
        "turns": draw.choice(([1, 2], [2, 3], [1, 4])),
        "timeout": 1,
        "budget": draw.choice((1.0, 3.0, 8.0, 1e6)),
        "characters": 60,
    }
    checks = draw.choice((0, 0, 1))
    rules = {"first_checks": checks, "max_failures": 1, "pairs_per_sitting": draw.choice((1, 3))}
    with ExitStack() as stack:
        url = stack.enter_context(database(kind, folder))
        ours, theirs = (stack.enter_context(UnkindServer(f"{seed} {n}")) for n in range(2))
        hit = hit_of(ours.url, theirs.url, live=live_rule, **rules)
        topics = make_topics(draw.randint(1, 4), checks=3 * checks)
        with desk_of(url, folder, hit, topics, seed=seed):
            pass
        arena = Arena(url, hit, stack)
        secrets = (*NAMES, f":{ours.http.server_port}", "off-topic", "X-Served-By")
        talkers = [Talker(client_of(Either(arena, draw)), f"r{n}", seed, secrets) for n in range(draw.randint(2, 4))]
        for _ in range(draw.randint(20, 60)):
            draw.choice(talkers).act()
            if draw.random() < 0.12:
                disturb(arena, draw)
        desk = arena.apps[0].extensions["desk"]
        set_state(desk.store, "running")

        def pause():
            time.sleep(0.02)
            arena.jumps += 20 * (draw.random() < 0.2)

        talk_to_the_end(talkers, (ours, theirs), pause)
        for app in arena.apps:
            app.extensions["endpoints"].finish(10)
        arena.apps = [arena.start(), arena.start()]
        for talker in talkers:  # what a dead server had sent is settled by whoever looks
            talker.place()
        give_up_the_rest(desk)
        return audit(desk, {"secretours": ours, "secrettheirs": theirs}, talkers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_storm(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.01)
    run_storm(tmp_path, seed)
