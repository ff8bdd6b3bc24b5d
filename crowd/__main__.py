"""The command line of crowd."""

import sys

from dialogue.command_line import dispatch, exit_with

COMMANDS: dict[str, str] = {}

if __name__ == "__main__":
    exit_with(lambda: dispatch("crowd", "Serve the HIT and collect the votes.", COMMANDS, sys.argv[1:]))
