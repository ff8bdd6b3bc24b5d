"""Prolific as a marketplace of one study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_UP, Decimal
from functools import cached_property
from typing import TYPE_CHECKING

import httpx

from seedvote.crowd.marketplaces.checklist import DESCRIPTIONS, Lines, Planned
from seedvote.crowd.marketplaces.launch import (
    check_pairs,
    check_public_url,
    check_same,
    existing_launch,
    read_launch,
    stands_in,
    update_launch,
    write_launch,
)
from seedvote.crowd.marketplaces.ledger import (
    ZERO,
    Act,
    NotDone,
    OneByOne,
    Payout,
    PayoutLedger,
    Purpose,
    Unsure,
    check_cap,
    is_extra,
)
from seedvote.crowd.marketplaces.money import CENT, Price, reward_of
from seedvote.crowd.marketplaces.prolific import acts, calling, drafting
from seedvote.crowd.marketplaces.prolific import client as prolific
from seedvote.crowd.marketplaces.prolific.entrance import PROLIFIC_COMPLETE, PROLIFIC_IDS
from seedvote.crowd.marketplaces.prolific.options import ProlificOptions
from seedvote.crowd.marketplaces.settling import Listed, ListedState, LookUp, visits
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.self_test import Visitor
    from seedvote.crowd.store.store import Store

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
TWO_TRIES = (
    "one failed check ends a rater's work. For studies of five minutes or longer Prolific's policy on attention checks "
    "asks for two: max_failures = 2"
)
SHARE_PRECISION = Decimal("0.000001")
LONGEST_VISIT = 24 * 3600.0  # seconds; Prolific times a visit out before that


def _of_places(ledger: PayoutLedger) -> list[Payout]:
    return [row for row in ledger.read_payouts() if row.purpose in ("places", "refund")]


class ProlificMarket:
    """See `crowd.marketplaces.market.Market`."""

    title = "Prolific"
    source: Source = "prolific"
    least_hourly: Mapping[str, Decimal] = drafting.LEAST_HOURLY

    def __init__(self, options: ProlificOptions, store: Store) -> None:
        self.options, self.store = options, store
        self.listing = acts.Listing(self._list_all)
        self.launch: prolific.ProlificLaunch | None = read_launch(store, self.source, prolific.ProlificLaunch)

    @cached_property
    def client(self) -> httpx.Client:
        """Connected when it is first needed."""
        return calling.connect_to_prolific()

    @property
    def existing(self) -> prolific.ProlificLaunch:
        """The launch, which must exist by now."""
        return existing_launch(self.launch, self.title)

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

    def plan_launch(self, study: Planned) -> tuple[Lines, Price]:
        """Asks Prolific what it knows; writes nothing."""
        hit = study.hit
        url = self.page_address()
        reward = reward_of(hit.pay_per_sitting, hit.currency, prolific.CURRENCIES, self.title)
        drafting.check_codes(hit.completion_code, hit.screened_out_code)
        self._check_account()
        self.filters = self._build_filters()
        fresh = prolific.ProlificLaunch(
            public_url=url,
            pairs=study.digest,
            reward=f"{reward:.2f}",
            currency=hit.currency,
            places=study.sittings,
            screen_out=f"{self._screen_out(reward, hit.currency):.2f}",
            screen_outs=math.ceil(study.sittings * (1 / study.pass_rate - 1)) + 1 if self.options.screen_out_pay else 0,
            quota=drafting.has_quota(self.filters),
        )
        self.launch = self.launch or fresh
        check_same(self.launch, fresh, "public_url", "reward", "currency", "screen_out")
        check_pairs(study.pairs, self.launch.pairs)
        price = self.price_sittings(0 if self.launch.study else self.launch.places)
        lines = [
            ("place", f"a draft of {self.launch.places} places; only publishing it on Prolific's page spends money"),
            ("account", f"the token is accepted; {self._balance_text(price)}"),
            ("workers", self._filters_text()),
            ("screened", self._screened_text()),
            ("fee", f"{self.fee.quantize(CENT)} %, {self._fee_from()}"),
            *([("two tries", TWO_TRIES)] if study.checks and hit.max_failures == 1 else []),
        ]
        return lines, price

    def _balance_text(self, price: Price) -> str:
        """What may be spent, and whether it is enough to publish."""
        if (known := prolific.workspace_balance(self.client, self.options.workspace)) is None:
            return "its balance is not known: it has several workspaces (--workspace ID)"
        balance, currency = known
        short = f", less than these places cost ({price.total}): top up before you publish"
        return f"its workspace holds {balance:.2f} {currency}{'' if balance >= price.total else short}"

    def _screen_out(self, reward: Decimal, currency: str) -> Decimal:
        pay, least = self.options.screen_out_pay, drafting.LEAST_SCREEN_OUT[currency]
        if pay is not None and not least <= pay < reward:
            raise InputError(f"--screen-out-pay is {pay}; Prolific takes {least} or more, and less than {reward}.")
        return pay or Decimal(0)

    def _screened_text(self) -> str:
        launch = self.existing
        if not self.screen_out:
            return "approved and paid in full like everybody (--screen-out-pay: a fixed amount instead)"
        return f"{launch.screen_out} {launch.currency}, paid by Prolific, for up to {launch.screen_outs} people"

    def _build_filters(self) -> list[dict[str, object]]:
        groups = (
            ("participant_group_allowlist", self.options.only_group),
            ("participant_group_blocklist", self.options.not_group),
        )
        extra: list[dict[str, object]] = [
            {"filter_id": name, "selected_values": [group]} for name, group in groups if group
        ]
        if not self.options.filters:
            return extra
        known = calling.call(self.client, "GET", "/filters/", lambda reply: list(reply["results"]))
        return [*drafting.read_filters(self.options.filters, known), *extra]

    def _filters_text(self) -> str:
        if not self.filters:
            return "anybody on Prolific (to narrow it: --filters, --only-group, --not-group)"
        return f"{len(self.filters)} filters: {', '.join(str(entry['filter_id']) for entry in self.filters)}"

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

    def _check_account(self) -> None:
        calling.call(self.client, "GET", "/users/me/")

    def page_address(self) -> str:
        """Https, or this machine where it stands in for Prolific."""
        return check_public_url(self.options.public_url, rehearsal=stands_in(calling.ENDPOINT))

    def make_visitor(self) -> Visitor:
        """How a participant arrives and leaves, for the self-test."""
        from seedvote.crowd.marketplaces.self_test import Visitor

        return Visitor(dict.fromkeys(PROLIFIC_IDS, "SELFTEST"), PROLIFIC_COMPLETE, "--prolific")

    def create_launch(self, store: Store) -> str:
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
        purchase = self._price_places(self.existing.places, self.existing.places)
        check_cap(store, [purchase])
        PayoutLedger(store, self.source).note_payment(purchase)  # the money moves when a person publishes the draft
        self.launch = prolific.create_draft(self.client, self.existing, drafting.draft(self.existing, terms))
        write_launch(store, self.source, self.launch)
        return (
            "The draft is on Prolific. Try it there (Preview), then publish it: "
            f"https://app.prolific.com/researcher/studies/{self.launch.study}"
        )

    def list_tasks(self) -> list[str]:
        """The launch, which the draft's address names, and the study, by which drafts of earlier versions send people.

        Not the study where it has quotas: its people come by names of parts, which nobody knows before.
        """
        launch = self.existing
        return [launch.key, *([launch.study] if launch.study and not launch.quota else [])]

    def _price_places(self, places: int, total: int) -> Payout:
        price = self.price_sittings(places)
        extra = self.screen_out * (1 + self.fee / 100) * (self.existing.screen_outs if places == total else 0)
        cost = (price.total + extra).quantize(CENT, ROUND_UP)
        return Payout(self.source, f"places-{total}", "places", self.reward * places, cost, self.currency)

    # While it runs

    def look_up(self) -> LookUp:
        """Submissions, whatever became of them."""
        self.listing.forget_submissions()
        listed = self.listing.read_submissions()
        if self.existing.quota:
            listed |= self._unlisted_parts(listed)
        states = {row.submission: PROLIFIC_STATES.get(row.status, "other") for row in listed.values()}
        return LookUp(
            [Listed(row.submission, row.participant, states[row.submission], row.study) for row in listed.values()]
        )

    def _list_all(self) -> dict[str, prolific.Submission]:
        studies = (self.existing.study, *self.existing.parts)
        rows = (row for study in studies for row in prolific.submissions(self.client, study))
        return {row.submission: row for row in rows}

    def _unlisted_parts(self, listed: Mapping[str, prolific.Submission]) -> dict[str, prolific.Submission]:
        """Submissions of the parts of a study with quotas: a visit that is not listed tells the name of its part."""
        with self.store.read() as connection:
            arrived = visits(connection, self.source)
        submissions: dict[str, prolific.Submission] = {}
        for visit in arrived:
            if not visit.answers or visit.withdrawn or visit.key in listed or visit.key in submissions:
                continue
            try:
                part, parent = prolific.parts_of(self.client, visit.key)
            except NotDone:  # a name that somebody made up
                continue
            if parent == self.existing.study and part not in self.existing.parts:
                self.launch = update_launch(self.store, self.source, self.existing, parts=(*self.existing.parts, part))
                submissions |= {row.submission: row for row in prolific.submissions(self.client, part)}
        return submissions

    def visit_deadline(self) -> float:
        """A day."""
        return LONGEST_VISIT

    def make_act(self, ledger: PayoutLedger, purpose: Purpose, reason: str) -> Act | None:
        """How Prolific does this; a screen-out it has paid by itself, and with a payment it shows no reason."""
        if purpose == "return":
            return OneByOne(acts.ReturnRequest(self.client, reason))
        if purpose == "rejection":
            return OneByOne(acts.Rejection(self.client, *reason.partition(" ")[::2]))
        if purpose == "reward":
            return acts.Approvals(self.client, self.listing)
        if purpose == "places":
            return OneByOne(acts.MorePlaces(self.client, self.existing, self.existing.places))
        return acts.Bonuses(self.client, self.listing, ledger.equal_paid) if is_extra(purpose) else None

    def book_changes(self, store: Store) -> list[str]:
        """Places that were bought or given back on Prolific's page, and what the finished study cost in the end."""
        ledger = PayoutLedger(store, self.source)
        before = _of_places(ledger)
        study = prolific.study_at_prolific(self.client, self.existing)
        has_ended = study["status"] == "COMPLETED"
        is_asked = has_ended or (study["status"] != "UNPUBLISHED" and not self.existing.vat_share)
        cost = self._cost_so_far() if is_asked else None
        rows = _of_places(ledger)
        if rows != before or any(row.state not in ("confirmed", "refused") for row in rows):
            return []  # an extension is on its way: its own row says what it buys
        rows = [row for row in rows if row.state == "confirmed"]
        if has_ended:
            sentences = self._book_end(ledger, rows, cost) if cost else ["Prolific does not say now what it cost."]
        else:
            sentences = self._book_by_hand(ledger, rows, int(study["total_available_places"]))
        self._book_vat(store, ledger, cost, has_ended=has_ended)
        return sentences

    def _cost_so_far(self) -> prolific.StudyCost | None:
        """None where Prolific does not answer: people are paid all the same, and the books wait."""
        try:
            return prolific.places_cost(self.client, self.existing)
        except (NotDone, Unsure):
            return None

    def _book_by_hand(self, ledger: PayoutLedger, rows: Sequence[Payout], total: int) -> list[str]:
        booked = sum(round(row.amount / self.reward) for row in rows)
        if total == booked:
            return []
        price, sign = self.price_sittings(abs(total - booked)), 1 if total > booked else -1
        # the name follows from what was seen, so that two hosts that see it at once book it once
        name = f"by-hand-{len(rows)}-{booked}-{total}"
        purpose = "places" if sign > 0 else "refund"
        row = Payout(self.source, name, purpose, sign * self.reward * price.sittings, sign * price.total, self.currency)
        ledger.note_payment(row)
        verb = "were bought" if sign > 0 else "were given back"
        return [f"{price.sittings} places {verb} on Prolific's page: {row.cost:.2f} {self.currency} booked."]

    def _book_end(self, ledger: PayoutLedger, rows: Sequence[Payout], ended: prolific.StudyCost) -> list[str]:
        booked, actual = sum((row.cost for row in rows), ZERO), Decimal(ended.total) / 100
        if booked == actual:
            return []
        if actual > 2 * booked:  # nothing that places could cost
            return [
                f"Prolific says that the places cost {actual:.2f} {self.currency}; {booked:.2f} are booked. Look there."
            ]
        amount = Decimal(ended.rewards) / 100 - sum((row.amount for row in rows), ZERO)
        purpose = "refund" if actual < booked else "places"
        row = Payout(self.source, f"ended-{len(rows)}-{ended.total}", purpose, amount, actual - booked, self.currency)
        ledger.note_payment(row)
        return [f"The study has ended and its places cost {actual:.2f} {self.currency}: {row.cost:+.2f} booked."]

    def _book_vat(
        self, store: Store, ledger: PayoutLedger, cost: prolific.StudyCost | None, *, has_ended: bool
    ) -> None:
        """What of the places was VAT: by the share that Prolific says, and to the cent when the study has ended."""
        if cost and cost.total:
            share = (Decimal(cost.vat) / cost.total).quantize(SHARE_PRECISION)
            if self.existing.vat_share != f"{share:f}":
                self.launch = update_launch(store, self.source, self.existing, vat_share=f"{share:f}")
        rows = [row for row in _of_places(ledger) if row.state == "confirmed"]
        booked = sum((row.cost for row in rows), ZERO)
        if not self.existing.vat_share or not booked:
            return
        is_billed = cost is not None and has_ended and booked * 100 == cost.total
        vat = cost.vat if cost and is_billed else round(booked * 100 * Decimal(self.existing.vat_share))
        shares = acts.shares_of(vat, [row.cost for row in rows])
        if shares != [row.vat for row in rows]:
            ledger.set_vat(rows, shares)

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With the account's fee."""
        return (amount * (1 + self.fee / 100)).quantize(CENT, ROUND_UP)

    def close_to(self, workers: Iterable[str]) -> tuple[int, list[str]]:
        """Nothing to do: on Prolific a person has one submission a study."""
        del workers
        return 0, []

    def price_sittings(self, sittings: int) -> Price:
        """At the reward of the launch."""
        return prolific.prolific_price(sittings, self.reward, self.currency, self.fee)

    def open_places(self) -> int:
        """Places that nobody has handed in from yet: free, or at work."""
        done = sum(row.state in ("waiting", "approved") for row in self.look_up().rows)
        return max(0, self._count_places() - done)

    def add_sittings(self, store: Store, sittings: int) -> str:
        """Raise the number of places, on disk before it is said."""
        total = self._count_places() + sittings
        check_cap(store, [self._price_places(sittings, total)])
        self.launch = update_launch(store, self.source, self.existing, places=total)
        self.finish_extension(store)
        return f"The study has {total} places now."

    def finish_extension(self, store: Store) -> int:
        """Settle an extension that was begun; how many places it added now."""
        total = self.existing.places
        missing = total - self._count_places()
        if missing <= 0:
            return 0
        act = acts.MorePlaces(self.client, self.existing, total)
        PayoutLedger(store, self.source).buy_places(self._price_places(missing, total), act)
        return missing

    def _count_places(self) -> int:
        return int(prolific.study_at_prolific(self.client, self.existing)["total_available_places"])

    def stop_entry(self) -> str:
        """Pause the recruiting; who is at work may finish."""
        prolific.transition(self.client, self.existing, "PAUSE")
        return "Prolific sends no new raters."

    def allow_entry(self) -> str:
        """Recruit again; Prolific has no closing day."""
        prolific.transition(self.client, self.existing, "START")
        return "Prolific recruits again."
