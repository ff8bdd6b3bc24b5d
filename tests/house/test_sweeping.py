"""Killed runs leave nothing behind: no database, no process, no folder; and nobody else's are touched."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.house import sweeping
from tests.house.doc_blocks import ROOT
from tests.house.waiting import PATIENCE, wait_for

MAKING = """
import os, subprocess, sys, time
from tests.crowd.study import database
from tests.house import warm
from tests.house.sweeping import make_folder

def test_that_is_killed(tmp_path):
    with database("postgresql", tmp_path) as url:
        folder, _, _ = warm.home()
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100000)"], start_new_session=True)
        with open({log!r} + "-new", "w") as log:
            print(url.rpartition("/")[2], folder, make_folder(), sleeper.pid, os.getpid(), os.getppid(), file=log)
        os.rename({log!r} + "-new", {log!r})
        time.sleep(100000)
"""


def databases():
    try:
        with psycopg.connect(sweeping.SERVER, connect_timeout=PATIENCE) as connection:
            return {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
    except psycopg.OperationalError:
        pytest.skip("no PostgreSQL server at 127.0.0.1:5432")


def is_running(pid):
    return bool(sweeping.start_of(int(pid)))


@pytest.mark.skipif(not sweeping.PROCESSES.is_dir(), reason="processes are found by /proc")
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGTERM, signal.SIGINT))]
)
def test_a_run_that_is_killed_leaves_no_database_no_process_and_no_folder(tmp_path, how):
    databases()
    log = tmp_path / "made"
    (tmp_path / "test_made.py").write_text(MAKING.format(log=str(log)), encoding="utf-8")
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_sessionstart  # noqa: F401\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if name != sweeping.RUN}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.house.forks", "--forks", "2", "test_made.py"]
    run = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    try:
        wait_for(lambda: log.exists() or run.poll() is not None)
        name, *folders, sleeper, worker, first = log.read_text().split()
        assert name in databases() and all(Path(path).is_dir() for path in folders)
        assert is_running(sleeper) and is_running(worker) and int(first) == run.pid
    finally:
        run.send_signal(how)
        run.wait(PATIENCE)
    wait_for(lambda: name not in databases())
    wait_for(lambda: not any(is_running(pid) for pid in (sleeper, worker)))
    wait_for(lambda: not [path for path in folders if Path(path).exists()])
    marks = f"seedvote-{sweeping.machine()}_{run.pid}_*"
    wait_for(lambda: not list(Path(tempfile.gettempdir()).glob(marks)))


def test_what_belongs_to_a_run_that_goes_on_or_to_another_machine_stays():
    start = sweeping.start_of(os.getpid())
    living = f"seedvote_{sweeping.machine()}_{os.getpid()}_{start}_0a"
    dead = f"seedvote_{sweeping.machine()}_{os.getpid()}_{start + 1}_0b"
    elsewhere = f"seedvote_{'0' * 8}_{os.getpid()}_{start + 1}_0c"
    names = ["seedvote", "seedvote_mine", "seedvote_0123456789ab", "postgres", living, elsewhere, dead]
    assert sweeping.abandoned(names, str) == [dead]
    assert sweeping.abandoned([name.replace("seedvote_", "seedvote-") for name in names], str) == [
        dead.replace("seedvote_", "seedvote-")
    ]
