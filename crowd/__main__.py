"""The command line of crowd."""

import sys

from seedvote.dialogue.shell.command_line import dispatch, exit_with

COMMANDS = {
    "serve": "serve a study to raters",
    "invite": "print links that each let one person in",
    "simulate": "let simulated raters work through a study over HTTP",
    "status": "show the progress of a study",
    "pause": "tell raters to come back later",
    "resume": "resume a paused or stopped study",
    "stop": "tell raters that the study has ended",
    "export": "write votes, raters and events",
    "plan-checks": "print each kind of rater's chance of passing the gate",
    "regate": "apply another gate to the answers already given",
    "check": "show the hidden checks, and mend a wrong one",
    "block": "give a rater no further work, and count none of their votes",
    "unblock": "let a rater in again",
    "exclude": "exclude raters after the fact, by hand or by the rules of hit.toml",
    "backup": "save a study as one file, also while it is served",
    "restore": "make a study of a backup",
    "upgrade": "bring the store of an older program up to this one",
    "rotate": "replace a secret that may have leaked: links, or the researcher's page",
    "forget": "erase one person from a study",
    "launch": "bring raters from a marketplace to a served study",
    "verify": "ask the marketplace which visits it stands behind",
    "pay": "approve work and pay bonuses, after showing what it costs",
    "payments": "show what studies have cost, by month or payment by payment",
    "compensate": "pay workers of Mechanical Turk who answered and could not hand in",
    "request-return": "ask people on Prolific to return a submission",
    "reject": "reject submissions on Prolific, with a category and a message",
    "extend": "add sittings to a launch",
    "expire": "close a launch to new raters",
    "prolific-double": "serve a Prolific of this machine, to try commands against it",
    "rate": "pairs, hidden checks, the rating page and links, from the answers of two systems or more",
    "pairs-from": "make a study's pairs from a table of what two or more systems answered",
    "conversations-from": "make a study's pairs of whole conversations from those that systems held",
    "live-from": "make a study's pairs for live conversations: two systems answer each rater at once",
    "demographics": "put a table of people into the names of a study's raters, coarsely",
    "import-mephisto": "restore votes from Mephisto's own data store",
    "import-votes": "turn the export of another tool into votes.jsonl",
    "lint": "find responses that name their own model",
    "preview": "write every page of a HIT as a file to look at, without a server",
}
FIRST = "python -m crowd serve runs/hit --pairs examples/pairs.jsonl --hit examples/hit.toml --open"

if __name__ == "__main__":
    exit_with(lambda: dispatch("crowd", "Serve the HIT and collect the votes.", COMMANDS, sys.argv[1:], first=FIRST))
