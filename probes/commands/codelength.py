"""Measure the description length of each task: the bits that a probe on each state needs to encode the labels.

A companion to `run`: two states may reach the same score, one from ten examples and one from ten thousand. Reads the
same files, with the same baselines, and writes STUDY/probes/codelength-<corpus>.csv. Finished parts are kept, so an
interrupted command continues where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue import jobs
from seedvote.dialogue.engines import running
from seedvote.dialogue.shell.command_line import repeat_options, tell_next
from seedvote.probes import inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seedvote.probes.measuring import Codelength, MeasuredPart
    from seedvote.probes.states import Representation
    from seedvote.probes.summary import Cell

CODE_HEADER = "task,evaluator,model,seed,checkpoint,examples,blocks,uniform_bits,bits,compression"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to code, and with what."""
    inputs.add_input_arguments(parser)
    add = parser.add_argument
    add("--c", type=float, default=1.0, help="weight of the data against the penalty (default: 1)")
    add("--seed", type=int, default=0, help="seed of the order of the dialogues (default: 0)")
    running.add_job_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Code what is not coded yet, write the table, print it."""
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.signature import signature
    from seedvote.probes import measuring

    if not args.c > 0:
        raise InputError(f"--c is {args.c}; it must be above zero.")
    place, study_inputs = running.place_of(args), inputs.read_inputs(args, "test")
    blocks = measuring.draw_blocks(study_inputs.plan.fit.clusters, seed=args.seed)
    recipe = signature(
        code="online",
        c=args.c,
        blocks=len(blocks),
        seed=args.seed,
        fit=study_inputs.sides.names[0],
        threads=jobs.JOB_THREADS,
    )
    telling = [who for who in study_inputs.representations if who.model != "majority"]
    parts = measuring.list_parts(study_inputs.folder, "codelength", telling, study_inputs.plan, recipe)
    coding = measuring.Coding(study_inputs.plan, blocks, args.c)
    work = jobs.Work(measuring.encode_parts, coding, args.study / "logs" / "codelength")
    done, again = measuring.measure_study(parts, work, place, unit="code")
    print(study_inputs.sides.banner + "\n" if study_inputs.sides.banner else "", end="")
    _write_report(study_inputs.folder / f"codelength-{study_inputs.corpus}.csv", parts, recipe)
    if again:
        print(f"{again} of {len(parts)} code lengths are of states that another checkpoint has too: not coded again.")
    print(f"{done} of {len(parts)} code lengths were already there.")
    tell_next("python -m probes plot", args.study, *repeat_options(args, "corpus"))


def _write_report(path: Path, parts: Sequence[MeasuredPart], recipe: str) -> None:
    from seedvote.dialogue.files import atomic
    from seedvote.probes import summary
    from seedvote.probes.measuring import read_code

    coded = [(part.representation, part.labelled.task, read_code(part)) for part in parts]
    with atomic(path) as handle:
        handle.write(f"# {recipe}\n{CODE_HEADER}\n")
        for who, task, code in coded:
            names = (task, who.evaluator, who.model, "" if who.seed is None else who.seed, who.checkpoint)
            bits = f"{code.uniform:.1f},{sum(code.bits):.1f},{code.compression:.4f}"
            handle.write(",".join(map(str, (*names, sum(code.examples), len(code.bits), bits))) + "\n")
    print("Compression: length of a uniform code over that of the probe's; mean over training seeds, SD in brackets.\n")
    print(
        "\n".join(
            summary.terminal_table(_code_cells(coded), list(dict.fromkeys(task for _, task, _ in coded)), digits=2)
        )
    )
    print(f"{recipe}\nBits of every task and state in {path}.")


def _code_cells(coded: Sequence[tuple[Representation, str, Codelength]]) -> list[Cell]:
    from seedvote.probes.scoring import seed_spread
    from seedvote.probes.summary import Cell

    seeds: dict[tuple[str, ...], list[float]] = {}
    for who, task, code in coded:
        seeds.setdefault((task, who.evaluator, who.model, who.checkpoint), []).append(code.compression)
    return [
        Cell(evaluator, task, model, checkpoint, "logistic", seed_spread(values), float("nan"))
        for (task, evaluator, model, checkpoint), values in seeds.items()
    ]
