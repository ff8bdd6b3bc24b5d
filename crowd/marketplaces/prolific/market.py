"""Prolific as a marketplace of one study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import ROUND_UP, Decimal
from functools import cached_property
from typing import TYPE_CHECKING

import httpx

from crowd.marketplaces.checklist import DESCRIPTIONS, Lines, Planned
from crowd.marketplaces.launch import check_pairs, check_public_url, check_same, read_launch, write_launch
from crowd.marketplaces.ledger import Act, Payout, PayoutLedger, Purpose, check_cap
from crowd.marketplaces.money import CENT, Price, reward_of
from crowd.marketplaces.prolific import acts, drafting
from crowd.marketplaces.prolific import client as prolific
from crowd.marketplaces.prolific.entrance import PROLIFIC_COMPLETE, PROLIFIC_IDS
from crowd.marketplaces.prolific.options import ProlificOptions
from crowd.marketplaces.settling import Listed, ListedState, LookUp
from crowd.study_folder import hit_of
from dialogue.errors import InputError
from dialogue.records import Source

if TYPE_CHECKING:
    from crowd.marketplaces.self_test import Visitor
    from crowd.store.store import Store

PROLIFIC_STATES: dict[str, ListedState] = {
    "AWAITING REVIEW": "waiting",
    "APPROVED": "approved",
    "ACTIVE": "open",
    "RESERVED": "open",
    "SCREENED OUT": "screened",
    "RETURNED": "returned",
    "TIMED-OUT": "timed out",
    "REJECTED": "rejected",
}
LONGEST_VISIT = 24 * 3600.0  # seconds; Prolific times a visit out before that


class ProlificMarket:
    """See `crowd.marketplaces.market.Market`."""

    title = "Prolific"
    source: Source = "prolific"
    least_hourly: Mapping[str, Decimal] = drafting.LEAST_HOURLY

    def __init__(self, options: ProlificOptions, store: Store) -> None:
        self.options, self.store = options, store
        self.launch: prolific.ProlificLaunch | None = read_launch(store, self.source, prolific.ProlificLaunch)

    @cached_property
    def client(self) -> httpx.Client:
        """Connected when it is first needed."""
        return prolific.connect_to_prolific()

    @property
    def existing(self) -> prolific.ProlificLaunch:
        """The launch, which must exist by now."""
        if self.launch is None:
            raise InputError("This study has no launch on Prolific yet: launch it there first.")
        return self.launch

    @property
    def reward(self) -> Decimal:
        """What one approved submission is paid."""
        return Decimal(self.existing.reward)

    @property
    def screen_out(self) -> Decimal:
        """What a screened-out person is paid by Prolific; 0 where they are approved like everybody."""
        return Decimal(self.existing.screen_out)

    @property
    def currency(self) -> str:
        """Of the launch."""
        return self.existing.currency

    # Launch

    def plan(self, study: Planned) -> tuple[Lines, Price]:
        """Asks Prolific what it knows; writes nothing."""
        hit = study.hit
        url = self.page()
        reward = reward_of(hit.pay_per_sitting, hit.currency, prolific.CURRENCIES, self.title)
        drafting.check_codes(hit.completion_code, hit.screened_out_code)
        fresh = prolific.new_prolific_launch(
            public_url=url,
            pairs=study.digest,
            reward=reward,
            currency=hit.currency,
            places=study.sittings,
            screen_out=self._screen_out(reward, hit.currency),
            screen_outs=math.ceil(study.sittings * (1 / study.pass_rate - 1)) + 1 if self.options.screen_out_pay else 0,
        )
        self.launch = self.launch or fresh
        check_same(self.launch, fresh, "public_url", "reward", "currency", "screen_out")
        check_pairs(study.pairs, self.launch.pairs)
        self._account()
        self.filters = self._filters()
        lines = [
            ("place", f"a draft of {self.launch.places} places; only publishing it on Prolific's page spends money"),
            ("account", "the token is accepted"),
            ("workers", self._asked()),
            ("screened", self._screened()),
            ("fee", f"{self.fee.quantize(CENT)} %, {self._fee_from()}"),
        ]
        return lines, self.more(0 if self.launch.study else self.launch.places)

    def _screen_out(self, reward: Decimal, currency: str) -> Decimal:
        pay, least = self.options.screen_out_pay, drafting.LEAST_SCREEN_OUT[currency]
        if pay is not None and not least <= pay < reward:
            raise InputError(f"--screen-out-pay is {pay}; Prolific takes {least} or more, and less than {reward}.")
        return pay or Decimal(0)

    def _screened(self) -> str:
        launch = self.existing
        if not self.screen_out:
            return "approved and paid in full like everybody (--screen-out-pay: a fixed amount instead)"
        return f"{launch.screen_out} {launch.currency}, paid by Prolific, for up to {launch.screen_outs} people"

    def _filters(self) -> list[dict[str, object]]:
        groups = (
            ("participant_group_allowlist", self.options.only_group),
            ("participant_group_blocklist", self.options.not_group),
        )
        extra: list[dict[str, object]] = [{"filter_id": name, "selected_values": [one]} for name, one in groups if one]
        if not self.options.filters:
            return extra
        known = prolific.call(self.client, "GET", "/filters/", lambda found: list(found["results"]))
        return [*drafting.read_filters(self.options.filters, known), *extra]

    def _asked(self) -> str:
        if not self.filters:
            return "anybody on Prolific (to narrow it: --filters, --only-group, --not-group)"
        return f"{len(self.filters)} filters: {', '.join(str(one['filter_id']) for one in self.filters)}"

    @cached_property
    def fee(self) -> Decimal:
        """In per cent: as typed, else by Prolific's calculator for this account."""
        return (
            self.options.fee_percent
            if self.options.fee_percent is not None
            else prolific.fee_percent(self.client, self.reward)
        )

    def _fee_from(self) -> str:
        return (
            "as you typed it" if self.options.fee_percent is not None else "by Prolific's calculator for this account"
        )

    def _account(self) -> None:
        prolific.call(self.client, "GET", "/users/me/")

    def page(self) -> str:
        """Https, or this machine where it stands in for Prolific."""
        return check_public_url(self.options.public_url, rehearsal=prolific.prolific_stands_in())

    def visitor(self) -> Visitor:
        """How a participant arrives and leaves, for the self-test."""
        from crowd.marketplaces.self_test import Visitor

        return Visitor(dict.fromkeys(PROLIFIC_IDS, "SELFTEST"), PROLIFIC_COMPLETE, "--prolific")

    def create(self, store: Store) -> str:
        """The record first, so that an interrupted launch finds its draft again."""
        hit = hit_of(self.options.study, None)
        terms = drafting.ProlificTerms(
            hit.title,
            DESCRIPTIONS[hit.form],
            self.options.minutes,
            hit.completion_code,
            hit.screened_out_code,
            filters=self.filters,
            group=self.options.group,
        )
        write_launch(store, self.source, self.existing)
        purchase = self._purchase(self.existing.places, self.existing.places)
        check_cap(store, [purchase])
        PayoutLedger(store, self.source).note(purchase)  # the money moves when a person publishes the draft
        self.launch = prolific.create_draft(self.client, self.existing, drafting.draft(self.existing, terms))
        write_launch(store, self.source, self.launch)
        return (
            "The draft is on Prolific. Try it there (Preview), then publish it: "
            f"https://app.prolific.com/researcher/studies/{self.launch.study}"
        )

    def tasks(self) -> list[str] | None:
        """The study whose participants are let in; nobody's while the draft has no name."""
        return [self.existing.study] if self.existing.study else None

    def _purchase(self, places: int, total: int) -> Payout:
        price = self.more(places)
        extra = self.screen_out * (1 + self.fee / 100) * (self.existing.screen_outs if places == total else 0)
        cost = (price.total + extra).quantize(CENT, ROUND_UP)
        return Payout(self.source, f"places-{total}", "places", self.reward * places, cost, self.currency)

    # While it runs

    def look_up(self) -> LookUp:
        """Submissions, whatever became of them."""
        rows = [
            Listed(row.submission, row.participant, PROLIFIC_STATES.get(row.status, "other"), self.existing.study)
            for row in prolific.submissions(self.client, self.existing)
        ]
        return LookUp(rows)

    def deadline(self) -> float:
        """A day."""
        return LONGEST_VISIT

    def act(self, ledger: PayoutLedger, purpose: Purpose, reason: str) -> Act | None:
        """How Prolific does this; a screen-out it has paid by itself, and with a payment it shows no reason."""
        if purpose == "return":
            return acts.ReturnRequest(self.client, reason)
        if purpose == "reward":
            return acts.ProlificApproval(self.client)
        if purpose == "screen-out":
            return None
        if purpose == "places":
            return acts.MorePlaces(self.client, self.existing, self.existing.places)
        return acts.ProlificBonus(self.client, self.existing, ledger.paid_beside)

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With the account's fee."""
        return (amount * (1 + self.fee / 100)).quantize(CENT, ROUND_UP)

    def close_to(self, workers: Iterable[str]) -> tuple[int, list[str]]:
        """Nothing to do: on Prolific a person has one submission a study."""
        del workers
        return 0, []

    def more(self, sittings: int) -> Price:
        """At the reward of the launch."""
        return prolific.prolific_price(sittings, self.reward, self.currency, self.fee)

    def open_places(self) -> int:
        """Places that nobody has handed in from yet: free, or at work."""
        done = sum(row.state in ("waiting", "approved") for row in self.look_up().rows)
        return max(0, self._total() - done)

    def extend(self, store: Store, sittings: int) -> str:
        """Raise the number of places, on disk before it is said."""
        total = self._total() + sittings
        check_cap(store, [self._purchase(sittings, total)])
        self.launch = replace(self.existing, places=total)
        write_launch(store, self.source, self.launch)
        self.finish_extension(store)
        return f"The study has {total} places now."

    def finish_extension(self, store: Store) -> int:
        """Settle an extension that was begun; how many places it added now."""
        total = self.existing.places
        missing = total - self._total()
        if missing <= 0:
            return 0
        act = acts.MorePlaces(self.client, self.existing, total)
        done = PayoutLedger(store, self.source).carry_out(self._purchase(missing, total), act)
        if done.state != "confirmed":
            raise InputError(f"{done.why} Run the same command again: it goes on where it stopped.")
        return missing

    def _total(self) -> int:
        return int(prolific.study_at_prolific(self.client, self.existing)["total_available_places"])

    def close(self) -> str:
        """Pause the recruiting; who is at work may finish."""
        prolific.transition(self.client, self.existing, "PAUSE")
        return "Prolific sends no new raters."

    def open(self) -> str:
        """Recruit again; Prolific has no closing day."""
        prolific.transition(self.client, self.existing, "START")
        return "Prolific recruits again."
