"""What the marketplaces' doors share: who arrives, what a launch costs, and the record that makes a launch repeatable.

A marketplace only brings people and pays them. What they see, which pair they get, when the gate closes and where a
vote is kept are the core's business and the same behind every door.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dialogue.errors import InputError
from dialogue.files import digest, read_json, write_json

CENT = Decimal("0.01")
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def check_public_url(url: str | None) -> str:
    """The address workers will open: HTTPS, or plain HTTP on this machine for a trial."""
    parts = urlsplit(url or "")
    local = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or (parts.scheme != "https" and not local) or parts.query or parts.fragment:
        raise InputError(
            f"--public-url is {url!r}, which is not an https:// address that workers can open. Give the address under "
            "which `crowd serve` answers, e.g. --public-url https://study.example.org/hit"
        )
    return (url or "").rstrip("/")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a launch costs at most, in the marketplace's currency."""

    sittings: int
    reward: Decimal  # paid to the person, each sitting
    fee: Decimal  # paid to the marketplace, each sitting
    currency: str

    @property
    def total(self) -> Decimal:
        """Rewards and fees of all sittings, rounded up to a cent."""
        return ((self.reward + self.fee) * self.sittings).quantize(CENT, ROUND_UP)

    def __str__(self) -> str:
        return (
            f"{self.sittings} sittings x ({self.reward} reward + {self.fee.normalize():f} fee) = {self.total} "
            f"{self.currency} at most"
        )


def sittings_needed(pairs: int, votes_per_pair: int, pairs_per_sitting: int, votes: int = 0) -> int:
    """Sittings that give every pair its votes, when `votes` of them are in already.

    >>> sittings_needed(300, 3, 20)
    45
    """
    return -(-max(0, pairs * votes_per_pair - votes) // pairs_per_sitting)


def check_budget(estimate: Estimate, budget: Decimal | None) -> None:
    """Refuse a launch that may cost more than the researcher allows."""
    if budget is not None and budget < estimate.total:
        raise InputError(
            f"the budget is {budget} {estimate.currency}, but this may cost {estimate.total}. Nothing was created. "
            "Raise --budget, or lower pay_per_sitting, votes_per_pair or the number of pairs."
        )


def money(text: str) -> Decimal:
    """An amount as typed: not negative, at most two decimals."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,2})?", text):
        raise InputError(f"{text!r} is not an amount of money such as 12 or 0.75.")
    return Decimal(text)


def reward_of(pay: float, currency: str, wanted: tuple[str, ...], door: str) -> Decimal:
    """pay_per_sitting as an amount this marketplace can pay."""
    if currency not in wanted:
        raise InputError(f"hit.toml: currency is {currency!r}; {door} pays in {' or '.join(wanted)}.")
    amount = Decimal(str(pay))
    if amount <= 0 or amount != amount.quantize(CENT):
        raise InputError(
            f"hit.toml: pay_per_sitting is {pay}; {door} needs a reward of at least 0.01 in whole cents. "
            "Raters are paid: decide what one sitting is worth."
        )
    return amount.quantize(CENT)


def read_launch(path: Path, kind: type[Any]) -> Any:
    """The record of an earlier launch, or None. Fields it does not know mean that another version wrote it."""
    if not path.exists():
        return None
    value = read_json(path)
    names = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(value, dict) or set(value) != names:
        raise InputError(f"{path} was not written by this version. Restore it from a copy; it is what ties HITs to us.")
    return kind(**value)


def write_launch(path: Path, launch: Any) -> None:
    """Write the record whole or not at all; only its owner may read it."""
    write_json(path, dataclasses.asdict(launch))
    path.chmod(0o600)


def check_pairs(pairs: Path, launched: str) -> None:
    """A study keeps the pairs it was launched with."""
    if digest(pairs) != launched:
        raise InputError(
            f"{pairs} has changed since the launch, so votes before and after would not belong together. Restore the "
            "file, or launch the new pairs from a study folder of their own."
        )


def add_door(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that works on a launch."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--mturk", action="store_true", help="the launch on Mechanical Turk, where there are two")
    parser.add_argument("--prolific", action="store_true", help="the launch on Prolific, where there are two")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")
    parser.add_argument("--yes", action="store_true", help="do it; without it, only say what would be done")
