"""Raters who talk and do what people do to pages, and an audit that believes the endpoints' own books alone."""

import html as escaping
import json
import random
import re
import threading
import time
from collections import defaultdict
from functools import partial

import httpx
import sqlalchemy as sa

from seedvote.crowd.forms.live import is_played, sides_of
from seedvote.crowd.rating import talks
from seedvote.crowd.rating.talk_books import held_conversations
from seedvote.crowd.rating.talk_money import most_tokens_in, price
from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.identity import call_name
from seedvote.crowd.store.store import settings
from seedvote.crowd.store.tables import leases, messages, pairs, replies, votes
from tests.crowd.arena import NAMES
from tests.crowd.study import check_books
from tests.crowd.unkind import NAMED, TRUE_USAGE, columns

FETCH = {"X-Requested-With": "fetch"}
SIGNS = "abc déf <b>&amp; 你好 \u202e\U0001f600 '\";--"
ENDED = ("answered", "failed", "dropped")


class Talker:
    """One person, in a browser of their own; `client` reaches the study, perhaps by one of several servers."""

    def __init__(self, client, name, seed, secrets=NAMES):
        self.client, self.name, self.draw, self.secrets = client, name, random.Random(f"{seed} {name}"), secrets
        self.said, self.seen, self.old, self.saved, self.trouble = [], set(), [], set(), []

    def send(self, method, path, **what):
        """A request; what comes back should be no error of the server's, and name no system."""
        reply = self.client.request(method, path, **what)
        text = reply.text.replace(escaping.escape(NAMED), "").replace(NAMED, "")
        known = [secret for secret in self.secrets if secret in text or secret in repr(reply.headers)]
        if reply.status_code >= 500 or known:
            self.trouble.append((method, path, reply.status_code, known))
        return reply

    def arrive(self):
        page = self.send("GET", "/", params={"rater": self.name})
        if page.status_code == 200 and "/consent" in page.text:
            self.send("POST", "/consent", data=PageForm(page.text).fields)

    def place(self):
        reply = self.send("GET", "/task", headers=FETCH)
        if reply.status_code == 303:
            self.arrive()
            reply = self.send("GET", "/task", headers=FETCH)
        place = reply.json() if reply.headers.get("content-type", "").startswith("application/json") else {}
        html = place.get("html") or ""
        if html:
            shown = columns(html)
            if len(shown) != 2 or shown[0] != shown[1]:
                self.trouble.append(("one side alone", shown))
            lines = re.findall(r'<li class="other">(.*?)</li>', html, re.S)
            self.seen.update(text for text in self.said if any(escaping.escape(text) in line for line in lines))
        return place

    def post(self, path, fields, **more):
        """A form, now and then as a page without a script sends it."""
        headers = {} if self.draw.random() < 0.2 else FETCH
        self.old = [*self.old[-3:], fields]
        return self.send("POST", path, data=fields | more, headers=headers)

    def say(self, fields):
        text = f"{self.name}-{len(self.said)} {''.join(self.draw.choices(SIGNS, k=self.draw.randint(0, 20)))}".strip()
        self.said.append(text)
        manner = self.draw.random()
        if manner < 0.15:  # pressed twice, or from two tabs with other words
            other = f"{self.name}-{len(self.said)} twice"
            self.said.append(other)
            tabs = [
                threading.Thread(target=self.post, args=("/say", fields), kwargs={"text": t}) for t in (text, other)
            ]
            for tab in tabs:
                tab.start()
            for tab in tabs:
                tab.join()
        else:
            for _ in range(2 if manner < 0.3 else 1):
                self.post("/say", fields, text=text)

    def act(self, *, calm=False):
        """One thing that a person does; whether there is more to do."""
        place = self.place()
        if place.get("status") == "instructions":
            path = f"/instructions/{place['number']}"
            self.send("POST", path, data=PageForm(self.send("GET", path).text).fields | {"choice": "left"})
            return True
        if place.get("status") != "task":
            if place.get("status") == "wait" and self.draw.random() < 0.1:
                fields = PageForm(self.send("GET", "/task").text).fields
                self.send("POST", "/hand-in", data=fields)
            return place.get("status") == "wait"
        fields, whim = PageForm(place["html"]).fields, self.draw.random()
        stage = fields["stage"]
        if not calm and whim < 0.25:
            self.meddle(fields)
        elif stage == "failed":
            # who may neither ask again nor hand back is refused
            self.post("/ask-again" if whim < 0.7 and "ask-again" in place["html"] else "/hand-back", fields)
        elif stage == "choose" and (whim < 0.6 or calm or 'name="text"' not in place["html"]):
            reply = self.post("/answer", fields, choice=self.draw.choice(("left", "right", "tie")))
            if reply.status_code == 303 or '"saved":true' in reply.text.replace(" ", ""):
                self.saved.add(fields["lease"])
                if not calm and self.draw.random() < 0.2:
                    self.undo(fields)
        elif stage in ("say", "choose") and 'name="text"' in place["html"]:
            self.say(fields)
        return True

    def undo(self, fields):
        if self.draw.random() < 0.5:  # by the page that follows
            self.saved.discard(fields["lease"])
            followed = PageForm(self.place().get("html") or "").fields
            self.post("/undo", followed | {"last": fields["lease"], "seat": fields["seat"]})
        else:
            self.post("/answer", fields, choice="tie")  # the same again, otherwise

    def meddle(self, fields):
        """What a page does not offer: early votes, old pages, skipped turns, the other ways of a failed talk."""
        act, old = self.draw.randrange(7), self.draw.choice(self.old or [fields])
        if act == 0:
            self.post("/answer", fields, choice="left")
        elif act == 1:
            self.post("/say", old, text="from an old page")
        elif act == 2:
            self.post("/say", fields, text="skipped", turn=str(int(fields["turn"]) + 1))
        elif act == 3:
            self.post("/hand-back", old)
        elif act == 4:
            self.post("/ask-again", old)
        elif act == 5:
            self.post("/answer", old, choice="right")
        else:
            self.send("GET", self.draw.choice(("/", "/say", "/done", "/stored", "/task?note=saved")))


