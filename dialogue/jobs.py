"""Work cut into jobs that may run here, on a Ray cluster or under Slurm, and leave the same bits anywhere.

A job is idempotent: what it writes is whole or absent and carries the hash of all it follows from. So a job whose
machine died is simply run again, and one that is done is not. Every job computes with one thread, because the number of
threads moves the last bits. Machines share the study folder; what they write is all they have in common.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import seedvote
from seedvote.dialogue.errors import InputError, unusable
from seedvote.dialogue.signature import VERSION

ROOT = Path(seedvote.__file__).resolve().parents[1]  # what a worker must find on its path
JOB_THREADS = 1


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work: what people call it, the hash of all it follows from, and what `Work.act` takes."""

    name: str
    key: str
    piece: Any


@dataclass(frozen=True, slots=True)
class Work:
    """What the jobs of a command have in common: each is `act(shared, job.piece)` and logs to a file in `logs`.

    `act` is a function of a module, so that another process finds it by name.
    """

    act: Callable[[Any, Any], Any]
    shared: Any
    logs: Path
    cwd: Path = field(default_factory=Path.cwd)  # relative paths mean the same everywhere

    def log(self, job: Job) -> Path:
        """Where a job tells when and where it ran, and why it failed."""
        return self.logs / f"{job.name}.log"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job: its result, or a sentence that says why there is none."""

    job: Job
    result: Any = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where jobs run: the engine, its address (`ray:ADDRESS`, `slurm:local`), how many at once, GPUs a job."""

    engine: str = "local"
    address: str = ""
    limit: int | None = None
    gpus: int = 0


def content_key(*parts: object) -> str:
    """SHA-256 over the inputs and settings of a job and the version of this code."""
    # The version is part of it: new code may compute other last bits, so it does every job again.
    return hashlib.sha256("\x1f".join([*map(str, parts), VERSION]).encode()).hexdigest()


def cores() -> int:
    """Processor cores that this process may use."""
    # Not cpu_count alone: a container or a batch system may grant fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_once(place: Place) -> int | None:
    """How many jobs run at a time; nothing where as many as there are machines for."""
    return place.limit or (cores() if place.engine == "local" else None)


def job_environment() -> dict[str, str]:
    """What a process of ours needs: this checkout on its path, and one thread in every numerical library."""
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    threads = {f"{name}_NUM_THREADS": str(JOB_THREADS) for name in ("OMP", "MKL", "OPENBLAS")}
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), **threads}


def perform(work: Work, job: Job) -> Outcome:
    """Do one job in this process and write its log; a failure is an outcome, so that it takes no other with it."""
    # Workers of Ray and Slurm start in folders of their own.
    os.chdir(work.cwd)
    log, begun = work.log(job), time.monotonic()
    _append_log(
        log, f"{job.name} {job.key[:12]} begun on {platform.node()}, process {os.getpid()}, {_processor_kind()}"
    )
    try:
        outcome = Outcome(job, work.act(work.shared, job.piece))
    except InputError as error:
        outcome = Outcome(job, failure=str(error))
    except Exception as error:  # noqa: BLE001 (its traceback is in the log, and its sentence goes to the person)
        _append_log(log, traceback.format_exc())
        outcome = Outcome(job, failure=_failure_sentence(job, error))
    _append_log(log, outcome.failure or f"done in {time.monotonic() - begun:.1f} s")
    return outcome


def _failure_sentence(job: Job, error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{job.name} stopped: {unusable(error)}"
    return f"{job.name} failed with {type(error).__name__}: {error}."


def _append_log(log: Path, text: str) -> None:
    """Add to a log; a disk that has no room for it must not hide what became of the job."""
    with contextlib.suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        # Opened for each line: several attempts, on several machines, write to one log.
        with log.open("a", encoding="utf-8") as handle:
            handle.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}\n")


def _processor_kind() -> str:
    """The kind of processor: other kinds may compute other last bits."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def keep_freed_memory() -> None:
    """Let this process keep the memory that it frees for its next arrays (glibc; elsewhere nothing happens).

    Else each large array is fetched from the system anew, page by page: a sixth of the time of an LSTM on CPU, and half
    of that of the careful model.
    """
    import ctypes  # of no use to whoever only cuts work into jobs

    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(-4, 0)  # M_MMAP_MAX: no array in pages of its own
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: give nothing back at the end of the heap
