"""What a person may say about a launch on Mechanical Turk."""

from __future__ import annotations

from dataclasses import dataclass

from crowd.marketplaces.options import LaunchOptions, option


@dataclass(frozen=True, slots=True)
class MTurkOptions(LaunchOptions):
    """Where, for how long, and which workers."""

    sandbox: bool = option(False, "use the sandbox: no money, no real workers")
    days: int = option(
        7, "days that HITs stay open on MTurk (default: 7)", least=1, commands=("launch", "extend", "resume")
    )
    locale: str = option("", "countries whose workers may take part", metavar="US,GB")
    approval_rate: int = option(0, "least share of approved work, in per cent", metavar="95")
    approved_hits: int = option(0, "least number of approved HITs", metavar="100")
