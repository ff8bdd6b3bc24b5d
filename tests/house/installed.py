"""The wheel of this checkout, installed in a folder of its own, and its commands typed outside the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.doc_blocks import ROOT


def newcomers_copy(folder):
    """The checkout as a newcomer has it: no environment, nothing made."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    unneeded = shutil.ignore_patterns(*(name.strip("/") for name in ignored), ".git", "shared", "tests")
    return shutil.copytree(ROOT, folder, symlinks=True, ignore=unneeded)


def build_wheel(folder, *how):
    """Build it from such a copy; its path."""
    source = newcomers_copy(folder / "source")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", *how, "--wheel-dir", folder, source]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (source / "build").exists(), "a build folder that stays behind brings deleted files into the next wheel"
    return next(folder.glob("*.whl"))


class Installed:
    """A `seedvote` command and the folder in which it is typed."""

    def __init__(self, program, folder, **environ):
        self.program, self.folder = Path(program), folder
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environ = {**kept, "OMP_NUM_THREADS": "1", "BROWSER": "true", **environ}
        folder.mkdir(exist_ok=True)

    def start(self, *words, **more):
        command = [self.program, *map(str, words)]
        return subprocess.Popen(command, cwd=self.folder, env=self.environ, text=True, **more)

    def run(self, *words):
        """What it printed; it must end well."""
        done = self.ask(*words)
        assert done.returncode == 0, f"seedvote {words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, *words, python=()):
        command = [*python, self.program, *map(str, words)]
        return subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True)


def beside_present_packages(wheel, folder):
    """The wheel installed without an environment of its own: it sees the packages that the tests see."""
    site = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Installed(site / "bin" / "seedvote", folder / "elsewhere", PYTHONPATH=str(site))
