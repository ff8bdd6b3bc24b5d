"""A run of the tests leaves nothing behind, even if it is killed: no database, no process, no folder.

Whatever a run makes carries its name. A process beside the run waits for its end, and removes what still carries it.
It also looks at its own start for runs that are gone: the watcher itself may have been killed.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

RUN = "SEEDVOTE_RUN"  # the run's name, in the environment of all its processes
NAME = re.compile(r"seedvote[-_](?P<machine>[0-9a-f]{8})_(?P<pid>\d+)_(?P<start>\d+)[-_]")
SERVER = "postgresql://root@127.0.0.1:5432/postgres"  # of tests/crowd/study.py
PROCESSES = Path("/proc")
MEMORY = Path("/dev/shm")


def name_of_run():
    """The run that this process belongs to; who asks first in a run names it."""
    return os.environ.setdefault(RUN, f"{machine()}_{os.getpid()}_{start_of(os.getpid())}")


def machine():
    """Where a number names a process: a container counts its own, though it may share a server or a folder."""
    space = PROCESSES / "self/ns/pid"
    number = space.stat().st_ino if space.exists() else 0
    return f"{zlib.crc32(f'{socket.gethostname()} {number}'.encode()):08x}"


def start_of(pid):
    """When a process began, in ticks: numbers of processes are used again. 0 where it is gone, or no system tells."""
    try:
        state, *fields = (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(fields[18])


def is_over(run):
    """Whether a run (machine, pid, start) has ended; those of other machines are none of ours."""
    there, pid, start = run
    if there != machine():
        return False
    if PROCESSES.is_dir():
        return start_of(pid) != int(start)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    return False


def make_folder(where=None):
    """A temporary folder of this run."""
    return Path(tempfile.mkdtemp(prefix=f"seedvote-{name_of_run()}-", dir=where))


def note_fork():
    """Name this fork of a run's process, whose environment still shows that of the process it was."""
    for folder in Path(tempfile.gettempdir()).glob(f"seedvote-{name_of_run()}-forks"):
        (folder / f"{os.getpid()}_{start_of(os.getpid())}").touch()


def watch():
    """Begin the process that sweeps when this one has ended, whichever way; once a run."""
    if RUN in os.environ:
        return
    (Path(tempfile.gettempdir()) / f"seedvote-{name_of_run()}-forks").mkdir()
    environ = {name: value for name, value in os.environ.items() if name != RUN}
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    command = [sys.executable, __file__, name_of_run()]
    watcher = subprocess.Popen(command, **quiet, env=environ, start_new_session=True)
    watcher.returncode = 0  # it outlives this process, so nobody waits for it


def sweep():
    """Remove whatever carries the name of a run that is over."""
    end_processes()
    remove_folders()
    drop_databases()


def end_processes():
    for path in PROCESSES.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            match = re.search(rb"\0" + RUN.encode() + rb"=(\w+)\0", b"\0" + path.read_bytes())
            if match and path.parent.name != str(os.getpid()) and is_over(match[1].decode().split("_")):
                os.kill(int(path.parent.name), signal.SIGKILL)
    for path in abandoned(Path(tempfile.gettempdir()).glob("seedvote-*-forks/*"), lambda path: path.parent.name):
        pid, start = path.name.split("_")
        with contextlib.suppress(OSError):
            if start_of(pid) == int(start):
                os.kill(int(pid), signal.SIGKILL)


def remove_folders():
    for folder in {Path(tempfile.gettempdir()), MEMORY}:
        for path in abandoned(folder.glob("seedvote-*"), lambda path: path.name):
            shutil.rmtree(path, ignore_errors=True)


def drop_databases():
    try:
        import psycopg
    except ImportError:  # then nobody made any
        return
    try:
        connection = psycopg.connect(SERVER, autocommit=True, connect_timeout=60)
    except psycopg.OperationalError:  # no server, so no databases
        return
    with connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'seedvote%'").fetchall()
        for name in abandoned([name for (name,) in rows], str):
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def abandoned(things, name_of):
    """Those of the things that a run which is over has named."""
    matches = [(thing, NAME.match(name_of(thing))) for thing in things]
    return [thing for thing, match in matches if match and is_over(match.groups())]


def main():
    """Sweep after others, wait for the end of this run, and sweep after it."""
    sweep()
    while not is_over(sys.argv[1].split("_")):
        time.sleep(0.5)
    sweep()


if __name__ == "__main__":
    main()
