"""The application of a study in this process, and a person at it who knows nothing but what the pages say."""

import contextlib

import httpx

from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.web.app import ServerConfig, create_app

FETCH = {"X-Requested-With": "fetch"}


@contextlib.contextmanager
def live(url, hit, **config):
    """The application of the store at `url`: without sockets, which take longer than all that it does itself."""
    app = create_app(ServerConfig(url, hit, rate=0, **config))
    try:
        yield app
    finally:
        app.extensions["desk"].store.close()


class Visitor:
    """One person with one browser."""

    def __init__(self, app):
        self.client = httpx.Client(base_url="http://127.0.0.1", transport=httpx.WSGITransport(app), trust_env=False)

    def arrive(self, rater, sitting="1", **more):
        """Open the page, agree if asked; returns the status of the first reply."""
        page = self.client.get("/", params={"rater": rater, "sitting": sitting, **more})
        if page.status_code == 200:
            self.client.post("/consent", data=PageForm(page.text).fields)
        return page.status_code

    def look(self):
        """What the page's script is told is due."""
        reply = self.client.get("/task", headers=FETCH)
        if reply.status_code == 303:  # nothing is stored of them yet
            reply = self.client.get(reply.headers["Location"], headers=FETCH)
        return reply.json()

    def texts(self, place):
        """The two responses, left and right."""
        return PageForm(place["html"]).shown_texts()[1:]

    def pair(self, place):
        """The name of the pair that is shown, which the texts of tests/crowd/study.py tell."""
        return self.texts(place)[0].split()[0]

    def answer(self, place, choice):
        """Choose the response whose text ends with `choice`, or tie; returns the reply."""
        form = PageForm(place["html"])
        left = form.shown_texts()[1]
        pressed = choice if choice == "tie" else "left" if left.endswith(choice) else "right"
        fields = form.fields | {"choice": pressed, "seconds": "2.5"}
        return self.client.post("/answer", data=fields, headers=FETCH).json()

    def work(self, choice, most=1000):
        """Answer what is due by `choice(name of the pair)`, so many times at most; the names, and the last reply."""
        seen, place = [], self.look()
        while place["status"] == "task" and len(seen) < most:
            seen.append(self.pair(place))
            place = self.answer(place, choice(seen[-1]))
        return seen, place


def careful(name):
    """Right at every check of tests/crowd/study.py."""
    return "a"


def always_tie(name):
    """Wrong at every check."""
    return "tie"
