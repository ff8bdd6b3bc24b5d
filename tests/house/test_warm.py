"""The Python that forks for each command does what a fresh one does."""

import subprocess
import sys

import pytest

from tests.house.doc_blocks import ROOT
from tests.house.waiting import wait_for
from tests.house.warm import warm

SCRIPT = "import os, sys\nprint(sys.argv, os.getcwd(), os.environ['WORD'], __name__)\nprint('aside', file=sys.stderr)\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-m", "crowd", "status", "nowhere"], ""),
        (["analyze_ties.py", "--no-such-option"], ""),
        (["-c", SCRIPT, "one", "two"], ""),
        (["-"], SCRIPT + "sys.exit('the end')\n"),
        (["-"], "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('late'))).start()\n"),
        (["-"], "1 / 0"),
    ],
)
def test_it_prints_and_ends_as_a_fresh_one_does(words, text, monkeypatch):
    monkeypatch.setenv("WORD", "here")
    one, other = (
        subprocess.run([*python, *words], input=text, cwd=ROOT, capture_output=True, text=True)
        for python in ([sys.executable], warm())
    )
    assert (one.returncode, one.stdout) == (other.returncode, other.stdout)
    assert one.stderr.splitlines()[-1:] == other.stderr.splitlines()[-1:]


@pytest.mark.parametrize("there", [True, False])
def test_warm_imports_ours_from_the_working_folder(there, tmp_path):
    if there:
        (tmp_path / "seedvote" / "dialogue").mkdir(parents=True)
        for package in ("seedvote", "seedvote/dialogue"):  # without it, an installed package of that name goes before
            (tmp_path / package / "__init__.py").touch()
        (tmp_path / "seedvote" / "dialogue" / "errors.py").write_text("HERE = True\n", encoding="utf-8")
    script = "from seedvote.dialogue.errors import HERE\nprint(HERE)\n"
    one, other = (
        subprocess.run([*python, "-"], input=script, cwd=tmp_path, capture_output=True, text=True)
        for python in ([sys.executable], warm())
    )
    assert (one.returncode, one.stdout) == (other.returncode, other.stdout) == ((0, "True\n") if there else (1, ""))
    assert one.stderr.splitlines()[-1:] == other.stderr.splitlines()[-1:]


COPIES = """
import os, subprocess
from tests.house.warm import home, warm
home()
for _ in range(3):
    if os.fork() == 0:
        subprocess.run([*warm(("json",)), "-c", "import os; print(os.getppid())"], check=True)
        os._exit(0)
    # The first copy, which has started it, is gone before the others ask.
    assert os.wait()[1] == 0
"""


def test_copies_of_a_process_share_one_and_it_ends_with_the_last_of_them():
    done = subprocess.run([sys.executable, "-c", COPIES], cwd=ROOT, check=True, capture_output=True, text=True)
    number, *others = map(int, done.stdout.split())
    assert others == [number, number]
    wait_for(lambda: not is_running(number))


def is_running(number):
    """Whether a process is there; one that has ended stays as a zombie where nobody asks for its exit code."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
