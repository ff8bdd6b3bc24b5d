"""Money in exact decimals: amounts as typed, the reward a marketplace can pay, and the price of a number of sittings.

Nothing here is ever a float: a total is rounded up once, at its end, so it is never below what an account is charged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from seedvote.dialogue.errors import InputError

CENT = Decimal("0.01")
MOST = 1e6  # of one payment, as far as this reads amounts at all; nan is not below it either


@dataclass(frozen=True, slots=True)
class Price:
    """What a number of sittings costs at most, in the marketplace's currency."""

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


def money(text: str) -> Decimal:
    """An amount as typed: not negative, at most two decimals."""
    # Decimal() itself would take NaN, Infinity, 1e9 and -1.
    if not re.fullmatch(r"\d{1,6}(\.\d{1,2})?", text):
        raise InputError(f"{text!r} is not an amount of money such as 12 or 0.75.")
    return Decimal(text)


def per_cent(text: str) -> Decimal:
    """A percentage as typed, 0 to 100."""
    if (number := _read_decimal(text)) is None or number > 100:
        raise InputError(f"{text!r} is not a percentage from 0 to 100, such as 33.3.")
    return number


def share(text: str) -> Decimal:
    """A share as typed, above 0 and up to 1."""
    if (number := _read_decimal(text)) is None or not 0 < number <= 1:
        raise InputError(f"{text!r} is not a share above 0 and up to 1, such as 0.51.")
    return number


def _read_decimal(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(r"\d{0,3}\.?\d{1,6}", text) else None


def check_budget(cost: Decimal, currency: str, budget: Decimal | None, name: str = "budget") -> None:
    """Refuse what may cost more than the researcher allows, by the option of that name."""
    if budget is not None and budget < cost:
        raise InputError(
            f"the {name} is {budget} {currency}, but this may cost {cost:.2f}. Nothing was created or paid. Raise "
            f"--{name}, or ask for less."
        )


def reward_of(pay: float, currency: str, currencies: tuple[str, ...], marketplace: str) -> Decimal:
    """pay_per_sitting as an amount this marketplace can pay."""
    if currency not in currencies:
        raise InputError(f"hit.toml: currency is {currency!r}; {marketplace} pays in {' or '.join(currencies)}.")
    amount = Decimal(str(pay))  # by way of the text: Decimal(0.6) is 0.59999999999999997...
    if not 0 < pay < MOST or amount != amount.quantize(CENT):
        raise InputError(
            f"hit.toml: pay_per_sitting is {pay}; {marketplace} needs a reward of at least 0.01 in whole cents. "
            "Raters are paid: decide what one sitting is worth."
        )
    return amount.quantize(CENT)
