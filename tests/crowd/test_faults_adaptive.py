"""An adaptive study whose servers die between plan and batch, in the batch, and between vote and batch: nothing is
lost, planned twice or half, and every choice keeps its probability."""

import contextlib
import dataclasses
import select
import signal
import threading
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from seedvote.crowd import study_folder
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.replaying import replay
from seedvote.crowd.rating.study_tally import compare_systems
from seedvote.crowd.store.store import open_store, places_left, read_events, settings
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, votes
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.rating.test_batches import rated
from tests.crowd.study import database
from tests.crowd.test_faults import Server, load
from tests.house.waiting import PATIENCE

RULES = """pairs_per_sitting = 12
first_checks = 1
later_checks = 1
max_failures = 2
assignment = "adaptive"

[adaptive]
votes = {votes}
batch = 20
"""
# Of gunicorn: its workers draw ahead of raters, and die by chance at these places, alone or with all others.
MORTAL = """
import contextlib, os, random, signal, threading
LOG, MOST, ODDS = {log!r}, {most}, {odds!r}

def post_fork(server, worker):
    from seedvote.crowd.rating import batches
    from seedvote.crowd.store.store import Store
    draw = random.Random(os.urandom(8))

    def may_die(place):
        with open(LOG, "a+") as log:
            log.seek(0)
            if len(log.read().splitlines()) >= MOST or draw.random() >= ODDS[place]:
                return
            log.write(place + chr(10))
        if draw.random() < 0.3:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    plan, write_batch, put, write, rows = (
        batches.plan_batch, batches.write_batch, batches.put, Store.write, Store.write_rows)

    def planned(*arguments):
        batch = plan(*arguments)
        if batch is not None:
            may_die("planned")
        return batch

    def put_half(*arguments):
        may_die("half written")
        return put(*arguments)

    def written(*arguments):
        result = write_batch(*arguments)
        may_die("written")
        return result

    def mortal(enter):
        @contextlib.contextmanager
        def changed(*arguments, **options):
            with enter(*arguments, **options) as connection:
                yield connection
                may_die("uncommitted")
            may_die("committed")
        return changed

    batches.plan_batch, batches.put, batches.write_batch = planned, put_half, written
    Store.write, Store.write_rows = mortal(write), mortal(rows)

def post_worker_init(worker):
    from seedvote.crowd.web import app
    threading.Thread(target=app._draw_ahead, args=(worker.wsgi.extensions["desk"],), daemon=True).start()
"""
ODDS = {"planned": 0.35, "half written": 0.15, "written": 0.2, "uncommitted": 0.01, "committed": 0.01}


def unlike(pair):
    """The same pair with texts that no other pair has."""
    a, b = (dataclasses.replace(side, text=f"{pair.pair} {side.text}") for side in (pair.a, pair.b))
    return dataclasses.replace(pair, a=a, b=b)


class Mortal(Server):
    """A server that may die at the places of MORTAL, and is revived while `surviving` lasts."""

    def __init__(self, folder, url, most):
        self.log, self.folder = folder / "deaths", folder
        self.log.write_text("")
        (folder / "mortal.py").write_text(MORTAL.format(log=str(self.log), most=most, odds=ODDS))
        super().__init__(folder, url, gunicorn=True, wait=False)

    def start(self, *, wait=True):
        words = self.command
        self.command = [*words[:2], "--config", str(self.folder / "mortal.py"), *words[2:]]
        super().start(wait=wait)
        self.command = words

    @contextlib.contextmanager
    def surviving(self):
        done = threading.Event()

        def revive():
            while not done.wait(0.05):
                if select.select([self.process.process], [], [], 0)[0]:
                    self.process.wait(PATIENCE)
                    self.start(wait=False)

        with ThreadPoolExecutor(1) as other:
            reviving = other.submit(revive)
            try:
                yield
            finally:
                done.set()
                reviving.result()
                with contextlib.suppress(ProcessLookupError):
                    self.end(signal.SIGKILL)


