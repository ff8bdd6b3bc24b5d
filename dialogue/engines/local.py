"""Jobs in processes of this machine; a single one at a time runs in the command's own process.

When the command ends, by error, Ctrl-C or a kill, its workers end too.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import Job, Outcome, Work, perform
from seedvote.dialogue.shell import stopping

TURN = "SEEDVOTE_GPU_TURN"  # as in dialogue/devices.py, which loads torch
LONGEST_FOLDER = 70  # the path of a socket has 107 characters at most, and Python adds up to 35 to this folder's

_work: Work


def run_locally(work: Work, jobs: Sequence[Job], limit: int) -> Iterator[Outcome]:
    """Do so many jobs at once, yielding each outcome as it comes."""
    workers = min(limit, len(jobs))
    if workers == 1:
        yield from (perform(work, job) for job in jobs)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, _worker_context(work), _receive_work, (work, dict(os.environ)))
    try:
        for finished in as_completed([pool.submit(_perform_job, job, turn) for turn, job in enumerate(jobs)]):
            yield finished.result()
    except BrokenProcessPool as error:
        raise InputError(
            "A process was killed (out of memory?). Finished work is kept; run the same command again, "
            f"with fewer --jobs if memory is short. The log of each job is in {work.logs}."
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()  # files are whole or absent, so nothing is lost but time
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        if stopping.is_asked():
            _forget_sockets()


def _worker_context(work: Work) -> BaseContext:
    """How workers begin: as copies of a process that has loaded the libraries once, or each anew.

    Never as copies of the command itself: a child inherits the locks of torch's threads, but not the threads, and may
    hang. The process that is copied has loaded libraries and done nothing else, so it has one thread.
    """
    # macOS forbids its own numerical libraries after a copy, and Windows cannot copy.
    if sys.platform != "linux" or len(tempfile.gettempdir()) > LONGEST_FOLDER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # Commands import torch late, inside of functions, so the module of the job alone would not bring it along.
    context.set_forkserver_preload([name for name in ("torch", work.act.__module__) if name in sys.modules])
    return context


def _forget_sockets() -> None:
    # Ctrl-C ends the command without Python's own end (shell/stopping.py), which would have removed this folder.
    if folder := multiprocessing.current_process()._config.get("tempdir"):  # type: ignore[attr-defined]
        shutil.rmtree(folder, ignore_errors=True)


def _receive_work(work: Work, environment: dict[str, str]) -> None:
    global _work
    _work = work
    os.environ.update(environment)  # what is copied may have begun for an earlier call, under other variables
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker at once and quietly
    threading.Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    """A command that was killed takes its workers with it: they would meet those of its next call in the same files."""
    if command := multiprocessing.parent_process():
        command.join()
        os._exit(1)


def _perform_job(job: Job, turn: int) -> Outcome:
    os.environ.setdefault(TURN, str(turn))  # the first jobs go to as many workers, so each takes a GPU of its own
    return perform(_work, job)
