"""Asks endpoints that speak the chat-completions protocol: concurrent, patient, resumable, never twice for one call.

Every reply is appended to a journal as soon as it is there, under a hash of everything that was sent. A run that is
broken off anywhere asks for the rest only; another prompt, model, seed or address is another call. Each try is written
down before it is sent: one whose answer was lost on the way (cut off, timed out, killed) may have been charged, so it
counts at its bound towards the budget, in this run and in later ones, and the call is asked again. The key goes into
the header of the request and nowhere else.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Condition, Event
from typing import IO, Any

import httpx

from seedvote.dialogue.errors import InputError

TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}
KEPT = "Answers so far are kept; run the same command again to go on."
LONG_KEY = 16  # characters; a shorter one ("none", for a server that wants any) may be a word of a reply
THOUGHT_ENDS = re.compile(r".*</think(?:ing)?>", re.S | re.I)  # its beginning may stand in the model's template
THOUGHT_BEGINS = re.compile(r"\s*<think(?:ing)?>", re.I)
SHOWN = 300  # characters of what an endpoint says of an error
OPTIONAL = ("temperature", "seed", "response_format")  # where an endpoint refuses them, its own default serves
OTHER_NAME = "max_completion_tokens"  # newer endpoints refuse the older name of the same number
Message = Mapping[str, str]  # {"role": ..., "content": ...}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, for what, and how patiently."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    concurrency: int = 4
    retries: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0  # of one wait; an endpoint that asks for more is left until another day
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked: messages, and options of the protocol such as temperature, seed or max_tokens."""

    messages: Sequence[Message]
    options: Mapping[str, Any]

    def body(self, endpoint: Endpoint) -> dict[str, Any]:
        """The JSON that is sent."""
        return {"model": endpoint.model, "messages": [*self.messages], **self.options}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that all replies of a journal may cost, at prices per million tokens."""

    most: float
    price_in: float
    price_out: float
    price_cached: float | None = None  # of tokens in that the endpoint had in its cache; None: as of others

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """What so many tokens cost; `cached` are among those in."""
        cached = min(cached, tokens_in)
        price = self.price_in if self.price_cached is None else self.price_cached
        return ((tokens_in - cached) * self.price_in + cached * price + tokens_out * self.price_out) / 1e6


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer with what it was charged for; without a text (`content` null or empty) it is no answer."""

    text: str
    tokens_in: int | None  # None: the endpoint does not say
    tokens_out: int | None
    seconds: float | None  # None: not of this reply alone
    model: str  # as the reply names it
    finish: str = ""  # why the model stopped, as the reply says it
    logprobs: Any = None
    thought: bool = False  # it wrote thoughts, in a field of their own or before its answer
    tokens_cached: int = 0  # of those in, as the endpoint says

    @property
    def spoken(self) -> str:
        """The text without the thoughts that a reasoning model writes before it; nothing if they do not end.

        >>> Reply("<think>Is it A? No.</think> B", 1, 1, 0.1, "m").spoken
        'B'
        """
        thoughts = THOUGHT_ENDS.match(self.text)  # `sub` would try at every character of a text without any
        speech = self.text[thoughts.end() :] if thoughts else self.text
        return "" if THOUGHT_BEGINS.match(speech) else speech.strip()

    @property
    def was_cut(self) -> bool:
        """Whether the most tokens were reached before an answer ended."""
        return self.finish == "length"

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        return not self.spoken


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply for every call, in their order, None where the budget ended before it."""

    replies: tuple[Reply | None, ...]
    spent: float  # by the budget's prices, 0 without one; lost answers at their bound
    lost: int = 0  # tries whose answer never arrived, of this run and of earlier ones
    renames: Mapping[str, str] = field(default_factory=dict)  # option -> its name there; "" where it is refused

    @property
    def refused_options(self) -> tuple[str, ...]:
        """Those of OPTIONAL that the endpoint does not take."""
        return tuple(sorted(name for name, other in self.renames.items() if not other))

    @property
    def unasked(self) -> int:
        """Calls that the budget did not allow."""
        return sum(reply is None for reply in self.replies)


def sent_hash(endpoint: Endpoint, call: Call) -> str:
    """A name for everything that is sent, and where to; not for the key, which says who pays."""
    sent = {"url": endpoint.url.rstrip("/"), "body": call.body(endpoint)}
    return hashlib.sha256(json.dumps(sent, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def ask_all(
    endpoint: Endpoint,
    calls: Sequence[Call],
    journal: Path,
    tell: Callable[[], object],
    *,
    budget: Budget | None = None,
    check: Callable[[Reply], None] | None = None,
) -> Answered:
    """Replies to all calls; those in the journal are not asked for again, nor is one call twice.

    `check` sees every new reply after it was kept, one at a time; what it raises ends the run.
    """
    keys = [sent_hash(endpoint, call) for call in calls]
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    with lock_journal(journal) as file, httpx.Client(headers=headers, timeout=endpoint.timeout) as client:
        run = _Run(endpoint, file, _read_journal(journal), budget, client, check)
        for reply in (run.known[key] for key in keys if key in run.known):
            run.check_model(reply)
        missing = {key: call for key, call in zip(keys, calls, strict=True) if key not in run.known}
        with ThreadPoolExecutor(endpoint.concurrency) as pool:
            try:
                for future in as_completed([pool.submit(run.ask, key, call) for key, call in missing.items()]):
                    future.result()
                    tell()
            finally:
                run.stop()  # what is under way still comes in and is kept
                pool.shutdown(cancel_futures=True)
    replies = tuple(run.known.get(key) for key in keys)
    return Answered(replies, run.spent, run.lost, dict(run.renames))


@contextlib.contextmanager
def lock_journal(journal: Path) -> Iterator[IO[str]]:
    """The journal, open to be added to, by one run at a time: two at once would pay for every call twice."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"Another run is asking for the replies in {journal}. Wait until it ends.") from None
        yield file


