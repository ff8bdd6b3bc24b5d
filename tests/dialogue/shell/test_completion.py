"""The TAB key in real shells: commands, options and values of the packages; files everywhere else."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house.waiting import PATIENCE

PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config"]}
LOAD = {
    "bash": 'eval "$(python -m dialogue completion bash)"',
    "zsh": 'autoload -U compinit; compinit -u -D; eval "$(python -m dialogue completion zsh)"',
    "fish": "python -m dialogue completion fish | source",
}
LINES = [  # what is typed before TAB, and what the line becomes
    ("python -m gen", "python -m generation "),
    ("python -m generation tr", "python -m generation train "),
    ("python -m generation train runs/mine --pres", "python -m generation train runs/mine --preset "),
    ("python -m generation train runs/mine --preset sm", "python -m generation train runs/mine --preset small "),
    ("python -m crowd import-votes x.csv --from la", "python -m crowd import-votes x.csv --from label-studio "),
    ("python analyze_ties.py x.csv --method ex", "python analyze_ties.py x.csv --method exact "),
    ("python -m analysis agreement examples/vo", "python -m analysis agreement examples/votes.csv "),
    ("python analyze_t", "python analyze_ties.py "),
]


class Terminal:
    """A shell behind a terminal of its own, in the project's folder."""

    def __init__(self, shell, folder):
        self.shown = ""
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            home = {"HOME": os.devnull, "PATH": PATH, "TERM": "dumb", "COLUMNS": "200", "PS1": "$ "}
            os.execvpe(START[shell][0], START[shell], {**home, "LC_ALL": "C.UTF-8"})

    def type(self, text):
        os.write(self.file, text.encode())

    def wait_for(self, text):
        end = time.monotonic() + PATIENCE
        while text not in self.shown:
            ready, _, _ = select.select([self.file], [], [], 1)
            self.shown += os.read(self.file, 4096).decode(errors="replace") if ready else ""
            assert time.monotonic() < end, f"{text!r} is not in {self.shown!r}"
        self.shown = ""

    def close(self):
        os.close(self.file)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def terminal(request, pytestconfig):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    found = Terminal(request.param, pytestconfig.rootpath)
    found.type(f"{LOAD[request.param]}; echo rea''dy\n")
    found.wait_for("ready\r\n")
    yield found
    found.close()


@pytest.mark.parametrize("typed, becomes", LINES)
def test_tab_completes_the_line(terminal, typed, becomes):
    terminal.type(f"{typed}\t")
    terminal.wait_for(becomes[len(typed) :])
    terminal.type("\x15")  # clears the line, so that nothing runs


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    "typed, becomes", [pytest.param(*line, marks=[] if line == LINES[4] else pytest.mark.slow) for line in LINES]
)
def test_fish_offers_the_same(pytestconfig, tmp_path, typed, becomes):
    script = f'{LOAD["fish"]}; complete -C "{typed}"'
    environ = {"HOME": str(tmp_path), "PATH": PATH}
    told = subprocess.run(
        ["fish", "--no-config", "-c", script], cwd=pytestconfig.rootpath, env=environ, capture_output=True, text=True
    )
    offered = [line.split("\t")[0] for line in told.stdout.splitlines()]
    assert becomes.split()[-1] in offered, told
