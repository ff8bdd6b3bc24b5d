"""Jobs on Ray: a cluster of its own inside this command, or one that is there (`ray:ADDRESS`).

A job whose node dies is run again on another. Our own cluster listens on this machine only, asks for a token that only
this command knows, sends no usage statistics, has no dashboard and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import Job, Outcome, Place, Work, cores, job_environment, perform
from seedvote.dialogue.shell import stopping

RETRIES = 5  # times that a job may lose its process or its node
LONGEST_FOLDER = 40  # letters of Ray's folder: it adds about 65 for a socket, whose path may have 107


def run_on_ray(work: Work, jobs: Sequence[Job], place: Place) -> Iterator[Outcome]:
    """Do the jobs, at most `place.limit` at a time, yielding each outcome as it comes."""
    stopping.allow(60)  # the cluster is left in order
    with _open_cluster(place) as ray:
        act = ray.remote(num_cpus=1, num_gpus=place.gpus, max_retries=RETRIES)(perform)
        shared, queue = ray.put(work), iter(jobs)
        # A few at a time: Ray copies a job's arguments when the job is submitted.
        waiting = {act.remote(shared, job): job for job in islice(queue, place.limit)}
        while waiting:
            (done,), _ = ray.wait(list(waiting), num_returns=1)
            job = waiting.pop(done)
            try:
                yield ray.get(done)
            except ray.exceptions.RayError as error:
                yield Outcome(job, failure=f"Ray gave up on {job.name}: {getattr(error, 'cause', error)}")
            waiting |= {act.remote(shared, job): job for job in islice(queue, 1)}


@contextlib.contextmanager
def _open_cluster(place: Place) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    folder = Path(tempfile.mkdtemp(prefix="ray-")) if not place.address else None
    if folder:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(16))
    ray = _import_ray()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    quiet["runtime_env"] = {"env_vars": job_environment()}
    try:
        if folder:
            _start_cluster(ray, folder, place.limit or cores(), quiet)
        else:
            _connect_cluster(ray, place.address, quiet)
        yield ray
    finally:
        ray.shutdown()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "--on ray needs Ray, which is not installed here: pip install '.[scale]' -c constraints.txt"
        ) from error
    return ray


def _start_cluster(ray: Any, folder: Path, processes: int, quiet: dict[str, Any]) -> None:
    if len(str(folder)) > LONGEST_FOLDER:
        raise InputError(f"{folder} is too long a path for Ray's sockets. Set a shorter one: TMPDIR=/tmp")
    ray.init(
        "local",
        num_cpus=processes,
        include_dashboard=False,
        _temp_dir=str(folder),
        _node_ip_address="127.0.0.1",
        **quiet,
    )


def _connect_cluster(ray: Any, address: str, quiet: dict[str, Any]) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if port.isdigit():
            socket.create_connection((host, int(port)), timeout=10).close()  # Ray itself would wait for minutes
        ray.init(address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"There is no Ray cluster at {address!r} ({str(error).strip().splitlines()[0]}). "
            "Start one (ray start --head), or leave the address out: --on ray"
        ) from error
