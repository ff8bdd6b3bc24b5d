"""Bring raters from a marketplace to a served study.

Without --yes nothing is created: the checklist and the price are printed. A launch that was interrupted is continued by
the same command and creates nothing twice.
"""

from __future__ import annotations

import argparse
import sys

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which marketplace, where the page is, which workers, what it may cost."""
    from crowd.arguments import add_launch

    add_launch(parser)


def run(args: argparse.Namespace) -> None:
    """Print the checklist; with --yes, create what it says."""
    from crowd.arguments import again, chosen, options_of
    from crowd.marketplaces.checklist import common_points, read_planned
    from crowd.marketplaces.money import check_budget
    from crowd.study_folder import hit_of

    (row,) = chosen(args)
    options = options_of(args, row.options)
    study = read_planned(args.study, hit_of(args.study, None), args.database)
    market = row.launch(options)
    lines, price = market.plan(study)
    check_budget(price, options.budget)
    print(f"{market.title}:")
    for name, found in [*lines, *common_points(study), ("cost", str(price))]:
        print(f"  {name:<9} {found}")
    sys.stdout.flush()  # Mephisto serves from here on: who waits for the address must not wait for a full buffer
    if args.yes:
        print(market.create())
        tell_next("python -m crowd status", args.study, *given(args, "database"))
    else:
        print("Nothing was created. Read the list, then add --yes.")
        tell_next("python -m crowd launch", *again(args), "--yes")