def read_all(store, table):
    with store.read() as connection:
        return connection.execute(sa.select(table)).all()


def talk_to_the_end(talkers, doubles, pause, seconds=90):
    """Until nobody has anything left to do, with endpoints that answer."""
    for double in doubles:
        double.whims = {"answer": 1}
    busy, until = list(talkers), time.monotonic() + seconds
    while busy and time.monotonic() < until:
        busy = [talker for talker in busy if talker.act(calm=True)]
        pause()


def audit(desk, doubles, talkers):
    """Everything recomputed from what the endpoints were asked, what they charged, and what raters saw."""
    rule, store = desk.rules.hit.live, desk.store
    trouble = [what for talker in talkers for what in talker.trouble]
    assert not trouble, trouble
    with store.read() as connection:
        secret = settings(connection)["secret"]
        found = connection.execute(sa.select(leases, pairs.c.body).join(pairs, pairs.c.pair == leases.c.pair)).all()
    lease_rows = {row.lease: row for row in found}
    said = defaultdict(dict)
    for row in read_all(store, messages):
        said[row.lease][row.number] = row.text
    rows = {(row.lease, row.number, row.side): row for row in read_all(store, replies)}

    def key_of(asked):
        """The stored reply that was asked for: its name is made of the reply's key and of what was sent."""
        body = json.dumps(asked.body, sort_keys=True)
        for key, row in rows.items():
            if any(call_name(secret, *key, heard, body) == asked.name for heard in range(row.calls + 1) if row.calls):
                return key
        raise AssertionError(f"it was asked for what nobody stored: {asked}")

    def system(key):
        return sides_of(desk.rules.form.record_of(lease_rows[key[0]].body))[key[2]]

    def sent(key):
        """What must have been sent, from what is stored."""
        lease, last, side = key
        lines = []
        for number in range(1, last + 1):
            lines.append({"role": "user", "content": said[lease][number]})
            if number < last and (row := rows.get((lease, number, side))) is not None and row.text:
                lines.append({"role": "assistant", "content": row.text})
        return lines

    calls = defaultdict(list)
    for name, double in doubles.items():
        for asked in double.asked:
            key = key_of(asked)
            assert system(key).model == name
            assert asked.messages == sent(key)
            calls[key].append(asked)
    charged = 0.0
    for key, row in rows.items():
        if is_played(system(key)):
            continue
        its, priced = calls[key], rule.system(system(key).model)
        truth = sum(price(priced, *asked.tokens) for asked in its)
        bound = price(priced, most_tokens_in(sent(key)), rule.reply_tokens)
        charged += truth
        where = (key, row, [asked.whim for asked in its])
        assert row.state in ENDED and not row.bound, where
        assert len(its) <= row.calls, where
        assert truth <= row.spent + 1e-9, where  # nothing that was charged is forgotten
        assert row.spent <= row.calls * bound + 1e-9, where
        if not row.lost and not row.doubted:
            assert abs(truth - row.spent) < 1e-9, where  # and nothing is counted twice
        if row.state == "answered":
            assert its and row.text, where
            assert len(its) == 1 or row.lost or all(asked.whim not in TRUE_USAGE for asked in its[:-1]), where
    spent = sum(row.spent for row in rows.values())
    assert charged <= spent + 1e-9
    assert rule.budget is None or spent <= rule.budget + 1e-9, (spent, rule.budget)
    by_rater = defaultdict(set)
    for lease, texts in said.items():
        by_rater[lease_rows[lease].rater].update(texts.values())
        assert sorted(texts) == list(range(1, len(texts) + 1)) and len(texts) <= rule.turns[1]
    everything = set().union(*by_rater.values()) if by_rater else set()
    for talker in talkers:
        assert talker.seen <= everything  # what somebody saw of their own words is stored
    voted = {lease_rows[row.lease].token for row in read_all(store, votes)}
    assert all(talker.saved <= voted for talker in talkers)  # what was said to be saved is
    for vote in read_all(store, votes):
        for number in range(1, rule.turns[0] + 1):
            assert {rows[vote.lease, number, side].state for side in "ab"} == {"answered"}
    check_books(desk)
    for held in desk.look(held_conversations):
        assert "secret" not in repr(held).replace(NAMED, "")
    return {"calls": sum(map(len, calls.values())), "spent": spent, "charged": charged, "replies": len(rows),
            "lost": sum(row.lost for row in rows.values()), "votes": len(read_all(store, votes))}  # fmt: skip


def client_of(transport, url="http://127.0.0.1"):
    return httpx.Client(base_url=url, transport=transport, trust_env=False, timeout=60)


def give_up_the_rest(desk):
    """Calls of servers that are gone, in conversations that nobody looks at any more."""
    for row in read_all(desk.store, replies):
        if row.state in talks.PENDING:
            key = talks.ReplyKey(row.lease, row.number, row.side)
            desk.change(partial(talks.give_up, key=key, why="gone", calls=row.calls))
