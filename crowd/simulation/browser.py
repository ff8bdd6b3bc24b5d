"""The browser of a simulated rater: it loads pages, reads their forms and sends them, over real HTTP.

It uses nothing of the server but what a page shows, so that what works for it works for people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Literal, Protocol, cast

import httpx

from seedvote.crowd.simulation.raters import COMMENTS, WROTE, Habits, Reader
from seedvote.crowd.simulation.readers import SetReader
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Utterance

VisitEnd = Literal["done", "closed", "no_more", "stopped", "paused", "wait", "left"]
# A sitting that ended like this is done if anything was done in it; if not, the study is closed to the rater.
EARLY = ("handed_in", "complete", "cap", "time", "none_left")
FETCH = {"X-Requested-With": "fetch"}
SAID = (  # in live conversations: simulated raters say something, and judge what is answered by its texts alone
    "Hello! Could you help me with this?",
    "I would like to know more about that.",
    "What would you do in my place?",
    "Why do you think so?",
)
PATIENCE = 5  # looks at a page that says to wait
SERVER_PATIENCE = 60.0  # seconds for which a server may be away


class PageReader(Protocol):
    """What a rater makes of a page: one for each form of HIT."""

    def answer_about(self, rater: Habits, name: str, answers: Sequence[str]) -> str: ...
    def answer_example(self, rater: Habits, number: int) -> str: ...
    def judge_texts(self, rater: Habits, context: Sequence[Utterance], /, *texts: str) -> tuple[str, float]: ...
    def form_fields(self, pressed: str) -> dict[str, str]: ...
    def draw_whim(self, rater: Habits, name: str, *key: str) -> float: ...


class PageForm(HTMLParser):
    """The hidden fields, the answers to choose from and the visible texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.radios: dict[str, list[str]] = {}
        self.texts: dict[str, bool] = {}
        """Name of a text field -> whether it must be filled."""
        self.rankings: dict[str, bool] = {}
        """Groups of answers that are ranks -> whether no two may be the same."""
        self._texts: list[tuple[str, str]] = []
        self._within = ""
        self._in_box = False
        """Whether it reads a text with marks of its own, which is one box without another one in it."""
        self.feed(html)

    def updatepos(self, i: int, j: int) -> int:  # noqa: ARG002 (as in HTMLParser)
        """No line is counted: nobody asks for one, and it took an eighth of the parser's time."""
        return j

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if self._in_box:
            return
        if tag == "input" and values.get("type") == "hidden":
            self.fields[values["name"]] = values.get("value", "")
        elif tag == "input" and values.get("type") == "radio":
            self.radios.setdefault(values["name"], []).append(values.get("value", ""))
        elif tag == "textarea":
            self.texts[values["name"]] = "required" in values
        elif tag == "div" and values.get("class", "").startswith("rendered "):
            self._in_box = True
            self._texts.append((self._within, ""))
        elif tag in ("section", "div"):
            if "data-ranks" in values:
                self.rankings[values["data-ranks"]] = "data-strict" in values
            first, *more = values.get("class", "").split() or [""]
            self._within = first
            if "talk" in more:
                self._texts.append(("column", ""))
        elif tag == "span" and values.get("class") == "who":
            self._texts.append(("who", ""))
        elif tag == "p" and self._within in ("chat", "response", "said"):
            self._texts.append((self._within, ""))
        elif tag == "em" and self._texts:
            self._texts.append(("empty", ""))

    def handle_data(self, data: str) -> None:
        if self._texts:
            kind, text = self._texts[-1]
            self._texts[-1] = (kind, text + data)

    def handle_endtag(self, tag: str) -> None:
        if self._in_box and tag != "div":
            return
        ends_name = tag == "span" and bool(self._texts) and self._texts[-1][0] == "who"
        if tag == "p" or ends_name or self._in_box:  # a span within a text is a part of it
            self._texts.append(("", ""))
        if self._in_box:
            self._in_box = False
            return
        if tag in ("section", "div"):
            self._within = ""

    def shown_texts(self) -> tuple[Any, ...]:
        """The context, then each text that is to be judged, from left to right or from top to bottom."""
        who = [text for kind, text in self._texts if kind == "who"]
        chat_texts = [text for kind, text in self._texts if kind == "chat"]
        texts = [text for kind, text in self._texts if kind == "response"] or self._read_columns()
        return [Utterance(speaker, text) for speaker, text in zip(who, chat_texts, strict=True)], *texts

    def _read_columns(self) -> list[str]:
        """Of whole conversations: what was said in each, one line a turn."""
        columns: list[list[str]] = []
        for kind, text in self._texts:
            if kind == "column":
                columns.append([])
            elif kind == "said":
                columns[-1].append(text.strip())
        return ["\n".join(lines) for lines in columns]


