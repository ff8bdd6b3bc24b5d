"""Probe the encoder states of a study: fit classifiers on frozen states, with every baseline and control.

Reads STUDY/states/*.npy (or --states FILE) and the labels of the corpus, or your own (--labels FILE). Writes
STUDY/scores.parquet, one row per example, and tables in STUDY/probes/. Finished parts are kept there, so an interrupted
run continues where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import repeat_options, tell_next
from seedvote.probes import inputs
from seedvote.probes.classifiers.catalogue import CLASSIFIERS, FitSettings

if TYPE_CHECKING:
    from seedvote.probes.plan import Options
    from seedvote.probes.suite import ScorePart

BY_NAME = [name for name, row in CLASSIFIERS.items() if row.by_name]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to probe, on what, and how."""
    inputs.add_input_arguments(parser)
    add = parser.add_argument
    add("--report", choices=("valid", "test"), default="test", help="split to report on (default: test)")
    add("--classifier", default="logistic", metavar="NAMES", help=f"{', '.join(BY_NAME)}, or several of them")
    add(
        "--mlp-seeds",
        default="0-2",
        metavar="SEEDS",
        help="seeds of the MLP, each counted as a separate rater (default: 0-2)",
    )
    solvers = ("batched", "sklearn")
    add("--solver", choices=solvers, default="batched", help="solver of the logistic regression (default: batched)")
    add("--protocol", choices=("standard", "paper"), default="standard", help="paper: also fit as the papers did")
    add("--c", default="1", metavar="C,...", help="weight of the data, chosen on valid if several (default: 1)")
    add("--seed", type=int, default=0, help="seed of the controls' labels (default: 0)")
    add("--device", default="cpu", help="device of the batched classifiers: auto, cpu, cuda or cuda:N (default: cpu)")
    add("--out", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Do what is not done yet, join the parts, print the table."""
    from tqdm import tqdm

    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.signature import signature
    from seedvote.probes import suite

    methods, place = _parse_methods(args), running.place_of(args, device=args.device)
    study_inputs = inputs.read_inputs(args, args.report)
    sides, plan, folder = study_inputs.sides, study_inputs.plan, study_inputs.folder
    if len(methods[0].settings.c) > 1 and not sides.choose:
        raise InputError("Several values of --c need a split to choose on, and none is left here. Give one value.")
    parts = suite.score_parts(folder, study_inputs.representations, plan, methods)
    todo, again = suite.once_each(parts)
    done = len(parts) - len(todo) - len(again)
    work = jobs.Work(suite.probe_parts, (plan, args.device), args.study / "logs" / "probes")
    with tqdm(total=len(parts), initial=done, unit="probe", disable=None) as bar:
        pieces = suite.as_jobs(todo, per_job=suite.count_per_job(todo, jobs.at_once(place)))
        for answered in running.run_jobs(work, pieces, place):
            bar.update(answered)
        for pair in again:
            suite.score_again(*pair)
            bar.update()
    recipe = signature(
        probes=len(parts),
        corpus=study_inputs.corpus,
        methods=[options.recipe.rsplit("|", 1)[0] for options in methods],
        fit=sides.names[0],
        choose=sides.names[1] or None,
        report=sides.names[2],
        **({"labels": study_inputs.own_labels} if study_inputs.own_labels else {}),
    )
    print(sides.banner + "\n" if sides.banner else "", end="")
    _write_report(args.out or args.study / "scores.parquet", folder, study_inputs.corpus, parts, recipe)
    if again:
        print(f"{len(again)} of {len(parts)} probes are on states that another checkpoint has too: not fitted again.")
    print(f"{done} of {len(parts)} probes were already done.")
    tell_next("python -m probes plot", args.study, *repeat_options(args, "corpus"))


def _parse_methods(args: argparse.Namespace) -> list[Options]:
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.seeds import parse_seeds
    from seedvote.probes.plan import Options

    names = args.classifier.split(",")
    if not set(names) <= set(BY_NAME):
        raise InputError(f"--classifier is {args.classifier!r}; it takes names of {', '.join(BY_NAME)}, or several.")
    try:
        strengths = tuple(float(part) for part in args.c.split(","))
        seeds = tuple(parse_seeds(args.mlp_seeds))
    except ValueError as error:
        raise InputError(
            f"--c is {args.c!r} and --mlp-seeds {args.mlp_seeds!r}; one of them is not a number."
        ) from error
    if not min(strengths) > 0:
        raise InputError(f"--c is {args.c!r}; every value must be above zero.")
    if args.solver == "sklearn":
        names = ["logistic-sklearn" if name == "logistic" else name for name in names]
    names += ["paper"] if args.protocol == "paper" else []
    return [Options(name, FitSettings(strengths, seeds), args.seed) for name in names]


def _write_report(out: Path, folder: Path, corpus: str, parts: Sequence[ScorePart], recipe: str) -> None:
    from seedvote.dialogue.files import atomic
    from seedvote.probes import suite, summary
    from seedvote.probes.suite import join_parts

    rows = join_parts([part.path for part in parts], out, recipe)
    warnings = suite.write_endings(folder / f"convergence-{corpus}.parquet", parts)
    cells = summary.gather_cells(summary.read_task_scores(out))
    tasks = list(dict.fromkeys(part.labelled.task for part in parts))
    for name, text in (("csv", summary.csv_table(cells, recipe)), ("tex", summary.latex_table(cells, tasks, recipe))):
        with atomic(folder / f"table-{corpus}.{name}") as handle:
            handle.write(text)
    print("Micro-F1 in points, mean over training seeds; in brackets their SD (its interval is in the CSV).\n")
    print("\n".join(summary.terminal_table(cells, tasks)))
    print("".join(line + "\n" for line in [*summary.list_departures(cells), *warnings]), end="")
    print(f"{recipe}\n{rows:,} rows in {out}; tables, and how every fit ended, in {folder}.")
