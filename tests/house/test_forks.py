"""Every test is run once, in one of several processes, and whatever becomes of one is said."""

import os
import re
import subprocess
import sys

from tests.house.doc_blocks import ROOT

OUTER = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def whole():
    yield
    with open({log!r}, "a") as log:
        log.write(f"end {{os.getpid()}}\\n")

def pytest_runtest_setup(item):
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}} {{item.nodeid}}\\n")
"""
FIRST = """
import os, signal
import pytest

def test_that_prints(tmp_path):
    print("as this says")
    assert tmp_path.parts[-2].startswith("fork-") and False

def test_that_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)

def test_that_leaves():
    pytest.exit("enough of it")

def test_after_them():
    pass
"""
OTHER = """
import pytest

@pytest.fixture(scope="module")
def made():
    yield
    print("torn down")

@pytest.mark.parametrize("n", range(20))
def test_number(n, made):
    pass

def test_left_out():
    pytest.skip("of no use")
"""


def test_each_test_runs_once_and_one_that_ends_its_process_fails_alone(tmp_path):
    log = tmp_path / "log"
    log.write_text("", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, text in {
        "conftest": OUTER.format(log=str(log)),
        "test_a": FIRST,
        **{f"test_{n}": OTHER for n in "bcd"},
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--forks", "2", "-p", "tests.house.forks", tmp_path],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # to load those of others takes half of the time
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"3 failed, 61 passed, 3 skipped", done.stdout), done.stdout
    assert "as this says" in done.stdout and re.search(r"fork-\d ended by SIGKILL here", done.stdout)
    assert re.search(r"fork-\d ended with code 1 here", done.stdout) and "enough of it" in done.stdout
    entries = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    ran = [(process, nodeid) for process, nodeid in entries if process != "end"]
    assert len(ran) == len({nodeid for _, nodeid in ran}) == 67
    for file in ("test_b", "test_c", "test_d"):  # a file whose process lived was for one process
        assert len({process for process, nodeid in ran if nodeid.startswith(file)}) == 1
    ended = {nodeid for process, nodeid in entries if process == "end"}
    assert ended == {process for process, _ in ran} - {
        process for process, nodeid in ran if nodeid.endswith(("is_killed", "leaves"))
    }