@dataclass
class SimulatedVisit:
    """One sitting of one simulated rater; `answered` counts what this visit added."""

    client: httpx.Client
    reader: PageReader
    rater: Habits
    sitting: int
    on_answer: Callable[[], object]
    pause: float = 0.2
    address: Mapping[str, str] | None = None  # the query of a marketplace's address; None: a simulated rater's own
    answered: int = 0
    _undone: set[str] = field(default_factory=set)

    def make_visit(self) -> VisitEnd:
        """Arrive, do what is asked until nothing is, and say how it ended."""
        self.client.cookies.clear()
        if turned_away := self._come_in():
            return turned_away
        place = self._ask_place()
        while place["status"] in ("about", "instructions"):
            self._tell_about_rater() if place["status"] == "about" else self._answer_example(place["number"])
            place = self._ask_place()
        return self._answer_pairs(place)

    def _come_in(self) -> VisitEnd | None:
        """Arrive and consent; or why nobody new is let in, after some patience."""
        own = {"rater": f"simulated-{self.rater.number}", "sitting": str(self.sitting), "source": "simulated"}
        for _ in range(PATIENCE):
            reply = self._send_request("GET", "/", params=self.address or own, headers=FETCH)
            if not reply.headers.get("Content-Type", "").startswith("application/json"):
                if reply.status_code == 200:
                    self._send_request("POST", "/consent", data=PageForm(reply.text).fields | {"agree": "yes"})
                return None
            status = reply.json()["status"]
            if status != "wait":
                return "closed" if status == "complete" else cast(VisitEnd, status)
            time.sleep(self.pause)
        return "wait"

    def _tell_at_end(self) -> None:
        """Answer what the last page asks, and at times write something."""
        form = PageForm(self._send_request("GET", "/task").text)
        answers_told = {
            name: self.reader.answer_about(self.rater, name, answers) for name, answers in form.radios.items()
        }
        answers_told |= {name: WROTE for name in form.texts if self.reader.draw_whim(self.rater, name) < COMMENTS}
        self._send_request("POST", "/last-questions", data=form.fields | answers_told)

    def _ask_place(self) -> dict[str, Any]:
        return dict(self._send_request("GET", "/task", headers=FETCH).json())

    def _answer_example(self, number: int) -> None:
        """Answer a worked example, not always well."""
        fields = PageForm(self._send_request("GET", f"/instructions/{number}").text).fields
        pressed = self.reader.form_fields(self.reader.answer_example(self.rater, number))
        self._send_request("POST", f"/instructions/{number}", data=fields | pressed)

    def _tell_about_rater(self) -> None:
        """Say something about oneself."""
        form = PageForm(self._send_request("GET", "/about").text)
        answers_told = {
            name: self.reader.answer_about(self.rater, name, answers) for name, answers in form.radios.items()
        }
        self._send_request("POST", "/about", data=form.fields | answers_told)

    def _answer_pairs(self, place: dict[str, Any]) -> VisitEnd:
        waited = 0
        while place["status"] in ("task", "wait"):
            if place["status"] == "wait":
                if waited == PATIENCE:
                    return "wait"
                waited += 1
                time.sleep(self.pause)
                place = self._ask_place()
                continue
            if self._is_leaving(place):
                return "left"
            place = self._judge_pair(place)
        if place.get("asks"):
            self._tell_at_end()
        if place["status"] in EARLY:
            return "done" if place["progress"]["done"] else "closed"
        ending: VisitEnd = place["status"]
        return ending

    def _is_leaving(self, place: dict[str, Any]) -> bool:
        """Whether the rater walks away now, with this pair in hand."""
        leaves = self.reader.draw_whim(self.rater, "leave", str(self.sitting)) < self.rater.leave
        when = self.reader.draw_whim(self.rater, "when", str(self.sitting))
        return leaves and int(place["progress"]["done"]) >= int(when * int(place["progress"]["of"]))

    def _judge_pair(self, place: dict[str, Any]) -> dict[str, Any]:
        form = PageForm(place["html"])
        while form.fields.get("stage", "choose") != "choose":
            place = self._talk_on(form, place["html"])
            if place["status"] != "task":
                return place
            form = PageForm(place["html"])
        if "stage" in form.fields:
            form.texts.pop("text", None)  # room for a further message
        context, *texts = form.shown_texts()
        pressed, seconds = self.reader.judge_texts(self.rater, context, *texts)
        fields = form.fields | self.reader.form_fields(pressed) | {"seconds": str(seconds)}
        if isinstance(self.reader, Reader) and form.radios:
            fields |= self.reader.fill_sheet(self.rater, context, texts, form.radios, form.texts)
        elif isinstance(self.reader, SetReader):
            fields |= self.reader.answer_all(self.rater, context, texts, form.radios, form.texts, form.rankings)
        elif form.texts:
            whims = {name: self.reader.draw_whim(self.rater, name, *texts) for name in form.texts}
            fields |= {name: WROTE for name, must in form.texts.items() if must or whims[name] < COMMENTS}
        answered = self._send_request("POST", "/answer", data=fields, headers=FETCH).json()
        if self.reader.draw_whim(self.rater, "twice", *texts) < self.rater.twice:
            answered = self._send_request("POST", "/answer", data=fields, headers=FETCH).json()
        if answered["status"] == "task" and self._is_regretted(texts):
            return dict(
                self._send_request("POST", "/undo", data=PageForm(answered["html"]).fields, headers=FETCH).json()
            )
        self.answered += 1
        self.on_answer()
        return dict(answered)

    def _talk_on(self, form: PageForm, html: str) -> dict[str, Any]:
        """Of a live conversation: say the next thing, wait for the answers, or do what is to be done without them."""
        if form.fields["stage"] == "wait":
            time.sleep(self.pause)
            return self._ask_place()
        if form.fields["stage"] == "say":
            turn = int(form.fields["turn"])
            whim = self.reader.draw_whim(self.rater, "say", form.fields["lease"], str(turn))
            fields = form.fields | {"text": SAID[int(whim * len(SAID))]}
            return dict(self._send_request("POST", "/say", data=fields, headers=FETCH).json())
        way = "/hand-back" if "/hand-back" in html else "/ask-again"
        return dict(self._send_request("POST", way, data=form.fields, headers=FETCH).json())

    def _is_regretted(self, texts: Sequence[str]) -> bool:
        """Whether the answer is taken back, once."""
        text = "".join(texts)
        if text in self._undone or self.reader.draw_whim(self.rater, "regret", *texts) >= self.rater.regret:
            return False
        self._undone.add(text)
        return True

    def _send_request(self, method: str, path: str, **what: Any) -> httpx.Response:
        """Send until there is an answer: a server that is restarted is waited for, one that is busy is asked again."""
        until = time.monotonic() + SERVER_PATIENCE
        while True:
            try:
                reply = self.client.request(method, path, **what)
                if reply.status_code < 400:
                    return reply
                if reply.status_code == 403:
                    raise InputError(
                        f"The server at {self.client.base_url} is for people, so simulated raters are not let in. "
                        "Leave out --url, or start a server for them: python -m crowd serve STUDY --simulated."
                    )
                problem = f"{reply.status_code} for {method} {path}"
                if reply.status_code not in (429, 502, 503):
                    raise InputError(f"The server answers {problem}; does it serve the pairs of this study?")
            except httpx.TransportError as error:
                problem = str(error)
            if time.monotonic() > until:
                raise InputError(f"The server at {self.client.base_url} does not answer ({problem}).")
            time.sleep(0.1)
