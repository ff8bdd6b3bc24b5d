"""A Python that has loaded libraries once and forks for each command that a shell or a test types.

The code of the checkout is not among what is loaded: each command imports it anew, as it would when typed alone.
Where SKETCHED is set its pictures are not rendered: for tests that do not look at them.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HEAVY = (
    "scipy.stats", "scipy.optimize", "matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet",
    "sqlalchemy", "flask", "waitress", "httpx", "tqdm", "torch",
)  # fmt: skip
SERVING = ("sqlalchemy", "flask", "waitress", "httpx", "tqdm")  # what is enough where raters are served


@functools.cache
def warm(names=HEAVY):
    """The command that stands for `python`, started on first use; it ends with the tests' process."""
    folder = tempfile.mkdtemp(prefix="warm-")
    path = str(Path(folder, "socket"))
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", path, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()

    def end():
        process.stdin.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    command = [sys.executable, "-I", "-S", __file__, path]
    program = Path(folder, "python")
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return command


def warm_python(names=HEAVY):
    """The same as a file, where the name of a program is wanted."""
    return str(Path(warm(names)[-1]).with_name("python"))


def ask(path, words):
    """Have a command carried out with this process's streams, folder and variables; its exit code.

    Whoever ends this process by SIGTERM ends the command.
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        message = json.dumps({"words": words, "cwd": os.getcwd(), "environ": dict(os.environ)}).encode()
        socket.send_fds(server, [len(message).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(message)
        command = int.from_bytes(server.recv(4), "big")
        assert command  # signal 0 would go to all of us
        signal.signal(signal.SIGTERM, lambda *_: os.kill(command, signal.SIGTERM))
        return int.from_bytes(server.recv(1) or b"\x01", "big")


def serve(path, names):
    """Fork for each command until standard input ends."""
    for name in names:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                carry_out(connection)
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def carry_out(connection):
    """Run one command as Python would and tell its exit code."""
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as rest:
        asked = json.loads(rest.read(int.from_bytes(head, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    connection.sendall(os.getpid().to_bytes(4, "big"))
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    if asked["environ"].get("SKETCHED"):
        importlib.import_module("matplotlib.figure").Figure.savefig = sketch
    code = 0
    try:
        run(asked["words"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 (what Python does at the top)
        traceback.print_exc()
        code = 1
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    connection.sendall(code.to_bytes(1, "big"))
    os._exit(code)


def sketch(figure, handle, **options):
    """In the place of Figure.savefig: laid out, so that what cannot be drawn fails, and not rendered.

    To render a report's pictures takes longer than all the rest of it.
    """
    if figure.stale:  # not laid out since it was changed
        figure.draw_without_rendering()
    handle.write(b"sketch")


def run(words):
    """`python -m MODULE ...`, `python -c CODE ...`, `python FILE ...` or `python -`."""
    first, *others = words
    if first == "-m":
        sys.argv, sys.path[0] = others, ""
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        code, *others = others
        sys.argv, sys.path[0] = [first, *others], ""
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-":
        sys.argv, sys.path[0] = words, ""
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = words, str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    first, *others = sys.argv[1:]
    if first == "serve":
        serve(others[0], others[1:])
    else:
        sys.exit(ask(first, others))
