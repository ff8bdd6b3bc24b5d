"""A study with every entrance open, in memory: pairs whose better response is known, raters who speak HTML forms."""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import httpx
from werkzeug.serving import make_server

from seedvote.crowd.hit.hit import read_hit
from seedvote.crowd.marketplaces.market import usual_entrances
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.launches import open_door
from seedvote.crowd.store.store import open_store
from seedvote.crowd.study_folder import prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import write_questions
from seedvote.dialogue.records import Candidate, Pair, Utterance
from tests.crowd.questions import make_questions
from tests.house.waiting import PATIENCE

SITES = ("https://www.mturk.com",)
ADDRESSES = {
    "local": {"rater": "WORKER", "sitting": "SITTING"},
    "mturk": {"workerId": "WORKER", "assignmentId": "SITTING", "hitId": "TASK", "turkSubmitTo": "SITE"},
    "prolific": {"PROLIFIC_PID": "WORKER", "SESSION_ID": "SITTING", "STUDY_ID": "TASK"},
    "panel": {"id": "WORKER", "visit": "SITTING"},
    "mephisto": {"worker_id": "WORKER", "assignment_id": "SITTING"},
}


def pair(name, kind="real", answer=None):
    sides = [Candidate(f"{name} says {side}", "bilstm_attn", n) for n, side in enumerate("ab")]
    context = (Utterance("user", "Hello."), Utterance("system", "Hi."), Utterance("user", f"About {name}?"))
    return Pair(name, f"d:{name}", context, *sides, kind=kind, answer=answer, dialogue="d")


def write_pairs(path, reals=6, checks=8):
    pairs = [pair(f"p{n}") for n in range(reals)] + [pair(f"c{n}", "check", "a") for n in range(checks)]
    write_records(path, pairs, signature="test", kind=Pair)


def as_toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {as_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


def make_study(folder, *, reals=6, entrances=(), sites=SITES, launched=True, invited=False, database=None, **hit):
    """An application on a fresh store, launched on both marketplaces; checks are right when response a is chosen."""
    values = {"pairs_per_sitting": 6, "later_checks": 2, "completion_code": "CDONE", "screened_out_code": "COUT"}
    values |= hit
    (folder / "hit.toml").write_text("".join(f"{name} = {as_toml(value)}\n" for name, value in values.items()))
    settings = read_hit(folder / "hit.toml")
    if settings.form == "choice":
        write_questions(folder / "questions.jsonl", make_questions(reals, checks=8))
    else:
        write_pairs(folder / "pairs.jsonl", reals=reals)
    url = prepare_study(folder, None, settings, database, seed=0, simulated=False)
    if launched:
        store = open_store(url)
        with store.write() as connection:
            for source in ("mturk", "prolific"):
                open_door(connection, source, [])
        store.close()
    usual = usual_entrances(settings, sites[0] if sites else "")
    config = ServerConfig(
        url,
        settings,
        rate=0,
        frame_ancestors=sites,
        submit_to=sites[0] if sites else "",
        entrances=(*usual, *entrances),
        https=True,
        invited=invited,
    )
    return create_app(config)


@contextmanager
def served(app):
    """The application on a free port of this machine; gives its address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Person:
    """A rater from one source; `prefers` names the response that they choose: a, b or tie."""

    app: object
    source: str
    worker: str
    prefers: str = "a"
    sitting: str = "s1"
    site: str = SITES[0]
    task: str = "H1"
    address: str = ""  # where the marketplace sends them; made from the ids where it is empty

    def __post_init__(self):
        self.client, self.seen, self.form = self.new_client(), [], {}

    def new_client(self):
        """A browser without cookies: over HTTP where `app` is an address, else straight into the application."""
        if isinstance(self.app, str):
            nothing_kept = httpx.Limits(max_keepalive_connections=0)
            return httpx.Client(base_url=self.app, trust_env=False, timeout=PATIENCE, limits=nothing_kept)
        return httpx.Client(base_url="https://x.org", transport=httpx.WSGITransport(self.app))

    def send(self, method, path, headers=None, **options):
        """Send all cookies, secure ones too: browsers take this machine for secure."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.client.cookies.jar)
        headers = {**(headers or {}), **({"Cookie": cookies} if cookies else {})}
        return self.client.request(method, path, headers=headers, **options)

    def arrive(self):
        """Come by the address of that source; forgets cookies first."""
        self.client.close()
        self.client = self.new_client()
        words = {"WORKER": self.worker, "SITTING": self.sitting, "SITE": self.site, "TASK": self.task}
        query = {name: words.get(value, value) for name, value in ADDRESSES[self.source].items()}
        return self.send("GET", "/", params=dict(parse_qsl(urlsplit(self.address).query)) or query)

    def look(self):
        return self.send("GET", "/task", headers=FETCH).json()

    def begin(self):
        """Arrive, consent, do the examples; gives the first place."""
        reply = self.arrive()
        if reply.status_code == 200 and "/consent" not in reply.text:
            return {"status": "turned away"}
        if reply.status_code == 200:
            self.send("POST", "/consent", data=PageForm(reply.text).fields | {"agree": "yes"})
        place = self.look()
        while place["status"] in ("about", "instructions"):
            path = "/about" if place["status"] == "about" else f"/instructions/{place['number']}"
            told = {"choice": "tie", "first": "0", "second": "1", "about-knowledge": "nothing"}
            self.send("POST", path, data=PageForm(self.send("GET", path).text).fields | told)
            place = self.look()
        return place

    def judge(self, place):
        """Answer by the text preferred, whatever side it stands on."""
        form = PageForm(place["html"])
        context, left, right = form.shown_texts()
        self.seen.append((context[-1].text.removeprefix("About ").removesuffix("?"), left[-1]))
        choice = {left[-1]: "left", right[-1]: "right"}.get(self.prefers, "tie")
        self.form = form.fields | {"choice": choice, "seconds": "1.5"}
        return self.send("POST", "/answer", data=self.form, headers=FETCH).json()

    def choose(self, place):
        """Answer a question of tests/crowd/questions.py: the true option first, or the last one but it."""
        form = PageForm(place["html"])
        _, *texts = form.shown_texts()
        name = texts[0].split()[0]
        truth = texts.index(f"{name} option {int(name[1:]) % 5}")
        self.seen.append((name, truth))
        places = [truth, (truth + 1) % 5] if self.prefers == "a" else [(truth + 1) % 5, truth]
        self.form = form.fields | {"first": str(places[0]), "second": str(places[1]), "seconds": "1.5"}
        return self.send("POST", "/answer", data=self.form, headers=FETCH).json()

    def work(self, most=1000):
        """Judge until there is nothing more; gives the last place."""
        place = self.begin()
        while place["status"] == "task" and most:
            answer = self.choose if 'name="first"' in place["html"] else self.judge
            place, most = answer(place), most - 1
        return place

    def end(self):
        return self.send("GET", "/task").text

    def lefts(self):
        return Counter(side for _, side in self.seen)
