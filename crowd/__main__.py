"""The command line of crowd."""

import sys

from dialogue.command_line import dispatch, exit_with

COMMANDS = {
    "serve": "serve a study to raters",
    "simulate": "let simulated raters do a study over HTTP",
    "status": "say where a study stands",
    "export": "write votes, raters and events",
    "preview": "write every page of a HIT as files to look at, without a server",
}

if __name__ == "__main__":
    exit_with(lambda: dispatch("crowd", "Serve the HIT and collect the votes.", COMMANDS, sys.argv[1:]))
