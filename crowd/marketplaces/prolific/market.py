"""Prolific as a marketplace of one study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property

import httpx

from crowd.marketplaces.checklist import DESCRIPTION, Lines, Planned, check_page, hourly
from crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, write_launch
from crowd.marketplaces.money import Price, reward_of
from crowd.marketplaces.prolific import client as prolific
from crowd.marketplaces.prolific.entrance import PROLIFIC_IDS
from crowd.marketplaces.prolific.options import ProlificOptions
from crowd.marketplaces.settling import Listed, ListedState
from crowd.study_folder import hit_of
from dialogue.errors import InputError
from dialogue.records import Source

PROLIFIC_STATES: dict[str, ListedState] = {
    "AWAITING REVIEW": "waiting",
    "APPROVED": "approved",
    "ACTIVE": "open",
    "RESERVED": "open",
}
LONGEST_VISIT = 24 * 3600.0  # seconds; Prolific times a visit out before that


class ProlificMarket:
    """See `crowd.marketplaces.market.Market`."""

    title = "Prolific"
    source: Source = "prolific"

    def __init__(self, options: ProlificOptions) -> None:
        self.options, self.path = options, options.study / "prolific.json"
        self.launch: prolific.ProlificLaunch | None = read_launch(self.path, prolific.ProlificLaunch)

    @cached_property
    def client(self) -> httpx.Client:
        """Connected when it is first needed."""
        return prolific.connect_to_prolific()

    @property
    def existing(self) -> prolific.ProlificLaunch:
        """The launch, which must exist by now."""
        if self.launch is None:
            raise InputError(f"{self.path} does not exist: launch the study on Prolific first.")
        return self.launch

    def plan(self, study: Planned) -> tuple[Lines, Price]:
        """Reads the running server; writes nothing."""
        hit = study.hit
        url = check_public_url(self.options.public_url)
        reward = reward_of(hit.pay_per_sitting, hit.currency, prolific.CURRENCIES, self.title)
        prolific.check_codes(hit.completion_code, hit.screened_out_code)
        fresh = prolific.new_prolific_launch(
            public_url=url, pairs=study.digest, reward=reward, currency=hit.currency, places=study.sittings
        )
        self.launch = self.launch or fresh
        check_pairs(study.pairs, self.launch.pairs)
        fee = self._fee()
        lines = [
            ("place", f"a draft of {self.launch.places} places; only publishing it on Prolific's page spends money"),
            ("page", check_page(url, door=dict.fromkeys(PROLIFIC_IDS, "preview"))),
            ("pay", f"{reward} {hit.currency} a sitting, {hourly(hit.pay_per_sitting, self.options.minutes)}"),
            ("fee", f"{fee} %" if fee else "not counted below: give --fee-percent, which your account shows"),
            ("account", self._account()),
        ]
        return lines, self.more(0 if self.launch.study else self.launch.places)

    def _fee(self) -> Decimal:
        """In per cent; Prolific's interface does not tell it, so a budget is refused where nobody gave it."""
        fee = self.options.fee_percent
        if self.options.budget is not None and fee is None:
            raise InputError("--budget needs --fee-percent: Prolific's fee depends on your account, which shows it.")
        return fee or Decimal(0)

    def _account(self) -> str:
        prolific.call(self.client, "GET", "/users/me/")
        return "the token is accepted"

    def create(self) -> str:
        """The record first, so that an interrupted launch finds its draft again."""
        hit = hit_of(self.options.study, None)
        terms = prolific.ProlificTerms(
            hit.title, DESCRIPTION, self.options.minutes, hit.completion_code, hit.screened_out_code
        )
        write_launch(self.path, self.existing)
        self.launch = prolific.create_draft(self.client, self.existing, terms)
        write_launch(self.path, self.launch)
        return (
            "The draft is on Prolific. Try it there (Preview), then publish it: "
            f"https://app.prolific.com/researcher/studies/{self.launch.study}"
        )

    def listed(self) -> Iterator[Listed]:
        """Submissions, whatever became of them."""
        for row in prolific.submissions(self.client, self.existing):
            state = PROLIFIC_STATES.get(row.status, "other")
            yield Listed(row.submission, row.participant, state, self.existing.study)

    def deadline(self) -> float:
        """A day."""
        return LONGEST_VISIT

    def approve(self, rows: Sequence[Listed]) -> None:
        """A hundred at a time."""
        prolific.approve_submissions(self.client, [row.key for row in rows])

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With the account's fee, where it was given."""
        return amount * (1 + self._fee() / 100)

    def owed_bonus(self, rows: Sequence[Listed], reason: str) -> list[Listed]:
        """By Prolific's own list: one bonus a submission."""
        del reason
        had = {row.submission for row in prolific.submissions(self.client, self.existing) if row.bonus}
        return [row for row in rows if row.key not in had]

    def pay_bonus(self, rows: Sequence[Listed], amount: Decimal, reason: str) -> None:
        """All at once; Prolific shows no reason."""
        del reason
        if rows:
            prolific.pay_bonuses(self.client, self.existing, [row.key for row in rows], amount)

    def close_to(self, workers: Iterable[str]) -> int:
        """Nothing to do: on Prolific a person has one submission a study."""
        del workers
        return 0

    def more(self, sittings: int) -> Price:
        """At the reward of the launch."""
        launch = self.existing
        return prolific.prolific_price(sittings, Decimal(launch.reward), launch.currency, self._fee())

    def extend(self, sittings: int) -> str:
        """Raise the number of places."""
        self.launch = prolific.add_places(self.client, self.existing, sittings)
        write_launch(self.path, self.launch)
        return f"The study has {self.launch.places} places now."

    def close(self) -> str:
        """Pause the recruiting; who is at work may finish."""
        prolific.transition(self.client, self.existing, "PAUSE")
        return "Prolific sends no new raters."

    def open(self) -> str:
        """Recruit again; Prolific has no closing day."""
        prolific.transition(self.client, self.existing, "START")
        return "Prolific recruits again."
