"""A study through Mephisto: our page and Mephisto's operator in one process."""

from __future__ import annotations

import importlib
import socket
from decimal import Decimal
from pathlib import Path
from typing import Any

from seedvote.crowd.marketplaces.checklist import DESCRIPTIONS, Lines, Planned, read_planned
from seedvote.crowd.marketplaces.launch import check_public_url, stands_in
from seedvote.crowd.marketplaces.mephisto.entrance import MephistoEntrance
from seedvote.crowd.marketplaces.mephisto.options import MephistoOptions
from seedvote.crowd.marketplaces.money import Price, reward_of
from seedvote.crowd.marketplaces.mturk.entrance import MTURK_ENDPOINT, mturk_sites
from seedvote.crowd.store.store import Store, sqlite_url
from seedvote.crowd.study_folder import hit_of
from seedvote.crowd.web.app import ServerConfig, create_app, log_to_stderr
from seedvote.crowd.web.serving import in_background
from seedvote.dialogue.errors import InputError


class MephistoMarket:
    """A launch through Mephisto, see `crowd.marketplaces.market.Launchable`; `create` serves until the run is over."""

    def __init__(self, options: MephistoOptions) -> None:
        self.options, self.hit = options, hit_of(options.study, None)
        self.title = f"Mephisto, {options.provider} provider"
        self.paid = options.provider != "mock"
        if (options.provider == "mturk") != options.live:
            raise InputError(
                "--provider mturk is real people and real money, so it goes with --live, and only it does."
            )
        self.sites = mturk_sites("sandbox" if options.provider == "mturk_sandbox" else "live") if self.paid else ()
        self.port = options.port or free_port(options.host)
        own_url = None if self.paid else f"http://{options.host}:{self.port}"
        is_rehearsal = not options.live or stands_in(MTURK_ENDPOINT)
        self.url = check_public_url(options.public_url or own_url, rehearsal=is_rehearsal)

    def plan_launch(self, study: Planned) -> tuple[Lines, Price]:
        """What the run will do. The AWS profile is checked here; Mephisto itself would ask for keys on its terminal."""
        self.study = study
        price = Price(study.sittings, Decimal(0), Decimal(0), self.hit.currency)
        if self.paid:
            self._check_profile()
            reward = reward_of(self.hit.pay_per_sitting, self.hit.currency, ("USD",), "Mechanical Turk")
            price = Price(study.sittings, reward, reward * Decimal("0.2"), "USD")
        visit = f"{self.url}/" + ("" if self.paid else "?worker_id=YOU&assignment_id=1")
        lines = [("page", f"{visit}, served by this command"), ("units", f"{study.sittings}, one a sitting")]
        if self.paid:
            pay = "`crowd pay` cannot settle this run: review the units with Mephisto, or MTurk approves them in a week"
            lines.append(("payment", pay))
        return [*lines, ("home", f"{self.options.study / 'mephisto'} (nothing is written elsewhere)")], price

    def _check_profile(self) -> None:
        from botocore.session import Session

        known = Session().available_profiles
        if self.options.requester not in known:
            raise InputError(
                f"--requester {self.options.requester} is not an AWS profile of yours ({', '.join(known) or 'none'}). "
                "Name one that has the keys of your MTurk account; see docs/mephisto.md. Nothing was created."
            )

    def create_launch(self, store: Store) -> str:
        """Serve the page and run Mephisto's operator until every unit is done, or Ctrl-C."""
        module = task_module(self.options.study)
        if not self.study.sittings:
            return "Every pair has its votes; there is nothing to launch."
        entrance = MephistoEntrance(module.Reception(), self.sites[0] if self.sites else "")
        log_to_stderr(quiet=True)
        app = create_app(self._server_config(entrance))
        entrance.desk = app.extensions["desk"]
        with in_background(app, self.options.host, self.port):
            deployment = module.Deployment(entrance.reception, self.url)
            entrance.run = module.MephistoRun(self._make_task(module), deployment)
            entrance.run.launch()
            entrance.run.wait()
        missing = read_planned(store, self.options.study, self.hit).sittings
        if missing:
            return f"The Mephisto run has ended. {missing} sittings are still needed: run the same command again."
        return "The Mephisto run has ended. Every pair has its votes."

    def _server_config(self, entrance: MephistoEntrance) -> ServerConfig:
        return ServerConfig(
            database=self.options.database or sqlite_url(self.options.study),
            hit=self.hit,
            folder=self.options.study,
            entrances=(entrance,),
            frame_ancestors=self.sites,
            submit_to=self.sites[0] if self.sites else "",
            https=self.url.startswith("https"),
            invited=True,
        )

    def _make_task(self, module: Any) -> Any:
        return module.MephistoTask(
            name=task_name(self.options.study),
            title=self.hit.title,
            description=DESCRIPTIONS[self.hit.form],
            reward=float(self.hit.pay_per_sitting),
            sittings=self.study.sittings,
            provider=self.options.provider,
            requester=self.options.requester,
        )


def task_name(study: Path) -> str:
    """Mephisto's name for the study: the same in every run."""
    return f"seedvote-{study.resolve().name}"


def free_port(host: str) -> int:
    """A port that nobody uses at this moment."""
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])


def task_module(study: Path) -> Any:
    """`crowd.marketplaces.mephisto.task`, with Mephisto's home inside the study folder."""
    from seedvote.crowd.marketplaces.mephisto.shim import settle_in

    settle_in(study / "mephisto")
    return importlib.import_module("seedvote.crowd.marketplaces.mephisto.task")
