"""What a person may say about a launch on Mechanical Turk."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seedvote.crowd.marketplaces.options import LaunchOptions, option
from seedvote.dialogue.errors import InputError

# ISO 3166-1, as MTurk's locale requirement takes them
COUNTRIES = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""


def read_locales(text: str) -> tuple[str, ...]:
    """Countries by their two letters, US also by state.

    >>> read_locales("us,GB,US-CA")
    ('US', 'GB', 'US-CA')
    """
    locales = tuple(part.strip() for part in text.upper().split(",") if part.strip())
    for name in locales:
        if name.partition("-")[0] not in COUNTRIES.split() or not re.fullmatch(r"[A-Z]{2}(-[A-Z]{2})?", name):
            hint = " The United Kingdom is GB." if name in ("UK", "ENGLAND") else ""
            raise InputError(f"--locale names {name!r}; a country has two letters: --locale US,GB.{hint}")
    return locales


@dataclass(frozen=True, slots=True)
class MTurkOptions(LaunchOptions):
    """For how long, and which workers."""

    sandbox: bool = option(False, "use MTurk's sandbox: no money, no real workers; so does every launch without --live")
    days: int = option(
        7, "days that HITs stay open on MTurk (default: 7)", least=1, most=365, commands=("launch", "extend", "resume")
    )
    locale: str = option("", "countries whose workers may take part", metavar="US,GB", check=read_locales)
    approval_rate: int = option(0, "least share of approved work, in per cent", metavar="95", least=0, most=100)
    approved_hits: int = option(0, "least number of approved HITs", metavar="100", least=0, most=1_000_000)

    def __post_init__(self) -> None:
        """--live and --sandbox are two places."""
        if self.live and self.sandbox:
            raise InputError("--live and --sandbox are two places: give one of them.")
