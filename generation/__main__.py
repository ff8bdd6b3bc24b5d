"""The command line of generation."""

import sys

from seedvote.dialogue.shell.command_line import dispatch, exit_with

COMMANDS = {
    "train": "train architectures under several seeds",
    "sample": "let the trained models answer the same contexts: responses.jsonl",
    "import": "import responses of other models into responses.jsonl",
    "encode": "write encoder states for probes: states/",
    "erased": "decode again while something is erased from what the decoder sees: erased/",
    "patched": "score references while parts of what was read come from other dialogues: patched/",
    "rank": "answer questions of next-utterance choice by likelihood: ranks.parquet",
    "score": "score responses with token metrics: metrics.parquet",
    "seeds": "write what each score followed from, seed by seed, for the analysis of variance: seeds.csv",
    "pair": "make pairs, controls and sanity checks for raters: pairs.jsonl",
    "together": "make sets of one response or several for raters: response_sets.jsonl",
}
FIRST = "python -m generation train runs/mine --seeds 0-2 --preset small --epochs 5"

if __name__ == "__main__":
    exit_with(
        lambda: dispatch(
            "generation",
            "Train one architecture under many seeds, sample responses, encode states, make pairs.",
            COMMANDS,
            sys.argv[1:],
            first=FIRST,
        )
    )
