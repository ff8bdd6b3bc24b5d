"""Take tasks out of all that a decoder sees, by linear maps: STUDY/erasers/.

Reads STUDY/decoder_states (generation encode --pooling decoder). For every task a map is fitted on the training split.
It leaves nothing of the task to a linear reader (leace), or projects it away step by step (inlp). As many random maps
have the same rank. Prints what a probe reads before and after. What the decoder does then: generation erased.

  python -m probes erase runs/demo --tasks IsMultiTopic,RecentTopic
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import refuse_below, repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which tasks, of which checkpoints, and how."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--tasks", default="all", help="task names, comma-separated (default: all of the corpus)")
    add("--checkpoints", default="last", metavar="NAMES", help="comma-separated, or all (default: last)")
    add("--method", default="leace", metavar="NAMES", help="leace, inlp, or both, comma-separated (default: leace)")
    add("--draws", type=int, default=5, help="random erasers of each rank (default: 5)")
    add("--seed", type=int, default=0, help="seed of the random erasers (default: 0)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Fit what is not there yet, and tell what is left to a probe."""
    from tqdm import tqdm

    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import read_json
    from seedvote.probes import erasing
    from seedvote.probes.plan import lay_out, plan_splits
    from seedvote.probes.states import check_covers

    refuse_below(args, draws=2)
    methods = tuple(args.method.split(","))
    if not set(methods) <= set(erasing.METHODS) or len(set(methods)) < len(methods):
        raise InputError(f"--method is {args.method!r}; it takes {' and '.join(erasing.METHODS)}, or one of them.")
    representations = erasing.find_decoder_states(args.study, args.checkpoints)
    corpus = read_corpus(args.corpus or args.study / "corpus")
    sides = plan_splits(corpus, "test")
    plan = lay_out(corpus, args.tasks, sides)
    for who in representations:
        check_covers(who, (*plan.fit.items, *plan.report.items))
    options = erasing.ErasingOptions(methods, args.draws, args.seed)
    folders = erasing.eraser_folders(args.study, representations, plan, options)
    todo = [jobs.Job(folder.path.name, folder.key, folder) for folder in folders if not folder.done]
    work = jobs.Work(erasing.make_erasers, (plan, options), args.study / "logs" / "erase")
    with tqdm(total=len(folders), initial=len(folders) - len(todo), unit="checkpoint", disable=None) as bar:
        for _ in running.run_jobs(work, todo, running.place_of(args)):
            bar.update()
    print(sides.banner + "\n" if sides.banner else "", end="")
    _print_table([read_json(folder.path / "erasers.json") for folder in folders])
    print(
        f"{len(folders) - len(todo)} of {len(folders)} checkpoints were already done. Erasers: {args.study / 'erasers'}"
    )
    tell_next("python -m generation erased", args.study, *repeat_options(args, "corpus"))


def _print_table(every: list[dict[str, Any]]) -> None:
    """A line a task and method: means over training seeds."""
    groups: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for about in every:
        for eraser in about["erasers"]:
            if eraser["kind"] == "task":
                key = (str(about["model"]), str(about["checkpoint"]), eraser["task"], eraser.get("method", ""))
                groups.setdefault(key, []).append(eraser)
    print("What a probe reads from all that the decoder sees (micro-F1, points; means over training seeds):\n")
    print(f"{'model':<28}{'task':<16}{'method':<8}{'rank':>10}{'flat':>10}{'before':>9}{'after':>9}{'constant':>10}")
    for (model, checkpoint, task, method), group in groups.items():
        name = f"{model} {checkpoint}"
        if "left_out" in group[0]:
            seeds = sum((str(about["model"]), str(about["checkpoint"])) == (model, checkpoint) for about in every)
            many = "" if len(group) == seeds else f" for {len(group)} of {seeds} seeds"
            print(f"{name:<28}{task:<16}left out{many}: {group[0]['left_out']}")
            continue
        before, after, constant = (
            sum(eraser[key] for eraser in group) / len(group) for key in ("before", "after", "constant")
        )
        ranks, flat = ("+".join(str(many) for many in group[0][key].values()) for key in ("ranks", "flat"))
        print(f"{name:<28}{task:<16}{method:<8}{ranks:>10}{flat:>10}{before:>9.1f}{after:>9.1f}{constant:>10.1f}")
    print(
        "\nrank: directions of the decoder's first state + of every vector that it attends to.\n"
        "flat: directions of the same that hardly vary; every eraser sets them to their mean, random ones too.\n"
        "Both are those of the first seed."
    )
