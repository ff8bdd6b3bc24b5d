"""Asks the systems that raters talk to: in threads of its own, so that no page waits and no lock is held meanwhile.

Each system has as many threads as its `concurrency`; what comes beyond that waits in its queue. Before a call is sent
it is written that it is, and its answer is stored before anybody is told (crowd/rating/talks.py).
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any

import httpx
from sqlalchemy.exc import SQLAlchemyError

from seedvote.crowd.hit.live import LiveRule, LiveSystem
from seedvote.crowd.rating import talks
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.talks import PENDING, CallResult, ReplyKey, SentCall, Talk
from seedvote.crowd.store.identity import call_name
from seedvote.crowd.store.replies import LostTurn
from seedvote.dialogue.engines.chat import Call, Endpoint, TryOutcome, ask_once
from seedvote.dialogue.errors import InputError

LOG = logging.getLogger("crowd")
FIRST_WAIT = 1.0  # seconds before an endpoint that is busy is asked again, doubled each time
GRACE = 10.0  # seconds after its time for which a call is waited for before it is given up
STORE_PATIENCE = 60.0  # seconds for which the outcome of a call is offered to a store that is away
GONE = "its server ended while it was asked for"
EMPTY = "the reply was empty"
MOST_TOKENS = 2**31 - 1  # that a store can hold; a usage of more is none
ALIVE: set[str] = set()  # those of this process


class Endpoints:
    """The endpoints of one study, as one server process asks them."""

    def __init__(self, desk: Desk, environment: Mapping[str, str] = os.environ) -> None:
        self.desk, self.environment = desk, environment
        self._name = secrets.token_hex(4)
        ALIVE.add(self._name)
        self._queues: dict[str, SimpleQueue[ReplyKey]] = {}
        self._renames: dict[str, dict[str, str]] = {}
        self._mine: set[ReplyKey] = set()  # queued or being asked here
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._ending = threading.Event()
        rule = desk.rules.hit.live
        for system in rule.systems if rule else ():
            self._key_of(system)

    @property
    def server(self) -> str:
        """What says which process sent a call; of a fork it is another one."""
        return f"{socket.gethostname()}:{os.getpid()}:{self._name}"

    def _key_of(self, system: LiveSystem) -> str:
        key = self.environment.get(system.key, "").strip() if system.key else ""
        if system.key and not key:
            raise InputError(
                f"{system.name} needs a key: set the environment variable {system.key} for the server, or leave key "
                "out."
            )
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"The key in {system.key} holds a sign that no header can carry. Copy it again.")
        return key

    # From the pages

    def ask(self, keys: Iterable[ReplyKey]) -> None:
        """Have these replies asked for; returns at once."""
        for key in keys:
            self._put(key)

    def look_after(self, talk: Talk) -> bool:
        """See to replies that nobody asks for any more; whether anything was changed."""
        rule, now, changed = self.desk.rules.hit.live, self.desk.clock(), False
        for row in talk.newest if rule else ():
            key = ReplyKey(talk.lease, row.number, row.side)
            if row.state not in PENDING or key in self._mine:
                continue
            if row.state == "sent" and (now > row.until or self._is_dead(row.server)):
                self.desk.change(partial(talks.give_up, key=key, why=GONE, calls=row.calls))
                changed = True
            elif row.state == "queued":  # by a server that is gone; else that one, or this one, is the first to send it
                self._put(key)
        return changed

    def _is_dead(self, server: str) -> bool:
        """Whether that process has ended, for all that can be seen from here."""
        host, pid, name = server.rsplit(":", 2)
        if host != socket.gethostname():
            return False
        if int(pid) == os.getpid():
            return name not in ALIVE
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    def finish(self, seconds: float) -> None:
        """Let what is under way come in, for so long at most; what is queued is asked by the next server."""
        self._ending.set()
        until = time.monotonic() + seconds
        while self._mine and time.monotonic() < until:
            time.sleep(0.05)
        ALIVE.discard(self._name)

    # In threads

    def _put(self, key: ReplyKey) -> None:
        rule = self.desk.rules.hit.live
        name = self.desk.look(lambda moment: talks.system_of(moment, key)) if rule else None
        system = rule.system(name) if rule and name else None
        if system is None:
            return
        with self._lock:
            if key in self._mine or self._ending.is_set():
                return
            self._mine.add(key)
            queue = self._queues.get(system.name)
            if queue is None:
                queue = self._queues[system.name] = SimpleQueue()
                for _ in range(system.concurrency):
                    threading.Thread(target=self._work, args=(queue,), daemon=True).start()
            queue.put(key)

    def _work(self, queue: SimpleQueue[ReplyKey]) -> None:
        while True:
            key = queue.get()
            try:
                if not self._ending.is_set():
                    self._ask_patiently(key)
            except Exception as error:  # whoever waits is told by the page, and the next call must not wait
                LOG.exception("endpoint", extra={"facts": {"error": type(error).__name__}})
            finally:
                self._mine.discard(key)

    def _ask_patiently(self, key: ReplyKey) -> None:
        """Until there is an answer, or no use in asking, or the time of one call is over."""
        began, waits, losses = time.monotonic(), FIRST_WAIT, 0
        while True:
            rule = self.desk.rules.hit.live
            if rule is None:
                return
            call = self._take_call(key, rule)
            if call is None:
                return
            outcome = self._send_safely(call, rule)
            result = self._read(outcome)
            losses += result.is_charged
            wait = max(waits, outcome.wait or 0.0) if not outcome.is_lost else 0.0
            has_time = time.monotonic() + wait - began < rule.timeout and not self._ending.is_set()
            may_pass = outcome.reply is not None or outcome.wait is not None
            asks_again = not result.text and may_pass and has_time and losses < 2
            if not self._settle(call, result, asks_again=asks_again):
                return
            self._ending.wait(wait)
            waits *= 2

    def _take_call(self, key: ReplyKey, rule: LiveRule) -> SentCall | None:
        until = self.desk.clock() + 2 * rule.timeout + GRACE  # a reply that drips may take twice its time
        return self.desk.change(lambda moment: talks.send_call(moment, key, self.server, until))

    def _send_safely(self, call: SentCall, rule: LiveRule) -> TryOutcome:
        """Whatever goes wrong has an outcome: else its rater would wait until the call is given up."""
        try:
            return self._send(call, rule)
        except Exception as error:
            LOG.exception("endpoint", extra={"facts": {"error": type(error).__name__}})
            return TryOutcome(None, f"the call ended with {type(error).__name__}", is_lost=True, wait=0.0)

    def _send(self, call: SentCall, rule: LiveRule) -> TryOutcome:
        system = rule.system(call.system)
        if system is None:
            return TryOutcome(None, "hit.toml no longer names this system")
        options = {"max_tokens": rule.reply_tokens}
        if system.temperature is not None:
            options |= {"temperature": system.temperature}  # type: ignore[dict-item]
        key = self._key_of(system)
        endpoint = Endpoint(system.url, system.model, key, timeout=rule.timeout)
        with self._lock:
            renames = self._renames.setdefault(system.name, {})
            if self._client is None:
                self._client = httpx.Client(limits=httpx.Limits(max_connections=None))

        def name_body(body: Mapping[str, Any]) -> str:
            """Who knows it answers a call that comes again, because its answer was lost, without charging twice."""
            spelled = json.dumps(body, sort_keys=True)
            return call_name(self.desk.secret, call.key.lease, call.key.number, call.key.side, call.heard, spelled)

        return ask_once(self._client, endpoint, Call(call.messages, options), renames, name_body)

    @staticmethod
    def _read(outcome: TryOutcome) -> CallResult:
        reply = outcome.reply
        if reply is None:
            LOG.warning("endpoint", extra={"facts": {"trouble": outcome.trouble[:80], "lost": outcome.is_lost}})
            return CallResult(why=outcome.trouble, is_charged=outcome.is_lost, is_lost=outcome.is_lost)
        text = _storable(reply.spoken).strip()
        facts = {"finish": _storable(reply.finish), "model": _storable(reply.model), "seconds": reply.seconds}
        usage = {"tokens_in": _storable_count(reply.tokens_in), "tokens_out": _storable_count(reply.tokens_out)}
        why = "" if text else EMPTY
        return CallResult(text, why=why, is_charged=not text, **facts, **usage)  # type: ignore[arg-type]

    def _settle(self, call: SentCall, result: CallResult, *, asks_again: bool) -> bool:
        """Store what came of a call, also if the store is away for a while: it was paid for."""
        result = replace(result, asks_again=asks_again)
        until = time.monotonic() + STORE_PATIENCE
        while True:
            try:
                return self.desk.change(lambda moment: talks.settle_call(moment, call, result, self.server))
            except (SQLAlchemyError, LostTurn):
                if time.monotonic() > until:
                    raise
            time.sleep(0.5)


def _storable(text: str) -> str:
    """What any database takes of a text: JSON can hold a NUL, and half of a character.

    >>> _storable("a" + chr(0) + "b" + chr(0xD800))
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _storable_count(tokens: int | None) -> int | None:
    return tokens if tokens is not None and tokens <= MOST_TOKENS else None
