"""A study through Mephisto: our page and Mephisto's operator in one process, and the way back from its data store."""

from __future__ import annotations

import argparse
import importlib
import socket
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import waitress
from flask import Flask

from crowd.marketplaces.checklist import DESCRIPTION, Lines, Study, read_study
from crowd.marketplaces.entrances import MTurk, mturk_sites
from crowd.marketplaces.launch import Arrival, Estimate, check_public_url, identifier, reward_of
from crowd.rating.leasing import Place
from crowd.store.event_log import iso
from crowd.store.store import leases, pairs, raters, sqlite_url, votes
from crowd.web.app import Config, create_app, log_to_stderr
from crowd.web.page import WayOut
from crowd.web.serving import THREADS, hit_of
from dialogue.errors import InputError
from dialogue.files import from_json
from dialogue.records import Vote

if TYPE_CHECKING:
    from crowd.marketplaces.mephisto.task import Reception, Run
    from crowd.rating.desk import Desk

OVER = ("done", "no_more", "closed")


class MephistoMarket:
    """A launch through Mephisto, see `crowd.marketplaces.market.Launchable`; `create` serves until the run is over."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.hit = args, hit_of(args.study, None)
        self.name = f"Mephisto, {args.provider} provider"
        self.paid = args.provider != "mock"
        self.sites = mturk_sites("sandbox" if args.provider == "mturk_sandbox" else "live") if self.paid else ()
        self.port = args.port or free_port(args.host)
        self.url = check_public_url(args.public_url or (None if self.paid else f"http://{args.host}:{self.port}"))

    def plan(self, study: Study) -> tuple[Lines, Estimate]:
        """What Mephisto will be told."""
        self.study = study
        cost = Estimate(study.sittings, Decimal(0), Decimal(0), self.hit.currency)
        if self.paid:
            self._check_profile()
            reward = reward_of(self.hit.pay_per_sitting, self.hit.currency, ("USD",), "Mechanical Turk")
            cost = Estimate(study.sittings, reward, reward * Decimal("0.2"), "USD")
        visit = f"{self.url}/" + ("" if self.paid else "?worker_id=YOU&assignment_id=1")
        lines = [("page", f"{visit}, served by this command"), ("units", f"{study.sittings}, one a sitting")]
        return [*lines, ("home", f"{self.args.study / 'mephisto'} (nothing is written elsewhere)")], cost

    def _check_profile(self) -> None:
        """Mephisto itself would ask for keys on standard input."""
        from botocore.session import Session

        known = Session().available_profiles
        if self.args.requester not in known:
            raise InputError(
                f"--requester {self.args.requester} is not an AWS profile of yours ({', '.join(known) or 'none'}). "
                "Name one that has the keys of your MTurk account; see docs/mephisto.md. Nothing was created."
            )

    def create(self) -> str:
        """Serve the page and run Mephisto's operator until every unit is done, or Ctrl-C."""
        module = task_module(self.args.study)
        if not self.study.sittings:
            return "Every pair has its votes; there is nothing to launch."
        entrance = MephistoEntrance(module.Reception(), self.sites[0] if self.sites else "")
        log_to_stderr(quiet=True)
        app = create_app(self._config(entrance))
        entrance.desk = app.extensions["desk"]
        with in_background(app, self.args.host, self.port):
            deployment = module.Deployment(entrance.reception, self.url)
            entrance.run = module.Run(self._task(module), deployment)
            entrance.run.launch()
            entrance.run.wait()
        missing = read_study(self.args.study, self.hit, self.args.database).sittings
        more = f"{missing} sittings are still needed: run the same command again." if missing else "Every pair is done."
        return f"The Mephisto run has ended. {more}"

    def _config(self, entrance: MephistoEntrance) -> Config:
        return Config(
            database=self.args.database or sqlite_url(self.args.study),
            hit=self.hit,
            folder=self.args.study,
            entrances=(entrance,),
            frame_ancestors=self.sites,
            submit_to=self.sites[0] if self.sites else "",
            https=self.url.startswith("https"),
            invited=True,
        )

    def _task(self, module: Any) -> Any:
        return module.Task(
            name=task_name(self.args.study),
            title=self.hit.title,
            description=DESCRIPTION,
            reward=float(self.hit.pay_per_sitting),
            sittings=self.study.sittings,
            provider=self.args.provider,
            requester=self.args.requester,
        )


def task_name(study: Path) -> str:
    """Mephisto's name for the study: the same in every run."""
    return f"seedvote-{study.resolve().name}"


def free_port(host: str) -> int:
    """A port that nobody uses at this moment."""
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def in_background(app: Flask, host: str, port: int) -> Iterator[None]:
    """The page, served by a thread of this process."""
    server = waitress.create_server(app, host=host, port=port, threads=THREADS, ident="")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.close()


