"""What a person may say about a launch on Prolific."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from crowd.marketplaces.money import money
from crowd.marketplaces.options import LaunchOptions, option


@dataclass(frozen=True, slots=True)
class ProlificOptions(LaunchOptions):
    """The fee, which Prolific's interface does not tell."""

    fee_percent: Decimal | None = option(
        None,
        "service fee of your Prolific account in per cent, e.g. 33.3; prices include it",
        metavar="P",
        read=money,
        commands=("launch", "pay", "extend"),
    )
