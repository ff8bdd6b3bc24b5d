"""A bill and what became of it, as lines for people: by the marketplace's ids of visits, never by those of persons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from seedvote.crowd.marketplaces.ledger import Payout
from seedvote.crowd.marketplaces.paying import Bill, Due, Receipt
from seedvote.crowd.marketplaces.settling import MarketVisit, Recorded

DONE = {"reward": "approved", "answers": "bonus", "screen-out": "partial", "compensation": "partial"}
STATES = {"refused": "refused", "sent": "on its way"}


def bill_lines(bill: Bill, currency: str) -> Iterator[str]:
    """Whom it would pay what, and what is left to the researcher."""
    settlement = bill.settlement
    yield f"  confirmed  {len(settlement.verified)} visits: the marketplace lists them for the worker who came"
    for purpose, number in sorted(Counter(due.payout.purpose for due in bill.fresh).items()):
        amounts = sum((due.payout.amount for due in bill.fresh if due.payout.purpose == purpose), Decimal(0))
        yield f"  {purpose:<10} {number} x, {amounts:.2f} {currency}"
    if begun := len(bill.dues) - len(bill.fresh):
        yield f"  not sent   {begun} were sent before and are not settled: the marketplace is asked about them"
    if bill.before:
        yield f"  not sent   {bill.before} were paid before; each is paid once"
    yield f"  to spend   {bill.cost:.2f} {currency} with fees, beyond the places that are bought"
    if bill.pace:
        yield _pace_line(bill, currency)
    for visit, why in bill.on_hold.items():
        yield f"  held       {visit.key}: {why} (pay --release {visit.key})"
    yield from _named_lines("short", "handed in with fewer answers than --min-answers: left to you", bill.short)
    yield from _named_lines(
        "no pair", "answered hidden checks alone, not paid: --only ID pays one in full", bill.unjudged
    )
    yield from _named_lines(
        "could not", "worked and could not hand in: --compensate AMOUNT, for each answer", bill.unable
    )
    yield f"  foreign    {len(settlement.foreign)} were handed in without an answer here: check them yourself"
    yield from (f"    {row.key}" for row in settlement.foreign)
    yield f"  unlisted   {len(settlement.unlisted)} have answers here but are not listed by the marketplace"
    yield f"  overdue    {len(bill.overdue)} of those are overdue: their votes will be set aside"
    due = sorted({due.visit for due in bill.fresh}, key=lambda visit: visit.begun)
    yield from _named_lines("due", "are due something" if len(due) != 1 else "is due something", due)


def _pace_line(bill: Bill, currency: str) -> str:
    pace = bill.pace
    assert pace is not None
    took = f"{pace.minutes:.1f} minutes by the median of {pace.visits} finished visits"
    below = f", below {bill.floor:.2f}: --top-up raises everybody to it" if pace.hourly < bill.floor else ""
    return f"  pay        {pace.hourly:.2f} {currency} an hour, {took}{below}"


def _named_lines(name: str, words: str, visits: Sequence[MarketVisit]) -> Iterator[str]:
    yield f"  {name:<10} {len(visits)} {words}"
    yield from (f"    {visit_facts(visit)}" for visit in visits)


def visit_facts(visit: MarketVisit) -> str:
    """One visit: id, answers, checks, seconds."""
    checks = f"{visit.failed} of {visit.checks} checks failed"
    pace = f"{visit.seconds / visit.answers:.1f} s each" if visit.answers else "-"
    return f"{visit.key}  {visit.answers} answers, {checks}, {pace}{', blocked' if visit.blocked else ''}"


def paid_lines(paid: Sequence[Due], open_: Sequence[Payout]) -> Iterator[str]:
    """What became of each payment: approved, bonus, partial, refused, uncertain."""
    yield f"  {'what':<10} {'amount':>8}  visit"
    unsettled = {(row.submission, row.purpose): row for row in open_}
    for due in paid:
        row = unsettled.pop((due.payout.submission, due.payout.purpose), due.payout)
        word = DONE.get(row.purpose, row.purpose) if row.state == "confirmed" else STATES.get(row.state, "uncertain")
        yield f"  {word:<10} {row.amount:>8.2f}  {visit_facts(due.visit)}{f': {row.why}' if row.why else ''}"
    for row in unsettled.values():
        word = STATES.get(row.state, "uncertain")
        yield f"  {word:<10} {row.amount:>8.2f}  {row.submission}: {row.purpose}{f', {row.why}' if row.why else ''}"
    if open_:
        yield "  What is on its way or uncertain is never sent again. Run this again in an hour: it is looked up then."
    if any(row.state == "uncertain" for row in open_):
        yield "  If it stays uncertain, look there, then say what you saw: pay --confirm ID, or pay --not-paid ID."


def failures(receipt: Receipt) -> str:
    """What was not done, in one sentence; nothing where all was."""
    paid = [due.payout.state for due in receipt.paid]
    uncertain = sum(row.state == "uncertain" for row in receipt.open) + paid.count("intended")
    numbers = ((paid.count("refused"), "refused"), (uncertain, "uncertain"), (len(receipt.problems), "skipped"))
    return ", ".join(f"{number} {word}" for number, word in numbers if number)


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """What became of each payment, and what else has changed."""
    yield from paid_lines(receipt.paid, receipt.open)
    yield from look_lines(receipt.recorded, receipt.closed, receipt.problems)
    yield from (f"  {line}" for line in receipt.booked)


def look_lines(recorded: Recorded, closed: int, problems: Sequence[str]) -> Iterator[str]:
    """What the marketplace's list has changed, and what could not be done."""
    withdrawn, overdue = recorded.withdrawn, recorded.overdue
    yield f"  {recorded.confirmed} visits newly confirmed, {withdrawn} taken back, {overdue} never listed."
    if closed:
        yield f"  {closed} workers who failed the checks are offered no further work."
    yield from (f"  skipped    {problem}" for problem in problems)
