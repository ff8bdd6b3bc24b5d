"""One command at a time moves the money of a study: two at once would read the same record of the launch."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialogue.errors import InputError

LOCK = ".money.lock"  # in the study folder; the system lets go of it when the command ends, also when it is killed


@contextmanager
def alone(study: Path, *, needed: object) -> Iterator[None]:
    """Until this ends, no other command moves money of this study from this folder."""
    if not needed or not study.is_dir():
        yield
        return
    with (study / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another command is moving the money of {study}. Wait until it ends, then run this again."
            ) from None
        yield
