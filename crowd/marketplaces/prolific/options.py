"""What a person may say about a launch on Prolific."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from seedvote.crowd.marketplaces.money import money, per_cent
from seedvote.crowd.marketplaces.options import LaunchOptions, option


@dataclass(frozen=True, slots=True)
class ProlificOptions(LaunchOptions):
    """The fee, the pay of who is screened out, and which participants."""

    rehearse: bool = option(
        False, "the whole line on this machine: a copy of the study, simulated people, no account and no money"
    )
    fee_percent: Decimal | None = option(
        None,
        "service fee of your Prolific account in per cent, e.g. 33.3; default: Prolific's own calculator is asked",
        metavar="P",
        read=per_cent,
        commands=("launch", "pay", "extend"),
    )
    screen_out_pay: Decimal | None = option(
        None,
        "fixed pay of a screened-out person, which Prolific pays by itself; default: they are approved like everybody",
        metavar="AMOUNT",
        read=money,
    )
    workspace: str = option("", "your workspace, where the token sees several", metavar="ID")
    filters: str = option("", "who may take part: 'age=18..65; sex=Male:1,Female:1'", metavar="FILTERS")
    group: str = option("", "participant group that whoever completes is added to", metavar="ID")
    only_group: str = option("", "participant group that alone may take part", metavar="ID")
    not_group: str = option("", "participant group that may not take part", metavar="ID")
