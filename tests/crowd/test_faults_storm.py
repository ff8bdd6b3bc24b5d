"""Live conversations on real servers whose workers and masters are killed while systems answer: the books stand."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.store.store import open_store
from seedvote.crowd.study_folder import hit_of, prepare_study
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.arena import NAMES, make_topics
from tests.crowd.real_server import free_port
from tests.crowd.storm import Talker, audit, client_of, give_up_the_rest, talk_to_the_end
from tests.crowd.study import database
from tests.crowd.unkind import UnkindServer
from tests.house.forked import Forked
from tests.house.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
HIT = """
form = "live"
votes_per_pair = 2
pairs_per_sitting = 3
first_checks = 0
later_checks = 0
max_failures = 1

[live]
turns = [1, 3]
characters = 60
reply_tokens = 10
budget = {budget}
timeout = 2
"""
SYSTEM = """
[[live.systems]]
name = "{name}"
url = "{url}"
model = "{name}-1"
price_in = 1000.0
price_out = 2000.0
"""


class Gunicorn:
    """Two workers and their master."""

    def __init__(self, study, url):
        self.port, self.lock = free_port(), threading.Lock()
        self.environment = os.environ | {"SEEDVOTE_STUDY": str(study), "SEEDVOTE_DATABASE": url, "SEEDVOTE_RATE": "0"}
        self.environment |= {"SEEDVOTE_WALK_IN": "1", "SEEDVOTE_QUIET": "1"}
        self.command = ["-m", "gunicorn", "--workers", "2", "--threads", "4", "--log-level", "critical"]
        self.command += ["--bind", f"127.0.0.1:{self.port}", "seedvote.crowd.wsgi:from_environment()"]
        self.start()

    def start(self):
        self.process = Forked(self.command, cwd=ROOT, env=self.environment)
        wait_for(self.answers)

    def answers(self):
        with contextlib.suppress(httpx.TransportError):
            address = f"http://127.0.0.1:{self.port}/health"
            return httpx.get(address, trust_env=False, timeout=PATIENCE).status_code == 200
        return False

    def workers(self):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    def kill_worker(self, draw):
        """The master starts another one."""
        if workers := self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(workers), signal.SIGKILL)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def kill_all(self):
        self.end()
        self.start()


class Patient(httpx.BaseTransport):
    """Each request goes to one of the servers. A page that does not come is loaded again, a form is not sent again."""

    def __init__(self, servers, draw):
        self.servers, self.draw, self.inner = servers, draw, httpx.HTTPTransport()

    def close(self):
        self.inner.close()

    def handle_request(self, request):
        until = time.monotonic() + PATIENCE
        while True:
            server = self.draw.choice(self.servers)
            request.url = request.url.copy_with(port=server.port)
            request.headers["Host"] = f"127.0.0.1:{server.port}"
            try:
                reply = self.inner.handle_request(request)
                reply.read()
                if reply.status_code == 503:  # it says itself that nothing was saved
                    raise httpx.ReadError("the store is away")
                return reply
            except httpx.TransportError:
                if request.method == "POST":
                    return httpx.Response(204, request=request)
                assert time.monotonic() < until
                time.sleep(0.1)


def storm_with_kills(folder, kind, seed, acts=25):
    """What was killed how often, and what the audit counted."""
    draw = random.Random(seed)
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(database(kind, folder))
        doubles = {name: stack.enter_context(UnkindServer(f"{seed} {name}")) for name in NAMES}
        study = folder / "study"
        study.mkdir()
        write_records(study / "pairs.jsonl", make_topics(8), signature="test", kind=Pair)
        systems = [SYSTEM.format(name=name, url=double.url) for name, double in doubles.items()]
        text = HIT.format(budget=draw.choice((2.0, 6.0, 1000.0)))
        (study / "hit.toml").write_text(text + "".join(systems))
        prepare_study(study, None, hit_of(study, None), url, seed=0, simulated=False)
        servers = [Gunicorn(study, url) for _ in range(2 if kind == "postgresql" else 1)]
        for server in servers:
            stack.callback(server.end)
        secrets = (*NAMES, *(f":{double.http.server_port}" for double in doubles.values()))
        talkers = [Talker(client_of(Patient(servers, draw)), f"r{n}", seed, secrets) for n in range(4)]
        for talker in talkers:
            stack.callback(talker.client.close)
        done, killed = threading.Event(), {"worker": 0, "all": 0}

        def kill():
            while not done.wait(draw.uniform(0.2, 2.0)):
                server, how = draw.choice(servers), "worker" if draw.random() < 0.7 else "all"
                server.kill_worker(draw) if how == "worker" else server.kill_all()
                killed[how] += 1

        def talk(talker):
            for number in range(acts):
                talker.act()
                if number == 3:  # however quick the machine is, the rest of it meets a kill
                    wait_for(lambda: sum(killed.values()))

        threads = [threading.Thread(target=talk, args=(talker,)) for talker in talkers]
        killer = threading.Thread(target=kill)
        for thread in (*threads, killer):
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        killer.join()
        talk_to_the_end(talkers, doubles.values(), lambda: time.sleep(0.1))
        for server in servers:
            server.kill_all()
        for talker in talkers:
            talker.place()
        store = stack.enter_context(contextlib.closing(open_store(url)))
        desk = Desk(store, hit_of(study, None))
        give_up_the_rest(desk)
        return killed, audit(desk, doubles, talkers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_servers_leave_books_that_stand(tmp_path, kind):
    killed, counts = storm_with_kills(tmp_path, kind, seed=1)
    assert killed["worker"] + killed["all"] > 0 and counts["calls"] > 10
