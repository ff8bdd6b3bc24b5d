"""Tie distributions of a pairwise evaluation: python analyze_ties.py VOTES (see --help)."""

import sys

from seedvote.analysis.questions.table import COMMANDS
from seedvote.dialogue.shell.command_line import exit_with, run_command

if __name__ == "__main__":
    exit_with(lambda: run_command(COMMANDS["ties"], "python analyze_ties.py", sys.argv[1:]))
