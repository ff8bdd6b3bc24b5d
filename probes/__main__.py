"""The command line of probes."""

import sys

from seedvote.dialogue.shell.command_line import dispatch, exit_with

COMMANDS: dict[str, str] = {
    "codelength": "description length: bits needed to encode the labels from each state",
    "erase": "take tasks out of all that a decoder sees, by linear maps: erasers/",
    "information": "V-information: bits of new examples' labels that each state tells",
    "list": "list the probe tasks of a corpus, with their labels and majority shares",
    "outside": "whether states tell talk that no domain covers: a probe, and a distance",
    "papers": "every table and figure of the papers in their layout, with an index of what is where: papers/",
    "patch": "draw which dialogues are patched into which, by their labels: patches/",
    "plot": "draw the figures: evolution, difficulty, selection, token metric, states",
    "run": "fit probes on encoder states, with every baseline and control",
}
FIRST = "python -m probes list --corpus runs/mine/corpus"

if __name__ == "__main__":
    exit_with(
        lambda: dispatch(
            "probes", "Classifiers on frozen encoder states, with their baselines.", COMMANDS, sys.argv[1:], first=FIRST
        )
    )
