"""Measure the V-information of each task: the bits that a linear probe reads from a state about new examples.

Unlike a score it says how sure the probe may be, and all tasks are on one scale. Penalty and number of axes are chosen
on valid. Reads what `run` reads, with its baselines and two of TF-IDF. Writes STUDY/probes/information-<corpus>.csv
with a 95 % interval over training seeds. Finished parts are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next
from seedvote.probes import inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seedvote.probes.measuring import MeasuredPart

HEADER = "task,evaluator,model,checkpoint,seeds,bits,low,high,seed_sd,label_bits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, and what to choose from."""
    inputs.add_input_arguments(parser)
    add = parser.add_argument
    add("--report", choices=("valid", "test"), default="test", help="split to report on (default: test)")
    add("--c", default="0.01,0.1,1,10", metavar="C,...", help="weights of the data, one chosen (default 0.01,0.1,1,10)")
    add("--ranks", default="all,64,16", metavar="N,...", help="leading axes, chosen likewise (default: all,64,16)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Measure what is not measured yet, write the table, print it."""
    from seedvote.dialogue.signature import signature
    from seedvote.probes import measuring

    strengths, ranks = _read_choices(args)
    place, study_inputs = running.place_of(args), inputs.read_inputs(args, args.report, terms=True)
    if len(strengths) * len(ranks) > 1 and not study_inputs.sides.choose:
        raise InputError("--c and --ranks need a split to choose on, and none is left here. Give one value of each.")
    recipe = signature(
        information="logistic",
        c=strengths,
        ranks=args.ranks,
        fit=study_inputs.sides.names[0],
        choose=study_inputs.sides.names[1] or None,
        report=study_inputs.sides.names[2],
        threads=jobs.JOB_THREADS,
    )
    telling = [who for who in study_inputs.representations if who.model not in ("majority", "constant")]
    parts = measuring.list_parts(study_inputs.folder, "information", telling, study_inputs.plan, recipe)
    shared = measuring.Informing(study_inputs.plan, strengths, ranks)
    work = jobs.Work(measuring.inform_parts, shared, args.study / "logs" / "information")
    done, _ = measuring.measure_study(parts, work, place, unit="state")
    print(study_inputs.sides.banner + "\n" if study_inputs.sides.banner else "", end="")
    _write_report(study_inputs.folder / f"information-{study_inputs.corpus}.csv", parts, recipe)
    print(f"{done} of {len(parts)} were already measured.")
    tell_next("python -m probes plot", args.study, *repeat_options(args, "corpus"))


def _read_choices(args: argparse.Namespace) -> tuple[tuple[float, ...], tuple[int, ...]]:
    try:
        strengths = tuple(float(part) for part in args.c.split(","))
        ranks = tuple(0 if part == "all" else int(part) for part in args.ranks.split(","))
    except ValueError as error:
        raise InputError(f"--c is {args.c!r} and --ranks {args.ranks!r}; one of them is not a number.") from error
    if not min(strengths) > 0 or ranks[0] or any(rank < 1 for rank in ranks[1:]):
        raise InputError("--c takes numbers above zero, and --ranks all, which may be followed by whole numbers.")
    return strengths, ranks


def _write_report(path: Path, parts: Sequence[MeasuredPart], recipe: str) -> None:
    from seedvote.dialogue.files import atomic
    from seedvote.probes import summary
    from seedvote.probes.measuring import read_information
    from seedvote.probes.scoring import mean_interval, seed_spread

    cells: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
    for part in parts:
        who, measured = part.representation, read_information(part)
        key = (part.labelled.task, who.evaluator, who.model, who.checkpoint)
        cells.setdefault(key, []).append((measured.bits, measured.label_bits))
    rows = []
    with atomic(path) as handle:
        handle.write(f"# {recipe}\n{HEADER}\n")
        for (task, evaluator, model, checkpoint), values in cells.items():
            over, (low, high) = seed_spread([bits for bits, _ in values]), mean_interval([bits for bits, _ in values])
            numbers = (over.mean, low, high, over.sd, values[0][1])
            texts = ("" if number != number else f"{number:.4f}" for number in numbers)  # NaN of a single seed
            handle.write(",".join((task, evaluator, model, checkpoint, str(len(values)), *texts)) + "\n")
            rows.append(summary.Cell(evaluator, task, model, checkpoint, "logistic", over, float("nan")))
    print("Bits an example that a linear probe reads from the state; mean over training seeds, SD in brackets.\n")
    tasks = list(dict.fromkeys(part.labelled.task for part in parts))
    print("\n".join(summary.terminal_table(rows, tasks, digits=2)))
    print(f"{recipe}\nBits with their intervals in {path}.")
