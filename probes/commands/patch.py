"""Draw which dialogues are patched into which, by their labels: STUDY/patches/.

For every target context, sources of other dialogues with the same label and with another label, equally many and of
like length. What the models do with them: generation patched.

  python -m probes patch runs/demo --tasks RecentTopic,IsMultiTopic
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which tasks, and how many sources."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--tasks", default="all", help="task names, comma-separated (default: all of the corpus)")
    add("--split", choices=["valid", "test"], default="test", help="the split of the contexts (default: test)")
    add("--limit", type=int, default=200, help="target contexts, evenly spread over the split (default: 200)")
    add("--draws", type=int, default=2, help="sources of each kind for every target (default: 2)")
    add("--seed", type=int, default=0, help="seed of the draws (default: 0)")


def run(args: argparse.Namespace) -> None:
    """Draw and write the plans."""
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.errors import InputError
    from seedvote.probes.patching import PatchOptions, draw_sources, remove_other_plans, write_plan
    from seedvote.probes.plan import lay_out, plan_splits

    refuse_below(args, limit=1, draws=1)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    sides = plan_splits(corpus, args.split)
    plan = lay_out(corpus, args.tasks, sides)
    turns = {example.item: len(example.context) for example in sides.report}
    options, folder = PatchOptions(args.limit, args.draws, args.seed), args.study / "patches"
    draws = [draw_sources(labelled, plan.report, turns, options) for labelled in plan.labelled_tasks]
    planned = [draw for draw in draws if draw.pairs or args.tasks != "all"]
    if not planned:
        raise InputError("No task has enough contexts of one label and of another one. Take more: --limit.")
    print(f"{'task':<16}{'targets':>9}{'left out':>10}")
    for draw in planned:
        write_plan(folder, draw, args.split, options)
        print(f"{draw.task:<16}{draw.targets:>9,}{draw.left_out:>10,}")
    remove_other_plans(folder, [draw.task for draw in planned])
    print(f"left out: fewer than {args.draws} contexts of other dialogues have the same label, or another one.")
    if skipped := [draw.task for draw in draws if draw not in planned]:
        print(f"No context of {', '.join(skipped)} has sources of both kinds.")
    tell_next("python -m generation patched", args.study, *repeat_options(args, "corpus"))
