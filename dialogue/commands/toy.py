"""Write a corpus of generated dialogues: goals, seven domains, belief states, acts and databases, as in MultiWOZ 2.1;
of short dialogues in which the order of words decides (--kind plans); or of persona chats (--kind personachat).

Example: python -m dialogue toy runs/demo/corpus --dialogues 1000 --seed 0
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """OUT, --dialogues, --seed, --kind."""
    parser.add_argument("out", metavar="OUT", help="folder to write")
    parser.add_argument("--dialogues", type=int, default=1000, metavar="N", help="number of dialogues (default 1000)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the generated text (default 0)")
    parser.add_argument(
        "--kind", choices=["multiwoz", "plans", "personachat"], default="multiwoz", help="default multiwoz"
    )


def run(args: argparse.Namespace) -> None:
    """Write it and say where."""
    from seedvote.dialogue.corpora.toy.write import write_toy

    new = write_toy(args.out, args.dialogues, seed=args.seed, kind=args.kind)
    print(f"{args.dialogues} dialogues {'written to' if new else 'are already in'} {args.out}.")
    tell_next("python -m dialogue describe", args.out)
