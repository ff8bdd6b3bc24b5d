"""Jobs under Slurm, as one job array; `slurm:local` rehearses the same on this machine without Slurm.

Partition, account, time and memory come from Slurm's own variables (SBATCH_PARTITION, SBATCH_TIMELIMIT, ...). A job
that is preempted or out of time goes back into the queue and on from there; one whose node died Slurm puts back itself.
"""

from __future__ import annotations

import os
import pickle
import shutil
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.jobs import Job, Outcome, Place, Work, cores, perform
from seedvote.dialogue.shell import stopping

LARGEST_ARRAY = 1000  # what Slurm takes where nobody has set MaxArraySize
MINUTES = 24 * 60  # where SBATCH_TIMELIMIT says nothing
PAUSE, PAUSE_HERE = 5.0, 0.2  # seconds between two looks at the jobs: of a shared disk, of this machine's


class Submitted:
    """One job as it is handed over: it knows where the common work lies, and how to be put back into the queue."""

    def __init__(self, work: Path, job: Job) -> None:
        self.work, self.job = work, job

    def __call__(self) -> Outcome:
        with self.work.open("rb") as handle:
            work: Work = pickle.load(handle)  # noqa: S301 (written by the command that submitted this job)
        return perform(work, self.job)

    def checkpoint(self) -> Any:
        """Run again from the start: a job goes on from its own files."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def run_on_slurm(work: Work, jobs: Sequence[Job], place: Place) -> Iterator[Outcome]:
    """Submit the jobs and wait, yielding each outcome as it comes; whoever stops waiting cancels them."""
    stopping.allow(60)  # the cluster is left in order
    folder = work.logs / f"slurm-{os.getpid()}"
    executor = _make_executor(folder, work, place)
    shared = (folder / "work.pickle").resolve()
    # Atomic: a node must not read half of it from the shared disk.
    with atomic(shared, "wb") as handle:
        pickle.dump(work, handle)
    queue = iter(jobs)
    waiting: dict[Any, Job] = {}
    try:
        while True:
            free = ((place.limit or cores()) if place.address else LARGEST_ARRAY) - len(waiting)
            if some := list(islice(queue, free)):
                waiting |= zip(executor.submit_array([Submitted(shared, job) for job in some]), some, strict=True)
            if not waiting:
                break
            for handed in [handed for handed in waiting if handed.done()]:
                yield _collect_outcome(handed, waiting.pop(handed))
            time.sleep(PAUSE_HERE if place.address else PAUSE)
    finally:
        for handed in waiting:
            handed.cancel(check=False)
    # Reached only when nothing was raised: after an error the logs in it tell why.
    shutil.rmtree(folder)


def _make_executor(folder: Path, work: Work, place: Place) -> Any:
    os.environ.setdefault("SUBMITIT_LOG_LEVEL", "NOCONFIG")  # its own set-up closes every log that is open
    try:
        import submitit
    except ImportError as error:
        raise InputError(
            "--on slurm needs submitit, which is not installed here: pip install '.[scale]' -c constraints.txt"
        ) from error
    if not place.address and shutil.which("sbatch") is None:
        raise InputError(
            "--on slurm needs sbatch: run it on a login node of the cluster, or rehearse: --on slurm:local."
        )
    # slurm_max_num_timeout: how often a job may run out of time and continue; training can outlast many time limits.
    executor = submitit.AutoExecutor(folder, cluster=place.address or "slurm", slurm_max_num_timeout=1000)
    executor.update_parameters(
        name=f"seedvote-{work.logs.name}",
        timeout_min=MINUTES,
        cpus_per_task=1,
        slurm_array_parallelism=place.limit or LARGEST_ARRAY,
        **({"gpus_per_node": 1} if place.gpus else {}),
    )
    return executor


def _collect_outcome(handed: Any, job: Job) -> Outcome:
    from submitit.core.utils import UncompletedJobError

    try:
        outcome: Outcome = handed.result()
    except UncompletedJobError as error:
        return Outcome(job, failure=f"{job.name} ended without a result: {str(error).strip().splitlines()[0]}")
    return outcome
