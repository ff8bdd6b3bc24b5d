"""Prolific as a marketplace of one study."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property

import httpx

from crowd.marketplaces import launch as doors
from crowd.marketplaces.checklist import DESCRIPTION, Lines, Study, check_page, hourly
from crowd.marketplaces.prolific import client as prolific
from crowd.marketplaces.settling import Listed, State
from crowd.web.serving import hit_of
from dialogue.errors import InputError
from dialogue.records import Source

STATES: dict[str, State] = {"AWAITING REVIEW": "waiting", "APPROVED": "approved", "ACTIVE": "open", "RESERVED": "open"}
LONGEST = 24 * 3600.0  # Prolific times a visit out before that


class ProlificMarket:
    """See `crowd.marketplaces.market.Market`."""

    name = "Prolific"
    source: Source = "prolific"

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.path = args, args.study / "prolific.json"
        self.launch: prolific.Launch | None = doors.read_launch(self.path, prolific.Launch)

    @cached_property
    def client(self) -> httpx.Client:
        """Connected when it is first needed."""
        return prolific.connect()

    @property
    def there(self) -> prolific.Launch:
        """The launch, which must exist by now."""
        if self.launch is None:
            raise InputError(f"{self.path} does not exist: launch the study on Prolific first.")
        return self.launch

    def plan(self, study: Study) -> tuple[Lines, doors.Estimate]:
        """Reads the running server; writes nothing."""
        hit = study.hit
        url = doors.check_public_url(self.args.public_url)
        reward = doors.reward_of(hit.pay_per_sitting, hit.currency, prolific.CURRENCIES, self.name)
        prolific.check_codes(hit.completion_code, hit.screened_out_code)
        fresh = prolific.new_launch(
            public_url=url, pairs=study.digest, reward=reward, currency=hit.currency, places=study.sittings
        )
        self.launch = self.launch or fresh
        doors.check_pairs(study.pairs, self.launch.pairs)
        lines = [
            ("place", f"a draft of {self.launch.places} places; publishing it on Prolific's page is what spends money"),
            ("page", check_page(url)),
            ("pay", f"{reward} {hit.currency} a sitting, {hourly(hit.pay_per_sitting, self.args.minutes)}"),
            ("fee", f"{self._fee()} %" if self._fee() else "not counted below: give --fee-percent, see your account"),
            ("account", self._account()),
        ]
        return lines, self.more(0 if self.launch.study else self.launch.places)

    def _fee(self) -> Decimal:
        text = getattr(self.args, "fee_percent", None)
        if getattr(self.args, "budget", None) and not text:
            raise InputError("--budget needs --fee-percent: Prolific's fee depends on your account, which shows it.")
        return doors.money(text) if text else Decimal(0)

    def _account(self) -> str:
        prolific.call(self.client, "GET", "/users/me/")
        return "the token is accepted"

    def create(self) -> str:
        """The record first, so that an interrupted launch finds its draft again."""
        hit = hit_of(self.args.study, None)
        wanted = prolific.Wanted(hit.title, DESCRIPTION, self.args.minutes, hit.completion_code, hit.screened_out_code)
        doors.write_launch(self.path, self.there)
        self.launch = prolific.carry_out(self.client, self.there, wanted)
        doors.write_launch(self.path, self.launch)
        return (
            "The draft is on Prolific. Try it there (Preview), then publish it: "
            f"https://app.prolific.com/researcher/studies/{self.launch.study}"
        )

    def listed(self) -> Iterator[Listed]:
        """Submissions, whatever became of them."""
        for row in prolific.submissions(self.client, self.there):
            yield Listed(row.submission, row.participant, STATES.get(row.status, "other"), self.there.study)

    def deadline(self) -> float:
        """A day."""
        return LONGEST

    def approve(self, rows: Sequence[Listed]) -> None:
        """A hundred at a time."""
        prolific.approve(self.client, [row.key for row in rows])

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With the account's fee, where it was given."""
        return amount * (1 + self._fee() / 100)

    def owed_bonus(self, rows: Sequence[Listed], reason: str) -> list[Listed]:
        """By Prolific's own list: one bonus a submission."""
        del reason
        had = {row.submission for row in prolific.submissions(self.client, self.there) if row.bonus}
        return [row for row in rows if row.key not in had]

    def pay_bonus(self, rows: Sequence[Listed], amount: Decimal, reason: str) -> None:
        """All at once; Prolific shows no reason."""
        del reason
        if rows:
            prolific.pay_bonuses(self.client, self.there, [row.key for row in rows], amount)

    def close_to(self, workers: Iterable[str]) -> int:
        """Nothing to do: on Prolific a person has one submission a study."""
        del workers
        return 0

    def more(self, sittings: int) -> doors.Estimate:
        """At the reward of the launch."""
        launch = self.there
        return prolific.estimate(sittings, Decimal(launch.reward), launch.currency, self._fee())

    def extend(self, sittings: int) -> str:
        """Raise the number of places."""
        self.launch = prolific.add_places(self.client, self.there, sittings)
        doors.write_launch(self.path, self.launch)
        return f"The study has {self.launch.places} places now."

    def close(self) -> str:
        """Pause the recruiting; who is at work may finish."""
        prolific.transition(self.client, self.there, "PAUSE")
        return "Prolific sends nobody new."

    def open(self, days: int) -> str:
        """Recruit again; Prolific knows no closing day."""
        del days
        prolific.transition(self.client, self.there, "START")
        return "Prolific recruits again."
