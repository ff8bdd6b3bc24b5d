"""Real servers that are killed, databases that are full or read-only: what was acknowledged is there, and only that."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from seedvote.crowd import study_folder
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.simulation import browser
from seedvote.crowd.simulation.browser import PageForm, SimulatedVisit
from seedvote.crowd.simulation.crowd import SimulatedCrowd
from seedvote.crowd.simulation.raters import Reader, draw_habits, read_of
from seedvote.crowd.simulation.readers import QuestionReader, SetReader
from seedvote.crowd.store.store import open_store, read_events
from seedvote.crowd.store.tables import leases, votes
from seedvote.crowd.study_folder import hit_of
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import write_questions
from seedvote.dialogue.records import Pair, ResponseSet
from tests.crowd.conversations import make_talks
from tests.crowd.questions import check_places, make_questions
from tests.crowd.rating import test_replaying as replaying
from tests.crowd.real_server import SKEWED, free_port
from tests.crowd.sets import make_sets, spread, stood
from tests.crowd.study import check_books, database, desk_of, make_pairs
from tests.house.forked import PIPE, Forked
from tests.house.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
HIT = Hit(pairs_per_sitting=5, first_checks=1, later_checks=1, max_failures=2)
HIT_TOML = "pairs_per_sitting = 5\nfirst_checks = 1\nlater_checks = 1\nmax_failures = 2\n"


class Server:
    """A server process of a study, to be killed and started again on the same port."""

    def __init__(self, study, url, *, gunicorn=False, fresh=False, wait=True, clock=0.0):
        self.fresh = fresh
        self.port, self.kills = free_port(), 0
        self.environment = os.environ | {"SEEDVOTE_STUDY": str(study), "SEEDVOTE_DATABASE": url, "SEEDVOTE_RATE": "0"}
        self.environment |= {"SEEDVOTE_SIMULATED": "1"}
        self.command = ["-m", "crowd", "serve", str(study), "--database", url, "--rate", "0", "--simulated"]
        self.command += ["--port", str(self.port), "--quiet"]
        if clock:  # of the process, and so of everything in it
            self.command = ["-c", SKEWED, str(clock), *self.command[2:]]
        if gunicorn:
            self.command = ["-m", "gunicorn", "--workers", "2", "--threads", "4", "--log-level", "error"]
            self.command += ["--bind", f"127.0.0.1:{self.port}", "seedvote.crowd.wsgi:from_environment()"]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start(wait=wait)

    def start(self, *, wait=True):
        if self.fresh:  # with nothing loaded, and with all that an interpreter does at its end
            command, nowhere = [sys.executable, *self.command], subprocess.DEVNULL
            streams = {"stdin": nowhere, "stdout": nowhere, "stderr": nowhere}
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment, start_new_session=True, **streams)
        else:
            self.process = Forked(self.command, cwd=ROOT, env=self.environment)
        if wait:
            wait_for(self.answers)

    def answers(self):
        try:
            return httpx.get(self.url + "/health", trust_env=False, timeout=PATIENCE).status_code == 200
        except httpx.TransportError:
            return False

    def end(self, how):
        os.killpg(self.process.pid, how)
        return self.process.wait(PATIENCE)

    def kill_and_restart(self):
        self.end(signal.SIGKILL)
        self.kills += 1
        self.start()


@contextlib.contextmanager
def served(folder, url, real, *, make=make_pairs, rules=HIT_TOML, **options):
    """A server of a study with so many real pairs."""
    made = make(real, checks=12)
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)
    (folder / "hit.toml").write_text(rules)
    study_folder.prepare_study(folder, None, hit_of(folder, None), url, seed=0, simulated=True)
    server = Server(folder, url, **options)
    try:
        yield server, made
    finally:
        server.end(signal.SIGKILL)


def load(server, made, monkeypatch, raters, concurrency, leave=0.0, acknowledged=None):
    """Send the crowd; returns what it was told was saved: (rater number, pair's texts) -> choice."""
    acknowledged, judge = {} if acknowledged is None else acknowledged, SimulatedVisit._judge_pair

    def spy(self, place):
        context, left, right = PageForm(place["html"]).shown_texts()
        choice, _ = self.reader.judge_texts(self.rater, context, left, right)
        reply = judge(self, place)
        chosen = {"left": left, "right": right, "tie": "tie"}[choice]
        acknowledged[self.rater.number, min(left, right)] = chosen
        return reply

    monkeypatch.setattr(SimulatedVisit, "_judge_pair", spy)
    monkeypatch.setattr(browser, "SERVER_PATIENCE", PATIENCE)  # twenty restarts of a slow machine in one wait
    people = [draw_habits(n, seed=1, clickers=0.05, leave=leave) for n in range(raters)]
    SimulatedCrowd(server.url, Reader(made, seed=1), people, concurrency).run_rounds()
    return acknowledged


def stored(url, made):
    """What the store holds, in the same terms, after the books were checked."""
    texts = {pair.pair: {"a": read_of(pair.a), "b": read_of(pair.b), "tie": "tie"} for pair in made}
    store = open_store(url)
    try:
        desk = Desk(store, HIT)
        counted = check_books(desk)
        names = {desk.rater_id(f"simulated-{n}"): n for n in range(200)}
        with store.read() as connection:
            rows = connection.execute(sa.select(votes)).all()
        found = {(names[row.rater], texts[row.pair]["a"]): texts[row.pair][row.choice] for row in rows}
        return found, {pair: number for pair, number in counted.items() if not pair.startswith("c")}
    finally:
        store.close()


def bombard(server, made, monkeypatch, url, kills, raters, concurrency):
    """Load with a killer at work; then every acknowledged answer is there and every pair has exactly its votes."""
    done, generator, acknowledged = threading.Event(), random.Random(0), {}

    def killer():
        wait_for(lambda: acknowledged or done.is_set())  # the first kill comes in mid-load, however slow the load is
        while server.kills < kills and not done.wait(generator.uniform(0.0, 0.5)):
            server.kill_and_restart()

    thread = threading.Thread(target=killer)
    thread.start()
    load(server, made, monkeypatch, raters, concurrency, leave=0.3, acknowledged=acknowledged)
    done.set()
    thread.join()
    found, counted = stored(url, made)
    assert server.kills >= min(kills, 1)
    assert acknowledged.items() <= found.items()
    assert set(counted.values()) == {3} and len(counted) == sum(pair.kind != "check" for pair in made)
    return server.kills


# A researcher who decides without a pause: mends checks, rules on raters, changes the rules of the study.
RESEARCHER = """
import dataclasses, random, sys, time
import sqlalchemy as sa
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.deciding import mend, rule_on
from seedvote.crowd.rating.excluding import exclude_by_rule
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.hit.tables import Exclusion
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import raters
url, seed = sys.argv[1:]
store, draw = open_store(url), random.Random(int(seed))
print("begun", flush=True)
while True:
    with store.read() as connection:
        hit, known = rules_in_force(connection).hit, connection.scalars(sa.select(raters.c.rater)).all()
    change = {"votes_per_pair": draw.randint(2, 4), "max_failures": draw.randint(1, 2),
              "exclude": draw.choice([None, Exclusion(after=3, same=3)])}
    name = draw.choice(list(change))
    act = draw.randrange(4)
    if act == 0:
        mend(store, f"c{draw.randrange(12)}", draw.choice(["a", "a", "b", "void"]), time.time())
    elif act == 1 and known:
        rule_on(store, draw.choice(known), draw.choice(["block", "exclude", None, None]), "drawn", time.time())
    elif act == 2:
        take_up(store, dataclasses.replace(hit, **{name: change[name]}), time.time())
    else:
        exclude_by_rule(store, time.time())
"""


@contextlib.contextmanager
def deciding(url, kills):
    """Meanwhile decisions are made, each process of them killed within a second; yields the kills."""
    done, generator, killed = threading.Event(), random.Random(0), []

    def decide():
        while len(killed) < kills and not done.is_set():
            with Forked(["-c", RESEARCHER, url, str(len(killed))], cwd=ROOT, stdout=PIPE) as process:
                assert process.stdout.readline() == "begun\n"
                done.wait(generator.uniform(0.0, 1.0))
                process.kill()
            assert process.returncode == -signal.SIGKILL  # it never ends by itself
            killed.append(process.returncode)

    with ThreadPoolExecutor(1) as other:
        deciding_ = other.submit(decide)
        try:
            yield killed
        finally:
            done.set()
            deciding_.result()


def bombard_with_decisions(folder, url, monkeypatch, kills, raters, **options):
    """Raters at work while a researcher changes everything: the books are those of the event log."""
    with served(folder, url, 40, **options) as (server, made):
        with deciding(url, kills) as killed:
            acknowledged = load(server, made, monkeypatch, raters, concurrency=4)
        store = open_store(url)
        try:
            desk = Desk(store, HIT)
            replaying.check_books(desk)
            with store.read() as connection:
                cast = connection.scalar(sa.select(sa.func.count()).select_from(votes))
        finally:
            store.close()
        assert killed and len(acknowledged) <= cast
    return len(killed)


def test_killed_decisions_leave_what_the_log_gives(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    bombard_with_decisions(tmp_path, url, monkeypatch, kills=1, raters=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_killed_decisions_leave_what_the_log_gives(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        bombard_with_decisions(tmp_path, url, monkeypatch, kills=20, raters=40, gunicorn=kind == "postgresql")


def between_two_servers(folder, url, monkeypatch, kills, raters):
    """Every request goes to either of two servers, whose clocks are ten minutes apart, both killed again and again,
    while a researcher decides; then the books are those of the event log, and nobody was late."""
    with served(folder, url, 40, clock=-120.0) as (one, made):
        two, send = Server(folder, url, clock=480.0), SimulatedVisit._send_request
        draw, acknowledged, done = random.Random(0), {}, threading.Event()

        def send_to_either(self, method, path, **what):
            return send(self, method, draw.choice((one, two)).url + path, **what)

        def kill():
            wait_for(lambda: acknowledged or done.is_set())
            while one.kills + two.kills < kills and not done.wait(draw.uniform(0.0, 0.5)):
                draw.choice((one, two)).kill_and_restart()

        monkeypatch.setattr(SimulatedVisit, "_send_request", send_to_either)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with deciding(url, max(1, kills)) as decisions:
                load(one, made, monkeypatch, raters, concurrency=8, leave=0.2, acknowledged=acknowledged)
        finally:
            done.set()
            killer.join()
            two.end(signal.SIGKILL)
        store = open_store(url)
        try:
            replaying.check_books(Desk(store, HIT))
            with store.read() as connection:
                cast = connection.execute(sa.select(votes)).all()
                blocked = {event.rater for event in read_events(connection, "blocked")}
        finally:
            store.close()
        assert decisions and one.kills + two.kills >= min(kills, 1)
        late = {row.rater for row in cast if row.late and row.failed is None}  # a check may have become void meanwhile
        assert len(acknowledged) <= len(cast) and late <= blocked  # who is blocked holds no pair any more


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_killed_servers_leave_what_the_log_gives(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        between_two_servers(tmp_path, url, monkeypatch, kills=10, raters=40)


def test_a_server_killed_in_mid_load_loses_no_acknowledged_vote(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with served(tmp_path, url, 20) as (server, made):
        bombard(server, made, monkeypatch, url, kills=1, raters=10, concurrency=4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_kills_under_16_raters_lose_nothing(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url, served(tmp_path, url, 400, gunicorn=kind == "postgresql") as (server, made):
        assert bombard(server, made, monkeypatch, url, kills=20, raters=64, concurrency=16) == 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_kills_under_16_raters_of_whole_conversations_lose_nothing(tmp_path, monkeypatch, kind):
    whole = {"make": make_talks, "rules": 'form = "conversations"\n' + HIT_TOML}
    with database(kind, tmp_path) as url, served(tmp_path, url, 200, **whole) as (server, made):
        assert bombard(server, made, monkeypatch, url, kills=20, raters=64, concurrency=16) == 20


@pytest.mark.slow
def test_64_raters_at_once_give_every_pair_exactly_its_votes(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with served(tmp_path, url, 150) as (server, made):
        bombard(server, made, monkeypatch, url, kills=0, raters=64, concurrency=64)


QUESTIONS_TOML = 'form = "choice"\npairs_per_sitting = 5\nfirst_checks = 1\nlater_checks = 1\nmax_failures = 1\n'
SETS_TOML = """form = "responses"
pairs_per_sitting = 5
first_checks = 1
later_checks = 1
max_failures = 1

[[questions]]
name = "order"
ask = "Which order?"
kind = "ranking"

[[questions]]
name = "fluent"
ask = "How fluent?"
kind = "likert"
"""


def hunted(folder, url, monkeypatch, reader, told, kills, raters, concurrency):
    """Load on a study that is ready, with a killer at work: (rater number, a text of the page) -> what `told` says."""
    acknowledged, judge = {}, SimulatedVisit._judge_pair
    server, done, generator = Server(folder, url), threading.Event(), random.Random(0)

    def spy(self, place):
        page, before = PageForm(place["html"]), self.answered
        texts, said = page.shown_texts()[1:], told(self, page)
        reply = judge(self, place)
        if self.answered > before:  # and was not taken back
            acknowledged[self.rater.number, min(texts)] = said
        return reply

    def killer():
        wait_for(lambda: acknowledged or done.is_set())
        while server.kills < kills and not done.wait(generator.uniform(0.0, 0.5)):
            server.kill_and_restart()

    monkeypatch.setattr(SimulatedVisit, "_judge_pair", spy)
    monkeypatch.setattr(browser, "SERVER_PATIENCE", PATIENCE)  # twenty restarts of a slow machine in one wait
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        people = [draw_habits(n, seed=1, clickers=0.05, leave=0.3) for n in range(raters)]
        SimulatedCrowd(server.url, reader, people, concurrency).run_rounds()
    finally:
        done.set()
        thread.join()
        server.end(signal.SIGKILL)
    return acknowledged, server.kills


@contextlib.contextmanager
def desk_after(url, hit):
    """The desk of a study that was hunted, after its books were checked, and the rows of its votes by rater number."""
    store = open_store(url)
    try:
        desk = Desk(store, hit)
        replaying.check_books(desk)
        names = {desk.rater_id(f"simulated-{n}"): n for n in range(200)}
        with store.read() as connection:
            rows = connection.execute(sa.select(votes)).all()
        yield desk, [(names[row.rater], row) for row in rows]
    finally:
        store.close()


def bombard_with_questions(folder, url, monkeypatch, kills, raters, concurrency, real):
    """The same of questions: exactly k answers each, every option in every place equally often, nothing lost."""
    made = make_questions(real, checks=12, versions=2)
    write_questions(folder / "questions.jsonl", made)
    (folder / "hit.toml").write_text(QUESTIONS_TOML)
    hit = hit_of(folder, None)
    study_folder.prepare_study(folder, None, hit, url, seed=0, simulated=True)

    def told(visit, page):
        context, *texts = page.shown_texts()
        pressed, _ = visit.reader.judge_texts(visit.rater, context, *texts)
        return [texts[int(n)] for n in pressed.split(",")]

    reader = QuestionReader(made, seed=1)
    acknowledged, killed = hunted(folder, url, monkeypatch, reader, told, kills, raters, concurrency)
    options = {one.question: [option.text for option in one.options] for one in made}
    with desk_after(url, hit) as (desk, rows):
        counted = check_books(desk)
        check_places(desk)
    found = {
        (rater, min(options[row.pair])): [options[row.pair][int(n)] for n in row.choice.split(",")]
        for rater, row in rows
    }
    assert acknowledged.items() <= found.items()
    assert {pair: n for pair, n in counted.items() if pair[0] == "q"} == {f"q{n}": 3 for n in range(real)}
    return killed


def bombard_with_sets(folder, url, monkeypatch, kills, raters, concurrency, real):
    """The same of sets: exactly k raters each, places even, every rank and rating that was acknowledged is there."""
    made = make_sets(real, checks=12)
    write_records(folder / "response_sets.jsonl", made, signature="test", kind=ResponseSet)
    (folder / "hit.toml").write_text(SETS_TOML)
    hit = hit_of(folder, None)
    study_folder.prepare_study(folder, None, hit, url, seed=0, simulated=True)

    def told(visit, page):
        context, *texts = page.shown_texts()
        given = visit.reader.answer_all(visit.rater, context, texts, page.radios, page.texts, page.rankings)
        ranks = [int(given[f"q-order-{place}"]) for place in range(len(texts))]
        better = [1 + sum(other < rank for other in ranks) for rank in ranks]
        return {text: (better[n], int(given[f"q-fluent-{n}"])) for n, text in enumerate(texts)}

    reader = SetReader(made, seed=1)
    acknowledged, killed = hunted(folder, url, monkeypatch, reader, told, kills, raters, concurrency)
    wrote = {one.set: [response.text for response in one.responses] for one in made}
    found, who = {}, {}
    with desk_after(url, hit) as (desk, rows):
        counted, places = check_books(desk), stood(desk)
    for rater, row in rows:
        answers = json.loads(row.answers)
        given = zip(answers["order"]["ranks"], answers["fluent"]["scores"], strict=True)
        found[rater, min(wrote[row.pair])] = dict(zip(wrote[row.pair], given, strict=True))
        who.setdefault(row.pair, []).extend([rater] * row.counted)
    assert acknowledged and acknowledged.items() <= found.items()
    assert {name: n for name, n in counted.items() if name[0] == "s"} == {f"s{n}": 3 for n in range(real)}
    assert all(len(set(who[f"s{n}"])) == 3 and spread(places, f"s{n}", 4) <= 1 for n in range(real))
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_kills_under_64_raters_keep_questions(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        kills = bombard_with_questions(tmp_path, url, monkeypatch, kills=20, raters=64, concurrency=16, real=300)
        assert kills == 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_kills_under_64_raters_keep_sets(tmp_path, monkeypatch, kind):
    with database(kind, tmp_path) as url:
        kills = bombard_with_sets(tmp_path, url, monkeypatch, kills=20, raters=64, concurrency=16, real=200)
        assert kills == 20


def test_a_server_that_is_asked_to_end_ends_well(tmp_path):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with served(tmp_path, url, 4, fresh=True) as (server, _):
        assert server.end(signal.SIGTERM) == 0
        server.start()


def test_gunicorn_serves_a_study_on_postgresql_with_two_workers(tmp_path, monkeypatch):
    with (
        database("postgresql", tmp_path) as url,
        served(tmp_path, url, 10, gunicorn=True, fresh=True) as (server, made),
    ):
        acknowledged = load(server, made, monkeypatch, raters=8, concurrency=4)
        found, counted = stored(url, made)
        assert acknowledged.items() <= found.items() and set(counted.values()) == {3}


def test_two_workers_on_an_empty_database_answer(tmp_path):
    ask_at_once(tmp_path, times=1)


@pytest.mark.slow
def test_two_workers_on_ten_empty_databases_answer(tmp_path):
    ask_at_once(tmp_path, times=10)


def ask_at_once(tmp_path, times):
    write_records(tmp_path / "pairs.jsonl", make_pairs(40, checks=2), signature="test", kind=Pair)
    (tmp_path / "hit.toml").write_text(HIT_TOML)
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        with database("postgresql", folder) as url:
            server, codes = Server(tmp_path, url, gunicorn=True, wait=False), []

            def first(client, n, codes=codes):
                try:
                    codes.extend(
                        client.get("/", params={"rater": f"r{n}-{m}", "source": "simulated"}).status_code
                        for m in range(5)
                    )
                except httpx.ConnectError:
                    return False
                return True

            def ask(n, server=server, first=first):
                with httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE) as client:
                    wait_for(lambda: first(client, n))

            threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            server.end(signal.SIGKILL)
        assert codes == [200] * 30


@pytest.fixture
def rating(tmp_path):
    """An application and a client with a pair before it."""
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    with desk_of(url, tmp_path, HIT, make_pairs(9, checks=4)):
        pass
    app = create_app(ServerConfig(url, HIT, rate=0))
    client = app.test_client()
    client.post("/consent", data=PageForm(client.get("/?rater=ann").text).fields)
    for number in range(1, 5):
        fields = PageForm(client.get(f"/instructions/{number}").text).fields
        client.post(f"/instructions/{number}", data=fields | {"choice": "left"})
    yield app, client, PageForm(client.get("/task").text).fields | {"choice": "left"}
    app.extensions["desk"].store.close()


@pytest.mark.parametrize(
    "fault", ["PRAGMA query_only=ON", "PRAGMA max_page_count=1"], ids=["read-only database", "disk full"]
)
@pytest.mark.parametrize("script", [True, False], ids=["with the script", "without it"])
def test_unwritable_database_acknowledges_nothing(rating, fault, script):
    app, client, fields = rating
    store = app.extensions["desk"].store

    def break_it(connection, _record):
        connection.execute(fault)

    sa.event.listen(store.engine, "connect", break_it)
    store.close()  # so that it connects anew
    if "page_count" in fault:
        _fill_up(store)
    reply = client.post("/answer", data=fields, headers={"X-Requested-With": "fetch"} if script else {})
    assert reply.status_code == 503
    assert reply.json["saved"] is False if script else "was not saved" in reply.text
    sa.event.remove(store.engine, "connect", break_it)
    store.close()  # so that it connects anew
    with store.read() as connection:
        assert connection.execute(sa.select(votes)).all() == []
        assert connection.scalars(sa.select(leases.c.state)).all() in (["held"], ["held", "reserved"])
    assert client.post("/answer", data=fields, headers={"X-Requested-With": "fetch"}).json["saved"] is True


def _fill_up(store):
    """Use what is left of the event log's last page, so that the next event finds no room."""
    with contextlib.suppress(sa.exc.OperationalError):
        for _ in range(1000):
            with store.write() as connection:
                connection.exec_driver_sql("INSERT INTO events (at, kind, data) VALUES (0, 'x', '')")