def bombard(folder, url, monkeypatch, kills, *, votes_given, raters, contexts):
    """The places at which servers died; the books are right afterwards."""
    made = [unlike(pair) for pair in rated(contexts, controls=6, checks=10)]
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)
    (folder / "hit.toml").write_text(RULES.format(votes=votes_given))
    study_folder.prepare_study(folder, None, hit_of(folder, None), url, seed=0, simulated=True)
    server = Mortal(folder, url, kills)
    with server.surviving():
        acknowledged = load(server, made, monkeypatch, raters, concurrency=8, leave=0.1)
    store = open_store(url)
    try:
        desk = Desk(store, hit_of(folder, None))
        check_votes(desk, made, acknowledged)
        check_batches(desk, made, votes_given)
    finally:
        store.close()
    return Counter(server.log.read_text().splitlines())


def rows_of(connection, table):
    return connection.execute(sa.select(table)).all()


def check_votes(desk, made, acknowledged):
    """Whatever was acknowledged is there, counts as the log alone says, and every pair has the votes of its batches."""
    texts = {pair.pair: {"a": pair.a.text, "b": pair.b.text, "tie": "tie"} for pair in made}
    names = {desk.rater_id(f"simulated-{n}"): n for n in range(200)}
    with desk.store.read() as connection:
        cast = rows_of(connection, votes)
        held = Counter(connection.scalars(sa.select(leases.c.pair).where(HOLDS_PLACE)))
        again = replay(read_events(connection), desk.rules.gate, votes_per_pair=3, late_votes=desk.rules.hit.late_votes)
        stored = rows_of(connection, pairs)
    given = {(names[row.rater], min(list(texts[row.pair].values())[:2])): texts[row.pair][row.choice] for row in cast}
    assert acknowledged and acknowledged.items() <= given.items()
    assert again.counted == {row.lease: bool(row.counted) for row in cast if row.failed is None}
    counted = Counter(row.pair for row in cast if row.counted and row.failed is None)
    for row in stored:
        if row.kind != "check":
            assert row.votes == counted[row.pair] == row.target and row.live == row.votes + held[row.pair]


def check_batches(desk, made, votes_given):
    """Each batch was made once and whole, each choice has its probability, each comparison its part of the floor."""
    with desk.store.read() as connection:
        values, left = settings(connection), places_left(connection)
        events = list(read_events(connection, "batch"))
        stored, shown = rows_of(connection, pairs), rows_of(connection, leases)
    drawn = {event.data["number"]: event.data["places"] for event in events}
    assert [event.data["number"] for event in events] == list(range(1, int(values["batch"]) + 1))
    targets, last = Counter(), {}
    for number, places in drawn.items():
        targets.update(places)
        last.update(dict.fromkeys(places, number))
    compared = compare_systems(made)
    assert {row.pair: row.target or 0 for row in stored if row.kind != "check"} == {
        row.pair: targets[row.pair] for row in stored if row.kind != "check"
    }
    assert all(row.batch == last.get(row.pair) for row in stored)
    assert left == 0 and votes_given - 1 <= sum(targets[pair] for pair in compared.of_pair) <= votes_given
    chances = defaultdict(set)
    for lease in shown:
        if lease.pair in compared.of_pair:
            assert lease.pair in drawn[lease.batch] and 0 < lease.propensity <= 1
            chances[lease.batch, compared.of_pair[lease.pair]].add(lease.propensity)
    check_floor(compared, drawn, chances)


def check_floor(compared, drawn, chances):
    """While a comparison has fresh pairs, its probability is no less than an even share of the floor makes it."""
    fresh = Counter(compared.of_pair.values())
    looked_at = 0
    for number, places in sorted(drawn.items()):
        new = Counter(compared.of_pair[pair] for pair in places if pair in compared.of_pair)
        total = sum(count for pair, count in places.items() if pair in compared.of_pair)
        for contrast in new:
            if all(fresh[k] > 3 for k in range(len(compared.contrasts))) and (shown := chances[number, contrast]):
                (chance,) = shown
                looked_at += 1
                assert chance * fresh[contrast] * 2 >= 0.2 / len(compared.contrasts) * (total - 2) - 1e-9
        fresh.subtract(new)
    assert looked_at > 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_thirty_deaths_leave_an_adaptive_study_whole(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        deaths = bombard(tmp_path, url, monkeypatch, 60, votes_given=500, raters=36, contexts=50)
    print(deaths)
    assert deaths.total() >= 30 and deaths["planned"] >= 5 and set(deaths) == set(ODDS)
