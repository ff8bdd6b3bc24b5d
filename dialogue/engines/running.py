"""The jobs of a command, carried out where `--on` says: the only way to the engines.

A caller may rely on this: results come as soon as they are there, in any order; a job that fails stops no other; and
when all have ended, one `InputError` tells the first failure, its log and the names of the others.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import Job, Outcome, Place, Work, cores, job_environment

ENGINES = ("local", "ray", "slurm")


def add_job_arguments(parser: argparse.ArgumentParser, *, one_at_a_time: bool = False) -> None:
    """`--jobs` and `--on`; `one_at_a_time` where that is a command's default."""
    few = "default: 1, because each needs memory" if one_at_a_time else "default: one per core"
    parser.add_argument("--jobs", type=int, metavar="N", help=f"jobs at a time, one thread each ({few})")
    parser.add_argument(
        "--on", default="local", metavar="ENGINE", help="local, ray[:ADDRESS] or slurm[:local], see docs/scale.md"
    )
    parser.set_defaults(one_job_at_a_time=one_at_a_time)


def place_of(args: argparse.Namespace, *, device: str = "cpu") -> Place:
    """Where the arguments of `add_job_arguments` say that jobs run; each has a GPU where `device` is cuda."""
    engine, _, address = args.on.partition(":")
    if engine not in ENGINES or (address and engine == "local") or (engine == "slurm" and address not in ("", "local")):
        raise InputError(f"--on is {args.on!r}; it must be local, ray, ray:ADDRESS, slurm or slurm:local.")
    if args.jobs is not None and args.jobs < 1:
        raise InputError(f"--jobs is {args.jobs}; it must be at least 1.")
    limit = 1 if args.jobs is None and engine == "local" and args.one_job_at_a_time else args.jobs
    if engine != "local" and device.startswith("cuda:"):
        raise InputError(f"--device is {device!r}: a job of {engine} sees the one GPU that it is given. Say cuda.")
    return Place(engine, address, limit, gpus=int(device.startswith("cuda")))


def run_jobs(work: Work, jobs: Sequence[Job], place: Place) -> Iterator[Any]:
    """Do the jobs, yielding each result when it is there; failures are reported when all others are done."""
    failed: list[Outcome] = []
    with _keep_environment():
        for outcome in _spread_jobs(work, jobs, place):
            if outcome.failure:
                failed.append(outcome)
            else:
                yield outcome.result
    if failed:
        first, other_failures = failed[0], ", ".join(outcome.job.name for outcome in failed[1:])
        sentence = f" {len(failed)} of {len(jobs)} jobs failed; the others: {other_failures}." if other_failures else ""
        raise InputError(f"{first.failure} Log of {first.job.name}: {work.log(first.job)}.{sentence}")


def _spread_jobs(work: Work, jobs: Sequence[Job], place: Place) -> Iterator[Outcome]:
    if not jobs:
        return
    # Only the engine that is asked for is imported: the others bring processes, sockets and pickles into every --help.
    if place.engine == "ray":
        from seedvote.dialogue.engines import on_ray

        yield from on_ray.run_on_ray(work, jobs, place)
    elif place.engine == "slurm":
        from seedvote.dialogue.engines import on_slurm

        yield from on_slurm.run_on_slurm(work, jobs, place)
    else:
        from seedvote.dialogue.engines import local

        yield from local.run_locally(work, jobs, place.limit or cores())


@contextlib.contextmanager
def _keep_environment() -> Iterator[None]:
    # Set in this process, because workers inherit it and numerical libraries read it once, when they are loaded.
    before = dict(os.environ)
    os.environ.update(job_environment())
    try:
        yield
    finally:
        for name in job_environment():
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
