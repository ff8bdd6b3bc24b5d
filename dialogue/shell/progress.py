"""What a command is doing, on the last line of the terminal, once it has said nothing for two seconds.

The line is on standard error and only if that is a terminal: never in a file, a pipe or a log, and never with --json.
A step of minutes is announced there too, once.
Whatever else is written takes its place. Bars of tqdm, which know how much is left, go before it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

QUIET = 2.0  # seconds without a word, after which the line appears
EVERY = 0.5
ERASE = "\r\x1b[K"

_doing = [""]


def step(what: str) -> None:
    """Name what is being done from now on: `figures`, `drawing studies anew`."""
    _doing[0] = what


def announce(what: str) -> None:
    """Name a step that takes minutes: where there is no line to show it, in words of its own."""
    step(what)
    if not sys.stderr.isatty():
        sys.stderr.write(f"{what}.\n")
        sys.stderr.flush()


@contextmanager
def watched(name: str) -> Iterator[None]:
    """Show the line while the block runs; `name` is the command's."""
    if not sys.stderr.isatty():
        yield
        return
    out, err = sys.stdout, sys.stderr
    line = ProgressLine(name, err)
    if out.isatty():
        sys.stdout = _YieldingStream(out, line)
    sys.stderr = _YieldingStream(err, line)
    step("")
    line.start()
    try:
        yield
    finally:
        line.end()
        sys.stdout, sys.stderr = out, err


class ProgressLine:
    """The line, drawn by a thread of its own."""

    def __init__(self, name: str, terminal: TextIO) -> None:
        self.name, self.terminal = name, terminal
        self.begun = self.spoken = time.monotonic()
        self.drawn, self.lock, self.over = False, threading.RLock(), threading.Event()
        self.thread = threading.Thread(target=self._draw_on, daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self.thread.start()

    def end(self) -> None:
        """Take the line away for good."""
        self.over.set()
        self.give_way()

    def give_way(self) -> None:
        """Something is about to be written."""
        with self.lock:
            self.spoken = time.monotonic()
            if self.drawn:
                self.drawn = False
                self.terminal.write(ERASE)
                self.terminal.flush()

    def draw(self, now: float) -> None:
        """Show the line if it is time for it."""
        with self.lock:
            if self.over.is_set() or now - self.spoken < QUIET or _has_bars():
                return
            self.drawn = True
            doing = f"{self.name}: {_doing[0]}" if _doing[0] else self.name
            self.terminal.write(f"{ERASE}{doing}, {now - self.begun:.0f} s (Ctrl-C stops)")
            self.terminal.flush()

    def _draw_on(self) -> None:
        while not self.over.wait(EVERY):
            self.draw(time.monotonic())


class _YieldingStream:
    """A stream that makes the line give way before anything is written to it."""

    def __init__(self, stream: TextIO, line: ProgressLine) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        """Write after the line is gone."""
        self._line.give_way()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _has_bars() -> bool:
    """Whether a bar of tqdm stands on the terminal."""
    kind = getattr(sys.modules.get("tqdm"), "tqdm", None)
    return any(not bar.disable for bar in list(getattr(kind, "_instances", ())))
