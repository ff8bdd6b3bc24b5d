"""What must be right before a launch: read from the study and the running server, and printed first."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path

import sqlalchemy as sa

from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.hit.hit import Hit, usual_hit
from seedvote.crowd.marketplaces.money import CENT, Price
from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import pairs as pairs_table
from seedvote.crowd.store.tables import votes
from seedvote.crowd.watching.progress import Progress, missing_votes, progress, sittings_needed
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest

PAPERS = (508, 1004)  # raters who passed the checks, of all, in the papers' study
FEWEST_JUDGED = 20  # raters or judgements from which a study's own figure is taken
DESCRIPTIONS: Mapping[FormName, str] = {
    "pairs": "Read short conversations and say which of two responses is more relevant.",
    "choice": "Read the beginnings of short conversations and say which of several sentences was said next.",
    "conversations": "Read pairs of conversations and say which of two speakers you would rather talk to.",
    "live": "Talk to two computer programs at once, by writing, and say which you would rather talk to.",
    "responses": "Read short conversations and say how good one or several responses to each are.",
}
Lines = list[tuple[str, str]]  # of a checklist: the point, and what was found


@dataclass(frozen=True, slots=True)
class Planned:
    """What a launch has to know of a served study."""

    folder: Path
    pairs: Path
    hit: Hit
    sittings: int  # that are still needed
    checks: int
    digest: str
    waiting: int = 0  # votes that hold a place until the marketplace has confirmed their visit
    pass_rate: float = PAPERS[0] / PAPERS[1]
    pass_from: str = "508 of 1,004 in the papers"
    seconds: float | None = None  # the median judgement so far; None where there are too few


def read_planned(store: Store, folder: Path, hit: Hit, pass_rate: Decimal | None = None) -> Planned:
    """Read what a launch needs."""
    pairs = folder / FORMS[hit.form].file
    with store.read() as connection:
        now = progress(connection, hit.votes_per_pair)
        kinds = sa.select(sa.func.count()).select_from(pairs_table).where(pairs_table.c.kind == "check")
        checks = connection.scalar(kinds) or 0
        missing = missing_votes(connection, hit.votes_per_pair)
        taken = connection.scalars(sa.select(votes.c.seconds).where(votes.c.source != "simulated")).all()
    if not pairs.exists():
        raise InputError(f"{pairs} does not exist, so nobody could check later what was launched. Put the file there.")
    known = [second for second in taken if second is not None]
    return Planned(
        folder,
        pairs,
        hit,
        sittings_needed(missing, hit.pairs_per_sitting),
        checks,
        digest(pairs),
        now.waiting,
        *_pass_rate(now, checks, pass_rate),
        seconds=statistics.median(known) if len(known) >= FEWEST_JUDGED else None,
    )


def _pass_rate(now: Progress, checks: int, typed: Decimal | None) -> tuple[float, str]:
    """The share of raters whose votes count, and where it is from."""
    passed, blocked = now.raters.get("passed", 0), now.raters.get("blocked", 0)
    if typed is not None:
        return float(typed), "as you typed it"
    if not checks:
        return 1.0, "there are no checks to fail"
    if now.sources.get("simulated") or passed + blocked < FEWEST_JUDGED or not passed:
        return PAPERS[0] / PAPERS[1], "508 of 1,004 in the papers"
    return passed / (passed + blocked), f"{passed} of {passed + blocked} so far in this study"


def common_points(study: Planned) -> Lines:
    """The points that are the same for every marketplace."""
    hit = study.hit
    thing = {"choice": "question", "responses": "conversation"}.get(hit.form, "pair")
    counted = {"row": "in a row", "total": "in total"}[hit.count_failures]
    gate = (
        f"no more work after {hit.max_failures} failed {counted}"
        if study.checks
        else "every vote counts, even careless ones"
    )
    default = usual_hit(hit.form).consent_text
    text = ", the default text: show it to your ethics board" if hit.consent_text == default else ""
    return [
        ("consent", f"version {hit.consent_version}{text}"),
        ("task", f"{hit.pairs_per_sitting} {thing}s a sitting, {hit.votes_per_pair} raters a {thing}"),
        (
            "checks",
            f"{hit.first_checks} at the start, {hit.later_checks} more a sitting, out of {study.checks}; {gate}",
        ),
        ("sittings", f"{study.sittings} give every pair its votes; blocked raters make more necessary (crowd extend)"),
    ]


def expected_cost(study: Planned, price: Price, screen_out: Decimal = Decimal(0)) -> Decimal:
    """What the study will cost in the end: whoever fails the checks is paid too, and their votes do not count.

    `screen_out` is what they get where the marketplace pays them a fixed amount instead of the reward.
    """
    failing = study.sittings * (1 / study.pass_rate - 1)
    share = (screen_out / price.reward) if screen_out and price.reward else Decimal(1)
    cost_of_place = price.reward + price.fee
    return ((study.sittings + Decimal(failing) * share) * cost_of_place).quantize(CENT, ROUND_UP)


def cost_lines(study: Planned, price: Price, screen_out: Decimal = Decimal(0)) -> Lines:
    """The price of the places, and what the whole will cost."""
    expected = expected_cost(study, price, screen_out)
    rate = f"{study.pass_rate:.0%} of raters pass the checks ({study.pass_from}); who fails is paid too"
    return [
        ("cost", str(price)),
        ("expected", f"about {expected} {price.currency} until every pair has its votes: {rate}"),
    ]


def minutes_of(study: Planned, minutes: int) -> float:
    """How long a sitting takes: as measured, or as stated where that is longer."""
    measured = (study.seconds or 0.0) * study.hit.shown_per_sitting / 60
    return max(float(minutes), measured)


def pay_lines(study: Planned, minutes: int) -> Lines:
    """What the pay is in an hour, by the minutes stated and by the seconds measured."""
    hit = study.hit
    lines = [("pay", f"{hit.pay_per_sitting:.2f} {hit.currency} a sitting, {hourly(hit.pay_per_sitting, minutes)}")]
    if study.seconds:
        measured = study.seconds * hit.shown_per_sitting / 60
        pace = f"{study.seconds:.1f} s a judgement so far, {hit.shown_per_sitting} a sitting: {measured:.1f} minutes"
        lines.append(
            ("measured", f"{pace}, {hit.pay_per_sitting * 60 / measured:.2f} an hour, instructions not counted")
        )
    return lines


def check_pay(study: Planned, own: Mapping[str, Decimal], minutes: int, least: Decimal | None) -> None:
    """Refuse a live launch that pays less an hour than `least`, or than is usual at this marketplace (`own`)."""
    hit = study.hit
    floor = least if least is not None else own.get(hit.currency, Decimal(0))
    paid = Decimal(str(hit.pay_per_sitting)) * 60 / Decimal(str(round(minutes_of(study, minutes), 3)))
    if paid < floor:
        raise InputError(
            f"the pay is {paid:.2f} {hit.currency} an hour, below {floor:.2f}. Raise pay_per_sitting in hit.toml, or "
            f"shorten the sitting. Nothing was created."
        )


def hourly(pay: float, minutes: int) -> str:
    """What the pay means in an hour.

    >>> hourly(2.0, 10)
    '12.00 an hour at 10 minutes a sitting'
    """
    return f"{pay * 60 / minutes:.2f} an hour at {minutes} minutes a sitting"
