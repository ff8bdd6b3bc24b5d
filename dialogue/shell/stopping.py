"""Ctrl-C ends every command soon, with one sentence and exit code 130: whoever types it wants the prompt back.

Files are written whole or not at all and a store survives a kill, so nothing is lost when threads are not waited for.
What must be finished first (an answer that a rater has sent, a cluster to be left) asks for more time: `allow`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

SENTENCE = "Stopped. Finished work is kept; run the same command again to continue."
STOPPED = 130
GRACE = 1.5  # seconds from Ctrl-C until the process ends, however busy it is

_asked = threading.Event()
_grace = [GRACE]
_instead: list[Callable[[], None]] = []  # what is done at Ctrl-C, if not KeyboardInterrupt


def heed() -> None:
    """From now on; a process that was started deaf to Ctrl-C (in the background of a shell) stays so."""
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt)


def allow(seconds: float, instead: Callable[[], None] | None = None) -> None:
    """Let what follows take so long after Ctrl-C; a second Ctrl-C still ends it at once.

    With `instead` that is called and nothing is interrupted.
    """
    _grace[0] = seconds
    _instead[:] = [instead] if instead else []


def is_asked() -> bool:
    """Whether Ctrl-C was typed: then whatever goes wrong (half an import, a broken pool) goes wrong for that reason."""
    return _asked.is_set()


def leave() -> NoReturn:
    """Say the sentence and end at once: threads at work would hold up the interpreter's own end, or make it fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    _end_process()


def _on_interrupt(_signal: int, _frame: FrameType | None) -> None:
    if _asked.is_set():
        _end_process()
    _asked.set()
    threading.Thread(target=_end_later, daemon=True).start()
    if not _instead:
        raise KeyboardInterrupt
    _instead[0]()


def _end_later() -> None:
    threading.Event().wait(_grace[0])
    _end_process()


def _end_process() -> NoReturn:
    # Past Python's streams, whose locks a thread may hold; one line, whatever stands on the last one.
    mark = "\r\x1b[K" if os.isatty(2) else "\n"
    os.write(2, f"{mark}{SENTENCE}\n".encode())
    os._exit(STOPPED)
