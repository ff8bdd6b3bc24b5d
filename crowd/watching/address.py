"""Where a study is served: this machine's address in its network, and the one that the server wrote down."""

from __future__ import annotations

import socket
from pathlib import Path

from seedvote.dialogue.files import atomic

THIS_MACHINE = "127.0.0.1"
SOMEWHERE = ("192.0.2.1", 9)  # kept for documentation (RFC 5737): nothing is sent, the system only picks a way there
WRITTEN = ".address"


def own_address() -> str:
    """This machine's own address in its network; of a machine without any, the one that only it reaches."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(SOMEWHERE)
            return str(way.getsockname()[0])
        except OSError:
            return THIS_MACHINE


def keep_address(study: Path, address: str) -> None:
    """Write down where the study is served, for `invite`."""
    with atomic(study / WRITTEN) as file:
        file.write(address)


def kept_address(study: Path) -> str:
    """Where it was served last; empty where it never was."""
    path = study / WRITTEN
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""
