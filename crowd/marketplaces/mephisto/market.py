"""A study through Mephisto: our page and Mephisto's operator in one process, and the way back from its data store."""

from __future__ import annotations

import argparse
import importlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import waitress
from flask import Flask

from crowd.marketplaces.checklist import DESCRIPTION, Lines, Study, read_study
from crowd.marketplaces.launch import Estimate, check_public_url, reward_of
from crowd.marketplaces.mephisto.entrance import MephistoEntrance
from crowd.marketplaces.mturk.entrance import mturk_sites
from crowd.store.store import sqlite_url
from crowd.web.app import Config, create_app, log_to_stderr
from crowd.web.serving import THREADS, hit_of
from dialogue.errors import InputError


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
