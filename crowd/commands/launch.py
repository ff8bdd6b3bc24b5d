"""Bring raters to a served study: through Mechanical Turk, Prolific or Mephisto.

Without --yes nothing is created: the checklist and the price are printed. A launch that was interrupted is continued by
the same command and creates nothing twice.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which door, where the page is, whom to ask, what it may cost."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    door = parser.add_mutually_exclusive_group(required=True)
    door.add_argument("--mturk", action="store_true", help="HITs on Mechanical Turk, straight through AWS")
    door.add_argument("--prolific", action="store_true", help="a draft study on Prolific")
    door.add_argument("--mephisto", action="store_true", help="a Mephisto run, served by this process")
    parser.add_argument("--public-url", metavar="URL", help="https:// address under which workers reach the page")
    parser.add_argument("--minutes", type=int, default=15, help="honest guess for one sitting (default: 15)")
    parser.add_argument("--budget", metavar="AMOUNT", help="stop if it may cost more")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")
    parser.add_argument("--yes", action="store_true", help="do it, after reading what is printed without")
    turk = parser.add_argument_group("Mechanical Turk")
    turk.add_argument("--sandbox", action="store_true", help="the sandbox: no money, no real workers")
    turk.add_argument("--days", type=int, default=7, help="that HITs stay open (default: 7)")
    turk.add_argument("--locale", default="", metavar="US,GB", help="countries that may take part")
    turk.add_argument("--approval-rate", type=int, default=0, metavar="95", help="least per cent approved")
    turk.add_argument("--approved-hits", type=int, default=0, metavar="100", help="least HITs approved")
    prolific = parser.add_argument_group("Prolific")
    prolific.add_argument("--fee-percent", metavar="P", help="your account's service fee, e.g. 33.3")
    mephisto = parser.add_argument_group("Mephisto")
    mephisto.add_argument("--provider", default="mock", choices=["mock", "mturk_sandbox", "mturk"])
    mephisto.add_argument("--requester", default="MOCK_REQUESTER", help="AWS profile of an MTurk provider")
    mephisto.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    mephisto.add_argument("--port", type=int, default=8765, help="port, 0 for a free one (default: 8765)")


def run(args: argparse.Namespace) -> None:
    """Print the checklist; with --yes, create what it says."""
    from crowd.marketplaces.checklist import checklist, read_study
    from crowd.marketplaces.launch import check_budget, money
    from crowd.marketplaces.market import market_to_launch
    from crowd.web.serving import hit_of

    study = read_study(args.study, hit_of(args.study, None), args.database)
    market = market_to_launch(args)
    lines, cost = market.plan(study)
    check_budget(cost, money(args.budget) if args.budget else None)
    print(f"{market.name}:")
    for name, found in [*lines, *checklist(study), ("cost", str(cost))]:
        print(f"  {name:<9} {found}")
    sys.stdout.flush()
    print(market.create() if args.yes else "Nothing was created. Read the list, then add --yes.")
