"""A command in a process of its own that a test kills: forked from a warm Python, not started.

It lives, is signalled and dies as any process does. What an interpreter spends on imports, longer than most of these
processes live, is spent once. The face is that of subprocess.Popen.
"""

import contextlib
import marshal
import os
import select
import signal
import socket
import subprocess

from tests.house.warm import SERVING, warm

PIPE = subprocess.PIPE
NOWHERE = subprocess.DEVNULL


class Forked:
    """`python WORDS...` as the leader of a session of its own, as shells start what they run."""

    def __init__(self, words, *, names=SERVING, cwd=None, env=None, stdin=NOWHERE, stdout=NOWHERE, stderr=NOWHERE):
        with contextlib.ExitStack() as theirs:
            self.stdin, self.stdout, self.stderr = (None, None, None)
            ends = [self._end(theirs, *given) for given in enumerate((stdin, stdout, stderr))]
            self.line = socket.socket(socket.AF_UNIX)
            self.line.connect(warm(names)[-1])
            message = marshal.dumps((words, str(cwd or os.getcwd()), dict(env or os.environ), True))
            socket.send_fds(self.line, [len(message).to_bytes(8, "big")], ends)
            self.line.sendall(message)
        self.pid, self.returncode = int.from_bytes(self.line.recv(4), "big"), None
        self.process = os.pidfd_open(self.pid)

    def _end(self, theirs, number, given):
        """What the command has as its standard input, output or errors."""
        if given is None:
            return number
        if given != PIPE:
            return theirs.enter_context(open(os.devnull, "r+b")).fileno()
        reading, writing = os.pipe()
        here, there = (writing, reading) if number == 0 else (reading, writing)
        theirs.callback(os.close, there)
        setattr(self, ("stdin", "stdout", "stderr")[number], os.fdopen(here, "w" if number == 0 else "r"))
        return there

    def send_signal(self, number):
        """Not to another process that has its number by now."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.process, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def wait(self, patience):
        """Until it is gone, its sockets and locks with it; its exit code, or -9 where a signal ended it."""
        if self.returncode is None:
            gone = select.select([self.process], [], [], patience)[0]
            assert gone, f"process {self.pid} has not ended"
            try:
                told = self.line.recv(1, socket.MSG_DONTWAIT)
            except BlockingIOError:  # what it has forked lives on
                told = b""
            self.returncode = told[0] if told else -signal.SIGKILL
            self.line.close()
            os.close(self.process)
        return self.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """As Popen does: what was piped is closed and the end is waited for."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.wait(None)
