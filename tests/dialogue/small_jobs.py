"""What the jobs of test_jobs do, apart from it: each process that does one would load pytest besides."""

import errno
import os
import signal
from pathlib import Path

from seedvote.dialogue.errors import InputError


def add(shared, piece):
    return shared + piece, os.environ["OMP_NUM_THREADS"], os.getpid()


def note_turn(shared, piece):
    return os.environ["SEEDVOTE_GPU_TURN"], os.getpid()


def add_at_last(shared, piece):
    """The same in the folder, but the process of the last piece is killed once: Ray makes that good."""
    return add(10, killed(shared, piece) if piece == 3 else piece)


def divide(shared, piece):
    if piece == 3:
        raise InputError("Three is refused. Take another.")
    return shared / piece


def once(act):
    """Do `act` in the first attempt only."""

    def attempt(shared, piece):
        seen = Path(shared, f"seen-{piece}")
        if not seen.exists():
            seen.touch()
            act()
        return piece

    return attempt


def killed(shared, piece):
    return once(lambda: os.kill(os.getpid(), signal.SIGKILL))(shared, piece)


def first_preempted(shared, piece):
    """The first piece is preempted once, and no other."""
    return piece if piece else once(lambda: signal.raise_signal(signal.SIGUSR2))(shared, piece)


def full(shared, piece):
    raise OSError(errno.ENOSPC, "No space left on device", f"{shared}/states.npy")