def journal_line(key: str, reply: Reply) -> str:
    """A reply under the name of what was sent, as `read_journal` reads it."""
    return json.dumps({"sent": key, **asdict(reply)}) + "\n"


def read_journal(path: Path) -> dict[str, Reply]:
    """Replies of earlier runs by the hash of what was sent; a last line that was cut off counts as not there."""
    return _read_journal(path).replies


@dataclass(frozen=True, slots=True)
class _Journal:
    """What earlier runs left: replies, and for each call the bounds of its tries that never had an outcome."""

    replies: dict[str, Reply]
    open_tries: dict[str, list[tuple[int, int]]]  # tokens in and out at most


def _read_journal(path: Path) -> _Journal:
    complete, _, cut = path.read_text(encoding="utf-8").rpartition("\n")
    if cut:
        with path.open("r+", encoding="utf-8") as file:
            file.truncate(len((complete + "\n").encode()) if complete else 0)
    journal = _Journal({}, {})
    for number, line in enumerate(complete.split("\n") if complete else [], 1):
        try:
            value = json.loads(line)
            if "tried" in value:
                journal.open_tries.setdefault(value["tried"], []).append((int(value["in"]), int(value["out"])))
            elif "refused" in value:
                journal.open_tries[value["refused"]].pop()
            else:
                key = value.pop("sent")
                journal.replies[key] = Reply(**value)
                if journal.open_tries.get(key):
                    journal.open_tries[key].pop()
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise InputError(
                f"{path}:{number}: this is no reply of a chat endpoint. Restore the file, or remove it to ask for "
                "everything again."
            ) from error
    return journal


class _Run:
    """What the threads of one run share: the journal, the money, and the name of the model that answers."""

    def __init__(
        self,
        endpoint: Endpoint,
        file: IO[str],
        journal: _Journal,
        budget: Budget | None,
        client: httpx.Client,
        check: Callable[[Reply], None] | None = None,
    ) -> None:
        self.endpoint, self.file, self.budget, self.client, self.check = endpoint, file, budget, client, check
        self.known = journal.replies
        self.lock, self.stopping = Condition(), Event()
        self.lost = sum(map(len, journal.open_tries.values()))
        self.spent = sum(self._reply_cost(reply, 0.0) for reply in self.known.values())
        if budget is not None:
            self.spent += sum(budget.cost(*most) for tries in journal.open_tries.values() for most in tries)
        self.reserved, self.model = 0.0, ""
        self.renames: dict[str, str] = {}  # option -> what this endpoint calls it; "" for one that it refuses

    def ask(self, key: str, call: Call) -> None:
        """One call in a thread of its own, unless the budget or the run has ended; its reply is kept in any case."""
        most = self._most_cost(call)
        with self.lock:
            # What is under way may cost less than its bound, so whoever finds no room waits for it.
            self.lock.wait_for(lambda: self._has_room(most) or not self.reserved or self.stopping.is_set())
            if self.stopping.is_set() or not self._has_room(most):
                return
            self.reserved += most
        reply = None
        try:
            reply = _ask_endpoint(self.client, self.endpoint, call, random.Random(key), self, _Try(self, key, call))
        finally:
            with self.lock:
                self.reserved -= most
                self.lock.notify_all()
                if reply is not None:
                    self._keep_reply(key, reply, most)

    def _has_room(self, most: float) -> bool:
        return self.budget is None or self.spent + self.reserved + most <= self.budget.most

    def stop(self) -> None:
        """Begin nothing more, and let nobody wait to try again."""
        with self.lock:
            self.stopping.set()
            self.lock.notify_all()

    def _keep_reply(self, key: str, reply: Reply, most: float) -> None:
        self.spent += self._reply_cost(reply, most)
        self.check_model(reply)
        self.known[key] = reply
        # At every reply: a run that is killed pays for none of them twice.
        self.write(journal_line(key, reply))
        if self.check:
            self.check(reply)

    def write(self, line: str) -> None:
        """Add a line to the journal, at once; the lock is held."""
        self.file.write(line)
        self.file.flush()

    def check_model(self, reply: Reply) -> None:
        """One model answers all calls; another one half-way is refused, and its reply is not kept."""
        if reply.model and self.model and reply.model != self.model:
            raise InputError(
                f"{self.endpoint.url} answers as {reply.model!r} now, and earlier replies are of {self.model!r}. "
                f"Replies of two models are not mixed: ask for one by its full name. {KEPT}"
            )
        self.model = self.model or reply.model

    def _reply_cost(self, reply: Reply, unknown: float) -> float:
        if self.budget is None:
            return 0.0
        if reply.tokens_in is None or reply.tokens_out is None:
            return unknown
        return self.budget.cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached)

    def _most_cost(self, call: Call) -> float:
        return 0.0 if self.budget is None else self.budget.cost(*most_tokens(call))


