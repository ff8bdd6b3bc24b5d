"""The command line of generation."""

import sys

from dialogue.command_line import dispatch, exit_with

COMMANDS: dict[str, str] = {}

if __name__ == "__main__":
    exit_with(
        lambda: dispatch(
            "generation",
            "Train one architecture under many seeds, sample responses, encode states, make pairs.",
            COMMANDS,
            sys.argv[1:],
        )
    )
