"""The command line of analysis."""

import sys

from seedvote.analysis.questions.table import COMMANDS as QUESTIONS
from seedvote.dialogue.shell.command_line import CommandModule, dispatch, exit_with

COMMANDS: dict[str, str | CommandModule] = {
    "read": "what the program makes of a file of judgements, and why",
    **QUESTIONS,
    "import-scores": "bring the scores of your own metric into a study, beside people",
    "ask-next": "draw the pairs that people should vote on next, by the doubt of judges",
    "report": "one self-contained HTML page of a whole study",
    "watch": "keep the tie figures of a running study up to date",
}
FIRST = "python analyze_ties.py examples/votes.csv --out runs/first"

if __name__ == "__main__":
    exit_with(
        lambda: dispatch(
            "analysis",
            "Analyse votes and scores, with the uncertainty of every number.",
            COMMANDS,
            sys.argv[1:],
            first=FIRST,
        )
    )