def most_tokens(call: Call) -> tuple[int, int]:
    """A bound of a call's tokens in and out: none is shorter than a byte, and every message has a few around it."""
    tokens_in = sum(len(text.encode()) + 16 for message in call.messages for text in message.values())
    return tokens_in, int(call.options.get("max_tokens", 0))


class _Try:
    """Writes down what becomes of each time that one call is sent."""

    def __init__(self, run: _Run, key: str, call: Call) -> None:
        self.run, self.key, self.tokens = run, key, most_tokens(call)

    def begin(self) -> None:
        """Before it is sent: from here on it may be charged."""
        with self.run.lock:
            self.run.write(json.dumps({"tried": self.key, "in": self.tokens[0], "out": self.tokens[1]}) + "\n")

    def refused(self) -> None:
        """The endpoint answered with an error, or was never reached: nothing is charged."""
        with self.run.lock:
            self.run.write(json.dumps({"refused": self.key}) + "\n")

    def lose(self) -> None:
        """Its answer was lost on the way, and may have been charged; raises once no room is left for another one."""
        with self.run.lock:
            self.run.lost += 1
            budget = self.run.budget
            if budget is None:
                return
            self.run.spent += budget.cost(*self.tokens)
            if self.run.spent + self.run.reserved > budget.most:
                raise InputError(
                    f"{self.run.endpoint.url} lost an answer on the way, which may have been charged, and the budget "
                    f"has no room to ask again. {KEPT}"
                )


def _ask_endpoint(
    client: httpx.Client, endpoint: Endpoint, call: Call, rng: random.Random, run: _Run, attempt: _Try
) -> Reply:
    began = time.monotonic()
    answer = _post_patiently(client, endpoint, call.body(endpoint), rng, run, attempt)
    return reply_of(answer, endpoint.url, round(time.monotonic() - began, 3))


