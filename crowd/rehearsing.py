"""A rehearsal: the whole line of a study on Prolific, on this machine alone, before anybody is paid.

A small copy of the study is served, a Prolific on this machine sends simulated people, and the very commands that a
researcher will type launch, verify, pay and add up. Nothing of the study itself is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import httpx
import sqlalchemy as sa

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit, read_hit
from seedvote.crowd.marketplaces.market import usual_entrances
from seedvote.crowd.marketplaces.prolific import calling, client, drafting
from seedvote.crowd.marketplaces.prolific.double import TOKEN, Prolific, serving_double
from seedvote.crowd.marketplaces.prolific.entrance import PROLIFIC_COMPLETE
from seedvote.crowd.simulation.browser import SimulatedVisit
from seedvote.crowd.simulation.crowd import reader_of
from seedvote.crowd.simulation.raters import Habits, draw_habits
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, sittings
from seedvote.crowd.study_folder import hit_of, opened, pairs_file, prepare_study
from seedvote.crowd.web.app import ServerConfig, create_app
from seedvote.crowd.web.serving import in_background
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic

if TYPE_CHECKING:
    from seedvote.crowd.simulation.browser import PageReader

FOLDER = "rehearsal"  # in the study folder; made anew each time
SITTINGS = 2  # as many pairs as fill these are rehearsed, with all checks
MOST_ROUNDS = 8  # of people who come, and places that are added
BONUS = "0.20"
WAITED = "finds every pair in other hands, and returns"
CODE = re.compile(re.escape(PROLIFIC_COMPLETE) + r"\?cc=([^\"&]+)")


Tell = Callable[[str], object]  # shows a line to the researcher


def rehearse(
    study: Path, minutes: int, options: Sequence[str], *, seed: int, tell: Tell, type_command: Callable[..., object]
) -> None:
    """Do it all; `options` go to the launch, `type_command` shows a command of `crowd` and runs it."""
    folder = study / FOLDER
    hit = _copy_study(study, folder, minutes, tell)
    prolific = Prolific(slow=True, currency=hit.currency)
    with _serve_copy(folder, hit) as url, _connect_double(prolific):
        tell(f"A copy of the study is served at {url}, and a Prolific of this machine sends simulated people.")
        place = ("--public-url", url, "--minutes", str(minutes))
        type_command("launch", folder, "--prolific", *place, *options, "--live", "--yes")
        name = next(iter(prolific.studies))
        tell("\nOn Prolific's page you would look at the draft and publish it. That is done here.")
        prolific.publish(name)
        people = People(prolific, name, url, reader_of(folder / FORMS[hit.form].file, hit.form, seed=seed), seed, tell)
        for _ in range(MOST_ROUNDS):
            people.let_come()
            _take_time(folder, minutes)
            type_command("verify", folder)
            type_command("extend", folder, "--yes")
            if prolific.taken(name) >= prolific.studies[name]["total_available_places"]:
                break
        type_command("pay", folder, "--bonus", BONUS, "--yes")
        tell("\nSome minutes go by, in which Prolific approves and pays. Then the same command settles it:")
        prolific.deliver()
        type_command("pay", folder, "--bonus", BONUS, "--yes")
        type_command("payments", folder)
        type_command("status", folder)
    statuses = Counter(row["status"] for row in prolific.submissions.values())
    ends = ", ".join(f"{number} {status.lower()}" for status, number in sorted(statuses.items()))
    tell(f"\nThe rehearsal is over: {ends}; {len(prolific.paid)} bonuses. No account was asked and nobody was paid.")
    tell(f"Its votes are in {folder}, apart from the study. Look at them, or delete the folder.")


# The copy


def _copy_study(study: Path, folder: Path, minutes: int, tell: Tell) -> Hit:
    """A small copy of the study; what a launch on Prolific needs and hit.toml does not say is filled in."""
    hit = hit_of(study, None)
    source = pairs_file(study, None, hit.form)
    reader_of(source, hit.form, seed=0)  # which refuses what simulated people cannot see, before anything is copied
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with atomic(folder / source.name) as file:
        file.writelines(_first_lines(source, SITTINGS * hit.pairs_per_sitting))
    own = study / "hit.toml"
    text = own.read_text(encoding="utf-8-sig") if own.exists() else ""
    with atomic(folder / "hit.toml") as file:
        file.write("".join(f"{line}\n" for line in _filled_in(hit, minutes, tell)) + text)
    return read_hit(folder / "hit.toml")


def _first_lines(path: Path, reals: int) -> Iterator[str]:
    """The header, every check, and so many other records."""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        kind = json.loads(line).get("kind") if line.strip() else "check"
        is_record = '"format"' not in line[:12]
        if is_record and kind != "check":
            reals -= 1
        if not is_record or kind == "check" or reals >= 0:
            yield line


def _filled_in(hit: Hit, minutes: int, tell: Tell) -> Iterator[str]:
    """Lines of hit.toml for what a launch needs and the study does not say."""
    if not hit.pay_per_sitting:
        currency = hit.currency if hit.currency in client.CURRENCIES else "USD"
        pay = (drafting.LEAST_HOURLY[currency] * minutes / 60).quantize(Decimal("0.01"), ROUND_UP)
        tell(f"hit.toml does not say the pay, so this rehearsal pays {pay} {currency} a sitting, Prolific's least.")
        yield f"pay_per_sitting = {pay}"
        yield f'currency = "{currency}"'
    for key in ("completion_code", "screened_out_code"):
        if not getattr(hit, key):
            tell(f"hit.toml has no {key}, so this rehearsal makes one up.")
            yield f'{key} = "{key[:4].upper()}42"'


def _take_time(folder: Path, minutes: int) -> None:
    """Simulated people need no time to read: let each finished sitting have taken about as long as was said.

    By then the pairs that somebody left open are free again.
    """
    with opened(folder, None) as store, store.write() as connection:
        query = sa.select(sittings.c.rater, sittings.c.begun).where(sittings.c.finished.is_not(None))
        for n, row in enumerate(connection.execute(query.order_by(sittings.c.begun)).all()):
            took = 60 * minutes * (0.8 + 0.1 * (n % 6))
            is_of_rater = sittings.c.rater == row.rater
            connection.execute(sa.update(sittings).where(is_of_rater).values(finished=row.begun + took))
        connection.execute(sa.update(leases).where(HOLDS_PLACE).values(expires=0.0))


# What runs meanwhile


@contextmanager
def _serve_copy(folder: Path, hit: Hit) -> Iterator[str]:
    """The copy, served to people whom Prolific sends."""
    url = prepare_study(folder, None, hit, None, seed=0, simulated=False)
    config = ServerConfig(
        database=url, hit=hit, folder=folder, entrances=usual_entrances(hit, "", ["prolific"]), invited=True, rate=0
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_app(config)
    with in_background(app, "127.0.0.1", port):
        yield f"http://127.0.0.1:{port}"
    app.extensions["desk"].store.close()


@contextmanager
def _connect_double(prolific: Prolific) -> Iterator[None]:
    """The commands of this process reach that Prolific, and no other."""
    before = {name: os.environ.get(name) for name in (calling.ENDPOINT, calling.TOKEN)}
    with serving_double(prolific) as server:
        os.environ.update({calling.ENDPOINT: server.url, calling.TOKEN: TOKEN})
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


# People


@dataclass
class People:
    """Those who take places: most are careful; some click without reading, decline, leave, or come too late."""

    prolific: Prolific
    study: str
    url: str
    reader: PageReader
    seed: int
    tell: Tell
    number: int = 0

    def let_come(self) -> None:
        """One after the other, as long as there are places, and pairs that are in nobody's hands."""
        self.tell("\nPeople come:")
        what = ""
        while what != WAITED and (name := self.prolific.join(self.study, f"p{self.number + 1}")):
            self.number += 1
            what = self._visit_study(name)
            self.tell(f"  person {self.number:<3} {what:<46} {self.prolific.submissions[name]['status'].lower()}")

    def _visit_study(self, submission: str) -> str:
        address = dict(parse_qsl(urlsplit(self.prolific.address(submission)).query))
        with httpx.Client(base_url=self.url, trust_env=False, timeout=60) as browser:
            if self.number == 2:
                return self._decline_consent(browser, address, submission)
            clickers, leave = float(self.number % 5 == 3), float(self.number == 4)
            rater = draw_habits(self.number, seed=self.seed, clickers=clickers, leave=leave)
            return self._do_work(browser, rater, address, submission)

    def _decline_consent(self, browser: httpx.Client, address: dict[str, str], submission: str) -> str:
        self._goes_back(browser.get("/", params=address).text, submission)
        self.prolific.returns(submission)
        return "does not consent, and returns the place"

    def _do_work(self, browser: httpx.Client, rater: Habits, address: dict[str, str], submission: str) -> str:
        visit = SimulatedVisit(browser, self.reader, rater, 1, on_answer=lambda: None, address=address)
        ending = visit.make_visit()
        if ending == "left":
            self.prolific.submissions[submission]["status"] = "TIMED-OUT"
            return f"leaves after {visit.answered} answers; Prolific times out"
        if ending == "wait":
            self.prolific.returns(submission)
            return WAITED
        came_in = visit.answered or ending == "no_more"
        page = browser.get("/task") if came_in else browser.get("/", params=address)
        self._goes_back(page.text, submission)
        if ending == "no_more":
            return f"fails the checks after {visit.answered} answers"
        return f"gives {visit.answered} answers, checks included" if visit.answered else "finds no pair left"

    def _goes_back(self, page: str, submission: str) -> None:
        """By the link on the page, which has the completion code."""
        code = CODE.search(unescape(page))
        if not code:
            raise InputError("The last page has no way back to Prolific. Look at the study with `crowd preview`.")
        self.prolific.complete(submission, code[1])
