"""What is typed in the place of `python`: has a warm Python carry out a command with this process's streams.

It is started for every command, so it imports next to nothing: `socket`, `signal` and `json` alone take as long as
the start of the interpreter.
"""

import marshal
import os
import sys
from _signal import SIGTERM, signal
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket


def ask(path, words):
    """Its exit code, carried out in this process's folder under its variables.

    Whoever ends this process by SIGTERM ends the command.
    """
    server = socket(AF_UNIX)
    server.connect(path)
    message = marshal.dumps((words, os.getcwd(), dict(os.environ)))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    server.sendmsg([len(message).to_bytes(8, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    server.sendall(message)
    command = int.from_bytes(server.recv(4), "big")
    assert command  # signal 0 would go to all of us
    signal(SIGTERM, lambda *_: os.kill(command, SIGTERM))
    return int.from_bytes(server.recv(1) or b"\x01", "big")


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
