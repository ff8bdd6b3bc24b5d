"""A Python that has loaded libraries and this checkout once and forks for each command that a shell or a test types.

A run of the tests has one of each kind, whichever of its processes asks first. What a command would import from
elsewhere than this checkout it imports anew. Where SKETCHED is set its pictures are not rendered: for tests that do
not look at them.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = "seedvote"
# A star: every module of a package of ours. Of other packages only what nearly every command takes.
SERVING = (
    "sqlalchemy",
    "flask",
    "waitress",
    "httpx",
    "tqdm",
    "seedvote.dialogue.*",
    "seedvote.crowd.*",
)  # where raters are served
MEPHISTO = (
    *SERVING,
    "boto3",
    "hydra",
    "omegaconf",
    "prometheus_client",
    "requests",
    "rich.markdown",
    "tornado.websocket",
)
HEAVY = (
    "scipy.stats", "scipy.optimize", "matplotlib.figure", "matplotlib.backends.backend_agg", "pyarrow.parquet",
    "pandas", "sqlalchemy", "flask", "waitress", "httpx", "tqdm", "torch", f"{OURS}.*",
)  # fmt: skip
ASIDE = ("__main__", "marketplaces", "postgresql", "adam")  # modules and rooms that need what few commands take


@functools.cache
def home():
    """The folder of this run's warm Pythons, and a pipe that they read: they end when nobody holds its other end.

    A process that is to fork asks for it before, so that its copies share them.
    """
    from tests.house.sweeping import make_folder  # not where this file runs as a program

    folder = make_folder()
    reading, writing = os.pipe()
    started = []

    def end():
        os.close(writing)
        for process in started:
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return folder, reading, started


@functools.cache
def warm(names=HEAVY):
    """The command that stands for `python`; who asks first starts the one that it leads to."""
    folder, reading, started = home()
    path = folder / f"{zlib.crc32(shlex.join(names).encode()):08x}"
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("warm_client.py")), str(path)]
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            serving = [sys.executable, __file__, str(path), *names]
            process = subprocess.Popen(serving, stdin=reading, stdout=subprocess.PIPE)
            assert process.stdout.readline() == b"ready\n"
            process.stdout.close()
            started.append(process)
            program = path.with_suffix(".python")
            program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
    return command


def warm_python(names=HEAVY):
    """The same as a file, where the name of a program is wanted."""
    return str(Path(warm(names)[-1]).with_suffix(".python"))


def load(name):
    """Import a module, or every module of a package of ours; what cannot be is left to the command that needs it."""
    package = name.removesuffix(".*")
    with contextlib.suppress(ImportError):
        importlib.import_module(package)
    for module in pkgutil.iter_modules([str(ROOT.joinpath(*package.split(".")))]) if package != name else ():
        if module.name not in ASIDE:
            load(f"{package}.{module.name}{'.*' * module.ispkg}")


def serve(path, names):
    """Fork for each command until nobody is left that could ask."""
    sys.path.insert(0, str(ROOT))
    for name in names:
        load(name)
    del sys.path[0]
    for one in weakref.finalize._registry:
        one.atexit = False  # what libraries tidy up at the end takes longer than many a command
    gc.collect()
    gc.freeze()  # a command that looks for garbage would write into, so copy, all pages of what is loaded
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen(128)
        os.rename(f"{path}.new", path)
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
        words, folder, environ, *leads = marshal.loads(rest.read(int.from_bytes(head, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    mine = os.getpid()
    if leads:  # a session of its own, see forked.py
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
    connection.sendall(mine.to_bytes(4, "big"))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    if environ.get("SKETCHED"):
        importlib.import_module("matplotlib.figure").Figure.savefig = sketch
    if environ.get("SKETCHED") == "without the kit":
        importlib.import_module("seedvote.analysis.report.paper.kit")._draw_figures = lambda figures: iter(())
    code = 0
    try:
        run(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 (what Python does at the top)
        traceback.print_exc()
        code = 1
    threading._shutdown()  # a thread that lives on holds up the end, as it would that of a fresh one
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    atexit._run_exitfuncs()
    if os.getpid() == mine:  # not what the command has forked
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
        sys.argv = others
        begin_in("")
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        code, *others = others
        sys.argv = [first, *others]
        begin_in("")
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-":
        sys.argv = words
        begin_in("")
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = words
        begin_in(str(Path(first).resolve().parent))
        runpy.run_path(first, run_name="__main__")


def begin_in(folder):
    """Import from this folder, and not what is loaded where another package of that name, or none, would be found."""
    sys.path[0] = folder
    if Path(folder, OURS).resolve() != ROOT / OURS:
        for module in [name for name in sys.modules if name.partition(".")[0] == OURS]:
            del sys.modules[module]


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
