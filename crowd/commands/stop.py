"""Stop a study: raters are told that it has ended; the pair a rater has open may still be answered.

`resume` takes it up again. A launch on a marketplace is closed by `expire`.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)


def run(args: argparse.Namespace) -> None:
    """Set it in the store: every server of the study obeys at the next request."""
    from seedvote.crowd.marketplaces.market import launched_on
    from seedvote.crowd.study_folder import opened
    from seedvote.crowd.watching.progress import set_state

    with opened(args.study, args.database) as store:
        set_state(store, "stopped")
        launched = any(row.market for row in launched_on(store))
    print("Stopped: raters are told that the study has ended. `resume` takes it up again.")
    # Where a marketplace still sends people, closing the launch comes first: they would come in vain.
    following = "expire" if launched else "export"
    tell_next(f"python -m crowd {following}", args.study, *repeat_options(args, "database"))
