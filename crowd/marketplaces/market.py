"""The marketplaces a study was launched on, behind one face: plan, create, list, pay, extend, close, open again."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from crowd.hit import Hit
from crowd.marketplaces.checklist import Lines, Study
from crowd.marketplaces.launch import Estimate
from crowd.marketplaces.mturk.entrance import MTurkEntrance
from crowd.marketplaces.prolific.entrance import ProlificEntrance
from crowd.marketplaces.settling import Listed, visits
from crowd.web.entrance import Entrance
from crowd.web.serving import opened
from dialogue.errors import InputError
from dialogue.records import Source


class Launchable(Protocol):
    """What a launch needs of a marketplace."""

    name: str

    def plan(self, study: Study) -> tuple[Lines, Estimate]:
        """What would be created and what it may cost; InputError where something is missing. Creates nothing."""

    def create(self) -> str:
        """Create it, or go on where an earlier attempt stopped; a sentence of what is there now."""


class Market(Launchable, Protocol):
    """A marketplace with the launch of one study."""

    source: Source

    def listed(self) -> Iterator[Listed]:
        """The visits that the marketplace knows."""

    def deadline(self) -> float:
        """Seconds after which a visit that began here has to be listed there."""

    def approve(self, rows: Sequence[Listed]) -> None:
        """Pay the reward."""

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """A bonus with its fee."""

    def pay_bonus(self, rows: Sequence[Listed], amount: Decimal, reason: str) -> None:
        """Pay a bonus to those who have not had it."""

    def owed_bonus(self, rows: Sequence[Listed], reason: str) -> list[Listed]:
        """Those who have not had it."""

    def close_to(self, workers: Iterable[str]) -> int:
        """Offer these workers no further work; how many were new."""

    def more(self, sittings: int) -> Estimate:
        """What further sittings may cost."""

    def extend(self, sittings: int) -> str:
        """Add sittings."""

    def close(self) -> str:
        """Let nobody new in."""

    def open(self, days: int) -> str:
        """Let people in again."""


def launched_on(folder: Path) -> list[str]:
    """The marketplaces on which a study has a launch."""
    return [name for name in ("mturk", "prolific") if (folder / f"{name}.json").exists()]


def market_of(args: argparse.Namespace) -> Market:
    """The marketplace that the flags name, or the only one that the study was launched on."""
    folder, there = args.study, launched_on(args.study)
    chosen = [name for name in there if getattr(args, name)] or there
    if len(chosen) != 1:
        found = "on both, so say --mturk or --prolific" if there else "on none; launch it first: python -m crowd launch"
        raise InputError(f"{folder} was launched {found}.")
    return _market(chosen[0], args)


def market_to_launch(args: argparse.Namespace) -> Launchable:
    """The marketplace that a launch names."""
    if args.mephisto:
        from crowd.marketplaces.mephisto.market import MephistoMarket

        return MephistoMarket(args)
    return _market("mturk" if args.mturk else "prolific", args)


def shut_out(market: Market, args: argparse.Namespace) -> int:
    """Offer no further work to anybody whom the gate has blocked; how many the marketplace did not know of yet.

    Our page refuses them in any case. It is done before work is added, so that they do not accept it in vain.
    """
    with opened(args.study, args.database) as store, store.read() as connection:
        blocked = {visit.worker for visit in visits(connection, market.source) if visit.blocked}
    return market.close_to(blocked) if blocked else 0


def _market(name: str, args: argparse.Namespace) -> Market:
    if name == "mturk":
        from crowd.marketplaces.mturk.market import MTurkMarket

        return MTurkMarket(args)
    from crowd.marketplaces.prolific.market import ProlificMarket

    return ProlificMarket(args)


def usual_entrances(hit: Hit, submit_to: str) -> tuple[Entrance, ...]:
    """Those that every server of a study keeps open."""
    return (MTurkEntrance(submit_to), ProlificEntrance(hit.completion_code, hit.screened_out_code))
