"""Paying workers who answered and could not hand in: for which visit, and what became of it.

Only a visit that MTurk can no longer take in is compensated, once, and never one that was handed in. What was answered
in it stays unverified: anybody could have written its address.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal

from seedvote.crowd.marketplaces.ledger import ZERO, NotDone, OneByOne, Payout, PayoutLedger, Purpose, Unsure
from seedvote.crowd.marketplaces.money import CENT
from seedvote.crowd.marketplaces.mturk import acts
from seedvote.crowd.marketplaces.mturk import client as mturk
from seedvote.crowd.marketplaces.mturk.connecting import explained
from seedvote.crowd.marketplaces.mturk.market import MTurkMarket
from seedvote.crowd.marketplaces.settling import MarketVisit, visits
from seedvote.crowd.store.store import Store
from seedvote.dialogue.errors import InputError

WhyNot = Callable[[MarketVisit], str]  # why a visit is not compensated; empty: it may be


def to_compensate(
    market: MTurkMarket, store: Store, names: Sequence[str], amount: Decimal, now: float
) -> dict[MarketVisit, Payout]:
    """What each worker (or assignment) that is named would get; a sentence where one cannot, or it is not clear why."""
    with store.read() as connection:
        arrived = visits(connection, market.source)
    why_not = _make_rule(market, store, arrived, now)
    chosen = [_visit_of(name, arrived, why_not) for name in names]
    cost = mturk.mturk_price(1, amount).total
    return {visit: Payout(market.source, visit.key, "compensation", amount, cost, market.currency) for visit in chosen}


def _make_rule(market: MTurkMarket, store: Store, arrived: Sequence[MarketVisit], now: float) -> WhyNot:
    look = market.look_up()
    gone = [hit for hit in mturk.hits_of(market.existing) if mturk.look_up_hit(market.client, hit) is None]
    if look.problems or gone:
        why = look.problems[0] if look.problems else "a HIT of this study was deleted there"
        raise InputError(f"MTurk cannot say who has handed in ({why}). Nothing was opened.")
    handed_in = {row.key for row in look.rows}
    begun = set(_promised_payouts(store, market, "compensation"))
    rewarded = set(_promised_payouts(store, market, "reward")) - begun

    def why_not(visit: MarketVisit) -> str:
        if visit.listed or visit.key in handed_in | rewarded:
            return "was handed in: `crowd pay` pays for it"
        if not visit.answers:
            return "has no answer here"
        if len({namesake.worker for namesake in arrived if namesake.key == visit.key}) > 1:
            return "was opened under several worker ids: look at MTurk whose it was, and pay by hand"
        if (until := visit.begun + market.visit_deadline()) > now and visit.key not in begun:
            return f"may still be handed in, until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"
        return ""

    return why_not


def _promised_payouts(store: Store, market: MTurkMarket, purpose: Purpose) -> dict[str, Payout]:
    """What is or may be paid for it, by submission."""
    rows = PayoutLedger(store, market.source).read_payouts("intended", "sent", "confirmed", "uncertain")
    return {row.submission: row for row in rows if row.purpose == purpose}


def _visit_of(name: str, here: Sequence[MarketVisit], why_not: WhyNot) -> MarketVisit:
    mine = [visit for visit in here if name in (visit.worker, visit.key)]
    if not mine:
        raise InputError(f"{name} is no worker and no assignment that came to this study. Nothing was opened.")
    reasons = {visit: why_not(visit) for visit in mine}
    fit = [visit for visit, why in reasons.items() if not why]
    if not fit:
        raise InputError(f"{mine[-1].key} {reasons[mine[-1]]}. Nothing was opened.")
    if len(fit) > 1:
        names = ", ".join(f"{visit.key} ({visit.answers} answers)" for visit in fit)
        raise InputError(f"{name} has {len(fit)} visits that were not handed in: name one of {names}.")
    return fit[0]


def check_floor(visit: MarketVisit, amount: Decimal, hourly: Decimal) -> None:
    """Refuse less than a cent, or than this pay an hour for the seconds that the answers took."""
    least = max(CENT, (hourly * Decimal(str(visit.seconds)) / 3600).quantize(CENT, ROUND_UP))
    if amount < least:
        raise InputError(
            f"--amount is {amount:.2f}; {visit.key} took {visit.seconds:.0f} s, for which {hourly:.2f} an hour is "
            f"{least:.2f}. Pay that, or say --least-hourly. Nothing was opened."
        )


def open_hits(market: MTurkMarket, store: Store, due: Mapping[MarketVisit, Payout]) -> list[Payout]:
    """Open each HIT, one after the other; one that fails stops no other."""
    act = acts.OwedHit(market.client, market.existing, {visit.key: visit.worker for visit in due})
    return PayoutLedger(store, market.source).carry_out_all(list(due.values()), OneByOne(act))


def collect(market: MTurkMarket, store: Store, renewed: Collection[str] = ()) -> Iterator[tuple[Payout, str]]:
    """Approve what came in, and put away what was paid: each compensation of the study, and how it stands now."""
    with store.read() as connection:
        workers = {visit.key: visit.worker for visit in visits(connection, market.source)}
    for row in _promised_payouts(store, market, "compensation").values():
        if row.submission not in workers:
            continue  # of somebody who was forgotten: MTurk approves by itself
        try:
            yield row, _settle_row(market, store, row, workers[row.submission], renew=row.submission in renewed)
        except (NotDone, Unsure) as error:
            yield row, f"not known: {error}"


def _settle_row(market: MTurkMarket, store: Store, row: Payout, worker: str, *, renew: bool) -> str:
    ledger, client, launch = PayoutLedger(store, market.source), market.client, market.existing
    if row.state in ("sent", "uncertain"):
        row = ledger.ask_one(row, acts.OwedHit(client, launch, {}))
    if row.state != "confirmed":
        return f"{row.state}: name the worker again, and it is opened if it is not there"
    paid = _promised_payouts(store, market, "reward").get(row.submission)
    if paid is None or paid.state != "confirmed":
        if (hit := acts.find_owed(client, launch, row)) is None:
            return "not known: its HIT is not at MTurk any more"
        came = [
            assignment for assignment in mturk.assignments(client, str(hit["HITId"])) if assignment.worker == worker
        ]
        if not came:
            return _say_wait(market, hit["HITId"], hit["Expiration"], renew=renew)
        reward = Payout(market.source, row.submission, "reward", row.amount, ZERO, market.currency)
        paid = ledger.carry_out(reward, acts.MTurkApproval(client, came[0].assignment))
        if paid.state != "confirmed":
            return f"handed in, and its approval is {paid.state}{f': {paid.why}' if paid.why else ''}"
    try:
        acts.put_away(client, launch, row)
    except (NotDone, Unsure) as error:
        return f"paid; its HIT is not deleted yet: {error}"
    return "paid"


def _say_wait(market: MTurkMarket, hit: str, until: datetime, *, renew: bool) -> str:
    if renew:
        until = mturk.in_days(acts.OWED_DAYS)
        with explained():
            market.client.update_expiration_for_hit(HITId=hit, ExpireAt=until)
    over = until < datetime.now(UTC)
    return f"{'closed since' if over else 'open until'} {until:%Y-%m-%d}: the worker has not come for it yet"
