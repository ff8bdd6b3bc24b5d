"""The command line of the leaf: corpora and file formats."""

import sys

from seedvote.dialogue.shell.command_line import dispatch, exit_with

COMMANDS = {
    "describe": "show what a corpus contains: version, splits, dialogues, turns, labels",
    "toy": "write a corpus of generated dialogues",
    "examples": "write the example votes, pairs and HIT that the other commands name",
    "format": "print docs/format.md, generated from the record definitions",
    "doctor": "show versions, fonts, browsers and databases: what is missing, and how to get it",
    "completion": "print the shell code that lets TAB complete commands: bash, zsh, fish",
}
FIRST = "python -m dialogue toy runs/mine/corpus --dialogues 500"

if __name__ == "__main__":
    exit_with(lambda: dispatch("dialogue", "Corpora and file formats.", COMMANDS, sys.argv[1:], first=FIRST))