def task_module(study: Path) -> Any:
    """`crowd.marketplaces.mephisto.task`, with Mephisto's home inside the study folder."""
    from crowd.marketplaces.mephisto.shim import settle_in

    settle_in(study / "mephisto")
    return importlib.import_module("crowd.marketplaces.mephisto.task")


@dataclass
class MephistoEntrance:
    """Workers whom a Mephisto provider sends; each sitting is one of its units."""

    reception: Reception
    submit_to: str = ""  # with an MTurk provider: where the form goes
    desk: Desk | None = None
    run: Run | None = None
    _handed_in: set[tuple[str, str]] = field(default_factory=set)

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """By worker_id and assignment_id (mock), or as from MTurk; there must be a unit for them."""
        arrival = self._announced(query)
        if arrival is None or arrival.preview:
            return arrival
        unit = self._unit(arrival.worker, arrival.sitting, arrival.task)
        return arrival if unit.agent else replace(arrival, turned_away=True)

    def _announced(self, query: Mapping[str, str]) -> Arrival | None:
        if self.submit_to:
            found = MTurk(self.submit_to).arrive(query)
            return replace(found, source="mephisto") if found else None
        if "worker_id" not in query:
            return None
        worker, sitting = identifier("worker_id", query), identifier("assignment_id", query)
        return Arrival("mephisto", worker=worker, sitting=sitting, task="")

    def _unit(self, worker: str, sitting: str, hit: str = "") -> Any:
        provider = {"hit_id": hit, "provider_type": "mturk"} if self.submit_to else {"provider_type": "mock"}
        return self.reception.take(worker, sitting, **provider)

    def leave(self, visit: Mapping[str, Any], place: Place) -> WayOut | None:
        """Hand the sitting to Mephisto once it is over; a worker for whom there is no more is closed there too."""
        if visit["source"] != "mephisto" or place.stage not in OVER:
            return None
        if place.done and (visit["worker"], visit["sitting"]) not in self._handed_in:
            self._hand_in(visit, blocked=place.stage == "no_more")
        if self.submit_to:
            return MTurk(self.submit_to).leave({**visit, "source": "mturk"}, place)
        return WayOut("Your work was handed in. You may close this page.")

    def _hand_in(self, visit: Mapping[str, Any], *, blocked: bool) -> None:
        assert self.desk is not None and self.run is not None
        agent = self._unit(visit["worker"], visit["sitting"]).agent
        if agent is None:
            return
        with self.desk.store.read() as connection:
            work = sitting(connection, *visit["seat"])
        self.reception.hand_in(agent, work)
        self._handed_in.add((visit["worker"], visit["sitting"]))
        if blocked:
            self.run.close_to(agent)


def sitting(connection: sa.Connection, rater: str, number: int) -> dict[str, Any]:
    """One sitting as plain values, complete enough to restore its votes: what Mephisto keeps a copy of."""
    query = (
        sa.select(votes, pairs.c.kind, pairs.c.body)
        .join(leases, leases.c.lease == votes.c.lease)
        .join(pairs, pairs.c.pair == votes.c.pair)
        .where(leases.c.rater == rater, leases.c.sitting == number)
        .order_by(votes.c.vote)
    )
    rows = connection.execute(query).all()
    status = connection.scalar(sa.select(raters.c.status).where(raters.c.rater == rater))
    checks = [row.failed for row in rows if row.failed is not None]
    return {
        "rater": rater,
        "sitting": number,
        "rater_status": status,
        "checks_seen": len(checks),
        "checks_failed": sum(checks),
        "votes": [
            {
                "pair": row.pair,
                "choice": row.choice,
                "left": row.left,
                "seconds": row.seconds,
                "submitted": iso(row.submitted),
                "kind": row.kind,
            }
            for row in rows
            if row.failed is None
        ],
    }


def restored(outputs: Iterable[Mapping[str, Any]], votes_per_pair: int) -> list[Vote]:
    """Votes from what Mephisto kept: a rater who was blocked in the end does not count, rounds follow time."""
    sittings = list(outputs)
    blocked = {one["rater"] for one in sittings if one["rater_status"] == "blocked"}
    rows = [(vote["submitted"], one["rater"], vote) for one in sittings for vote in one["votes"]]
    number: dict[str, int] = defaultdict(int)
    found = []
    for _, rater, vote in sorted(rows, key=lambda row: row[:2]):
        counted = rater not in blocked and number[vote["pair"]] < votes_per_pair
        number[vote["pair"]] += counted
        status = "blocked" if rater in blocked else "passed"
        known = {**vote, "rater": rater, "rater_status": status, "counted": counted, "source": "mephisto"}
        known["round"] = number[vote["pair"]] if counted else 0
        found.append(from_json(Vote, known, "Mephisto's data store"))
    return found
