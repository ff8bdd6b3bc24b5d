"""Jobs in processes of this machine; a single one at a time runs in the command's own process.

When the command ends, by error, Ctrl-C or a kill, its workers end too.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from dialogue.errors import InputError
from dialogue.jobs import Job, Outcome, Work, perform

_work: Work


def run_locally(work: Work, jobs: Sequence[Job], limit: int) -> Iterator[Outcome]:
    """Do so many jobs at once, yielding each outcome as it comes."""
    workers = min(limit, len(jobs))
    if workers == 1:
        yield from (perform(work, job) for job in jobs)
        return
    before = set(multiprocessing.active_children())
    # spawn, not fork: a forked child inherits the locks of torch's threads, but not the threads, and may hang.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _receive, (work,))
    try:
        for finished in as_completed([pool.submit(_perform, job) for job in jobs]):
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


def _receive(work: Work) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker at once and quietly
    threading.Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    """A command that was killed takes its workers with it: they would meet those of its next call in the same files."""
    if command := multiprocessing.parent_process():
        command.join()
        os._exit(1)


def _perform(job: Job) -> Outcome:
    return perform(_work, job)