def reply_of(answer: Any, where: str, seconds: float | None) -> Reply:
    """The reply in an answer of the protocol."""
    try:
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        message = choice["message"]
        text = message.get("content")
        if text is not None and not isinstance(text, str):
            raise TypeError("content is no text")
        cached = _is_whole((usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
        counts = [_is_whole(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
        if counts[1] == 0 and (text or message.get("reasoning_content")):
            counts[1] = None  # a text of no tokens: what else the endpoint counts is no better
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InputError(f"{where} answered without choices[0].message.content: {str(answer)[:80]}.") from error
    thoughts = message.get("reasoning_content") or message.get("reasoning") or THOUGHT_BEGINS.match(text or "")
    return Reply(
        text=(text or "").strip(),
        tokens_in=counts[0],
        tokens_out=counts[1],
        seconds=seconds,
        model=str(answer.get("model") or ""),
        # Some endpoints say "stop" of a reply that calls a tool and says nothing.
        finish="tool_calls" if not text and message.get("tool_calls") else str(choice.get("finish_reason") or ""),
        logprobs=choice.get("logprobs"),
        thought=bool(thoughts),
        tokens_cached=cached or 0,
    )


def _is_whole(number: Any) -> int | None:
    """A count of tokens; None for anything else."""
    return number if type(number) is int and number >= 0 else None


def _post_patiently(
    client: httpx.Client, endpoint: Endpoint, body: dict[str, Any], rng: random.Random, run: _Run, attempt: _Try
) -> Any:
    """Ask, and after an error that may pass ask again, each time after twice the wait (and up to as much by chance)."""
    for number in range(endpoint.retries + 1):
        sent = {name: body[old] for old in body if (name := run.renames.get(old, old))}
        wait = min(endpoint.first_wait * 2**number * (1 + rng.random()), endpoint.longest_wait)
        attempt.begin()
        try:
            answer = client.post(f"{endpoint.url.rstrip('/')}/chat/completions", json=sent)
        except httpx.TransportError as error:
            trouble = f"cannot be reached ({error or type(error).__name__})"
            if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
                attempt.refused()
            else:
                attempt.lose()
        else:
            # What a server repeats of the key must not reach a file or the screen; a complaint is nobody's reply.
            hidden = len(endpoint.key) >= (LONG_KEY if answer.status_code == 200 else 1)
            text = answer.text.replace(endpoint.key, "[key]") if hidden else answer.text
            if answer.status_code == 200:
                is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
                return _join_stream(text, endpoint, attempt) if is_stream else _parse_reply(text, endpoint, attempt)
            attempt.refused()
            if answer.status_code == 400 and _learn_options(text, sent, run.renames):
                return _post_patiently(client, endpoint, body, rng, run, attempt)
            trouble = f"answered {answer.status_code} ({text[:SHOWN]!r})"
            if answer.status_code not in TRY_AGAIN:
                raise InputError(
                    f"{endpoint.url} {trouble}. Check the address, the model name and the key; answers so far are kept."
                )
            wait = max(wait, _asked_wait(answer))
            if wait > endpoint.longest_wait:
                raise InputError(f"{endpoint.url} {trouble} and asks to wait {wait:,.0f} seconds. {KEPT}")
        if number < endpoint.retries and run.stopping.wait(wait):
            break
    raise InputError(f"{endpoint.url} {trouble}, {number + 1} times. {KEPT}")


def _learn_options(complaint: str, sent: Mapping[str, Any], renames: dict[str, str]) -> bool:
    """Whether the complaint is about an option that has another name there, or that may be left out; for all calls."""
    if OTHER_NAME in complaint and OTHER_NAME not in sent:
        renames["max_tokens"] = OTHER_NAME
        return True
    refused = next((name for name in OPTIONAL if name in sent and re.search(rf"\b{name}\b", complaint)), None)
    if refused is not None:
        renames[refused] = ""
    return refused is not None


def _asked_wait(answer: httpx.Response) -> float:
    """The seconds of a Retry-After header, which may be a number or a time."""
    text = answer.headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(float(text), 0.0)
    with contextlib.suppress(ValueError, TypeError):
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    return 0.0


def _join_stream(text: str, endpoint: Endpoint, attempt: _Try) -> Any:
    """The answer of an endpoint that sends its parts as events, though nobody asked for a stream."""
    answer: dict[str, Any] = {}
    parts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    finish = ""
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        event = _parse_reply(data, endpoint, attempt)
        if not isinstance(event, Mapping):
            continue
        answer |= {name: event[name] for name in ("model", "usage") if event.get(name)}
        try:
            for choice in (event.get("choices") or ())[:1]:
                finish = choice.get("finish_reason") or finish
                for name, column in parts.items():
                    column.append("" + ((choice.get("delta") or {}).get(name) or ""))
        except (TypeError, AttributeError) as error:
            attempt.lose()
            raise InputError(f"{endpoint.url} sent an event that is no part of a reply: {data[:80]!r}.") from error
    if not finish:
        attempt.lose()
        raise InputError(f"{endpoint.url} broke off its stream of events before the end. {KEPT}")
    message = {name: "".join(column) for name, column in parts.items()}
    return {**answer, "choices": [{"message": message, "finish_reason": finish}]}


def _parse_reply(text: str, endpoint: Endpoint, attempt: _Try) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        attempt.lose()
        raise InputError(f"{endpoint.url} did not answer with JSON: {text[:80]!r}.") from error


# One try of one call, for whoever waits for it: without a journal, since the caller keeps its own books

LARGEST_ANSWER = 1 << 20  # bytes; what is longer is no reply to one message
MOST_RENAMES = 4  # tries that teach what an endpoint calls its options


@dataclass(frozen=True, slots=True)
class TryOutcome:
    """A reply, or why there is none."""

    reply: Reply | None = None
    trouble: str = ""
    is_lost: bool = False
    """Whether it may have been charged all the same."""
    wait: float | None = None
    """Seconds after which it may be asked again; None: asking again is of no use."""


class _Loss:
    """Notes that an answer was lost on the way."""

    def __init__(self) -> None:
        self.is_lost = False

    def lose(self) -> None:
        self.is_lost = True


def ask_once(
    client: httpx.Client,
    endpoint: Endpoint,
    call: Call,
    renames: dict[str, str],
    name_body: Callable[[Mapping[str, Any]], str],
) -> TryOutcome:
    """Send a call once, and wait for as long as the endpoint's timeout in all, however slowly the answer drips.

    `renames` is what the endpoint calls its options, as far as known; it learns. A complaint about one is free, so the
    call is sent again at once. `name_body` gives the Idempotency-Key of what is sent: endpoints refuse a known key with
    another body.
    """
    authorization = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    outcome = TryOutcome()
    for _ in range(MOST_RENAMES):
        body = call.body(endpoint)
        sent = {name: body[old] for old in body if (name := renames.get(old, old))}
        headers = {**authorization, "Idempotency-Key": name_body(sent)}
        outcome, complaint = _send_once(client, endpoint, sent, headers)
        if not complaint or not _learn_options(complaint, sent, renames):
            break
    return outcome


def _send_once(
    client: httpx.Client, endpoint: Endpoint, sent: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[TryOutcome, str]:
    """What came of it, and what a 400 complains of."""
    began = time.monotonic()
    try:
        url = f"{endpoint.url.rstrip('/')}/chat/completions"
        with client.stream("POST", url, json=sent, headers=headers, timeout=endpoint.timeout) as answer:
            content = _read_in_time(answer, began + endpoint.timeout)
    except (httpx.TransportError, httpx.DecodingError, TimeoutError) as error:
        was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        return TryOutcome(None, str(error) or type(error).__name__, is_lost=was_sent, wait=0.0), ""
    text = _decode(content, answer.encoding)
    if endpoint.key and len(endpoint.key) >= (LONG_KEY if answer.status_code == 200 else 1):
        text = text.replace(endpoint.key, "[key]")
    if answer.status_code != 200:
        trouble = f"answered {answer.status_code} ({text[:SHOWN]!r})"
        wait = _asked_wait(answer) if answer.status_code in TRY_AGAIN else None
        return TryOutcome(None, trouble, wait=wait), text if answer.status_code == 400 else ""
    loss: Any = _Loss()
    try:
        is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
        parsed = _join_stream(text, endpoint, loss) if is_stream else _parse_reply(text, endpoint, loss)
        return TryOutcome(reply_of(parsed, endpoint.url, round(time.monotonic() - began, 3))), ""
    except InputError as error:
        return TryOutcome(None, str(error)[:SHOWN], is_lost=True, wait=0.0), ""


def _decode(content: bytes, encoding: str | None) -> str:
    """The text of an answer; JSON is UTF-8 wherever a header names what is no encoding of texts.

    >>> _decode(b"Hi.", "hex")
    'Hi.'
    """
    try:
        return content.decode(encoding or "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _read_in_time(answer: httpx.Response, until: float) -> bytes:
    content = b""
    for part in answer.iter_bytes():
        content += part
        if len(content) > LARGEST_ANSWER:
            raise TimeoutError("its answer does not end")
        if time.monotonic() > until:
            raise TimeoutError("its answer took too long")
    return content


# A JSON object in a reply, which may stand in other text or in a fence; never guessed from a broken one.


def read_json_reply(reply: str) -> Mapping[str, Any]:
    """The one object of a reply; empty without one, where it is cut or says a key twice, or where others say otherwise.

    >>> read_json_reply('Sure: ```json\\n{"verdict": "A"}\\n``` I hope :}')
    {'verdict': 'A'}
    >>> read_json_reply('{"verdict": "A", "verdict": "B"}'), read_json_reply('{"verdict": "A"} or {"verdict": "B"}')
    ({}, {})
    >>> read_json_reply('{"first try": {"verdict": "A"}, "verdict": "B')
    {}
    """
    objects: list[Mapping[str, Any]] = []
    place = reply.find("{")
    while place >= 0:
        try:
            value, place = _DECODER.raw_decode(reply, place)
        except (ValueError, RecursionError):  # a model that repeats itself nests without end
            return {}  # what is inside an object that is cut off is no answer
        objects.append(value)
        place = reply.find("{", place)
    is_agreed = bool(objects) and all(value == objects[0] for value in objects)
    return objects[0] if is_agreed else {}


def _refuse_doubles(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(items)
    if len(value) < len(items):
        raise ValueError("a key stands twice")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_doubles)
