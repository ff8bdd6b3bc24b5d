"""Small studies of live conversations: topics, systems that nobody asks, and a rater at the desk."""

import dataclasses

import sqlalchemy as sa

from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rating import talks
from seedvote.crowd.rating.talks import CallResult
from seedvote.crowd.store.tables import replies
from seedvote.dialogue.records import Candidate, Pair, Utterance
from seedvote.dialogue.validity import written_out
from tests.crowd.study import seated

SERVER = "host:1:here"
NAMES = ("secretours", "secrettheirs")
RULES = {
    "form": "live",
    "votes_per_pair": 2,
    "pairs_per_sitting": 4,
    "first_checks": 0,
    "later_checks": 0,
    "max_failures": 1,
    "lease_minutes": 10,
}
PRICES = {"price_in": 1000.0, "price_out": 2000.0}


def hit_of(*urls, systems=NAMES, live=None, prices=PRICES, **rules):
    """A HIT whose systems are at these addresses, or nowhere."""
    urls = urls or ("http://127.0.0.1:9/v1",) * len(systems)
    rows = [{"name": name, "url": url, "model": f"{name}-1", **prices} for name, url in zip(systems, urls, strict=True)]
    table = {"turns": [1, 3], "characters": 40, "reply_tokens": 10, "budget": 1e6, **(live or {}), "systems": rows}
    return dataclasses.replace(hit_from({**RULES, **rules, "live": table}, "test"), examples=())


def make_topics(real=3, checks=0, opening=(), systems=NAMES):
    """Pairs of systems on topics, and checks whose b is played."""
    context = tuple(Utterance(speaker, text) for speaker, text in opening)

    def pair(name, **more):
        one, two = (Candidate("", system) for system in systems[:2])
        return Pair(name, f"i-{name}", context, one, two, dialogue=f"i-{name}", extra={"topic": f"On {name}"}, **more)

    said = tuple(Utterance("system", f"wrong {n}") for n in range(5))
    played = Candidate(written_out(said), "off-topic", None, "check", said, "system")
    made = [pair(f"p{n}") for n in range(real)]
    return made + [dataclasses.replace(pair(f"c{n}", kind="check", answer="a"), b=played) for n in range(checks)]


class Guest:
    """A rater at the desk who talks, and whose systems answer as the test says."""

    def __init__(self, desk, name, sitting="1"):
        self.desk, self.seat = desk, seated(desk, name, sitting)

    @property
    def token(self):
        return self.desk.next_step(self.seat).shown.token

    def page(self):
        """What is shown of the conversation."""
        shown = self.desk.next_step(self.seat).shown
        content = self.desk.rules.form.on_page(shown.token, shown.pair, shown.layout, 1)
        return self.desk.look(lambda moment: talks.show_talk(moment, content, shown.layout))[0]

    def say(self, text="Hello.", number=None):
        """The replies that are to be asked for."""
        number = self.page().turn if number is None else number
        return self.desk.change(lambda moment: talks.say(moment, self.seat, self.token, number, text))

    def ask_again(self):
        turn = self.page().turn
        return self.desk.change(lambda moment: talks.ask_again(moment, self.seat, self.token, turn))

    def hand_back(self):
        return self.desk.change(lambda moment: talks.hand_back(moment, self.seat, self.token))

    def talk(self, times=1, text="Hello."):
        """Say something and be answered, so often."""
        for _ in range(times):
            for key in self.say(text):
                answer(self.desk, key)

    def vote(self, choice="left"):
        return self.desk.answer(self.seat, self.token, choice, 1.0)


def send(desk, key, server=SERVER, until=None):
    """Take a call, as a server does before it asks."""
    until = desk.clock() + 60 if until is None else until
    return desk.change(lambda moment: talks.send_call(moment, key, server, until))


def settle(desk, call, server=SERVER, **what):
    """What comes of it."""
    return desk.change(lambda moment: talks.settle_call(moment, call, CallResult(**what), server))


def answer(desk, key, text="Good day.", tokens_in=5, tokens_out=3, **more):
    """The whole of one call; the call."""
    call = send(desk, key)
    settle(desk, call, text=text, tokens_in=tokens_in, tokens_out=tokens_out, **more)
    return call


def rows_of(desk, table=replies):
    """All rows."""
    with desk.store.read() as connection:
        return connection.execute(sa.select(table)).all()


def money_of(desk):
    """How the money stands."""
    from seedvote.crowd.rating.talk_money import read_money

    return desk.look(lambda moment: read_money(moment, moment.rules.hit.live))
